// Reads heap profiles in DHAT's format, version 2: from Valgrind, Rust's dhat, and tracelet.
//
// The allocation sites come before the frames that their stacks refer to. So the file is parsed
// twice, in place: once for the frames and the header, and once for the sites, each of which is
// pushed as it is parsed. A site becomes one sample for each metric, even where the value is zero.
#include "read/dhat.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>

enum { MOST_FRAMES = 1 << 16, DHAT_VERSION = 2 };

int dhat_damaged(const struct dhat_file *file, const char *where) {
	log_error("%s: damaged DHAT profile: %s", file->name, where);
	return -EINVAL;
}

// ---- the header ----

static void read_text(struct json_reader *reader, struct buffer *out) {
	out->size = 0;
	json_read_text(reader, out);
	buffer_append(out, "", 1);
}

static void read_number(struct json_reader *reader, uint64_t *value, bool *there) {
	*value = json_read_uint(reader);
	*there = true;
}

static bool read_word(struct dhat_head *head, const struct json_piece *key, struct json_reader *reader) {
	const struct {
		const char *key;
		struct buffer *text;
	} texts[] = {
		{"mode", &head->mode},
		{"verb", &head->verb},
		{"cmd", &head->command},
		{"bsu", &head->units[HEAP_BYTES]},
		{"bksu", &head->units[HEAP_BLOCKS]},
		{"tu", &head->units[HEAP_TIME]},
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (json_is(key, texts[i].key)) {
			read_text(reader, texts[i].text);
			return true;
		}
	return false;
}

static void read_member(struct dhat_file *file, const struct json_piece *key, struct json_reader *reader) {
	struct dhat_head *head = &file->head;
	if (read_word(head, key, reader))
		return;
	if (json_is(key, "dhatFileVersion")) {
		head->version = json_read_uint(reader);
	} else if (json_is(key, "pid")) {
		head->pid = json_read_uint(reader);
	} else if (json_is(key, "estimatedFromSamplesEvery")) {
		head->sample = json_read_uint(reader);
	} else if (json_is(key, "te")) {
		read_number(reader, &head->end, &head->has_end);
	} else if (json_is(key, "tg")) {
		read_number(reader, &head->peak, &head->has_peak);
	} else if (json_is(key, "bklt")) {
		head->lives = json_read_bool(reader);
	} else if (json_is(key, "bkacc")) {
		head->accesses = json_read_bool(reader);
	} else {
		size_t at = (size_t)((const uint8_t *)reader->at - file->bytes);
		if (json_is(key, "pps"))
			file->points_at = at;
		else if (json_is(key, "ftbl"))
			file->frames_at = at;
		json_skip(reader);
	}
}

static int read_head(struct dhat_file *file) {
	struct json_reader reader = json_from(file->bytes, file->size);
	struct json_piece key;
	json_enter(&reader, '{');
	while (json_member(&reader, &key))
		read_member(file, &key, &reader);
	struct dhat_head *head = &file->head;
	if (head->version && head->version != DHAT_VERSION) {
		log_error("%s: a DHAT profile of version %" PRIu64 "; tracelet reads version %d", file->name,
			  head->version, DHAT_VERSION);
		return -EINVAL;
	}
	if (reader.failed)
		return dhat_damaged(file, "truncated, or not JSON");
	if (!head->version || !file->points_at || !file->frames_at)
		return dhat_damaged(file, "it has no version, no places or no frames");
	for (size_t i = 0; i < HEAP_UNIT_COUNT; i++)
		if (head->units[i].size <= 1) {
			head->units[i].size = 0;
			buffer_append(&head->units[i], heap_unit_names[i], strlen(heap_unit_names[i]) + 1);
		}
	buffer_append(&head->mode, "", !head->mode.size);
	buffer_append(&head->verb, "", !head->verb.size);
	buffer_append(&head->command, "", !head->command.size);
	return 0;
}

int dhat_open(struct dhat_file *file, struct stream *input, const char *name) {
	*file = (struct dhat_file){.name = name};
	file->bytes = stream_map(input, &file->size);
	if (!file->bytes && input->error) {
		log_error("%s: cannot be read: %s", name, strerror(-input->error));
		return input->error;
	}
	return read_head(file);
}

void dhat_close(struct dhat_file *file) {
	buffer_free(&file->head.mode);
	buffer_free(&file->head.verb);
	buffer_free(&file->head.command);
	for (size_t i = 0; i < HEAP_UNIT_COUNT; i++)
		buffer_free(&file->head.units[i]);
}

bool dhat_has(const struct dhat_head *head, enum heap_metric_id metric) {
	if (metric == HEAP_ALLOCATED || metric == HEAP_ALLOCATED_BLOCKS)
		return true;
	return metric == HEAP_READ || metric == HEAP_WRITTEN ? head->accesses : head->lives;
}

// ---- places ----

static void read_place(struct json_reader *reader, struct dhat_place *place) {
	static const struct {
		const char *key;
		enum heap_metric_id metric;
	} keys[] = {
		{"tb", HEAP_ALLOCATED},      {"tbk", HEAP_ALLOCATED_BLOCKS},
		{"tl", HEAP_LIFETIME},       {"mb", HEAP_MOST},
		{"mbk", HEAP_MOST_BLOCKS},   {"gb", HEAP_PEAK},
		{"gbk", HEAP_PEAK_BLOCKS},   {"eb", HEAP_LEAKED},
		{"ebk", HEAP_LEAKED_BLOCKS}, {"rb", HEAP_READ},
		{"wb", HEAP_WRITTEN},
	};
	struct json_piece key;
	memset(place->values, 0, sizeof(place->values));
	place->frames.count = 0;
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		size_t i = 0;
		while (i < ARRAY_SIZE(keys) && !json_is(&key, keys[i].key))
			i++;
		if (i < ARRAY_SIZE(keys)) {
			place->values[keys[i].metric] = json_read_uint(reader);
		} else if (json_is(&key, "fs")) {
			place->frames.count = 0;
			json_enter(reader, '[');
			while (json_item(reader) && place->frames.count <= MOST_FRAMES) {
				uint64_t frame = json_read_uint(reader);
				array_push(&place->frames, (uint32_t)MIN(frame, UINT32_MAX));
			}
		} else {
			json_skip(reader);
		}
	}
}

