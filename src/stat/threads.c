// Separate counts for each thread of a command. The threads are not known when the counters are
// opened, and the kernel adds up what threads inherit: so the counters are on every CPU, and
// counters.bpf.c reports the counts whenever a thread of the command leaves a CPU, as for
// `tracelet run --counters`. The reports go to a spool, which is read after the command has ended.
#include "stat/stat.h"
#include "base/log.h"
#include "base/map.h"
#include "capture/capture.h"
#include "capture/tasks.h"
#include "event/described.h"
#include "event/tables.h"
#include "flow/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct stat_threads {
	struct capture *capture;
	struct spool spool;
	pthread_t drainer;
	int over; // an eventfd that ends it
};

// ---- while the command runs ----

static void *drain_until_over(void *context) {
	struct stat_threads *threads = context;
	enum { LOOK_MILLISECONDS = 100 };
	struct pollfd wait[] = {{.fd = threads->over, .events = POLLIN},
				{.fd = capture_bpf.wait_fd(threads->capture), .events = POLLIN}};
	while (!(wait[0].revents & POLLIN)) {
		poll(wait, ARRAY_SIZE(wait), LOOK_MILLISECONDS);
		capture_bpf.sync(threads->capture, &threads->spool);
	}
	return NULL;
}

// A file without a name: a command that runs for long has more switches than fit into memory.
static int open_file(void) {
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? memfd_create("tracelet-threads", MFD_CLOEXEC) : fd;
}

// The list of what can be counted here, as a trace's counters want it; the rest gets its reason.
static char *available(struct pmu_events *events) {
	struct counter_place own = {.pid = 0, .cpu = -1};
	struct counters counters;
	struct buffer list = {0};
	counters_open(&counters, events, &own, 1);
	counters_close(&counters);
	for (size_t i = 0; i < events->count; i++) {
		struct pmu_event *event = &events->items[i];
		if (!event->missing && event->cpus)
			event->missing = memory_string("it counts the whole machine, not a thread");
		if (!event->missing)
			buffer_printf(&list, "%s%s", list.size ? "," : "", event->name);
	}
	buffer_append(&list, "", 1);
	return (char *)list.data;
}

static int start(struct stat_threads *threads, pid_t test, const char *events, char why[256]) {
	enum { TICK_NANOSECONDS = 100000000 };
	struct capture_options options = {
		.scope = SCOPE_TREE,
		.sources = {[SOURCE_PROCESS] = true},
		.counting = {.events = events, .interval = TICK_NANOSECONDS},
	};
	int error = capture_bpf.open(&options, &threads->capture, why);
	if (error)
		return error;
	spool_open(&threads->spool, open_file(), clock_boot_now());
	spool_tasks(&threads->spool, test);
	int process = (int)syscall(SYS_pidfd_open, test, 0);
	error = process < 0 ? -errno : capture_bpf.follow(threads->capture, test, process);
	if (process >= 0)
		close(process);
	if (!error)
		error = capture_bpf.start(threads->capture, why);
	else
		snprintf(why, 256, "cannot follow the command: %s", strerror(-error));
	if (!error && (threads->over = eventfd(0, EFD_CLOEXEC)) >= 0)
		error = -pthread_create(&threads->drainer, NULL, drain_until_over, threads);
	if (error) {
		spool_close(&threads->spool);
		capture_bpf.close(threads->capture);
	}
	return error;
}

bool stat_threads_begin(struct counting *counting, pid_t test) {
	struct stat_threads *threads = memory_alloc(sizeof(*threads));
	char why[256] = "";
	CLEANUP_FREE char *events = available(&counting->events);
	if (*events && start(threads, test, events, why) == 0) {
		counting->threads = threads;
		return true;
	}
	free(threads);
	log_warning("cannot count each thread: %s", *events ? why : "no event can be counted here");
	counting->as_whole = *counting->options;
	counting->as_whole.per_thread = false;
	counting->options = &counting->as_whole;
	return false;
}

