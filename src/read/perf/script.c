// Reads the output of `perf script`: samples with call chains, each a header
// line, one line per frame (innermost first) and a blank line; or samples of one
// line that ends with the address. With -F, any field may be missing:
//
//     java 24636/25607 [000] 4794564.109216:     250000 cycles:u:
//             ffffffff8103ce3b native_safe_halt+0xb ([kernel.kallsyms])
//                 7f722d142778 Ljava/io/PrintStream;::print (/tmp/perf-24636.map)
//
// This file is written for speed. Lines are found with memchr(), and a frame's
// line is looked up by name and module, without address and offset, in a
// fixed-size cache (script_line.c): after the first line of a function nothing
// more is parsed, copied or allocated. Memory holds the cache, one piece of
// input, and the distinct names and stacks.
#include "read/perf/script.h"
#include "base/buffer.h"
#include "base/log.h"
#include "read/lines.h"
#include "read/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
	MOST_FRAMES = 1 << 16,        // per sample; perf's own limit is 127, or set by a sysctl
	WATERMARK_EVERY = 1000000000, // nanoseconds of recorded time
};

enum state {
	STATE_BETWEEN, // no sample is open
	STATE_HEADER,  // after a header and possibly a blank line, before the first frame
	STATE_FRAMES,
};

struct script {
	struct tables *tables;
	struct sink *sink;
	struct script_lines *lines;
	enum state state;
	struct event sample;    // the open sample
	ARRAY(uint32_t) frames; // of the open sample, innermost first
	struct buffer rest; // of the open sample's header: its frame, if none follows on lines of their own
	struct map task_names;    // tid to the last name that was pushed
	uint32_t last_event_size; // the event usually has the same name as in the previous sample
	char last_event[128];
	uint32_t last_event_id;
	uint64_t watermark;
	uint64_t line, bad_lines, first_bad_line, samples;
};

// ---- samples ----

static int push_task(struct script *script, uint64_t *known) {
	const struct event *sample = &script->sample;
	struct event event = {
		.time = sample->time, .cpu = sample->cpu, .tid = sample->tid, .pid = sample->pid};
	if (*known) {
		event.kind = EVENT_RENAME;
		event.rename.name = sample->sample.comm;
	} else {
		event.kind = EVENT_TASK;
		event.task.name = sample->sample.comm;
	}
	*known = sample->sample.comm;
	return sink_push(script->sink, &event);
}

// perf prints in time order. Allow a second of disorder for concatenated
// recordings of several CPUs.
static int push_watermark(struct script *script) {
	uint64_t time = script->sample.time;
	if (time < script->watermark + 2u * WATERMARK_EVERY)
		return 0;
	script->watermark = time - WATERMARK_EVERY;
	struct event event = {.kind = EVENT_WATERMARK, .time = script->watermark, .cpu = CPU_NONE};
	return sink_push(script->sink, &event);
}

static void add_frames(struct script *script, const struct script_frames *frames) {
	for (size_t i = 0; i < frames->count && script->frames.count < MOST_FRAMES; i++)
		array_push(&script->frames, frames->ids[i]);
}

// A sample on one line: the header followed by the frame. A tracepoint's fields are no frame.
static void add_own_frame(struct script *script) {
	struct script_frames frames;
	struct slice own = script_own_frame((struct slice){(char *)script->rest.data, script->rest.size});
	if (own.size && script_frame(script->lines, own.text, own.size, &frames))
		add_frames(script, &frames);
}

static int close_sample(struct script *script) {
	if (script->state == STATE_BETWEEN)
		return 0;
	if (script->state == STATE_HEADER && script->rest.size)
		add_own_frame(script);
	script->state = STATE_BETWEEN;
	script->samples++;
	uint32_t stack = 0;
	for (size_t i = script->frames.count; i-- > 0;)
		stack = stacks_add(script->tables->stacks, stack, script->frames.items[i]);
	script->frames.count = 0;
	script->sample.sample.stack = stack;
	int error = 0;
	if (!(script->sample.sample.flags & SAMPLE_NO_TASK) && script->sample.sample.comm) {
		uint64_t *known = map_put(&script->task_names, script->sample.tid);
		if (*known != script->sample.sample.comm)
			error = push_task(script, known);
	}
	if (!error)
		error = sink_push(script->sink, &script->sample);
	return error ? error : push_watermark(script);
}

static uint32_t event_name(struct script *script, const char *text, size_t size) {
	if (size == script->last_event_size && memcmp(text, script->last_event, size) == 0)
		return script->last_event_id;
	uint32_t id = strings_add_bytes(script->tables->strings, text, size);
	if (size && size <= sizeof(script->last_event)) {
		memcpy(script->last_event, text, size);
		script->last_event_size = (uint32_t)size;
		script->last_event_id = id;
	}
	return id;
}

static void bad_line(struct script *script) {
	if (!script->bad_lines++)
		script->first_bad_line = script->line;
}