int dhat_places(const struct dhat_file *file, int (*take)(void *context, const struct dhat_place *place),
		void *context) {
	struct json_reader reader = json_from(file->bytes + file->points_at, file->size - file->points_at);
	struct dhat_place place = {0};
	int error = 0;
	json_enter(&reader, '[');
	while (!error && json_item(&reader)) {
		read_place(&reader, &place);
		if (reader.failed)
			break;
		error = place.frames.count > MOST_FRAMES ? dhat_damaged(file, "a stack is too deep")
							 : take(context, &place);
	}
	if (!error && reader.failed)
		error = dhat_damaged(file, "a place is malformed");
	array_free(&place.frames);
	return error;
}

// ---- events ----

struct dhat {
	struct dhat_file file;
	struct tables *tables;
	struct sink *sink;
	ARRAY(uint32_t) frames; // ids, by index
	uint32_t names[HEAP_METRIC_COUNT];
	struct event event; // a sample of this profile
};

static int read_frames(struct dhat *dhat) {
	const struct dhat_file *file = &dhat->file;
	struct json_reader reader = json_from(file->bytes + file->frames_at, file->size - file->frames_at);
	struct buffer text = {0};
	json_enter(&reader, '[');
	while (json_item(&reader)) {
		read_text(&reader, &text);
		if (!reader.failed)
			array_push(&dhat->frames, dhat_frame(dhat->tables, (char *)text.data));
	}
	buffer_free(&text);
	return reader.failed ? dhat_damaged(file, "a frame is not a string") : 0;
}

