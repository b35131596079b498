// The lines of `perf script` text, taken apart; perf_script.c puts them together.
#pragma once

#include "event/event.h"

struct slice {
	const char *text;
	size_t size;
};

struct script_header {
	struct slice comm, event;
	struct slice rest; // what stands behind the event, without blanks around it
	uint64_t time;     // nanoseconds
	uint64_t period;   // 0: not told
	uint32_t pid, tid, cpu;
	bool has_task, has_pid, has_cpu;
	bool strict; // sure to be a header: it has a time or an event behind a task
	bool other;  // of a record that is not a sample
};

// False: it cannot be a header. A line of one short word is taken for a name.
bool script_header(const char *line, size_t size, struct script_header *header);

// A frame's line gives several frames where a JIT compiler's name tells of inlined
// calls; innermost first. They live until the next call.
struct script_frames {
	const uint32_t *ids;
	size_t count;
};

struct script_lines;
struct script_lines *script_lines_new(struct tables *tables);
void script_lines_free(struct script_lines *lines);

// False: this is no frame's line. A line that stands for nothing has no frames.
bool script_frame(struct script_lines *lines, const char *line, size_t size, struct script_frames *frames);
bool script_is_source_line(const char *line, size_t size);
