// Describes any event as a provider, a name and fields, for sinks that show events one by
// one. Remembers the tasks it has seen, so that it can name processes.
#pragma once

#include "event/event.h"

struct known_task {
	uint32_t pid, name;
};

struct describer {
	struct tables *tables;
	struct map tasks; // tid to index + 1
	ARRAY(struct known_task) list;
	ARRAY(struct event_field) fields; // of the event described last
	uint32_t machine; // string: the architecture, which decides the numbers of system calls
	uint64_t start;   // of the recording, or else its first event
	bool started;
};

struct described {
	const char *provider, *name;
	uint32_t pid;
	const char *process; // "" if unknown
	const struct event_field *fields;
	uint32_t count;
};

void describer_init(struct describer *describer, struct tables *tables);
void describer_free(struct describer *describer);

// Remembers what the event says about tasks. Call it before describe().
void describer_learn(struct describer *describer, const struct event *event);
// Nanoseconds since the recording began.
static inline uint64_t describer_since(const struct describer *describer, uint64_t time) {
	return time > describer->start ? time - describer->start : 0;
}

const char *describer_process(const struct describer *describer, uint32_t pid);
const char *describer_thread(const struct describer *describer, uint32_t tid);
uint32_t describer_pid(const struct describer *describer, uint32_t tid); // 0 if unknown

const char *describer_call(const struct describer *describer, uint64_t number); // or NULL

// False if the event is about the whole trace and there is nothing to show.
bool describe(struct describer *describer, const struct event *event, struct described *out);
