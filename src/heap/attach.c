// BPF programs watch the allocator's functions from outside, and their events are added up as
// they arrive. Blocks that existed before are not known; frees of them are ignored.
#include "heap/attach.h"

#include "base/log.h"
#include "base/text.h"
#include "capture/spool.h"
#include "capture/tasks.h"
#include "heap/allocator.h"
#include "heap/profile.h"
#include "heap/tally.h"
#include "symbol/cut_files.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RING_SIZE = 32 << 20, DRAIN_MS = 5 };

static volatile sig_atomic_t asked_to_end;

static void on_signal(int signal) {
	asked_to_end = 1;
}

// Signals that would kill us end the window; writing without a reader is an error.
static void take_signals(void) {
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
	signal(SIGPIPE, SIG_IGN);
	cut_files_survive();
}

// Watches until the time is over, a signal arrives, or the process ends; returns true in the last
// case.
static bool watch(struct heap_probes *window, struct heap_tally *tally, int process, uint64_t nanoseconds) {
	uint64_t end = nanoseconds ? clock_monotonic_now() + nanoseconds : UINT64_MAX;
	bool ended = false;
	while (!ended && !asked_to_end && !tally->is_other) {
		uint64_t now = clock_monotonic_now();
		if (now >= end)
			break;
		struct pollfd waiting = {.fd = process, .events = POLLIN};
		ended = poll(&waiting, 1, (int)MIN((end - now) / 1000000 + 1, DRAIN_MS)) > 0;
		heap_probes_drain(window, heap_tally_take, tally);
	}
	if (!tally->is_other)
		tally->until = clock_monotonic_now(); // detaching the programs takes time
	heap_probes_end(window);
	heap_probes_drain(window, heap_tally_take, tally);
	return ended;
}

static void say_losses(const struct heap_probes *window, const struct heap_tally *tally) {
	struct heap_counts counts = heap_probes_counts(window);
	if (counts.lost)
		log_warning("%" PRIu64 " event%s lost: the process allocates faster than can be read",
			    counts.lost, counts.lost == 1 ? " was" : "s were");
	if (counts.unwalked || counts.crowded)
		log_warning("%" PRIu64
			    " blocks are missing or have no stack: too many threads or stacks at once",
			    counts.unwalked + counts.crowded);
	if (tally->cut)
		log_warning("%" PRIu64 " of %zu stacks do not reach the outermost function", tally->cut,
			    tally->stacks.count);
}

static void say_result(const struct heap_tally *tally, bool ended) {
	uint64_t bytes = 0, blocks = 0;
	for (uint32_t i = 0; i < tally->area->point_count; i++) {
		bytes += tally->area->points[i].total_bytes;
		blocks += tally->area->points[i].total_blocks;
	}
	if (log_get_level() >= LOG_NORMAL)
		fprintf(stderr,
			"tracelet: %d: %" PRIu64 " byte%s in %" PRIu64 " block%s, of which %" PRIu64
			" byte%s not freed%s\n",
			(int)tally->process, bytes, plural(bytes), blocks, plural(blocks), tally->area->bytes,
			tally->area->bytes == 1 ? " was" : "s were",
			tally->is_other ? "; the process exec'd another program"
			: ended         ? "; the process ended"
					: "");
}

static int write_profile(const struct heap_tally *tally, const struct heap_window_options *options,
			 const struct heap_time *end, struct heap_modules *modules) {
	struct heap_extent extent = {tally->area->module_count, tally->area->frame_count,
				     tally->area->node_count, tally->area->point_count};
	struct heap_made *made = heap_make(tally->area, &extent, HEAP_WHOLE, end, modules);
	heap_add_sums(options->sums, made);
	int error = dhat_save(options->output, &made->profile, OUTPUT_REPLACE);
	if (error)
		log_error("%s: cannot be written: %s", options->output, strerror(-error));
	heap_made_free(made);
	return error;
}

static int record(const struct heap_window_options *options, const struct allocator *allocator, int process) {
	struct heap_probes *window = NULL;
	struct heap_tally tally;
	struct heap_modules modules;
	char why[HEAP_WHY_SIZE];
	int error = heap_probes_open(&window, options->process, RING_SIZE, why);
	if (!error &&
	    (error = heap_probes_begin(window, allocator->places.items, allocator->places.count, why)))
		heap_probes_close(window);
	if (error) {
		log_error("%d: %s", (int)options->process, why);
		return error;
	}
	heap_modules_begin(&modules, options->process);
	error = heap_tally_init(&tally, options->process);
	if (!error) {
		if (log_get_level() >= LOG_NORMAL)
			fprintf(stderr, "tracelet: %d: watching %zu function%s in %s\n",
				(int)options->process, allocator->places.count,
				plural(allocator->places.count), allocator->name);
		bool ended = watch(window, &tally, process, options->nanoseconds);
		struct heap_time end = {.ticks = tally.until, .ns = tally.until};
		say_losses(window, &tally);
		error = write_profile(&tally, options, &end, &modules);
		if (!error)
			say_result(&tally, ended);
	}
	heap_tally_free(&tally);
	heap_modules_free(&modules);
	heap_probes_close(window);
	return error;
}

// ---- a process that counts itself ----

static void wait_for(int process, uint64_t nanoseconds) {
	uint64_t end = clock_monotonic_now() + nanoseconds, now;
	bool ended = false;
	while (!ended && !asked_to_end && (now = clock_monotonic_now()) < end) {
		struct pollfd waiting = {.fd = process, .events = POLLIN};
		ended = poll(&waiting, 1, (int)MIN((end - now) / 1000000 + 1, 1000)) > 0;
	}
}

static int ask_library(const struct heap_window_options *options, int process, int heap, uint32_t area) {
	int error = 0;
	if (options->nanoseconds) {
		error = heap_snapshot(heap, area, HEAP_WINDOW_END, "/dev/null",
				      NULL); // the window begins here
		if (!error)
			wait_for(process, options->nanoseconds);
	}
	bool window = options->reset || options->nanoseconds;
	if (!error)
		error = heap_snapshot(heap, area, window ? HEAP_WINDOW_END : HEAP_WHOLE, options->output,
				      options->sums);
	if (error)
		log_error("%s: cannot be written: %s", options->output, strerror(-error));
	return error;
}

// ---- any process ----

static int attach_or_ask(const struct heap_window_options *options, int process) {
	struct allocator allocator;
	char why[HEAP_WHY_SIZE];
	int heap;
	uint32_t area;
	if (heap_find(options->process, &heap, &area) == 0) {
		int error = ask_library(options, process, heap, area);
		close(heap);
		return error;
	}
	if (options->reset) {
		log_error("%d: --reset works only on processes started by 'tracelet run --heap'",
			  (int)options->process);
		return -EINVAL;
	}
	int error = allocator_find(&allocator, options->process, &asked_to_end, why);
	if (error) {
		log_error("%d: no heap profile: %s", (int)options->process, why);
		return error;
	}
	error = record(options, &allocator, process);
	allocator_free(&allocator);
	return error;
}

int heap_attach(const struct heap_window_options *options) {
	int process = (int)syscall(SYS_pidfd_open, options->process, 0);
	if (process < 0) {
		int error = -errno;
		log_error("%d: %s", (int)options->process,
			  error == -ESRCH ? "no such process" : strerror(-error));
		return error;
	}
	take_signals();
	int error = attach_or_ask(options, process);
	close(process);
	return error;
}
