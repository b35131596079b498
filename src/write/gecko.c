// Firefox Profiler's "processed profile" (https://profiler.firefox.com), as samply writes it: the
// samples of each thread in time order, and tables of stacks, functions and names that all threads
// share. A table is an object with an array for each column.
//
// The format needs each thread's samples in one piece, so they are kept until the end, 24 bytes
// each.
#include "base/json.h"
#include "event/sample_tree.h"
#include "write/writer.h"

#include <string.h>

enum { FORMAT_VERSION = 62, GECKO_VERSION = 24 };

struct gecko_sample {
	uint64_t time, weight;
	uint32_t stack, event;
};

struct gecko_thread {
	uint32_t tid, pid, name;
	ARRAY(struct gecko_sample) samples;
};

// Numbers from 0, in order of first use.
struct numbering {
	struct map numbers; // key to number + 1
	ARRAY(uint32_t) items;
};

struct gecko {
	struct sink sink;
	struct sample_tree profile; // selects the event to show, and knows the names of tasks
	struct output *output;
	struct map thread_numbers; // tid to index + 1
	ARRAY(struct gecko_thread) threads;
	uint64_t start, wall; // start of the recording: on the trace's clock, and in nanoseconds since 1970
	bool started;
	uint32_t test;                                         // string: the test's name
	struct numbering functions, strings, resources, files; // functions: one frame of each
	ARRAY(uint32_t) function_of;                           // by frame
	struct json json;
	const struct gecko_thread *thread; // whose samples are being written
};

// ---- events ----

static struct gecko_thread *thread_of(struct gecko *gecko, const struct event *event) {
	uint64_t *number = map_put(&gecko->thread_numbers, event->tid);
	if (!*number) {
		array_push(&gecko->threads, (struct gecko_thread){.tid = event->tid, .pid = event->pid});
		*number = gecko->threads.count;
	}
	return &gecko->threads.items[*number - 1];
}

static void begin_at(struct gecko *gecko, uint64_t time) {
	if (!gecko->started)
		gecko->start = time;
	gecko->started = true;
}

static void take_sample(struct gecko *gecko, const struct event *event) {
	struct gecko_thread *thread = thread_of(gecko, event);
	begin_at(gecko, event->time);
	if (event->sample.comm)
		thread->name = event->sample.comm;
	array_push(&thread->samples, (struct gecko_sample){.time = event->time,
							   .weight = event->sample.weight,
							   .stack = event->sample.stack,
							   .event = event->sample.name});
}

static void take_fact(struct gecko *gecko, const struct event *event) {
	if (strcmp(strings_get(gecko->profile.tables->strings, event->meta.key), "test") == 0)
		gecko->test = event->meta.value;
}

static int gecko_push(struct sink *sink, const struct event *event) {
	struct gecko *gecko = CONTAINER_OF(sink, struct gecko, sink);
	if (event->kind == EVENT_START)
		begin_at(gecko, event->time);
	else if (event->kind == EVENT_CLOCK)
		gecko->wall = event->clock.wall - (event->time - gecko->start);
	else if (event->kind == EVENT_META)
		take_fact(gecko, event);
	else if (event->kind == EVENT_SAMPLE)
		take_sample(gecko, event);
	return sink_push(&gecko->profile.sink, event);
}

// ---- functions and their names ----

static uint32_t number_of(struct numbering *numbering, uint64_t key, uint32_t item) {
	uint64_t *number = map_put(&numbering->numbers, key);
	if (!*number) {
		array_push(&numbering->items, item);
		*number = numbering->items.count;
	}
	return (uint32_t)(*number - 1);
}

static uint32_t name_of_frame(struct gecko *gecko, const struct frame *frame) {
	return sample_frame_name(gecko->profile.tables, frame, &gecko->profile.options, false);
}

// A function is a name in a module; addresses inside it make no difference.
static void number_functions(struct gecko *gecko) {
	struct stacks *stacks = gecko->profile.tables->stacks;
	for (uint32_t i = 0; i < stacks->frames.count; i++) {
		const struct frame *frame = stacks_frame(stacks, i);
		uint64_t key = (uint64_t)name_of_frame(gecko, frame) << 32 | frame->module;
		array_push(&gecko->function_of, number_of(&gecko->functions, key, i));
	}
}