static int push_place(void *context, const struct dhat_place *place) {
	struct dhat *dhat = context;
	uint32_t stack = 0;
	int error = 0;
	for (size_t i = place->frames.count; i-- > 0;) {
		if (place->frames.items[i] >= dhat->frames.count)
			return dhat_damaged(&dhat->file, "a stack refers to a frame that does not exist");
		uint32_t frame = dhat->frames.items[place->frames.items[i]];
		if (frame != UINT32_MAX)
			stack = stacks_add(dhat->tables->stacks, stack, frame);
	}
	for (size_t i = 0; i < HEAP_METRIC_COUNT && !error; i++) {
		if (!dhat_has(&dhat->file.head, i))
			continue;
		dhat->event.sample.stack = stack;
		dhat->event.sample.name = dhat->names[i];
		dhat->event.sample.weight = place->values[i];
		error = sink_push(dhat->sink, &dhat->event);
	}
	return error;
}

static int push_fact(struct dhat *dhat, const char *key, const struct buffer *value) {
	struct event event = {.kind = EVENT_META, .cpu = CPU_NONE, .time = dhat->event.time};
	event.meta.key = strings_add(dhat->tables->strings, key);
	event.meta.value = strings_add(dhat->tables->strings, (const char *)value->data);
	return sink_push(dhat->sink, &event);
}

// The program, named after the first word of the command without its directories.
static int push_task(struct dhat *dhat) {
	const char *command = (const char *)dhat->file.head.command.data;
	size_t size = strcspn(command, " "), begin = size;
	while (begin && command[begin - 1] != '/')
		begin--;
	struct event event = {.kind = EVENT_TASK,
			      .cpu = CPU_NONE,
			      .time = dhat->event.time,
			      .tid = dhat->event.tid,
			      .pid = dhat->event.pid};
	event.task.name = strings_add_bytes(dhat->tables->strings, command + begin, size - begin);
	event.task.command_line = strings_add(dhat->tables->strings, command);
	return sink_push(dhat->sink, &event);
}

static int push_all(struct dhat *dhat) {
	const struct dhat_head *head = &dhat->file.head;
	for (size_t i = 0; i < HEAP_METRIC_COUNT; i++)
		dhat->names[i] = strings_add(dhat->tables->strings, heap_metrics[i].name);
	bool known = head->pid && head->pid < TID_OUTSIDE;
	dhat->event = (struct event){.kind = EVENT_SAMPLE,
				     .cpu = CPU_NONE,
				     .time = 1, // the file has no trace clock
				     .tid = known ? (uint32_t)head->pid : 1,
				     .pid = known ? (uint32_t)head->pid : 1};
	dhat->event.sample.flags = SAMPLE_NO_TASK | SAMPLE_METRIC;
	struct event start = {.kind = EVENT_START, .cpu = CPU_NONE, .time = dhat->event.time};
	int error = sink_push(dhat->sink, &start);
	if (!error)
		error = push_task(dhat);
	for (size_t i = 0; i < HEAP_UNIT_COUNT && !error; i++)
		if (strcmp((char *)head->units[i].data, heap_unit_names[i]) != 0)
			error = push_fact(dhat, heap_unit_keys[i], &head->units[i]);
	return error ? error : dhat_places(&dhat->file, push_place, dhat);
}

static int read_dhat(struct stream *input, const char *name, struct tables *tables, struct sink *sink) {
	struct dhat dhat = {.tables = tables, .sink = sink};
	int error = dhat_open(&dhat.file, input, name);
	if (!error)
		error = read_frames(&dhat);
	if (!error)
		error = push_all(&dhat);
	array_free(&dhat.frames);
	dhat_close(&dhat.file);
	return error;
}

// Every known writer puts the version first; otherwise look for it near the beginning.
static bool probe(const uint8_t *head, size_t size) {
	static const char word[] = "\"dhatFileVersion\"";
	size_t at = 0;
	while (at < size && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t'))
		at++;
	if (at == size || head[at] != '{')
		return false;
	for (; at + sizeof(word) - 1 <= size; at++)
		if (memcmp(head + at, word, sizeof(word) - 1) == 0)
			return true;
	return false;
}

const struct reader dhat_reader = {
	.name = "dhat",
	.extension = "dhat.json",
	.description = "heap profiles from tracelet, Valgrind's DHAT and Rust's dhat",
	.probe = probe,
	.read = read_dhat,
	.describe = dhat_describe,
};
