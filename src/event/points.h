// Events of the kernel that need no code of their own on their way from the kernel into a trace and
// back: a number, the task, up to four values. What the values mean is a table, points.c, by which
// the writers and readers go; a new event is a line there and a program in capture/bpf/points.bpf.c.
#pragma once

#include "event/event.h"
#include "event/record.h"

// Code is a function of the kernel: in a spool its address, from locate.h on the string of its name.
// A word says in other words what other fields do: it is shown, and never read.
enum point_type { POINT_UINT, POINT_INT, POINT_HEX, POINT_TEXT, POINT_LIST, POINT_CODE, POINT_WORD };

enum { POINT_SMALL = POINT_VALUES, POINT_MOST_FIELDS = 10 };

// Some bits of a value; a text has 8 bytes in each value; a list is as many values as are left.
struct point_field {
	const char *name;
	uint8_t number; // in Perfetto's message
	uint8_t type;   // enum point_type
	uint8_t place;  // of the value, or POINT_SMALL
	uint8_t shift;
	uint8_t bits; // 0: all from the shift on; of a text: its bytes
};

struct point {
	const char *group, *name; // as tracefs has them
	uint8_t source;           // enum event_source
	uint8_t values;
	bool code;        // has a field that is a function
	uint32_t message; // in Perfetto's FtraceEvent; 0: it has none, the event is a generic one
	struct point_field fields[POINT_MOST_FIELDS];
};

extern const struct point points[POINT_COUNT];

uint64_t point_value(const struct event *event, const struct point_field *field);
void point_set(struct event *event, const struct point_field *field, uint64_t value);

// The bytes of a text, and how many there are before the first NUL.
const char *point_text(const struct event *event, const struct point_field *field, size_t *size);
void point_set_text(struct event *event, const struct point_field *field, const char *text, size_t size);

// A word of a few; NULL: there is none for this value.
const char *point_word(const struct event *event, const struct point_field *field);

size_t point_list(const struct event *event, const struct point_field *field); // how many values

// What a system call is called on this machine ("x86_64", "aarch64"); NULL: nobody knows.
const char *system_call_name(const char *machine, uint64_t number);