static const struct frame *function_frame(const struct gecko *gecko, size_t function) {
	return stacks_frame(gecko->profile.tables->stacks, gecko->functions.items.items[function]);
}

// ---- tables ----

struct column {
	const char *name;
	void (*cell)(struct gecko *gecko, size_t row);
	const char *value; // if there is no cell: the same JSON in every row
};

static void write_columns(struct gecko *gecko, size_t rows, const struct column *columns) {
	json_uint(&gecko->json, "length", rows);
	for (; columns->name; columns++) {
		json_array(&gecko->json, columns->name);
		for (size_t row = 0; row < rows; row++)
			if (columns->cell)
				columns->cell(gecko, row);
			else
				json_raw(&gecko->json, NULL, columns->value);
		json_close_array(&gecko->json);
	}
}

static void write_table(struct gecko *gecko, const char *name, size_t rows, const struct column *columns) {
	json_object(&gecko->json, name);
	write_columns(gecko, rows, columns);
	json_close_object(&gecko->json);
}

static void put_or_null(struct gecko *gecko, bool known, uint64_t value) {
	if (known)
		json_uint(&gecko->json, NULL, value);
	else
		json_string(&gecko->json, NULL, NULL);
}

static void put_text(struct gecko *gecko, uint32_t string) {
	json_uint(&gecko->json, NULL, number_of(&gecko->strings, string, string));
}

static void function_row(struct gecko *gecko, size_t row) {
	json_uint(&gecko->json, NULL, row);
}

static void function_category(struct gecko *gecko, size_t row) {
	static const unsigned categories[] = {
		[FRAME_USER] = 1, [FRAME_KERNEL] = 2, [FRAME_INLINED] = 1, [FRAME_JIT] = 3}; // see
											     // write_meta()
	json_uint(&gecko->json, NULL, categories[function_frame(gecko, row)->kind]);
}

static void function_name(struct gecko *gecko, size_t row) {
	put_text(gecko, name_of_frame(gecko, function_frame(gecko, row)));
}

static void function_resource(struct gecko *gecko, size_t row) {
	uint32_t module = function_frame(gecko, row)->module;
	json_int(&gecko->json, NULL, module ? (int64_t)number_of(&gecko->resources, module, module) : -1);
}

static void function_source(struct gecko *gecko, size_t row) {
	uint32_t file = function_frame(gecko, row)->file;
	put_or_null(gecko, file, file ? number_of(&gecko->files, file, file) : 0);
}

static void function_line(struct gecko *gecko, size_t row) {
	const struct frame *frame = function_frame(gecko, row);
	put_or_null(gecko, frame->file && frame->line, frame->line);
}

// Stacks are numbered from 1 in our tables, from 0 in the file. In both, callers have smaller
// numbers.
static void stack_prefix(struct gecko *gecko, size_t row) {
	uint32_t caller = stacks_get(gecko->profile.tables->stacks, (uint32_t)row + 1)->caller;
	put_or_null(gecko, caller, caller - UINT64_C(1));
}

static void stack_frame(struct gecko *gecko, size_t row) {
	uint32_t frame = stacks_get(gecko->profile.tables->stacks, (uint32_t)row + 1)->frame;
	json_uint(&gecko->json, NULL, gecko->function_of.items[frame]);
}

static void resource_name(struct gecko *gecko, size_t row) {
	put_text(gecko, gecko->resources.items.items[row]);
}

static void file_name(struct gecko *gecko, size_t row) {
	put_text(gecko, gecko->files.items.items[row]);
}

// clang-format off
static const struct column frame_columns[] = { // one per function, without an address
	{"func", function_row}, {"category", function_category}, {"subcategory", .value = "0"},
	{"address", .value = "-1"}, {"line", .value = "null"}, {"column", .value = "null"},
	{"inlineDepth", .value = "0"}, {"innerWindowID", .value = "0"}, {"nativeSymbol", .value = "null"}, {0}};
static const struct column function_columns[] = {
	{"name", function_name}, {"resource", function_resource}, {"source", function_source},
	{"lineNumber", function_line}, {"columnNumber", .value = "null"}, {"isJS", .value = "false"},
	{"relevantForJS", .value = "false"}, {0}};
