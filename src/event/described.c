#include "event/described.h"
#include "event/number_names.h"
#include "event/points.h"

#include <string.h>

void describer_init(struct describer *describer, struct tables *tables) {
	*describer = (struct describer){.tables = tables};
}

void describer_free(struct describer *describer) {
	map_free(&describer->tasks);
	array_free(&describer->list);
	array_free(&describer->fields);
}

// ---- tasks ----

static const struct known_task *find(const struct describer *describer, uint32_t tid) {
	const uint64_t *index = map_get(&describer->tasks, tid);
	return index ? &describer->list.items[*index - 1] : NULL;
}

static void know(struct describer *describer, uint32_t tid, uint32_t pid, uint32_t name) {
	uint64_t *index = map_put(&describer->tasks, tid);
	if (!*index) {
		array_push(&describer->list, (struct known_task){0});
		*index = describer->list.count;
	}
	struct known_task *task = &describer->list.items[*index - 1];
	if (pid)
		task->pid = pid;
	if (name)
		task->name = name;
}

void describer_learn(struct describer *describer, const struct event *event) {
	const struct known_task *forker;
	bool begins = (event->kind == EVENT_START && event->time) || event->kind > EVENT_TASK;
	if (begins && !describer->started) {
		describer->start = event->time;
		describer->started = true;
	}
	switch (event->kind) {
	case EVENT_META:
		if (strcmp(strings_get(describer->tables->strings, event->meta.key), "machine") == 0)
			describer->machine = event->meta.value;
		break;
	case EVENT_TASK:
		know(describer, event->tid, event->pid, event->task.name);
		break;
	case EVENT_FORK:
		forker = find(describer, event->tid);
		know(describer, event->fork.child_tid, event->fork.child_pid,
		     event->fork.name ? event->fork.name
		     : forker         ? forker->name
				      : 0);
		break;
	case EVENT_EXEC:
		know(describer, event->tid, event->pid, event->exec.name);
		break;
	case EVENT_RENAME:
		know(describer, event->tid, event->pid, event->rename.name);
		break;
	case EVENT_SWITCH:
		if (event->switched.next_name)
			know(describer, event->switched.next_tid, 0, event->switched.next_name);
		break;
	default:
		break;
	}
}

const char *describer_thread(const struct describer *describer, uint32_t tid) {
	const struct known_task *task = find(describer, tid);
	return task ? strings_get(describer->tables->strings, task->name) : "";
}

const char *describer_process(const struct describer *describer, uint32_t pid) {
	return pid ? describer_thread(describer, pid) : "";
}

uint32_t describer_pid(const struct describer *describer, uint32_t tid) {
	const struct known_task *task = find(describer, tid);
	return task ? task->pid : 0;
}

const char *describer_call(const struct describer *describer, uint64_t number) {
	const char *machine = strings_get(describer->tables->strings, describer->machine);
	return system_call_name(*machine ? machine : "x86_64", number);
}

// ---- fields ----

static void add_uint(struct describer *describer, const char *name, uint64_t value) {
	array_push(&describer->fields, (struct event_field){.name = name, .type = FIELD_UINT, .uint = value});
}

static void add_int(struct describer *describer, const char *name, int64_t value) {
	array_push(&describer->fields, (struct event_field){.name = name, .type = FIELD_INT, .sint = value});
}

static void add_bool(struct describer *describer, const char *name, bool value) {
	array_push(&describer->fields, (struct event_field){.name = name, .type = FIELD_BOOL, .uint = value});
}

static void add_hex(struct describer *describer, const char *name, uint64_t value) {
	array_push(&describer->fields, (struct event_field){.name = name, .type = FIELD_HEX, .uint = value});
}

static void add_text(struct describer *describer, const char *name, const char *text, size_t size) {
	array_push(&describer->fields,
		   (struct event_field){.name = name, .type = FIELD_TEXT, .text = text, .size = size});
}

