// Samples with copied stacks: which ones are whole.
#include "unit.h"

#include "event/locate.h"
#include "event/symbolizer.h"

#include <stdio.h>
#include <string.h>

// Kernel addresses that the symbolizer below has names for.
enum { ADDRESS_READ = 0x100, ADDRESS_EXEC = 0x200, ADDRESS_SCHEDULE = 0x300, ADDRESS_USER = 0x40 };

struct run {
	struct sink end;
	struct sink *sink;
	struct tables tables;
	struct symbolizer symbolizer;
	uint32_t stack, flags;
};

static bool whole; // does the walk of a copy reach the outermost function?

static int take(struct sink *sink, const struct event *event) {
	struct run *run = CONTAINER_OF(sink, struct run, end);
	run->stack = event->sample.stack;
	run->flags = event->sample.flags;
	return 0;
}

static int finish(struct sink *sink) {
	return 0;
}

static void keep(struct sink *sink) {
}

static size_t resolve(struct symbolizer *symbolizer, struct tables *tables, const struct frame *frame,
		      uint32_t *ids, size_t room) {
	// Callers are asked for with the byte before their address.
	const char *name = frame->address <= ADDRESS_USER   ? "user"
			   : frame->address <= ADDRESS_READ ? "vfs_read"
			   : frame->address <= ADDRESS_EXEC ? "do_execveat_common.isra.0"
							    : "schedule";
	struct frame named = *frame;
	named.symbol = strings_add(tables->strings, name);
	ids[0] = stacks_add_frame(tables->stacks, &named);
	return 1;
}

// One frame.
static size_t unwind(struct symbolizer *symbolizer, struct tables *tables, const struct user_state *state,
		     uint32_t *ids, size_t room, bool *complete) {
	struct frame frame = {.address = ADDRESS_USER, .kind = FRAME_USER};
	*complete = whole;
	*state->beyond = !whole;
	return resolve(symbolizer, tables, &frame, ids, room);
}

static void begin(struct run *run) {
	*run = (struct run){.end = {.push = take, .finish = finish, .destroy = keep},
			    .tables = tables_new(),
			    .symbolizer = {.resolve = resolve, .unwind = unwind}};
	run->tables.symbolizer = &run->symbolizer;
	run->sink = locate_new(&run->tables, &run->end);
}

static void end(struct run *run) {
	sink_destroy(run->sink);
	run->tables.symbolizer = NULL;
	tables_free(&run->tables);
}

// A thread was in this system call, and its user stack was copied.
static void waited_in(struct run *run, uint64_t call, bool is_whole) {
	const uint64_t addresses[] = {call, ADDRESS_SCHEDULE};
	struct sample_copy copy = {.pc = ADDRESS_USER, .stack = 0x7000};
	struct event event = {.kind = EVENT_SAMPLE,
			      .pid = 7,
			      .tid = 7,
			      .sample = {.flags = SAMPLE_RAW | SAMPLE_BROKEN, .copy = &copy}};
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct frame frame = {.address = addresses[i], .kind = FRAME_KERNEL};
		event.sample.stack = stacks_add(run->tables.stacks, event.sample.stack,
						stacks_add_frame(run->tables.stacks, &frame));
	}
	whole = is_whole;
	assert_int_equal(sink_push(run->sink, &event), 0);
}

static void assert_stack(struct run *run, const char *expected) {
	char text[256] = "";
	for (const struct stack *at = stacks_get(run->tables.stacks, run->stack); at;
	     at = stacks_get(run->tables.stacks, at->caller)) {
		const char *name = strings_get(run->tables.strings,
					       stacks_frame(run->tables.stacks, at->frame)->symbol);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", *text ? " " : "", name);
	}
	assert_string_equal(text, expected);
}

static void test_a_whole_stack_has_both_halves(void **state) {
	struct run run;
	begin(&run);
	waited_in(&run, ADDRESS_READ, true);
	assert_stack(&run, "schedule vfs_read user");
	assert_int_equal(run.flags, 0);
	waited_in(&run, ADDRESS_EXEC, true);
	assert_stack(&run, "schedule do_execveat_common.isra.0 user");
	assert_int_equal(run.flags, 0);
	end(&run);
}

static void test_a_cut_stack_says_so(void **state) {
	struct run run;
	begin(&run);
	waited_in(&run, ADDRESS_READ, false);
	assert_stack(&run, "schedule vfs_read user [cut at 1 frames]");
	assert_int_equal(run.flags, SAMPLE_CUT);
	end(&run);
}

// The old program's memory is gone, the new program has not begun.
static void test_inside_execve_there_may_be_no_user_stack(void **state) {
	struct run run;
	begin(&run);
	waited_in(&run, ADDRESS_EXEC, false);
	assert_stack(&run, "schedule do_execveat_common.isra.0");
	assert_int_equal(run.flags, 0);
	end(&run);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_stack_has_both_halves),
		cmocka_unit_test(test_a_cut_stack_says_so),
		cmocka_unit_test(test_inside_execve_there_may_be_no_user_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
