// Completes events after the orderer of the Perfetto reader. A trace names tasks
// by thread id where it can; the process, the task on a CPU, its priority and
// whether it belongs to the test follow from earlier events, and "earlier" is
// known only once the events of all CPUs are in order.
#include "read/perfetto/perfetto.h"

enum { NAME_MOST = 15 };

struct known {
	uint32_t pid, parent_pid, name;
	uint32_t cpu; // CPU where it was last seen, + 1
	int16_t priority;
	bool mine;      // belongs to the test
	bool described; // its name came from an event about tasks, not only from a switch
	bool exited;    // its exit was recorded
};

struct running {
	uint32_t tid;         // NO_TID if unknown
	uint32_t before_loss; // last task before a gap of lost records; must have left during the gap
};

struct tasks {
	struct sink sink;
	struct sink *next;
	struct strings *strings;
	struct map index; // tid to index + 1
	ARRAY(struct known) list;
	ARRAY(struct running) cpus;
	bool tree_scope;
};

static struct known *find(const struct tasks *tasks, uint32_t tid) {
	const uint64_t *index = map_get(&tasks->index, tid);
	return index ? &tasks->list.items[*index - 1] : NULL;
}

static struct known *know(struct tasks *tasks, uint32_t tid) {
	uint64_t *index = map_put(&tasks->index, tid);
	if (!*index) {
		array_push(&tasks->list, (struct known){0});
		*index = tasks->list.count;
	}
	return &tasks->list.items[*index - 1];
}

static uint32_t pid_of(const struct tasks *tasks, uint32_t tid) {
	const struct known *known = find(tasks, tid);
	return known ? known->pid : 0;
}

static bool is_outside(const struct tasks *tasks, uint32_t tid) {
	const struct known *known = tid ? find(tasks, tid) : NULL;
	return tid == TID_OUTSIDE || (tasks->tree_scope && tid < TID_LOST && !(known && known->mine));
}

static struct running *running_on(struct tasks *tasks, uint32_t cpu) {
	while (tasks->cpus.count <= cpu)
		array_push(&tasks->cpus, (struct running){.tid = NO_TID});
	return &tasks->cpus.items[cpu];
}

// ---- one function for each kind of event ----

static int pass(struct tasks *tasks, const struct event *event) {
	return sink_push(tasks->next, event);
}

// An exited task no longer belongs to the test: its id may be reused.
static void left_cpu(struct known *known, uint16_t state) {
	if (known->exited && (state == STATE_DEAD || state == STATE_ZOMBIE))
		known->mine = false;
}

static int take_switch(struct tasks *tasks, struct event *event) {
	struct running *cpu = running_on(tasks, event->cpu);
	bool full = event->tid != NO_TID;
	uint32_t next = event->switched.next_tid;
	if (!full)
		event->tid = cpu->tid;
	// Our writer starts a CPU that initially runs others this way, and so ends a thread that
	// continues as its process.
	bool artificial = (full && !event->tid && next == TID_OUTSIDE && cpu->tid == NO_TID) ||
			  (next == event->tid && event->switched.state == STATE_DEAD);
	if (next >= TID_LOST)
		cpu->before_loss = event->tid;
	cpu->tid = next;
	struct known *known = know(tasks, next);
	known->priority = event->switched.next_priority;
	known->cpu = event->cpu + 1;
	if (event->switched.next_name)
		known->name = event->switched.next_name;
	if (artificial || event->tid == NO_TID)
		return 0;
	event->switched.outside = is_outside(tasks, event->tid);
	event->switched.next_outside = is_outside(tasks, next);
	// A task outside the test has a name only while it is followed.
	event->switched.followed = event->switched.outside && event->switched.next_outside &&
				   next < TID_OUTSIDE;
	known = find(tasks, event->tid);
	if (!full && known)
		event->switched.priority = known->priority;
	if (known)
		left_cpu(known, event->switched.state);
	return pass(tasks, event);
}

static int take_waking(struct tasks *tasks, struct event *event) {
	const struct running *cpu = running_on(tasks, event->cpu);
	if (event->tid == NO_TID)
		event->tid = cpu->tid != NO_TID && cpu->tid >= TID_LOST ? cpu->before_loss : cpu->tid;
	bool known_task = event->tid < TID_OUTSIDE;
	event->waking.waker_outside = is_outside(tasks, event->tid);
	if (waker_is_interrupt(event->waking.context, !known_task || event->waking.waker_outside)) {
		event->tid = 0;
		event->waking.waker_outside = false;
		return pass(tasks, event);
	}
	if (!known_task)
		return 0; // the waker is unknown
	const struct known *known = find(tasks, event->tid);
	if (event->waking.waker_outside && known)
		event->waking.waker_name = known->name;
	return pass(tasks, event);
}

// A task that is announced again has been renamed; our writer does so if the task's CPU is unknown.
static bool is_known(const struct tasks *tasks, const struct known *known, const struct event *event) {
	const char *line = strings_get(tasks->strings, event->task.command_line);
	const char *name = strings_get(tasks->strings, event->task.name);
	return known->described && !known->exited && known->pid == event->pid && event->task.name &&
	       (event->tid != event->pid ||
		(known->parent_pid == event->task.parent_pid && strcmp(line, name) == 0 &&
		 strings_length(tasks->strings, event->task.command_line) == strlen(name) + 1));
}

