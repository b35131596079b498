// The Perfetto writer: whatever events come, in whatever order, the trace is valid.
#include "trace_run.h"

#include <math.h>

static uint64_t random_state;

static uint32_t dice(uint32_t sides) {
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % sides;
}

static uint32_t any_tid(void) {
	static const uint32_t odd[] = {0,         1, TID_OUTSIDE, TID_OUTSIDE + 1, TID_OUTSIDE + (1 << 20),
				       UINT32_MAX};
	return dice(20) ? 10 + dice(6) : odd[dice(ARRAY_SIZE(odd))];
}

static uint32_t any_stack(void) {
	uint32_t stack = 0;
	for (uint32_t depth = dice(6); depth > 0; depth--) {
		struct frame frame = {
			.address = dice(4), .symbol = dice(4), .module = dice(3), .kind = dice(4)};
		stack = stacks_add(run.tables.stacks, stack, stacks_add_frame(run.tables.stacks, &frame));
	}
	return stack;
}

// For kinds other than the kernel's own.
static void fill_in_other(struct event *event, uint32_t name) {
	static const struct event_field fields[] = {
		{.name = "number", .type = FIELD_UINT, .uint = UINT64_MAX},
		{.name = "below zero", .type = FIELD_INT, .sint = -1},
		{.name = "address", .type = FIELD_HEX, .uint = 0xdead},
		{.name = "", .type = FIELD_DOUBLE, .real = 0.5},
		{.name = "yes", .type = FIELD_BOOL, .uint = 1},
		{.name = "text", .type = FIELD_TEXT, .text = "abc", .size = 2},
	};
	event->cpu = dice(4) ? event->cpu : CPU_NONE;
	if (event->kind == EVENT_SAMPLE) {
		event->sample.weight = dice(1000);
		event->sample.stack = any_stack();
		event->sample.name = name;
		event->sample.flags = dice(8);
	} else if (event->kind == EVENT_GENERIC) {
		event->generic.provider = dice(2) ? name : 0;
		event->generic.name = name;
		event->generic.fields = fields;
		event->generic.field_count = dice(ARRAY_SIZE(fields) + 1);
		event->generic.duration = dice(2) * dice(300);
		event->generic.stack = any_stack();
	} else {
		event->counter.value = dice(100) / 3.0;
		event->counter.provider = event->counter.name = name;
	}
}

static void fill_in_switch(struct event *event, uint32_t name) {
	event->kind = EVENT_SWITCH;
	event->switched.next_tid = any_tid();
	event->switched.next_name = name;
	event->switched.state = (uint16_t)(dice(2) ? STATE_DEAD : 1u << dice(9));
	event->switched.outside = !dice(3);
	event->switched.next_outside = !dice(3);
}

static void fill_in(struct event *event, uint32_t name) {
	switch (event->kind) {
	case EVENT_META:
		event->meta.key = event->meta.value = name;
		break;
	case EVENT_CLOCK:
		event->clock.wall = dice(1000);
		break;
	case EVENT_TASK:
		event->task.name = event->task.command_line = name;
		break;
	case EVENT_WAKING:
		event->waking.wakee_tid = any_tid();
		event->waking.waker_name = name;
		event->waking.context = (uint16_t)(dice(4) << 3);
		break;
	case EVENT_FORK:
		event->fork.child_tid = any_tid();
		event->fork.child_pid = any_tid();
		event->fork.parent_pid = any_tid();
		event->fork.name = name;
		break;
	case EVENT_EXEC:
		event->exec.old_tid = any_tid();
		event->exec.name = event->exec.file = event->exec.arguments = name;
		event->exec.truncated = dice(2);
		break;
	case EVENT_RENAME:
		event->rename.name = name;
		break;
	case EVENT_EXIT:
		event->exit.code = (int32_t)dice(70000) - 1000;
		event->exit.unknown = !dice(3);
		break;
	case EVENT_IRQ_ENTRY:
		event->irq.name = name;
		break;
	case EVENT_SAMPLE:
	case EVENT_GENERIC:
	case EVENT_COUNTER:
		fill_in_other(event, name);
		break;
	case EVENT_MARK:
		event->mark.type = (uint16_t)(1 + dice(MARK_TYPE_COUNT - 1));
		event->mark.name = name;
		event->mark.no_task = !dice(10);
		event->mark.cut = !dice(10);
		event->mark.value = dice(10) ? dice(100) : (double)INFINITY;
		break;
	case EVENT_LOST:
		event->cpu = dice(4) ? event->cpu : CPU_NONE;
		event->lost.count = dice(5);
		event->lost.source = (uint16_t)dice(SOURCE_COUNT);
		break;
	default:
		fill_in_switch(event, name);
		break;
	}
}

static struct event any_event(uint64_t *clock) {
	static const char *const names[] = {
		"", "a", "worker", "(not this test)", "\xff\xfe", "sixteen letters!"};
	*clock += dice(3) * dice(50);
	uint32_t name = text(names[dice(ARRAY_SIZE(names))]);
	struct event event = {.time = *clock, .cpu = dice(3), .tid = any_tid(), .pid = any_tid()};
	if (!dice(30))
		event.time = dice(2) ? 0 : *clock - dice(300); // late, or without a time
	event.kind = (uint16_t)dice(EVENT_KIND_COUNT);
	fill_in(&event, name);
	return event;
}

static void make_any_trace(uint64_t seed, unsigned count) {
	struct buffer trace = {0};
	random_state = seed;
	bool ordered = dice(2);
	trace_open(ordered);
	if (dice(4))
		push((struct event){.kind = EVENT_START, .cpu = CPU_NONE, .time = dice(2000)});
	if (dice(4))
		fact("scope", dice(3) ? "tree" : "system");
	uint64_t clock = START;
	for (unsigned i = 0; i < count; i++) {
		push(any_event(&clock));
		if (!dice(50))
			push((struct event){
				.kind = EVENT_WATERMARK, .cpu = CPU_NONE, .time = clock - dice(100)});
	}
	trace_finish(&trace);
	buffer_free(&trace);
}

static void test_any_events_make_a_good_trace(void **state) {
	for (uint64_t seed = 1; seed <= 5000; seed++)
		make_any_trace(seed, 200);
}

static void test_any_long_run_of_events_makes_a_good_trace(void **state) {
	for (uint64_t seed = 1; seed <= 3; seed++)
		make_any_trace(seed, 100000);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_events_make_a_good_trace),
		cmocka_unit_test(test_any_long_run_of_events_makes_a_good_trace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
