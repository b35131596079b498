// The critical path as a track of its own: a slice for each piece, named after its reason and function, with
// the thread as an annotation. Where the path goes from one thread to another, a flow connects the two
// slices. The track is computed from the other events, so our reader ignores it. Names are interned, and the
// track is a default of the sequence: a slice takes about 60 bytes.
#include "write/perfetto/perfetto.h"

enum { ANNOTATION_THREAD = 1 }; // interned name

static void intern(struct buffer *packet, uint32_t table, uint64_t id, const char *text, size_t size) {
	size_t entry = proto_begin(packet, table);
	proto_uint(packet, INTERNED_IID, id);
	proto_bytes(packet, INTERNED_STRING, text, size);
	proto_end(packet, entry);
}

// The id of a string. Ids are given in the order of use, not taken from the string table, whose order depends
// on the input: a trace that is read and written again stays the same.
static uint64_t intern_once(struct perfetto *perfetto, uint32_t table, uint32_t string) {
	uint64_t *id = map_put(&perfetto->path_strings, (uint64_t)table << 32 | string);
	if (!*id) {
		*id = perfetto->path_strings.count;
		intern(&perfetto->packet, table, *id, strings_get(perfetto->strings, string),
		       strings_length(perfetto->strings, string));
	}
	return *id;
}

static int describe_track(struct perfetto *perfetto) {
	size_t mark = perfetto_begin(perfetto, SEQUENCE_TRACKS, NO_TIME);
	size_t track = proto_begin(&perfetto->packet, PACKET_TRACK_DESCRIPTOR);
	proto_uint(&perfetto->packet, TRACK_UUID, UUID_PATH);
	proto_string(&perfetto->packet, TRACK_NAME, "critical path");
	proto_end(&perfetto->packet, track);
	return perfetto_end(perfetto, mark);
}

static void write_defaults(struct perfetto *perfetto) {
	size_t defaults = proto_begin(&perfetto->packet, PACKET_DEFAULTS);
	size_t event = proto_begin(&perfetto->packet, DEFAULTS_TRACK_EVENT);
	proto_uint(&perfetto->packet, TRACK_EVENT_TRACK, UUID_PATH);
	proto_end(&perfetto->packet, event);
	proto_end(&perfetto->packet, defaults);
}

static size_t begin_packet(struct perfetto *perfetto, uint64_t time) {
	struct buffer *packet = &perfetto->packet;
	size_t mark = proto_begin(packet, TRACE_PACKET);
	proto_uint(packet, PACKET_TIMESTAMP, time);
	proto_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE_PATH);
	bool begun = perfetto->sequence_begun[SEQUENCE_PATH];
	proto_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE | (begun ? 0 : SEQUENCE_CLEARED));
	if (!begun)
		write_defaults(perfetto);
	return mark;
}

struct interned {
	uint64_t name, thread;
};

static struct interned write_interned(struct perfetto *perfetto, const struct event *event, uint32_t thread) {
	struct buffer *packet = &perfetto->packet;
	size_t interned = proto_begin(packet, PACKET_INTERNED_DATA);
	if (!perfetto->sequence_begun[SEQUENCE_PATH])
		intern(packet, INTERNED_ANNOTATION_NAMES, ANNOTATION_THREAD, "thread", 6);
	perfetto->sequence_begun[SEQUENCE_PATH] = true;
	struct interned ids;
	ids.name = intern_once(perfetto, INTERNED_EVENT_NAMES, event->path.name);
	ids.thread = intern_once(perfetto, INTERNED_ANNOTATION_STRINGS, thread);
	proto_end(packet, interned);
	return ids;
}

// Flows of merged traces must differ, and clocks of machines do not show the same time.
static void write_flow(struct perfetto *perfetto, uint64_t time) {
	proto_fixed64(&perfetto->packet, TRACK_EVENT_FLOWS, time + perfetto->wall_offset);
}

static int write_begin(struct perfetto *perfetto, const struct event *event) {
	struct buffer *packet = &perfetto->packet;
	CLEANUP_FREE char *text = memory_format("%s (%u)", strings_get(perfetto->strings, event->path.thread),
						event->tid);
	uint32_t thread = strings_add(perfetto->strings, text);
	size_t mark = begin_packet(perfetto, event->path.from);
	struct interned ids = write_interned(perfetto, event, thread);
	size_t slice = proto_begin(packet, PACKET_TRACK_EVENT);
	proto_uint(packet, TRACK_EVENT_TYPE, TYPE_SLICE_BEGIN);
	proto_uint(packet, TRACK_EVENT_NAME_IID, ids.name);
	size_t annotation = proto_begin(packet, TRACK_EVENT_ANNOTATIONS);
	proto_uint(packet, ANNOTATION_NAME_IID, ANNOTATION_THREAD);
	proto_uint(packet, ANNOTATION_STRING_IID, ids.thread);
	proto_end(packet, annotation);
	if (event->path.comes)
		write_flow(perfetto, event->path.from);
	if (event->path.goes)
		write_flow(perfetto, event->time);
	proto_end(packet, slice);
	return perfetto_end(perfetto, mark);
}

static int write_end(struct perfetto *perfetto, uint64_t time) {
	size_t mark = begin_packet(perfetto, time);
	size_t slice = proto_begin(&perfetto->packet, PACKET_TRACK_EVENT);
	proto_uint(&perfetto->packet, TRACK_EVENT_TYPE, TYPE_SLICE_END);
	proto_end(&perfetto->packet, slice);
	return perfetto_end(perfetto, mark);
}

int path_take(struct perfetto *perfetto, const struct event *event) {
	int error = perfetto->sequence_begun[SEQUENCE_PATH] ? 0 : describe_track(perfetto);
	if (!error)
		error = write_begin(perfetto, event);
	return error ? error : write_end(perfetto, event->time);
}

void path_destroy(struct perfetto *perfetto) {
	map_free(&perfetto->path_strings);
}