static void add_string(struct describer *describer, const char *name, uint32_t id) {
	add_text(describer, name, strings_get(describer->tables->strings, id),
		 strings_length(describer->tables->strings, id));
}

static const char *state_name(uint16_t state) {
	static const struct {
		uint16_t state;
		const char *name;
	} names[] = {
		{STATE_RUNNING, "running"},    {STATE_SLEEPING, "sleeping"}, {STATE_DISK, "uninterruptible"},
		{STATE_STOPPED, "stopped"},    {STATE_TRACED, "traced"},     {STATE_DEAD, "dead"},
		{STATE_ZOMBIE, "zombie"},      {STATE_PARKED, "parked"},     {STATE_IDLE, "idle"},
		{STATE_PREEMPTED, "preempted"}};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].state == state)
			return names[i].name;
	return "?";
}

static void add_reason(struct describer *describer, unsigned reason) {
	if (reason < WAIT_REASON_COUNT)
		add_text(describer, "wait_reason", event_wait_reasons[reason],
			 strlen(event_wait_reasons[reason]));
	else
		add_uint(describer, "wait_reason", reason);
}

// ---- one function per kind of event, in the order of the kinds ----

static void describe_task(struct describer *describer, const struct event *event) {
	add_string(describer, "name", event->task.name);
	add_uint(describer, "parent", event->task.parent_pid);
}

static void describe_switch(struct describer *describer, const struct event *event) {
	const char *state = state_name(event->switched.state);
	const char *next = describer_thread(describer, event->switched.next_tid);
	add_text(describer, "state", state, strlen(state));
	add_uint(describer, "next_tid", event->switched.next_tid);
	add_text(describer, "next_name", next, strlen(next));
	add_int(describer, "priority", event->switched.priority);
	add_int(describer, "next_priority", event->switched.next_priority);
	if (event->switched.io_wait == IO_WAIT_YES ||
	    (event->switched.io_wait == IO_WAIT_NO && event->switched.state == STATE_DISK))
		add_bool(describer, "io_wait", event->switched.io_wait == IO_WAIT_YES);
	if (event->switched.followed)
		add_bool(describer, "followed", true);
	if (event->switched.wait_reason)
		add_reason(describer, event->switched.wait_reason - 1u);
}

static void describe_waking(struct describer *describer, const struct event *event) {
	add_uint(describer, "wakee_tid", event->waking.wakee_tid);
	add_uint(describer, "target_cpu", event->waking.target_cpu);
	add_int(describer, "priority", event->waking.priority);
	if (event->waking.context)
		add_text(describer, "context",
			 event->waking.context & CONTEXT_HARDIRQ ? "hardirq" : "softirq", 7);
}

static void describe_fork(struct describer *describer, const struct event *event) {
	add_uint(describer, "child_tid", event->fork.child_tid);
	add_uint(describer, "child_pid", event->fork.child_pid);
	add_string(describer, "name", event->fork.name);
}

static void describe_exec(struct describer *describer, const struct event *event) {
	add_string(describer, "file", event->exec.file);
	add_string(describer, "arguments", event->exec.arguments);
}

static void describe_rename(struct describer *describer, const struct event *event) {
	add_string(describer, "name", event->rename.name);
}

static void describe_exit(struct describer *describer, const struct event *event) {
	if (event->exit.has_status)
		add_uint(describer, "status", event->exit.status);
	else if (!event->exit.unknown)
		add_int(describer, "code", event->exit.code);
}

static void describe_irq(struct describer *describer, const struct event *event) {
	add_uint(describer, "number", event->irq.number);
	if (event->irq.name)
		add_string(describer, "handler", event->irq.name);
}

static void describe_mapping(struct describer *describer, const struct event *event) {
	array_push(&describer->fields,
		   (struct event_field){.name = "start", .type = FIELD_HEX, .uint = event->mapping.start});
	add_uint(describer, "size", event->mapping.size);
	add_uint(describer, "offset", event->mapping.offset);
	add_string(describer, "file", event->mapping.file);
	if (event->mapping.build_id)
		add_string(describer, "build_id", event->mapping.build_id);
}

