#include "event/joins.h"

enum { UNKNOWN = 0, OUTSIDE = TID_OUTSIDE + 1 };

static bool is_outside(const struct event *event) {
	return event->switched.outside || event->tid >= TID_OUTSIDE;
}

// Of foreign tasks only some switches are recorded, of the test's tasks all: one that leaves without having
// come is a gap, too.
bool joins_miss(struct joins *cpu, const struct event *event) {
	bool missing = false;
	if (event->kind == EVENT_SWITCH) {
		bool joins = cpu->current == OUTSIDE ? is_outside(event) : cpu->current == event->tid + 1ull;
		missing = cpu->current != UNKNOWN && !joins;
		bool followed = event->switched.next_tid < TID_OUTSIDE &&
				(!(event->switched.outside && event->switched.next_outside) ||
				 event->switched.followed);
		cpu->current = followed ? event->switched.next_tid + 1ull : OUTSIDE;
	} else if (event->kind == EVENT_EXEC && cpu->current == event->exec.old_tid + 1ull) {
		cpu->current = event->tid + 1ull;
	} else if (event->kind == EVENT_LOST) {
		cpu->current = UNKNOWN;
	}
	return missing;
}