static int open_sample(struct script *script, const struct script_header *header) {
	int error = close_sample(script);
	if (error)
		return error;
	struct strings *strings = script->tables->strings;
	uint32_t flags = !header->has_task ? SAMPLE_NO_TASK : !header->has_pid ? SAMPLE_NO_PID : 0;
	script->sample = (struct event){
		.kind = EVENT_SAMPLE,
		.time = header->time,
		.cpu = header->has_cpu ? header->cpu : CPU_NONE,
		.tid = header->tid,
		.pid = header->has_pid ? header->pid : 0,
		.sample = {.weight = header->period ? header->period : 1,
			   .name = event_name(script, header->event.text, header->event.size),
			   .comm = strings_add_bytes(strings, header->comm.text, header->comm.size),
			   .flags = flags},
	};
	script->rest.size = 0;
	if (header->rest.size)
		buffer_append(&script->rest, header->rest.text, header->rest.size);
	script->state = STATE_HEADER;
	return 0;
}

// ---- lines ----

static int take_header(struct script *script, const char *line, size_t size) {
	struct script_header header;
	if (!script_header(line, size, &header)) {
		bad_line(script);
		return close_sample(script);
	}
	if (header.other) { // a record that is not a sample: --show-mmap-events and the like
		return close_sample(script);
	}
	return open_sample(script, &header);
}

// The line of the code in the last frame, if the writer wants it.
static void set_line(struct script *script, struct slice file, uint32_t line) {
	struct tables *tables = script->tables;
	if (!tables->places || !file.size || !script->frames.count)
		return;
	uint32_t *last = &script->frames.items[script->frames.count - 1];
	struct frame frame = *stacks_frame(tables->stacks, *last);
	frame.at_file = strings_add_bytes(tables->strings, file.text, file.size);
	frame.at_line = line;
	*last = stacks_add_frame(tables->stacks, &frame);
}

// With -F +srcline, perf prints the source location after each frame.
static bool take_source_line(struct script *script, const char *line, size_t size) {
	bool own = script->state == STATE_HEADER && script->rest.size;
	if ((script->state != STATE_FRAMES && !own) || !script_is_source_line(line, size))
		return false;
	uint32_t number;
	struct slice file = script_source(line, size, &number);
	if (own) {
		add_own_frame(script);
		script->rest.size = 0;
	}
	set_line(script, file, number);
	return true;
}

// perf indents frames with a tab. A line that starts with a blank is usually a
// header whose name or number is padded, unless the tabs have been expanded.
static int take_indented(struct script *script, const char *line, size_t size) {
	struct script_header header;
	struct script_frames frames;
	if (line[0] != '\t' && script_header(line, size, &header) && header.strict)
		return take_header(script, line, size);
	if (!script_frame(script->lines, line, size, &frames)) {
		if (!take_source_line(script, line, size))
			bad_line(script);
		return 0;
	}
	if (script->state == STATE_BETWEEN) { // frames without a header: -F ip,sym
		int error = open_sample(
			script, &(struct script_header){.comm = {"", 0}, .event = {"", 0}, .rest = {"", 0}});
		if (error)
			return error;
	}
	script->state = STATE_FRAMES;
	add_frames(script, &frames);
	return 0;
}

static int take_line(void *context, const char *line, size_t size) {
	struct script *script = context;
	script->line++;
	if (size && line[size - 1] == '\r')
		size--;
	// A blank line ends a sample, unless its frames are still to come.
	if (size == 0)
		return script->state == STATE_FRAMES ? close_sample(script) : 0;
	if (line[0] == '#')
		return 0;
	bool indented = line[0] == ' ' || line[0] == '\t';
	// The indentation may have been stripped; frames are then recognized by their end.
	if (indented || (script->state != STATE_BETWEEN && line[size - 1] == ')'))
		return take_indented(script, line, size);
	return take_header(script, line, size);
}

static const struct line_format format = {.expected = "output of perf script", .take = take_line};

static int read_text(struct stream *input, const char *name, const struct read_options *options,
		     struct tables *tables, struct sink *sink) {
	struct script script = {.tables = tables, .sink = sink};
	script.lines = script_lines_new(tables);
	int error = lines_read(input, name, &format, &script);
	if (!error)
		error = close_sample(&script);
	if (!error && script.bad_lines)
		log_warning("%s: skipped %" PRIu64
			    " line%s not output of perf script, the first is line %" PRIu64,
			    name, script.bad_lines, script.bad_lines == 1 ? " that is" : "s that are",
			    script.first_bad_line);
	script_lines_free(script.lines);
	array_free(&script.frames);
	buffer_free(&script.rest);
	map_free(&script.task_names);
	return error;
}

static int read_perf_script(struct stream *input, const char *name, struct tables *tables,
			    struct sink *sink) {
	return reader_in_order(read_text, input, name, NULL, tables, sink);
}

// Text that begins with perf's comments or contains a line that looks like a header.
static bool probe(const uint8_t *head, size_t size) {
	if (memchr(head, 0, size))
		return false;
	const char *at = (const char *)head, *end = at + size;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		struct script_header header;
		if (at < stop && *at != '#' && script_header(at, (size_t)(stop - at), &header) &&
		    header.strict)
			return true;
		at = stop + 1;
	}
	return size > 11 && memcmp(head, "# ========\n", 11) == 0;
}

const struct reader perf_script_reader = {
	.name = "perf-script",
	.extension = "perf-script",
	.description = "output of perf script",
	.probe = probe,
	.read = read_perf_script,
};
