// Reads perf.data: a file with a header, a table of events, records, and feature sections
// after them; the output of `perf record -o -`, where the same data comes as records; or a folder of
// `perf record --threads`, with such a file and the records of other threads beside it. A file is
// mapped and read in place; a pipe is read piece by piece.
//
// Records from different CPUs come one buffer after the other. perf marks the end of each round
// over the buffers. At that point everything older than the latest record of the previous round is
// complete and is passed on in time order; but the rounds of threads are not those of the others, so
// the records of a folder are all sorted at the end. The time inside a record can differ slightly from that
// of its event, so an orderer follows.
#include "read/perf/data.h"

#include "base/buffer.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unpack_limit.h"
#include "read/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum {
	FILE_HEADER = 104,
	PIPE_HEADER = 16,
	RECORD_HEADER = 8,
	MOST_ATTRS = 1 << 16,
	MOST_DECOMPRESSED = 1 << 26,
	MOST_THREADS = 4096, // files in a folder
};

struct queued {
	uint64_t time, sequence;
	const uint8_t *bytes; // the record including its header
	bool owned;
};

struct perf_reader {
	struct perf_data data;
	ARRAY(struct queued) queue;
	uint64_t sequence, latest, round_latest; // latest: in this round and all before it
	bool keep;                               // bytes stay valid until the end
	bool whole;                              // sort all records at the end
	bool unfinished;                         // the writer was killed, possibly in the middle of a record
	struct stream *input;
	struct buffer unpacked; // from compressed records, not parsed yet
#ifdef HAVE_ZSTD
	ZSTD_DStream *zstd;
	uint64_t packed_total, unpacked_total; // bytes of all compressed records
#endif
};

static int not_supported(const struct perf_reader *reader, const char *what) {
	log_error("%s: not supported: %s", reader->data.name, what);
	return -ENOTSUP;
}

// ---- time order ----

static struct perf_record record_of(const uint8_t *bytes) {
	struct cursor head = cursor_of(bytes, RECORD_HEADER);
	struct perf_record record = {.type = cursor_u32(&head), .misc = cursor_u16(&head)};
	uint16_t size = cursor_u16(&head);
	record.body = cursor_of(bytes + RECORD_HEADER, size - RECORD_HEADER);
	return record;
}

