#include "event/event_stacks.h"
#include "event/points.h"

#include <stdlib.h>
#include <string.h>

#define CALL_PREFIX "sys_enter_"

enum { MOST_CALLS = 512, POINTS_MASK = (1 << STACK_CALL_SHIFT) - 1 };

static const struct {
	const char *name;
	int event;
} others[] = {
	{"sched_waking", STACK_AT_WAKING},
	{"task_newtask", STACK_AT_NEWTASK},
	{"softirq_entry", STACK_AT_SOFTIRQ},
};

static bool is_call(const char *name) {
	return strncmp(name, CALL_PREFIX, strlen(CALL_PREFIX)) == 0;
}

static int find_call(const char *machine, const char *name) {
	for (int i = 0; i < MOST_CALLS; i++) {
		const char *call = system_call_name(machine, (uint64_t)i);
		if (call && strcmp(call, name) == 0)
			return POINT_SYS_ENTER | i << STACK_CALL_SHIFT;
	}
	return NO_STACK_EVENT;
}

int stack_event_find(const char *machine, const char *name) {
	if (is_call(name))
		return find_call(machine, name + strlen(CALL_PREFIX));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i].name, name) == 0)
			return others[i].event;
	for (int i = 0; i < POINT_COUNT; i++)
		if (strcmp(points[i].name, name) == 0)
			return i;
	return NO_STACK_EVENT;
}

uint32_t stack_event_name(struct strings *strings, const char *machine, uint32_t event) {
	uint32_t point = event & POINTS_MASK, number = event >> STACK_CALL_SHIFT;
	if (point == POINT_SYS_ENTER) {
		const char *call = system_call_name(machine, number);
		CLEANUP_FREE char *name = call ? memory_format(CALL_PREFIX "%s", call)
					       : memory_format(CALL_PREFIX "%u", number);
		return strings_add(strings, name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (point == (uint32_t)others[i].event)
			return strings_add(strings, others[i].name);
	return strings_add(strings, point < POINT_COUNT ? points[point].name : "event");
}

bool stack_event_is(const char *name) {
	return is_call(name) || stack_event_find("", name) != NO_STACK_EVENT;
}
