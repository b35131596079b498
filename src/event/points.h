// Kernel events that need no specific code between the kernel and a trace: a number, the task, up to
// four values. format/point_table.h describes the values for writers and readers; a new event is an
// entry there and a program in capture/bpf/points.bpf.c.
#pragma once

#include "event/event.h"
#include "format/record.h"

// Code is a kernel function: its address in a spool, the string of its name after locate.h. A word
// names what other fields already say: it is shown, and never read back.
enum point_type {
	POINT_UINT,
	POINT_INT,
	POINT_HEX,
	POINT_TEXT,
	POINT_LIST,
	POINT_CODE,
	POINT_WORD,
	POINT_STATE
};

enum { POINT_SMALL = POINT_VALUES, POINT_MOST_FIELDS = 10 };

// Some bits of a value. A text has 8 bytes in each value; a list is all values that are left.
struct point_field {
	const char *name;
	uint8_t number; // in Perfetto's message
	uint8_t type;   // enum point_type
	uint8_t place;  // of the value, or POINT_SMALL
	uint8_t shift;
	uint8_t bits; // 0 for all from the shift on; for a text, its bytes
};

struct point {
	const char *group, *name; // as in tracefs
	uint8_t source;           // enum event_source
	uint8_t values;
	uint32_t message; // in Perfetto's FtraceEvent; 0 if it has none: a generic event
	struct point_field fields[POINT_MOST_FIELDS];
};

extern const struct point points[POINT_COUNT];

// Has it a field that is a function of the kernel?
bool point_names_code(const struct point *point);

uint64_t point_value(const struct event *event, const struct point_field *field);
void point_set(struct event *event, const struct point_field *field, uint64_t value);

// The bytes of a text, and their number before the first NUL.
const char *point_text(const struct event *event, const struct point_field *field, size_t *size);
void point_set_text(struct event *event, const struct point_field *field, const char *text, size_t size);

// The word for a value; NULL if there is none.
const char *point_word(const struct event *event, const struct point_field *field);

size_t point_list(const struct event *event, const struct point_field *field); // how many values

// The name of a system call on this machine ("x86_64", "aarch64"); NULL if unknown.
const char *system_call_name(const char *machine, uint64_t number);