static const struct column resource_columns[] = { // type 1: a library
	{"name", resource_name}, {"type", .value = "1"}, {"lib", .value = "null"}, {"host", .value = "null"}, {0}};
static const struct column file_columns[] = {
	{"filename", file_name}, {"id", .value = "null"}, {"startLine", .value = "1"},
	{"startColumn", .value = "1"}, {"sourceMapURL", .value = "null"}, {0}};
static const struct column stack_columns[] = {{"prefix", stack_prefix}, {"frame", stack_frame}, {0}};
static const struct column symbol_columns[] = {{"address"}, {"functionSize"}, {"libIndex"}, {"name"}, {0}};
static const struct column marker_columns[] = {
	{"name"}, {"category"}, {"phase"}, {"startTime"}, {"endTime"}, {"data"}, {0}};
// clang-format on

// Each table numbers the entries of the ones after it.
static void write_shared(struct gecko *gecko) {
	struct tables *tables = gecko->profile.tables;
	number_functions(gecko);
	json_object(&gecko->json, "shared");
	write_table(gecko, "frameTable", gecko->functions.items.count, frame_columns);
	write_table(gecko, "funcTable", gecko->functions.items.count, function_columns);
	write_table(gecko, "stackTable", tables->stacks->stacks.count - 1, stack_columns);
	write_table(gecko, "resourceTable", gecko->resources.items.count, resource_columns);
	write_table(gecko, "sources", gecko->files.items.count, file_columns);
	write_table(gecko, "nativeSymbols", 0, symbol_columns);
	json_array(&gecko->json, "stringArray");
	for (size_t i = 0; i < gecko->strings.items.count; i++) {
		uint32_t string = gecko->strings.items.items[i];
		json_text(&gecko->json, NULL, strings_get(tables->strings, string),
			  strings_length(tables->strings, string));
	}
	json_close_array(&gecko->json);
	json_close_object(&gecko->json);
}

// ---- threads ----

static void sample_stack(struct gecko *gecko, size_t row) {
	uint32_t stack = gecko->thread->samples.items[row].stack;
	put_or_null(gecko, stack, stack - UINT64_C(1));
}

// Milliseconds since the previous sample.
static void sample_time(struct gecko *gecko, size_t row) {
	uint64_t before = row ? gecko->thread->samples.items[row - 1].time : gecko->start;
	json_exact(&gecko->json, NULL, (double)(gecko->thread->samples.items[row].time - before) / 1e6);
}

static void sample_weight(struct gecko *gecko, size_t row) {
	double unit = sample_tree_in_nanoseconds(&gecko->profile) ? 1e6 : 1; // milliseconds
	json_exact(&gecko->json, NULL, (double)gecko->thread->samples.items[row].weight / unit);
}

static const struct column sample_columns[] = {
	{"stack", sample_stack}, {"timeDeltas", sample_time}, {"weight", sample_weight}, {0}};

static const char *weight_type(const struct gecko *gecko) {
	return sample_tree_in_nanoseconds(&gecko->profile) ? "tracing-ms"
	       : sample_tree_in_bytes(&gecko->profile)     ? "bytes"
							   : "samples";
}

// Keeps the chosen event only: the weight column has one unit.
static void choose_samples(struct gecko *gecko, struct gecko_thread *thread) {
	size_t kept = 0;
	for (size_t i = 0; i < thread->samples.count; i++)
		if (thread->samples.items[i].event == gecko->profile.event)
			thread->samples.items[kept++] = thread->samples.items[i];
	thread->samples.count = kept;
}

static const char *task_name(const struct gecko *gecko, uint32_t tid, uint32_t otherwise) {
	const uint64_t *known = map_get(&gecko->profile.task_names, tid);
	uint32_t name = known ? (uint32_t)*known : otherwise;
	return name ? strings_get(gecko->profile.tables->strings, name) : "samples";
}

static void put_id(struct json *json, const char *key, uint32_t id) {
	CLEANUP_FREE char *text = memory_format("%u", id);
	json_string(json, key, text);
}