static int compare_queued(const void *left, const void *right) {
	const struct queued *a = left, *b = right;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static void free_queued(struct queued *queued) {
	if (queued->owned)
		free((void *)(uintptr_t)queued->bytes);
}

static int release(struct perf_reader *reader, uint64_t limit) {
	struct queued *items = reader->queue.items;
	size_t count = reader->queue.count, done = 0;
	int error = 0;
	if (count > 1)
		qsort(items, count, sizeof(*items), compare_queued);
	for (; done < count && items[done].time <= limit && !error; done++) {
		struct perf_record record = record_of(items[done].bytes);
		error = perf_data_record(&reader->data, &record);
		free_queued(&items[done]);
	}
	if (done)
		memmove(items, items + done, (count - done) * sizeof(*items));
	reader->queue.count = count - done;
	if (error || !limit || limit == UINT64_MAX)
		return error;
	struct event event = {.kind = EVENT_WATERMARK, .time = limit, .cpu = CPU_NONE};
	return sink_push(reader->data.sink, &event);
}

// Drops the pages of the file that no queued record needs.
static void forget(struct perf_reader *reader, const uint8_t *here) {
	for (size_t i = 0; i < reader->queue.count; i++)
		if (reader->queue.items[i].bytes < here && !reader->queue.items[i].owned)
			here = reader->queue.items[i].bytes;
	stream_forget(reader->input, here);
}

static int end_of_round(struct perf_reader *reader, const uint8_t *here) {
	if (reader->whole)
		return 0;
	int error = release(reader, reader->round_latest);
	reader->round_latest = reader->latest;
	if (reader->keep)
		forget(reader, here);
	return error;
}

static int enqueue(struct perf_reader *reader, const uint8_t *bytes, uint16_t size) {
	struct perf_record record = record_of(bytes);
	uint64_t time = perf_data_time(&reader->data, &record);
	if (!time || time == UINT64_MAX)
		return perf_data_record(&reader->data, &record);
	struct queued queued = {.time = time, .sequence = reader->sequence++, .bytes = bytes};
	if (!reader->keep) {
		uint8_t *copy = memory_alloc(size);
		memcpy(copy, bytes, size);
		queued.bytes = copy;
		queued.owned = true;
	}
	reader->latest = MAX(reader->latest, time);
	array_push(&reader->queue, queued);
	return 0;
}

// ---- perf's own records ----

static void add_attr(struct perf_reader *reader, const struct perf_attr *attr, struct cursor ids) {
	struct perf_attrs *attrs = &reader->data.attrs;
	if (attrs->items.count == MOST_ATTRS)
		return;
	array_push(&attrs->items, *attr);
	struct perf_attr *added = &attrs->items.items[attrs->items.count - 1];
	added->name = perf_attr_name(attr, reader->data.tables->strings);
	while (cursor_left(&ids) >= 8)
		*map_put(&attrs->by_id, cursor_u64(&ids)) = attrs->items.count;
}

static void take_attr(struct perf_reader *reader, struct cursor body) {
	struct cursor peek = body;
	cursor_u32(&peek);
	uint32_t size = cursor_u32(&peek);
	struct perf_attr attr;
	if (perf_attr_read(&body, size ? size : 64, &attr))
		add_attr(reader, &attr, body);
}

static void take_update(struct perf_reader *reader, struct cursor body) {
	enum { UPDATE_NAME = 2 };
	uint64_t what = cursor_u64(&body), id = cursor_u64(&body);
	const char *name = what == UPDATE_NAME ? cursor_string(&body) : NULL;
	uint64_t *index = map_get(&reader->data.attrs.by_id, id);
	if (name && index)
		reader->data.attrs.items.items[*index - 1].name = perf_event_name(
			reader->data.tables->strings, name);
}

static int take_bytes(struct perf_reader *reader, const uint8_t *bytes, size_t size, size_t *taken);

// A record may continue from one compressed record into the next.
static int take_compressed(struct perf_reader *reader, struct cursor body) {
#ifdef HAVE_ZSTD
	if (!reader->zstd)
		reader->zstd = ZSTD_createDStream();
	ZSTD_inBuffer in = {.src = body.at, .size = cursor_left(&body)};
	reader->packed_total += in.size;
	for (bool more = true; more && (in.pos < in.size);) {
		enum { PIECE = 1 << 17 };
		ZSTD_outBuffer out = {.dst = buffer_room(&reader->unpacked, PIECE), .size = PIECE};
		size_t before = in.pos, result = ZSTD_decompressStream(reader->zstd, &out, &in);
		if (ZSTD_isError(result)) {
			log_error("%s: its compressed part is damaged: %s", reader->data.name,
				  ZSTD_getErrorName(result));
			return -EBADMSG;
		}
		reader->unpacked.size += out.pos;
		reader->unpacked_total += out.pos;
		if (unpack_limit_exceeded(reader->unpacked_total, reader->packed_total))
			return unpack_limit_report(reader->data.name, reader->packed_total);
		more = out.pos || in.pos > before;
		size_t taken;
		bool keep = reader->keep;
		reader->keep = false;
		int error = take_bytes(reader, reader->unpacked.data, reader->unpacked.size, &taken);
		reader->keep = keep;
		memmove(reader->unpacked.data, reader->unpacked.data + taken, reader->unpacked.size - taken);
		reader->unpacked.size -= taken;
		if (error)
			return error;
		if (reader->unpacked.size > MOST_DECOMPRESSED)
			return not_supported(reader, "an oversized record");
	}
	return 0;
#else
	return not_supported(reader, "compressed records (this tracelet was built without zstd)");
#endif
}

static int take_own_record(struct perf_reader *reader, const struct perf_record *record) {
	struct cursor body = record->body;
	switch (record->type) {
	case PERF_HEADER_ATTR:
		take_attr(reader, body);
		return 0;
	case PERF_HEADER_BUILD_ID:
		perf_data_build_id(&reader->data, 0, body);
		return 0;
	case PERF_EVENT_UPDATE:
		take_update(reader, body);
		return 0;
	case PERF_HEADER_FEATURE: {
		uint64_t feature = cursor_u64(&body);
		perf_data_feature(&reader->data, feature, body);
		return 0;
	}
	case PERF_FINISHED_ROUND:
		return end_of_round(reader, body.at);
	case PERF_COMPRESSED:
		return take_compressed(reader, body);
	case PERF_COMPRESSED2: {
		uint64_t size = cursor_u64(&body);
		if (size < cursor_left(&body))
			body = cursor_slice(&body, (size_t)size);
		return take_compressed(reader, body);
	}
	default:
		return 0;
	}
}

// Two kinds of records have data after them that their size does not include.
static uint64_t size_behind(const struct perf_record *record) {
	struct cursor body = record->body;
	if (record->type == PERF_HEADER_TRACING_DATA)
		return ((uint64_t)cursor_u32(&body) + 7) & ~UINT64_C(7);
	if (record->type == PERF_AUXTRACE)
		return cursor_u64(&body);
	return 0;
}

// ---- a run of records ----

static int take_record(struct perf_reader *reader, const uint8_t *bytes, uint16_t size) {
	struct perf_record record = record_of(bytes);
	if (record.type < PERF_KERNEL_TYPES)
		return enqueue(reader, bytes, size);
	return take_own_record(reader, &record);
}

// Whether a record may begin here: a known type, and a size that records have.
static bool is_plausible(const uint8_t *bytes, size_t size, size_t at) {
	enum { LAST_OF_KERNEL = 24, LAST_OF_PERF = 96 };
	if (at == size)
		return true;
	if (size - at < RECORD_HEADER)
		return false;
	struct cursor head = cursor_of(bytes + at, RECORD_HEADER);
	uint32_t type = cursor_u32(&head);
	cursor_u16(&head);
	uint16_t record_size = cursor_u16(&head);
	bool known = (type >= PERF_MMAP && type < LAST_OF_KERNEL) ||
		     (type >= PERF_KERNEL_TYPES && type < LAST_OF_PERF);
	return known && record_size >= RECORD_HEADER && record_size % 8 == 0;
}

// A record without a size: goes on where two records follow one another.
static void skip_damage(struct perf_reader *reader, const uint8_t *bytes, size_t size, size_t *taken) {
	for (*taken += 8; size - *taken >= RECORD_HEADER; *taken += 8) {
		struct cursor head = cursor_of(bytes + *taken + 6, 2);
		uint16_t record_size = cursor_u16(&head);
		if (is_plausible(bytes, size, *taken) && record_size <= size - *taken &&
		    is_plausible(bytes, size, *taken + record_size))
			break;
	}
	reader->data.bad_records++;
}

// Takes all whole records in `bytes`; `taken` is the number of bytes used.
static int take_bytes(struct perf_reader *reader, const uint8_t *bytes, size_t size, size_t *taken) {
	int error = 0;
	*taken = 0;
	while (!error && size - *taken >= RECORD_HEADER) {
		struct cursor head = cursor_of(bytes + *taken + 6, 2);
		uint16_t record_size = cursor_u16(&head);
		if (record_size < RECORD_HEADER && reader->unfinished)
			break;
		if (record_size < RECORD_HEADER) {
			skip_damage(reader, bytes, size, taken);
			continue;
		}
		if (record_size > size - *taken)
			break;
		struct perf_record record = record_of(bytes + *taken);
		uint64_t behind = size_behind(&record);
		if (behind > size - *taken - record_size) // not complete yet
			break;
		if (record.type == PERF_HEADER_TRACING_DATA)
			trace_formats_read(&reader->data.formats,
					   cursor_of(bytes + *taken + record_size, (size_t)behind),
					   reader->data.tables->strings);
		reader->data.auxtrace |= record.type == PERF_AUXTRACE;
		error = take_record(reader, bytes + *taken, record_size);
		*taken += record_size + (size_t)behind;
	}
	return error;
}

// ---- files ----

struct section {
	uint64_t offset, size;
};

static struct section take_section(struct cursor *in) {
	struct section section = {.offset = cursor_u64(in)};
	section.size = cursor_u64(in);
	return section;
}

// A cursor over a section; empty if the section lies outside the file.
static struct cursor section_of(const uint8_t *bytes, size_t size, struct section section) {
	if (section.offset > size)
		return cursor_of(bytes, 0);
	return cursor_of(bytes + section.offset, (size_t)MIN(section.size, size - section.offset));
}

static int read_attrs(struct perf_reader *reader, const uint8_t *bytes, size_t size, struct section section,
		      uint64_t attr_size) {
	struct cursor attrs = section_of(bytes, size, section);
	if (attr_size < 64 + 16 || attr_size > 4096) {
		log_error("%s: its header is damaged", reader->data.name);
		return -EBADMSG;
	}
	while (cursor_left(&attrs) >= attr_size) {
		struct perf_attr attr;
		struct cursor own = cursor_slice(&attrs, (size_t)attr_size);
		if (!perf_attr_read(&own, (size_t)attr_size - 16, &attr))
			break;
		add_attr(reader, &attr, section_of(bytes, size, take_section(&own)));
	}
	return 0;
}

// The feature sections follow the data, in the order of their bits. Event names must be read before
// the build ids' strings; otherwise the order does not matter.
static void read_features(struct perf_reader *reader, const uint8_t *bytes, size_t size, struct section data,
			  const uint64_t bits[4]) {
	uint64_t end = data.offset + data.size;
	if (end < data.offset || end > size)
		return;
	struct cursor table = cursor_of(bytes + end, size - (size_t)end);
	for (unsigned feature = 0; feature < 256 && !table.failed; feature++) {
		if (!(bits[feature / 64] >> feature % 64 & 1))
			continue;
		struct section section = take_section(&table);
		if (!table.failed)
			perf_data_feature(&reader->data, feature, section_of(bytes, size, section));
	}
}

static void note_tracepoint(struct perf_data *data, const char *name) {
	data->has_waking |= strcmp(name, "sched:sched_waking") == 0;
	data->has_switch |= strcmp(name, "sched:sched_switch") == 0;
	data->has_issue |= strcmp(name, "block:block_rq_issue") == 0;
}

static void name_tracepoints(struct perf_reader *reader) {
	struct perf_attrs *attrs = &reader->data.attrs;
	for (size_t i = 0; i < attrs->items.count; i++) {
		struct perf_attr *attr = &attrs->items.items[i];
		const struct trace_format *format = attr->type == TYPE_TRACEPOINT
							    ? trace_format_by_id(&reader->data.formats,
										 attr->config)
							    : NULL;
		if (!format)
			continue;
		attr->name = format->name;
		note_tracepoint(&reader->data, strings_get(reader->data.tables->strings, format->name));
	}
}

static int read_file(struct perf_reader *reader, struct stream *input) {
	size_t size, taken;
	const uint8_t *bytes = stream_map(input, &size);
	if (!bytes)
		return input->error;
	struct cursor in = cursor_of(bytes, size);
	cursor_take(&in, 16); // magic and size
	uint64_t attr_size = cursor_u64(&in), bits[4];
	struct section attrs = take_section(&in), data = take_section(&in);
	take_section(&in); // event names, long obsolete
	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		bits[i] = cursor_u64(&in);
	if (in.failed) {
		log_error("%s: truncated inside its header", reader->data.name);
		return -EBADMSG;
	}
	int error = read_attrs(reader, bytes, size, attrs, attr_size);
	if (error)
		return error;
	read_features(reader, bytes, size, data, bits);
	name_tracepoints(reader);
	perf_data_settings(&reader->data);
	struct cursor records = section_of(bytes, size, data);
	// perf writes the data size when it ends. If perf was killed, the size is 0 and the data
	// extends to the end of the file.
	reader->unfinished = !data.size;
	if (reader->unfinished && data.offset < size)
		records = cursor_of(bytes + data.offset, size - (size_t)data.offset);
	reader->keep = true;
	error = take_bytes(reader, records.at, cursor_left(&records), &taken);
	if (!error && taken < cursor_left(&records))
		log_warning("%s: truncated; ignoring the last %zu bytes", reader->data.name,
			    cursor_left(&records) - taken);
	else if (!error && (data.offset > size || data.size > size - data.offset))
		log_warning("%s: truncated: its header promises more data", reader->data.name);
	return error;
}

// ---- pipes ----

static int read_pipe(struct perf_reader *reader, struct stream *input) {
	stream_consume(input, PIPE_HEADER);
	for (size_t taken = 1; taken || !input->at_end;) {
		stream_need(input, stream_available(input) + 1);
		if (input->error) {
			log_error("%s: cannot be read: %s", reader->data.name, strerror(-input->error));
			return input->error;
		}
		int error = take_bytes(reader, input->data + input->begin, stream_available(input), &taken);
		if (error)
			return error;
		stream_consume(input, taken);
		name_tracepoints(reader);
		if (!taken && stream_available(input) > MOST_DECOMPRESSED)
			return not_supported(reader, "an oversized record");
	}
	if (stream_available(input))
		log_warning("%s: truncated; ignoring the last %zu bytes", reader->data.name,
			    stream_available(input));
	return 0;
}

static int read_any(struct perf_reader *reader, struct stream *input) {
	const uint8_t *head = stream_need(input, PIPE_HEADER);
	if (!head) {
		log_error("%s: truncated inside its header", reader->data.name);
		return -EBADMSG;
	}
	struct cursor in = cursor_of(head, PIPE_HEADER);
	const uint8_t *magic = cursor_take(&in, 8);
	if (memcmp(magic, "2ELIFREP", 8) == 0)
		return not_supported(reader, "a recording from a machine with the other byte order");
	if (memcmp(magic, "PERFFILE", 8) == 0)
		return not_supported(reader, "the format of perf before 2.6.32");
	uint64_t size = cursor_u64(&in);
	if (size == PIPE_HEADER)
		return read_pipe(reader, input);
	if (size < FILE_HEADER)
		return not_supported(reader, "a header of unknown size");
	return read_file(reader, input);
}

// ---- folders ----

struct folder {
	ARRAY(struct stream *) files; // mapped until all records are sorted
};

// What one thread of perf wrote: records only. A stream of compressed records begins anew in each file.
static int read_thread(struct perf_reader *reader, struct stream *input) {
	size_t size, taken = 0;
	const uint8_t *bytes = stream_map(input, &size);
	if (!bytes)
		return input->error;
	reader->unpacked.size = 0;
#ifdef HAVE_ZSTD
	if (reader->zstd)
		ZSTD_DCtx_reset(reader->zstd, ZSTD_reset_session_only);
#endif
	int error = take_bytes(reader, bytes, size, &taken);
	if (!error && taken < size)
		log_warning("%s: truncated; ignoring the last %zu bytes of a thread's file",
			    reader->data.name, size - taken);
	return error;
}

// The files are numbered from 0; those of threads that had nothing to write are empty.
static void open_threads(struct folder *folder, const char *path) {
	for (unsigned i = 0; i < MOST_THREADS; i++) {
		CLEANUP_FREE char *name = memory_format("%s/data.%u", path, i);
		struct stream *file = memory_alloc(sizeof(*file));
		int error = stream_open_regular(file, name);
		if (!error) {
			array_push(&folder->files, file);
			continue;
		}
		free(file);
		if (error != -ENODATA)
			return;
	}
}

static int read_threads(struct perf_reader *reader, const struct folder *folder) {
	int error = 0;
	reader->unfinished = false;
	for (size_t i = 0; !error && i < folder->files.count; i++)
		error = read_thread(reader, folder->files.items[i]);
	return error;
}

static void close_threads(struct folder *folder) {
	for (size_t i = 0; i < folder->files.count; i++) {
		stream_close(folder->files.items[i]);
		free(folder->files.items[i]);
	}
	array_free(&folder->files);
}

static void say_what_is_missing(const struct perf_reader *reader) {
	const struct perf_data *data = &reader->data;
	if (data->bad_records)
		log_warning("%s: skipped %" PRIu64 " damaged record%s", data->name, data->bad_records,
			    plural(data->bad_records));
	if (data->auxtrace)
		log_warning("%s: skipped hardware traces (Intel PT, CoreSight), which are not supported",
			    data->name);
	if (data->lost)
		log_warning("%s: perf lost %" PRIu64 " record%s while recording", data->name, data->lost,
			    plural(data->lost));
	if (data->broken_stacks)
		log_warning("%s: %" PRIu64 " of %" PRIu64
			    " copied stacks do not reach the outermost function",
			    data->name, data->broken_stacks, data->unwound_stacks);
}

static int read_records(struct stream *input, const char *name, const struct read_options *options,
			struct tables *tables, struct sink *sink) {
	struct perf_reader reader = {.data = {.name = name, .tables = tables, .sink = sink}, .input = input};
	struct folder folder = {0};
	if (options->folder)
		open_threads(&folder, options->folder);
	reader.whole = folder.files.count;
	int error = read_any(&reader, input);
	if (!error)
		error = read_threads(&reader, &folder);
	if (!error)
		error = release(&reader, UINT64_MAX);
	if (!error)
		error = perf_data_begin(&reader.data, 0);
	if (!error)
		say_what_is_missing(&reader);
	for (size_t i = 0; i < reader.queue.count; i++)
		free_queued(&reader.queue.items[i]);
	array_free(&reader.queue);
	close_threads(&folder);
	array_free(&reader.data.attrs.items);
	array_free(&reader.data.chain);
	map_free(&reader.data.attrs.by_id);
	map_free(&reader.data.group_values);
	map_free(&reader.data.build_ids);
	map_free(&reader.data.task_names);
	array_free(&reader.data.before);
	map_free(&reader.data.before_places);
	spaces_free(&reader.data.spaces);
	map_free(&reader.data.programs);
	trace_formats_free(&reader.data.formats);
	array_free(&reader.data.fields);
	buffer_free(&reader.data.text);
	buffer_free(&reader.unpacked);
#ifdef HAVE_ZSTD
	ZSTD_freeDStream(reader.zstd);
#endif
	return error;
}

static int read_perf_data(struct stream *input, const char *name, const struct read_options *options,
			  struct tables *tables, struct sink *sink) {
	return reader_in_order(read_records, input, name, options, tables, sink);
}

static int read_alone(struct stream *input, const char *name, struct tables *tables, struct sink *sink) {
	return read_perf_data(input, name, &(struct read_options){0}, tables, sink);
}

static bool probe(const uint8_t *head, size_t size) {
	return size >= 8 && (memcmp(head, "PERFILE2", 8) == 0 || memcmp(head, "2ELIFREP", 8) == 0 ||
			     memcmp(head, "PERFFILE", 8) == 0);
}

const struct reader perf_data_reader = {
	.name = "perf-data",
	.extension = "data",
	.description = "a file, folder or pipe from perf record",
	.probe = probe,
	.read = read_alone,
	.read_with = read_perf_data,
};
