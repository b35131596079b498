#include "session/timeout.h"
#include "base/log.h"
#include "process/user.h"
#include "session/core.h"
#include "session/stacks.h"
#include "session/waiting.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

// Seconds between two scans of the tree, and how long killed processes may take to end.
#define LOOK_INTERVAL 0.02
#define KILL_SECONDS  5.0

struct ending {
	struct test *test;
	const struct tree *tree;
	struct processes left;
	struct test_end *end;
	struct rusage *usage;
	bool ended; // the test's first process
};

// ---- what is saved ----

// The test itself first, then by age: people read from the top.
static int compare(const void *left, const void *right) {
	const struct process *a = left, *b = right;
	return a->start != b->start ? (a->start > b->start) - (a->start < b->start)
				    : (a->pid > b->pid) - (a->pid < b->pid);
}

static void put_in_order(struct processes *processes, pid_t first) {
	size_t count = processes->list.count, from = 0;
	struct process *items = processes->list.items;
	for (size_t i = 0; i < count; i++)
		if (items[i].pid == first) {
			struct process process = items[i];
			items[i] = items[0];
			items[0] = process;
			from = 1;
			break;
		}
	if (count > from)
		qsort(items + from, count - from, sizeof(*items), compare);
}

static void save(const struct settings *settings, const char *name, const struct tracer *tracer,
		 struct ending *ending) {
	CLEANUP_FREE char *placeholder = NULL,
			  *stem = session_stem(settings, name, tracer, "stacks", &placeholder);
	if (!stem)
		return;
	struct test_end *end = ending->end;
	CLEANUP_FREE char *stacks = memory_format("%s.stacks.txt", stem),
			  *core = memory_format("%s.core", stem);
	CLEANUP_FREE char *title = memory_format("Stacks of %s when its time limit of %g s expired\n", name,
						 settings->timeout);
	put_in_order(&ending->left, ending->test->pid);
	if (stacks_save(ending->test, &ending->left, title, stacks))
		snprintf(end->stacks, sizeof(end->stacks), "%s", stacks);
	if (settings->core && !ending->ended && stacks_save_core(ending->test, settings->core_limit, core))
		snprintf(end->core, sizeof(end->core), "%s", core);
	if (placeholder)
		unlink(placeholder);
}

// ---- the end ----

static bool anything_left(struct ending *ending) {
	if (!ending->ended)
		ending->ended = test_has_ended(ending->test, &ending->end->status, ending->usage);
	test_reap_orphans(ending->test);
	tree_list(ending->tree, &ending->left);
	return ending->left.list.count > 0 || !ending->ended;
}

static void let_stopped_ones_go_on(const struct ending *ending) {
	for (size_t i = 0; i < ending->left.list.count; i++) {
		const struct process *process = &ending->left.list.items[i];
		if (process->state == 'T')
			tree_signal(&(struct processes){.list = {.items = &ending->left.list.items[i],
								 .count = 1}},
				    SIGCONT);
	}
}

// Repeats: a process that is just starting others is caught the next time.
static void end_tree(struct ending *ending, double grace) {
	double deadline = seconds_now() + grace;
	if (!anything_left(ending))
		return;
	tree_signal(&ending->left, SIGTERM);
	while (anything_left(ending) && seconds_now() < deadline) {
		let_stopped_ones_go_on(ending);
		test_wait_signal(ending->test, MIN(LOOK_INTERVAL, MAX(deadline - seconds_now(), 0)));
	}
	deadline = seconds_now() + KILL_SECONDS;
	while (anything_left(ending) && seconds_now() < deadline) {
		tree_signal(&ending->left, SIGKILL);
		test_wait_signal(ending->test, LOOK_INTERVAL);
	}
}

void timeout_end_test(const struct settings *settings, const char *name, struct test *test,
		      const struct tracer *tracer, const struct tree *tree, bool ended, struct test_end *end,
		      struct rusage *usage) {
	struct ending ending = {.test = test, .tree = tree, .end = end, .usage = usage, .ended = ended};
	end->timed_out = true;
	end->time_over = clock_boot_now();
	tree_list(tree, &ending.left);
	if (waiting_is_over(settings, name, "stacks", ending.left.list.count)) {
		user_files_begin();
		save(settings, name, tracer, &ending);
		user_files_end();
	}
	end_tree(&ending, settings->grace);
	if (!ending.ended)
		end->status = SIGKILL; // as it will be once the kernel has finished with it
	if (ending.left.list.count)
		log_warning("cannot kill %zu of the test's processes", ending.left.list.count);
	array_free(&ending.left.list);
}