// ---- when it has ended ----

struct thread_sink {
	struct sink sink;
	struct counting *counting;
	struct tables tables;
	struct describer describer;
	struct map places; // thread to index + 1
	ARRAY(struct count) counts;
};

static size_t place_of(struct thread_sink *sink, uint32_t tid) {
	struct counting *counting = sink->counting;
	uint64_t *index = map_put(&sink->places, tid);
	if (!*index) {
		array_push(&counting->places, (struct counter_place){.pid = (pid_t)tid, .cpu = -1});
		*index = counting->places.count;
		for (size_t i = 0; i < counting->events.count; i++)
			array_push(&sink->counts, (struct count){0});
	}
	return *index - 1;
}

static int take_event(struct sink *base, const struct event *taken) {
	struct thread_sink *sink = (struct thread_sink *)base;
	describer_learn(&sink->describer, taken);
	if (taken->kind != EVENT_COUNTER || !taken->counter.adds || !taken->tid)
		return 0;
	struct pmu_events *events = &sink->counting->events;
	const struct pmu_event *event = pmu_events_find(
		events, strings_get(sink->tables.strings, taken->counter.name));
	if (!event)
		return 0;
	size_t place = place_of(sink, taken->tid); // which may move the counts
	struct count *count = &sink->counts.items[place * events->count + (size_t)(event - events->items)];
	count->scaled += taken->counter.value / event->scale;
	count->value = (uint64_t)(count->scaled + 0.5);
	count->enabled = count->running = 1;
	return 0;
}

static int take_nothing(struct sink *sink) {
	(void)sink;
	return 0;
}

static void keep(struct sink *sink) {
	(void)sink; // it is on the reader's stack
}

static void take_names(struct thread_sink *sink) {
	for (size_t i = 0; i < sink->counting->places.count; i++) {
		uint32_t tid = (uint32_t)sink->counting->places.items[i].pid;
		array_push(&sink->counting->thread_names,
			   memory_string(describer_thread(&sink->describer, tid)));
	}
}

static int read_back(struct counting *counting, int fd) {
	struct thread_sink sink = {.sink = {.push = take_event, .finish = take_nothing, .destroy = keep},
				   .counting = counting,
				   .tables = tables_new()};
	CLEANUP_FREE char *path = memory_format("/proc/self/fd/%d", fd);
	struct pipeline pipeline = {.path = path,
				    .name = "the counts of threads",
				    .reader = &spool_reader,
				    .raw = true,
				    .quiet = true};
	describer_init(&sink.describer, &sink.tables);
	int error = pipeline_open(&pipeline);
	if (!error) {
		error = pipeline_run(&pipeline, &sink.tables, &sink.sink);
		pipeline_close(&pipeline);
	}
	take_names(&sink);
	free(counting->total.counts);
	counting->total.counts = sink.counts.items ? sink.counts.items : memory_alloc(sizeof(struct count));
	describer_free(&sink.describer);
	map_free(&sink.places);
	tables_free(&sink.tables);
	return error;
}

void stat_threads_end(struct counting *counting) {
	struct stat_threads *threads = counting->threads;
	struct capture_totals totals = {0};
	uint64_t lost = 0;
	if (!threads)
		return;
	eventfd_write(threads->over, 1);
	pthread_join(threads->drainer, NULL);
	close(threads->over);
	capture_bpf.stop(threads->capture, &threads->spool, &totals);
	int error = spool_flush(&threads->spool);
	if (!error)
		error = read_back(counting, threads->spool.fd);
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		lost += totals.lost[source];
	if (error)
		log_warning("the counts of threads are incomplete: %s", strerror(-error));
	else if (lost)
		log_warning("the counts of threads are incomplete: %llu event%s lost",
			    (unsigned long long)lost, lost == 1 ? " was" : "s were");
	spool_close(&threads->spool);
	capture_bpf.close(threads->capture);
	free(threads);
	counting->threads = NULL;
}