static void write_thread(struct gecko *gecko, struct gecko_thread *thread) {
	struct json *json = &gecko->json;
	uint32_t pid = thread->pid ? thread->pid : thread->tid;
	choose_samples(gecko, thread);
	gecko->thread = thread;
	json_object(json, NULL);
	json_string(json, "name", task_name(gecko, thread->tid, thread->name));
	json_string(json, "processName", task_name(gecko, pid, thread->name));
	json_string(json, "processType", "default");
	json_bool(json, "isMainThread", thread->tid == pid);
	put_id(json, "pid", pid);
	put_id(json, "tid", thread->tid);
	json_uint(json, "processStartupTime", 0);
	json_string(json, "processShutdownTime", NULL);
	json_uint(json, "registerTime", 0);
	json_string(json, "unregisterTime", NULL);
	json_raw(json, "pausedRanges", "[]");
	write_table(gecko, "markers", 0, marker_columns);
	json_object(json, "samples");
	json_string(json, "weightType", weight_type(gecko));
	write_columns(gecko, thread->samples.count, sample_columns);
	json_close_object(json);
	json_close_object(json);
}

// ---- the file ----

#define CATEGORY(name, color) "{\"name\":\"" name "\",\"color\":\"" color "\",\"subcategories\":[\"Other\"]}"
#define CATEGORIES                                                                                           \
	"[" CATEGORY("Other", "grey") "," CATEGORY("User", "yellow") "," CATEGORY(                           \
		"Kernel", "orange") "," CATEGORY("JIT", "purple") "]"

static void write_meta(struct gecko *gecko) {
	struct json *json = &gecko->json;
	json_object(json, "meta");
	json_uint(json, "version", GECKO_VERSION);
	json_uint(json, "preprocessedProfileVersion", FORMAT_VERSION);
	json_string(json, "product",
		    gecko->test ? strings_get(gecko->profile.tables->strings, gecko->test) : "tracelet");
	json_string(json, "importedFrom", "tracelet " TRACELET_VERSION);
	json_exact(json, "startTime", (double)gecko->wall / 1e6);
	json_uint(json, "interval", 1);
	json_uint(json, "processType", 0);
	json_bool(json, "symbolicated", true);
	json_bool(json, "usesOnlyOneStackType", true);
	json_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_bool(json, "debug", false);
	json_raw(json, "markerSchema", "[]");
	json_raw(json, "categories", CATEGORIES);
	json_close_object(json);
}

static int gecko_finish(struct sink *sink) {
	struct gecko *gecko = CONTAINER_OF(sink, struct gecko, sink);
	struct buffer text = {0};
	gecko->json = json_into(&text);
	json_object(&gecko->json, NULL);
	write_meta(gecko);
	json_raw(&gecko->json, "libs", "[]");
	write_shared(gecko);
	json_array(&gecko->json, "threads");
	for (size_t i = 0; i < gecko->threads.count; i++)
		write_thread(gecko, &gecko->threads.items[i]);
	json_close_array(&gecko->json);
	json_close_object(&gecko->json);
	buffer_append(&text, "\n", 1);
	output_take(gecko->output, &text);
	buffer_free(&text);
	return gecko->output->error;
}

static void numbering_free(struct numbering *numbering) {
	map_free(&numbering->numbers);
	array_free(&numbering->items);
}

static void gecko_destroy(struct sink *sink) {
	struct gecko *gecko = CONTAINER_OF(sink, struct gecko, sink);
	for (size_t i = 0; i < gecko->threads.count; i++)
		array_free(&gecko->threads.items[i].samples);
	array_free(&gecko->threads);
	map_free(&gecko->thread_numbers);
	numbering_free(&gecko->functions);
	numbering_free(&gecko->strings);
	numbering_free(&gecko->resources);
	numbering_free(&gecko->files);
	array_free(&gecko->function_of);
	sample_tree_free(&gecko->profile);
	free(gecko);
}

static struct sink *gecko_open(struct output *output, struct tables *tables) {
	struct gecko *gecko = memory_alloc(sizeof(*gecko));
	gecko->sink = (struct sink){.push = gecko_push, .finish = gecko_finish, .destroy = gecko_destroy};
	gecko->output = output;
	tables->details = true;
	sample_tree_init(&gecko->profile, tables, &(struct sample_options){0});
	return &gecko->sink;
}

const struct writer gecko_writer = {
	.name = "gecko",
	.extension = "gecko.json",
	.description = "for profiler.firefox.com",
	.open = gecko_open,
};