static int take_task(struct tasks *tasks, struct event *event) {
	struct known *known = know(tasks, event->tid);
	if (is_known(tasks, known, event)) {
		bool renamed = known->name != event->task.name;
		known->name = event->task.name;
		struct event rename = {.kind = EVENT_RENAME,
				       .time = event->time,
				       .cpu = CPU_NONE,
				       .tid = event->tid,
				       .pid = event->pid,
				       .rename = {.name = event->task.name}};
		return renamed ? pass(tasks, &rename) : 0;
	}
	if (!event->task.name)
		event->task.name = known->name;
	if (!event->task.name) {
		const char *line = strings_get(tasks->strings, event->task.command_line);
		const char *slash = strrchr(line, '/');
		line = slash ? slash + 1 : line;
		event->task.name = strings_add_bytes(tasks->strings, line, strnlen(line, NAME_MOST));
	}
	const struct known *leader = event->tid != event->pid ? find(tasks, event->pid) : NULL;
	if (leader && !event->task.parent_pid)
		event->task.parent_pid = leader->parent_pid;
	known->pid = event->pid;
	known->parent_pid = event->task.parent_pid;
	known->name = event->task.name;
	known->mine = known->described = true;
	known->exited = false;
	return pass(tasks, event);
}

static int take_fork(struct tasks *tasks, struct event *event) {
	uint32_t pid = pid_of(tasks, event->tid);
	bool thread = !event->fork.child_pid;
	event->pid = pid ? pid : event->tid;
	// A thread without a known process counts as a process.
	if (thread)
		event->fork.child_pid = is_task(event->pid) ? event->pid : event->fork.child_tid;
	thread = event->fork.child_pid != event->fork.child_tid;
	const struct known *leader = find(tasks, event->pid);
	event->fork.parent_pid = !thread ? event->pid : leader ? leader->parent_pid : 0;
	*know(tasks, event->fork.child_tid) = (struct known){.pid = event->fork.child_pid,
							     .parent_pid = event->fork.parent_pid,
							     .name = event->fork.name,
							     .mine = true,
							     .described = true};
	return pass(tasks, event);
}

// The CPU was stored in the id: after an exec the task has its process's id.
static int take_exec(struct tasks *tasks, struct event *event) {
	struct known *known = know(tasks, event->pid);
	uint32_t cpu = event->tid, old = event->exec.old_tid ? event->exec.old_tid : event->pid;
	event->tid = event->pid;
	event->exec.old_tid = old;
	if (!event->exec.name)
		event->exec.name = known->name;
	if (cpu >= CPU_COUNT_MOST) {
		const struct known *caller = find(tasks, old);
		cpu = caller && caller->cpu ? caller->cpu - 1 : CPU_NONE;
		known = find(tasks, event->pid);
	}
	event->cpu = cpu;
	known->pid = event->pid;
	known->name = event->exec.name;
	known->mine = known->described = true;
	known->exited = false;
	if (old != event->tid && cpu < CPU_COUNT_MOST && running_on(tasks, cpu)->tid == old)
		running_on(tasks, cpu)->tid = event->tid;
	return pass(tasks, event);
}

static int take_rename(struct tasks *tasks, struct event *event) {
	struct known *known = know(tasks, event->tid);
	bool only_named = event->pid == NO_TID && !known->mine;
	known->name = event->rename.name;
	event->pid = known->pid;
	if (only_named && tasks->tree_scope)
		return 0;
	known->described = true;
	return pass(tasks, event);
}

static int take_exit(struct tasks *tasks, struct event *event) {
	struct known *known = know(tasks, event->tid);
	if (known->exited)
		return 0;
	known->exited = true;
	if (!event->pid)
		event->pid = known->pid ? known->pid : event->tid;
	if (event->cpu >= CPU_COUNT_MOST && known->cpu)
		event->cpu = known->cpu - 1;
	if (!known->pid)
		known->pid = event->pid;
	known->mine = true;
	return pass(tasks, event);
}

static int take_crash(struct tasks *tasks, struct event *event) {
	const struct known *known = find(tasks, event->tid);
	event->crash.name = known ? known->name : 0;
	return pass(tasks, event);
}

static int take_sample(struct tasks *tasks, struct event *event) {
	const struct known *known = event->tid ? find(tasks, event->tid) : NULL;
	if (known && !known->described)
		event->sample.comm = known->name;

	return pass(tasks, event);
}

static int (*const handlers[EVENT_KIND_COUNT])(struct tasks *, struct event *) = {
	[EVENT_TASK] = take_task, [EVENT_SWITCH] = take_switch, [EVENT_WAKING] = take_waking,
	[EVENT_FORK] = take_fork, [EVENT_EXEC] = take_exec,     [EVENT_RENAME] = take_rename,
	[EVENT_EXIT] = take_exit, [EVENT_CRASH] = take_crash,   [EVENT_SAMPLE] = take_sample,
};

// ---- the sink ----

static int push(struct sink *sink, const struct event *event) {
	struct tasks *tasks = CONTAINER_OF(sink, struct tasks, sink);
	if (!handlers[event->kind])
		return pass(tasks, event);
	struct event whole = *event;
	return handlers[event->kind](tasks, &whole);
}

// The caller's sink belongs to the caller: do not finish it.
static int finish(struct sink *sink) {
	return 0;
}

static void destroy(struct sink *sink) {
	struct tasks *tasks = CONTAINER_OF(sink, struct tasks, sink);
	map_free(&tasks->index);
	array_free(&tasks->list);
	array_free(&tasks->cpus);
	free(tasks);
}

struct sink *perfetto_tasks_new(struct tables *tables, struct sink *next, bool tree_scope) {
	struct tasks *tasks = memory_alloc(sizeof(*tasks));
	tasks->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	tasks->next = next;
	tasks->strings = tables->strings;
	tasks->tree_scope = tree_scope;
	return &tasks->sink;
}