static void describe_sample(struct describer *describer, const struct event *event) {
	const struct stack *leaf = stacks_get(describer->tables->stacks, event->sample.stack);
	const struct frame *frame = leaf ? stacks_frame(describer->tables->stacks, leaf->frame) : NULL;
	add_uint(describer, "weight", event->sample.weight);
	if (frame && frame->symbol)
		add_string(describer, "function", frame->symbol);
	else if (frame && frame->address) // dropped unless addresses were asked for
		array_push(
			&describer->fields,
			(struct event_field){.name = "address", .type = FIELD_HEX, .uint = frame->address});
	if (frame && frame->module)
		add_string(describer, "module", frame->module);
}

static void describe_crash(struct describer *describer, const struct event *event) {
	add_uint(describer, "signal", event->crash.signal);
	add_int(describer, "code", event->crash.code);
	array_push(&describer->fields,
		   (struct event_field){.name = "address", .type = FIELD_HEX, .uint = event->crash.address});
	array_push(&describer->fields, (struct event_field){.name = "instruction",
							    .type = FIELD_HEX,
							    .uint = event->crash.instruction});
}

static void describe_crash_stack(struct describer *describer, const struct event *event) {
	add_string(describer, "stack", event->crash_stack.text);
}

static void describe_mark(struct describer *describer, const struct event *event) {
	static const char *const types[MARK_TYPE_COUNT] = {
		[MARK_INSTANT] = "instant",       [MARK_SLICE_BEGIN] = "slice begin",
		[MARK_SLICE_END] = "slice end",   [MARK_COUNTER] = "counter",
		[MARK_TEST_BEGIN] = "test begin", [MARK_TEST_END] = "test end"};
	add_text(describer, "type", types[event->mark.type], strlen(types[event->mark.type]));
	if (event->mark.name)
		add_string(describer, "text", event->mark.name);
	if (event->mark.type == MARK_COUNTER || event->mark.type == MARK_TEST_END)
		array_push(&describer->fields, (struct event_field){.name = "value",
								    .type = FIELD_DOUBLE,
								    .real = event->mark.value});
}

static void describe_lost(struct describer *describer, const struct event *event) {
	const char *source = event_source_names[event->lost.source];
	add_text(describer, "source", source, strlen(source));
	add_uint(describer, "count", event->lost.count);
}

static void describe_counter(struct describer *describer, const struct event *event) {
	add_string(describer, "counter", event->counter.name);
	array_push(&describer->fields,
		   (struct event_field){.name = "value", .type = FIELD_DOUBLE, .real = event->counter.value});
}

static const struct {
	const char *provider, *name;
	void (*fields)(struct describer *, const struct event *);
} kinds[EVENT_KIND_COUNT] = {
	[EVENT_TASK] = {"task", "task", describe_task},
	[EVENT_SWITCH] = {"sched", "switch", describe_switch},
	[EVENT_WAKING] = {"sched", "waking", describe_waking},
	[EVENT_FORK] = {"task", "fork", describe_fork},
	[EVENT_EXEC] = {"task", "exec", describe_exec},
	[EVENT_RENAME] = {"task", "rename", describe_rename},
	[EVENT_EXIT] = {"task", "exit", describe_exit},
	[EVENT_IRQ_ENTRY] = {"irq", "entry", describe_irq},
	[EVENT_IRQ_EXIT] = {"irq", "exit", describe_irq},
	[EVENT_SOFTIRQ_ENTRY] = {"softirq", "entry", describe_irq},
	[EVENT_SOFTIRQ_EXIT] = {"softirq", "exit", describe_irq},
	[EVENT_MAPPING] = {"task", "mapping", describe_mapping},
	[EVENT_SAMPLE] = {"sample", "", describe_sample},
	[EVENT_CRASH] = {"task", "crash", describe_crash},
	[EVENT_CRASH_STACK] = {"task", "crash_stack", describe_crash_stack},
	[EVENT_MARK] = {"mark", "mark", describe_mark},
	[EVENT_LOST] = {"trace", "lost", describe_lost},
	[EVENT_COUNTER] = {"counter", "counter", describe_counter},
};

