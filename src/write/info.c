#include "write/info.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

// ---- gathering ----

static int push(struct sink *sink, const struct event *event) {
	struct info *info = CONTAINER_OF(sink, struct info, sink);
	struct described described;
	describer_learn(&info->describer, event);
	if (event->kind == EVENT_META)
		array_push(&info->facts, *event);
	if (event->kind == EVENT_CLOCK && !info->wall)
		info->wall = event->clock.wall;
	if (event->kind == EVENT_LOST)
		info->lost += event->lost.count;
	if (!describe(&info->describer, event, &described))
		return 0;
	if (event->tid)
		*map_put(&info->threads, event->tid) = 1;
	if (described.pid)
		*map_put(&info->processes, described.pid) = 1;
	if (event->cpu != CPU_NONE)
		*map_put(&info->cpus, event->cpu) = 1;
	if (event->kind == EVENT_TASK)
		return 0;
	if (!info->events++)
		info->first = event->time;
	info->last = MAX(info->last, event->time);
	struct strings *strings = info->tables->strings;
	uint64_t key = (uint64_t)strings_add(strings, described.provider) << 32 |
		       strings_add(strings, described.name);
	++*map_put(&info->counts, key);
	return 0;
}

static int finish(struct sink *sink) {
	return 0;
}

static void destroy(struct sink *sink) {
}

struct sink *info_init(struct info *info, struct tables *tables) {
	*info = (struct info){.sink = {.push = push, .finish = finish, .destroy = destroy}, .tables = tables};
	describer_init(&info->describer, tables);
	return &info->sink;
}

void info_free(struct info *info) {
	describer_free(&info->describer);
	array_free(&info->facts);
	map_free(&info->counts);
	map_free(&info->processes);
	map_free(&info->threads);
	map_free(&info->cpus);
}

// ---- printing ----

struct counted_event {
	uint64_t key, count;
};

static int by_count(const void *a, const void *b) {
	const struct counted_event *left = a, *right = b;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->key < right->key ? -1 : left->key > right->key;
}

static struct counted_event *sorted_counts(const struct info *info) {
	struct counted_event *counts = memory_alloc((info->counts.count + 1) * sizeof(*counts));
	size_t count = 0;
	for (size_t i = 0; i < info->counts.capacity; i++)
		if (info->counts.slots[i].used)
			counts[count++] = (struct counted_event){info->counts.slots[i].key,
								 info->counts.slots[i].value};
	qsort(counts, count, sizeof(*counts), by_count);
	return counts;
}

static void write_json(struct info *info, const char *file, const char *format, uint64_t size,
		       struct buffer *out) {
	const struct strings *strings = info->tables->strings;
	struct json json = json_into(out);
	json_object(&json, NULL);
	json_string(&json, "file", file);
	json_string(&json, "format", format);
	json_uint(&json, "size", size);
	json_uint(&json, "events_total", info->events);
	json_uint(&json, "span_ns", info->last - info->first);
	json_uint(&json, "lost", info->lost);
	json_uint(&json, "processes", info->processes.count);
	json_uint(&json, "threads", info->threads.count);
	json_uint(&json, "cpus", info->cpus.count);
	json_object(&json, "facts");
	for (size_t i = 0; i < info->facts.count; i++)
		json_string(&json, strings_get(strings, info->facts.items[i].meta.key),
			    strings_get(strings, info->facts.items[i].meta.value));
	json_close_object(&json);
	CLEANUP_FREE struct counted_event *counts = sorted_counts(info);
	json_object(&json, "events");
	for (size_t i = 0; i < info->counts.count; i++) {
		char *key = memory_format("%s/%s", strings_get(strings, (uint32_t)(counts[i].key >> 32)),
					  strings_get(strings, (uint32_t)counts[i].key));
		json_uint(&json, key, counts[i].count);
		free(key);
	}
	json_close_object(&json);
	json_close_object(&json);
	buffer_append(out, "\n", 1);
}

static void write_text(struct info *info, const char *file, const char *format, uint64_t size,
		       struct buffer *out) {
	const struct strings *strings = info->tables->strings;
	char words[16];
	text_append_line(out, "file       %s, %s, %s", file, format, file_size_words(size, words));
	for (size_t i = 0; i < info->facts.count; i++)
		text_append_line(out, "%-10s %s", strings_get(strings, info->facts.items[i].meta.key),
				 strings_get(strings, info->facts.items[i].meta.value));
	buffer_printf(out, "time       %.6f s\n", (double)(info->last - info->first) / 1e9);
	buffer_printf(out, "events     %" PRIu64 "\n", info->events);
	buffer_printf(out, "lost       %" PRIu64 "\n", info->lost);
	buffer_printf(out, "tasks      %zu process%s, %zu thread%s, on %zu CPU%s\n", info->processes.count,
		      info->processes.count == 1 ? "" : "es", info->threads.count,
		      plural(info->threads.count), info->cpus.count, plural(info->cpus.count));
	CLEANUP_FREE struct counted_event *counts = sorted_counts(info);
	for (size_t i = 0; i < info->counts.count; i++)
		text_append_line(out, "  %9" PRIu64 "  %s/%s", counts[i].count,
				 strings_get(strings, (uint32_t)(counts[i].key >> 32)),
				 strings_get(strings, (uint32_t)counts[i].key));
}

void info_write(struct info *info, const char *file, const char *format, uint64_t size, bool json,
		struct buffer *out) {
	(json ? write_json : write_text)(info, file, format, size, out);
}
