#include "guest/settle.h"
#include "base/file.h"
#include "base/log.h"
#include "session/artifact.h"
#include "session/convert.h"
#include "session/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end) {
	size_t length = strlen(text), tail = strlen(end);
	return length > tail && strcmp(text + length - tail, end) == 0;
}

// ---- facts in traces ----

// A trace is a row of packets: one more at its end is a trace again.
static int append_facts(const struct settlement *settlement, const char *path, const char *partial) {
	struct buffer clock = {0}, packet = {0};
	const char *pairs[6];
	size_t count = 0;
	guest_clock_format(settlement->clock, &clock);
	buffer_append(&clock, "", 1);
	if (clock.size > 1) {
		pairs[2 * count] = GUEST_CLOCK_KEY;
		pairs[2 * count++ + 1] = (const char *)clock.data;
	}
	pairs[2 * count] = GUEST_ADDRESS_KEY;
	pairs[2 * count++ + 1] = settlement->address;
	if (partial) {
		pairs[2 * count] = PARTIAL_KEY;
		pairs[2 * count++ + 1] = partial;
	}
	clock_facts_packet(&packet, pairs, count);
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW), error = fd < 0 ? -errno : 0;
	struct stat before;
	if (!error && fstat(fd, &before))
		error = -errno;
	if (!error)
		error = file_write_all(fd, packet.data, packet.size);
	if (error && fd >= 0 && ftruncate(fd, before.st_size))
		log_warning("%s: ends with half a packet", path);
	if (fd >= 0)
		close(fd);
	buffer_free(&clock);
	buffer_free(&packet);
	return error;
}

// X.pb.partial becomes X.partial.pb, as far as it goes; what arrived stays beside it.
static void convert_partial(const struct settlement *settlement, const struct received *file) {
	size_t stem = strlen(file->path) -
		      strlen(ends_with(file->path, ".pb.partial") ? ".pb.partial" : ".spool.partial");
	CLEANUP_FREE char *output = memory_format("%.*s.partial.pb", (int)stem, file->path);
	CLEANUP_FREE char *partial = memory_format("%" PRIu64 " bytes arrived", file->size);
	struct conversion conversion = {.input = file->path,
					.output = output,
					.writer = writer_by_name("perfetto"),
					.mode = OUTPUT_CREATE};
	struct conversion_result result;
	struct stat status;
	// Of what came while it was made there is one already, and it has more.
	if (lstat(output, &status) == 0)
		return;
	if (!file->size || convert(&conversion, &result) || append_facts(settlement, output, partial))
		return;
	log_warning("a part of the trace arrived: %s", output);
}

static void settle_files(const struct settlement *settlement) {
	struct receiver *receiver = settlement->receiver;
	for (size_t i = 0; i < receiver->files.count; i++) {
		struct received *file = &receiver->files.items[i];
		struct stat status;
		if (file->partial &&
		    (ends_with(file->path, ".pb.partial") || ends_with(file->path, ".spool.partial")))
			convert_partial(settlement, file);
		if (file->partial)
			log_warning("%s: did not arrive as a whole", file->path);
		if (file->partial || !ends_with(file->path, ".pb"))
			continue;
		int error = append_facts(settlement, file->path, NULL);
		if (error)
			log_warning("%s: its clock cannot be told: %s", file->path, strerror(-error));
		if (stat(file->path, &status) == 0)
			file->size = (uint64_t)status.st_size;
	}
}

// ---- the manifest ----

// The file here that a path in the guest means, or NULL.
static const struct received *here(const struct settlement *settlement, struct json_object *value) {
	const char *path = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
	size_t length = strlen(settlement->guest_folder);
	bool inside = length && strncmp(path, settlement->guest_folder, length) == 0 && path[length] == '/';
	return inside ? receiver_find(settlement->receiver, path + length + 1) : NULL;
}

static void move_artifact(const struct settlement *settlement, struct json_object *item) {
	struct json_object *path = NULL;
	if (!json_object_is_type(item, json_type_object) || !json_object_object_get_ex(item, "path", &path))
		return;
	const struct received *file = here(settlement, path);
	CLEANUP_FREE char *absolute = file ? realpath(file->path, NULL) : NULL;
	char digits[65];
	if (!file)
		return;
	json_object_object_add(item, "path", json_object_new_string(absolute ? absolute : file->path));
	json_object_object_add(item, "size", json_object_new_uint64(file->size));
	if (json_object_object_get_ex(item, "sha256", NULL) && artifact_sha256(file->path, digits) == 0)
		json_object_object_add(item, "sha256", json_object_new_string(digits));
	if (file->partial)
		json_object_object_add(item, "partial", json_object_new_boolean(1));
}

// Artifacts are in a list of the session's and in those of its cases.
static void move_artifacts(const struct settlement *settlement, struct json_object *record, unsigned depth) {
	struct json_object *list = NULL;
	static const char *const lists[] = {"artifacts", "cases"};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!json_object_object_get_ex(record, lists[i], &list) ||
		    !json_object_is_type(list, json_type_array))
			continue;
		for (size_t at = 0; at < json_object_array_length(list); at++) {
			struct json_object *item = json_object_array_get_idx(list, at);
			move_artifact(settlement, item);
			if (!depth && json_object_is_type(item, json_type_object))
				move_artifacts(settlement, item, depth + 1);
		}
	}
}

static void add_clock(const struct settlement *settlement, struct json_object *record) {
	const struct clock_offset *offset = settlement->clock->last.guest_ns ? &settlement->clock->last
									     : &settlement->clock->first;
	struct json_object *clock = json_object_new_object();
	json_object_object_add(clock, "offset_ns", json_object_new_int64(offset->offset_ns));
	json_object_object_add(clock, "bound_ns",
			       json_object_new_uint64(guest_clock_bound(settlement->clock)));
	json_object_object_add(record, "guest", json_object_new_string(settlement->address));
	if (offset->guest_ns)
		json_object_object_add(record, "guest_clock", clock);
	else
		json_object_put(clock);
}

static void settle_line(const struct settlement *settlement, const char *line, size_t size) {
	struct json_tokener *tokener = json_tokener_new_ex(32);
	struct json_object *record = json_tokener_parse_ex(tokener, line, (int)size);
	if (json_object_is_type(record, json_type_object)) {
		struct buffer text = {0};
		move_artifacts(settlement, record, 0);
		add_clock(settlement, record);
		const char *plain = json_object_to_json_string_ext(
			record, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
		buffer_printf(&text, "%s\n", plain);
		int error = manifest_append(settlement->folder, &text);
		if (error)
			log_warning("%s/manifest.jsonl: %s", settlement->folder, strerror(-error));
		buffer_free(&text);
	} else {
		log_warning("a line of the guest's manifest is no JSON object, and is left out");
	}
	json_object_put(record);
	json_tokener_free(tokener);
}

const char *settle(const struct settlement *settlement) {
	struct receiver *receiver = settlement->receiver;
	const char *at = (const char *)receiver->manifest.data, *trace = NULL;
	size_t left = receiver->manifest.size;
	settle_files(settlement);
	while (left) {
		const char *end = memchr(at, '\n', left);
		size_t size = end ? (size_t)(end - at) : left;
		if (size)
			settle_line(settlement, at, size);
		at += size + (end != NULL);
		left -= size + (end != NULL);
	}
	for (size_t i = 0; i < receiver->files.count && !trace; i++)
		if (!receiver->files.items[i].partial && ends_with(receiver->files.items[i].path, ".pb"))
			trace = receiver->files.items[i].path;
	return trace;
}