static void add_state(struct describer *describer, const char *name, uint64_t state) {
	const char *word = socket_state_name(state);
	if (word)
		add_text(describer, name, word, strlen(word));
	else
		add_uint(describer, name, state);
}

static void add_call(struct describer *describer, const struct event *event) {
	bool exit = event->point.number == POINT_SYS_EXIT;
	if (!exit && event->point.number != POINT_SYS_ENTER)
		return;
	const char *error = exit ? error_name((int64_t)event->point.values[0]) : NULL,
		   *name = describer_call(describer, event->point.small);
	if (error)
		add_text(describer, "error", error, strlen(error));
	if (!exit && event->point.path)
		add_string(describer, "path", event->point.path);
	if (name)
		add_text(describer, "call", name, strlen(name));
}

static void describe_point(struct describer *describer, const struct event *event) {
	const struct point *point = &points[event->point.number];
	static const char *const list_names[POINT_VALUES] = {"arg0", "arg1", "arg2", "arg3"};
	for (size_t i = 0; i < POINT_MOST_FIELDS && point->fields[i].name; i++) {
		const struct point_field *field = &point->fields[i];
		size_t size;
		if (field->type == POINT_TEXT) {
			const char *text = point_text(event, field, &size);
			add_text(describer, field->name, text, size);
		} else if (field->type == POINT_WORD) {
			const char *word = point_word(event, field);
			if (word)
				add_text(describer, field->name, word, strlen(word));
		} else if (field->type == POINT_LIST) {
			for (size_t at = 0; at < point_list(event, field); at++)
				add_hex(describer, list_names[at], event->point.values[field->place + at]);
		} else if (field->type == POINT_CODE && point_value(event, field) <= UINT32_MAX) {
			add_string(describer, field->name, (uint32_t)point_value(event, field));
		} else if (field->type == POINT_HEX || field->type == POINT_CODE) {
			add_hex(describer, field->name, point_value(event, field));
		} else if (field->type == POINT_STATE) {
			add_state(describer, field->name, point_value(event, field));
		} else if (field->type == POINT_INT) {
			add_int(describer, field->name, (int64_t)point_value(event, field));
		} else {
			add_uint(describer, field->name, point_value(event, field));
		}
	}
	add_call(describer, event);
}

bool describe(struct describer *describer, const struct event *event, struct described *out) {
	const struct strings *strings = describer->tables->strings;
	uint32_t pid = event->pid ? event->pid : describer_pid(describer, event->tid);
	describer->fields.count = 0;
	*out = (struct described){.pid = pid, .process = describer_process(describer, pid)};
	if (event->kind == EVENT_GENERIC) {
		out->provider = strings_get(strings, event->generic.provider);
		out->name = strings_get(strings, event->generic.name);
		out->fields = event->generic.fields;
		out->count = event->generic.field_count;
		return true;
	}
	if (event->kind == EVENT_POINT) {
		describe_point(describer, event);
		out->provider = points[event->point.number].group;
		out->name = points[event->point.number].name;
		out->fields = describer->fields.items;
		out->count = (uint32_t)describer->fields.count;
		return true;
	}
	if (!kinds[event->kind].provider)
		return false;
	kinds[event->kind].fields(describer, event);
	out->provider = kinds[event->kind].provider;
	if (event->kind == EVENT_COUNTER && event->counter.provider)
		out->provider = strings_get(strings, event->counter.provider);
	out->name = event->kind == EVENT_SAMPLE ? strings_get(strings, event->sample.name)
						: kinds[event->kind].name;
	out->fields = describer->fields.items;
	out->count = (uint32_t)describer->fields.count;
	return true;
}
