#include "session/census.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

// The task of the test that has a CPU, and since when.
struct running {
	uint64_t since;
	uint32_t tid; // 0 if none, or unknown
};

struct counter {
	struct sink sink, *next;
	struct census *census;
	const struct strings *strings;
	ARRAY(struct running) processors; // the first is for events without a CPU
	struct map processes;             // pid → string id of its name
	uint64_t last;                    // time
};

// ---- CPU time ----

static struct running *running_on(struct counter *counter, uint32_t cpu) {
	size_t index = cpu < CPU_COUNT_MOST ? cpu + 1 : 0;
	while (counter->processors.count <= index)
		array_push(&counter->processors, (struct running){0});
	return &counter->processors.items[index];
}

// Time before a missing switch is left out.
static void count_switch(struct counter *counter, const struct event *event) {
	struct running *running = running_on(counter, event->cpu);
	if (running->tid && running->tid == event->tid && !event->switched.outside)
		counter->census->cpu_time += event->time - MIN(running->since, event->time);
	bool ours = !event->switched.next_outside && event->switched.next_tid < TID_OUTSIDE;
	*running = (struct running){.since = event->time, .tid = ours ? event->switched.next_tid : 0};
}

// Tasks still running when the recording ends have used their CPU until then.
static void count_last(struct counter *counter) {
	for (size_t i = 0; i < counter->processors.count; i++) {
		const struct running *running = &counter->processors.items[i];
		if (running->tid)
			counter->census->cpu_time += counter->last - MIN(running->since, counter->last);
	}
}

// ---- processes ----

// Only processes that started during the recording: tasks listed at the start have pids of this
// process's namespace, events have the kernel's.

static void take_exec(struct counter *counter, const struct event *event) {
	struct running *running = running_on(counter, event->cpu);
	if (running->tid && running->tid == event->exec.old_tid)
		running->tid = event->tid;
	*map_put(&counter->processes, event->pid) = event->exec.name;
}

static void take_task(struct counter *counter, uint32_t tid, uint32_t pid, uint32_t name) {
	if (tid == pid)
		*map_put(&counter->processes, pid) = name;
}

static int by_id(const void *left, const void *right) {
	const struct census_process *a = left, *b = right;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static void list_processes(struct counter *counter) {
	struct census *census = counter->census;
	for (size_t i = 0; i < counter->processes.capacity; i++) {
		const struct map_slot *slot = &counter->processes.slots[i];
		if (slot->used)
			array_push(&census->alive, (struct census_process){.pid = (uint32_t)slot->key,
									   .name = memory_string(strings_get(
										   counter->strings,
										   (uint32_t)slot->value))});
	}
	if (census->alive.count)
		qsort(census->alive.items, census->alive.count, sizeof(*census->alive.items), by_id);
}

// ---- the facts ----

static void take_fact(struct counter *counter, const struct event *event) {
	const char *key = strings_get(counter->strings, event->meta.key);
	const struct {
		const char *key;
		char **value;
	} facts[] = {{"backend", &counter->census->backend}, {"scope", &counter->census->scope}};
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		if (strcmp(key, facts[i].key) == 0) {
			free(*facts[i].value);
			*facts[i].value = memory_string(strings_get(counter->strings, event->meta.value));
		}
}

// ---- the sink ----

static void take(struct counter *counter, const struct event *event) {
	switch (event->kind) {
	case EVENT_META:
		take_fact(counter, event);
		break;
	case EVENT_FORK:
		take_task(counter, event->fork.child_tid, event->fork.child_pid, event->fork.name);
		break;
	case EVENT_RENAME:
		if (map_get(&counter->processes, event->tid))
			take_task(counter, event->tid, event->pid, event->rename.name);
		break;
	case EVENT_EXEC:
		take_exec(counter, event);
		break;
	case EVENT_EXIT:
		if (event->exit.last)
			map_delete(&counter->processes, event->pid);
		break;
	case EVENT_SWITCH:
		count_switch(counter, event);
		break;
	case EVENT_LOST:
		running_on(counter, event->cpu)->tid = 0;
		break;
	}
}

static int push(struct sink *sink, const struct event *event) {
	struct counter *counter = CONTAINER_OF(sink, struct counter, sink);
	take(counter, event);
	// The recording's last clock reading was taken at its end.
	if (event->kind == EVENT_SWITCH || event->kind == EVENT_EXIT || event->kind == EVENT_CLOCK)
		counter->last = MAX(counter->last, event->time);
	return sink_push(counter->next, event);
}

static int finish(struct sink *sink) {
	struct counter *counter = CONTAINER_OF(sink, struct counter, sink);
	count_last(counter);
	list_processes(counter);
	return sink_finish(counter->next);
}

static void destroy(struct sink *sink) {
	struct counter *counter = CONTAINER_OF(sink, struct counter, sink);
	sink_destroy(counter->next);
	array_free(&counter->processors);
	map_free(&counter->processes);
	free(counter);
}

static struct sink *open_counter(void *census, struct tables *tables, struct sink *next) {
	struct counter *counter = memory_alloc(sizeof(*counter));
	census_free(census);
	*counter = (struct counter){.sink = {.push = push, .finish = finish, .destroy = destroy},
				    .next = next,
				    .census = census,
				    .strings = tables->strings};
	return &counter->sink;
}

struct tap census_tap(struct census *census) {
	return (struct tap){open_counter, census};
}

void census_free(struct census *census) {
	for (size_t i = 0; i < census->alive.count; i++)
		free(census->alive.items[i].name);
	array_free(&census->alive);
	free(census->backend);
	free(census->scope);
	*census = (struct census){0};
}
