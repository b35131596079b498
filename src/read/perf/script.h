// Parses single lines of `perf script` output; script.c assembles them into samples.
#pragma once

#include "event/event.h"

struct slice {
	const char *text;
	size_t size;
};

struct script_header {
	struct slice comm, event;
	struct slice rest; // text after the event, trimmed
	uint64_t time;     // nanoseconds
	uint64_t period;   // 0 if missing
	uint32_t pid, tid, cpu;
	bool has_task, has_pid, has_cpu;
	bool strict; // certainly a header: has a time, or an event after a task
	bool other;  // a record that is not a sample
};

// False if the line cannot be a header. A line of one short word counts as a name.
bool script_header(const char *line, size_t size, struct script_header *header);
// The frame of a sample without a call chain: the part of `rest` that begins with the instruction pointer.
// Data may precede it: an address (-F addr), what a memory access did (perf mem), weights. Empty if there is
// no frame.
struct slice script_own_frame(struct slice rest);

// A line yields several frames if a JIT compiler's name lists inlined calls; innermost first. Valid
// until the next call.
struct script_frames {
	const uint32_t *ids;
	size_t count;
};

struct script_lines;
struct script_lines *script_lines_new(struct tables *tables);
void script_lines_free(struct script_lines *lines);

// False if the line is not a frame. A placeholder line yields no frames.
bool script_frame(struct script_lines *lines, const char *line, size_t size, struct script_frames *frames);
// "  main.c:12", or the placeholder for an unknown location, which has no line.
bool script_is_source_line(const char *line, size_t size);
struct slice script_source(const char *line, size_t size, uint32_t *number); // its file; empty if unknown

// A name of Rust that was demangled as one of C++, as Rust spells it. False if it is not such a name.
struct buffer;
bool script_rust_name(struct slice name, struct buffer *out);
