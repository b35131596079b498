// Marks on their way from the client in tracelet/mark.h through the shared area
// into the spool: this program is both test and tracer.
#include "aside.h"

#include "capture/marker/marker.h"
#include "event/tally.h"
#include "read/reader.h"
#include "tracelet/mark.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

// ---- the two sides ----

static struct {
	struct marker *marker;
	struct spool spool;
	struct tables tables;
	struct sink sink;
	ARRAY(struct event) marks;
	uint64_t lost, watermark;
} side;

static int keep(struct sink *sink, const struct event *event) {
	if (event->kind == EVENT_MARK)
		array_push(&side.marks, *event);
	else if (event->kind == EVENT_LOST)
		side.lost += event->lost.count;
	else if (event->kind == EVENT_WATERMARK)
		side.watermark = event->time;
	return 0;
}

static int nothing(struct sink *sink) {
	return 0;
}

static void nothing_to_free(struct sink *sink) {
}

// Like a program that has just started.
static void client_begin(const char *name) {
	if (name)
		setenv("TRACELET_MARKS", name, 1);
	else
		unsetenv("TRACELET_MARKS");
	memset(&tl_mark_process, 0, sizeof(tl_mark_process));
	memset(&tl_mark_thread, 0, sizeof(tl_mark_thread));
	tl_mark_off = 0;
	tl_mark_attach();
}

static int setup(void **state) {
	char name[MARKER_NAME_SIZE];
	int fd = marker_create();
	memset(&side, 0, sizeof(side));
	if (fd < 0 || marker_open(&side.marker, fd))
		return -1;
	marker_name(fd, getpid(), name);
	client_begin(name);
	spool_open(&side.spool, memfd_create("spool", MFD_CLOEXEC), clock_boot_now());
	marker_start(side.marker);
	marker_watch(side.marker);
	side.tables = tables_new();
	side.sink = (struct sink){.push = keep, .finish = nothing, .destroy = nothing_to_free};
	return 0;
}

static int teardown(void **state) {
	marker_close(side.marker);
	tables_free(&side.tables);
	array_free(&side.marks);
	if (side.spool.fd >= 0)
		spool_close(&side.spool);
	if (tl_mark_process.area)
		munmap(tl_mark_process.area,
		       TL_MARK_FIRST_CHUNK + (size_t)TL_MARK_MOST_CHUNKS * TL_MARK_CHUNK_SIZE);
	client_begin(NULL);
	return 0;
}

// Ends the recording and reads it.
static void read_all(void) {
	struct capture_totals totals = {0};
	struct stream input;
	marker_stop(side.marker, &side.spool, &totals);
	spool_watermark(&side.spool, clock_boot_now());
	spool_flush(&side.spool);
	assert_int_equal(side.spool.error, 0);
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", side.spool.fd);
	assert_int_equal(stream_open(&input, path), 0);
	struct tally tally;
	struct sink *counted = tally_init(&tally, &side.sink);
	assert_int_equal(spool_reader.read(&input, "spool", &side.tables, counted), 0);
	assert_int_equal(tally.late, 0);
	sink_destroy(counted);
	stream_close(&input);
	assert_int_equal(totals.lost[SOURCE_MARKER], side.lost);
}

static const char *text_of(const struct event *event) {
	return strings_get(side.tables.strings, event->mark.name);
}

// Each task's counter "n" goes 0, 1, 2 … without a gap; returns the number of tasks.
static size_t assert_each_counts(size_t count) {
	struct map next = {0};
	size_t tasks = 0;
	for (size_t i = 0; i < side.marks.count; i++) {
		const struct event *event = &side.marks.items[i];
		uint64_t *expected = map_put(&next, event->tid);
		tasks += *expected == 0;
		assert_int_equal(event->mark.type, MARK_COUNTER);
		assert_string_equal(text_of(event), "n");
		assert_int_equal((uint64_t)event->mark.value, *expected);
		++*expected;
	}
	assert_int_equal(side.marks.count, tasks * count);
	map_free(&next);
	return tasks;
}

static void count_up(size_t count) {
	for (size_t i = 0; i < count; i++)
		tl_counter("n", (double)i);
}

// ---- what arrives ----

static void test_every_mark_arrives_as_it_was_made(void **state) {
	uint64_t before = clock_boot_now();
	tl_test_begin("case");
	tl_slice_begin("phase");
	tl_mark("h\xc3\xa9llo");
	tl_counter("depth", -2.5);
	tl_slice_end();
	tl_test_end(TL_SKIPPED);
	tl_mark(NULL);
	tl_mark("");
	uint64_t after = clock_boot_now();
	read_all();
	static const struct {
		enum mark_type type;
		const char *text;
		double value;
	} expected[] = {
		{MARK_TEST_BEGIN, "case", 0},
		{MARK_SLICE_BEGIN, "phase", 0},
		{MARK_INSTANT, "h\xc3\xa9llo", 0},
		{MARK_COUNTER, "depth", -2.5},
		{MARK_SLICE_END, "", 0},
		{MARK_TEST_END, "", 77},
		{MARK_INSTANT, "", 0},
		{MARK_INSTANT, "", 0},
	};
	assert_int_equal(side.marks.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct event *event = &side.marks.items[i];
		assert_int_equal(event->mark.type, expected[i].type);
		assert_string_equal(text_of(event), expected[i].text);
		assert_true(event->mark.value == expected[i].value);
		assert_int_equal(event->pid, getpid());
		assert_int_equal(event->tid, syscall(SYS_gettid));
		assert_true(event->time >= before && event->time <= after);
		assert_false(event->mark.no_task || event->mark.cut);
	}
}

static void test_a_long_text_is_cut_between_two_characters(void **state) {
	char text[3000];
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 3 == 0   ? '\xe2'
			  : i % 3 == 1 ? '\x82'
				       : '\xac'; // euros; 1000 is not a multiple of 3
	text[sizeof(text) - 1] = 0;
	tl_mark(text);
	read_all();
	assert_int_equal(strlen(text_of(&side.marks.items[0])), 999);
	assert_true(side.marks.items[0].mark.cut);
}

static void test_chunks_are_used_again_and_order_is_kept(void **state) {
	enum { ROUNDS = 200, EACH = 1000 }; // about 8 MB through sixteen chunks
	for (size_t i = 0; i < ROUNDS * EACH; i++) {
		tl_counter("n", (double)i);
		if (i % EACH == EACH - 1)
			marker_sync(side.marker, &side.spool);
	}
	assert_int_equal(tl_mark_process.area->owners[16], TL_MARK_NEW);
	read_all();
	assert_int_equal(assert_each_counts(ROUNDS * EACH), 1);
	for (size_t i = 1; i < side.marks.count; i++)
		assert_true(side.marks.items[i].time >= side.marks.items[i - 1].time);
	assert_int_equal(side.lost, 0);
}

static void test_a_full_area_drops_the_newest_and_counts(void **state) {
	enum { MADE = 600000 };
	count_up(MADE);
	uint64_t lost = tl_mark_process.area->lost;
	assert_true(lost > 0 && lost < MADE);
	marker_sync(side.marker, &side.spool);
	tl_mark("again");
	read_all();
	assert_int_equal(side.lost, lost);
	assert_string_equal(text_of(&side.marks.items[side.marks.count - 1]), "again");
	side.marks.count--;
	assert_int_equal(assert_each_counts(MADE - lost), 1);
}

// ---- threads and processes ----

static void *count_in_thread(void *count) {
	count_up((size_t)(uintptr_t)count);
	return NULL;
}

static void *drain_until(void *done) {
	while (!__atomic_load_n((int *)done, __ATOMIC_ACQUIRE)) {
		marker_drain(side.marker, &side.spool);
		marker_sync(side.marker, &side.spool);
	}
	return NULL;
}

static void test_eight_threads_at_once_lose_nothing_uncounted(void **state) {
	enum { THREADS = 8, EACH = 20000 };
	pthread_t threads[THREADS], drain;
	int done = 0;
	pthread_create(&drain, NULL, drain_until, &done);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, count_in_thread, (void *)(uintptr_t)EACH);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	pthread_join(drain, NULL);
	read_all();
	assert_int_equal(side.marks.count + side.lost, THREADS * EACH);
	if (!side.lost)
		assert_int_equal(assert_each_counts(EACH), THREADS);
}

static void test_threads_that_come_and_go_leave_their_chunks(void **state) {
	enum { THREADS = 3000 }; // more than there are chunks
	for (size_t i = 0; i < THREADS; i++) {
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, count_in_thread, (void *)(uintptr_t)2), 0);
		pthread_join(thread, NULL);
		if (i % 50 == 49)
			marker_sync(side.marker, &side.spool);
	}
	read_all();
	assert_int_equal(side.marks.count, 2 * THREADS);
	assert_int_equal(side.lost, 0);
}

static void wait_for_children(size_t count) {
	for (size_t i = 0; i < count; i++) {
		int status;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
}

static void test_after_fork_each_process_has_its_own(void **state) {
	enum { CHILDREN = 8, EACH = 5000 };
	tl_mark("before"); // the parent has a chunk, which the children see
	for (size_t i = 0; i < CHILDREN; i++) {
		if (fork() == 0) {
			count_up(EACH);
			_exit(0);
		}
	}
	count_up(EACH);
	wait_for_children(CHILDREN);
	marker_sync(side.marker, &side.spool);
	read_all();
	assert_string_equal(text_of(&side.marks.items[0]), "before");
	size_t others = 0, before = 0;
	for (size_t i = 0; i < side.marks.count; i++) {
		assert_int_equal(side.marks.items[i].tid, side.marks.items[i].pid);
		others += side.marks.items[i].pid != (uint32_t)getpid();
		before += side.marks.items[i].mark.type == MARK_INSTANT;
	}
	assert_int_equal(others, CHILDREN * EACH);
	assert_int_equal(before, 1);
	memmove(side.marks.items, side.marks.items + 1, --side.marks.count * sizeof(struct event));
	assert_int_equal(assert_each_counts(EACH), CHILDREN + 1);
	assert_int_equal(side.lost, 0);
}

static void test_a_process_that_is_killed_costs_only_what_it_was_writing(void **state) {
	pid_t pid = fork();
	if (pid == 0) {
		count_up(1000);
		struct tl_mark_record *record = tl_mark_reserve(&tl_mark_thread, tl_mark_process.area, 64);
		record->state = 64 | TL_MARK_INSTANT << 16; // begun, and never finished
		count_up(0);
		tl_mark("behind it");
		raise(SIGKILL);
	}
	int status;
	waitpid(pid, &status, 0);
	marker_sync(side.marker, &side.spool);
	assert_int_equal(tl_mark_process.area->used, 0);
	read_all();
	assert_int_equal(side.marks.count, 1001);
	assert_string_equal(text_of(&side.marks.items[1000]), "behind it");
	assert_int_equal(side.lost, 1);
}

// ---- signals ----

static volatile sig_atomic_t handled;

static void mark_in_handler(int signal) {
	tl_mark("handler");
	handled++;
}

static void test_a_signal_handler_may_mark_inside_a_mark(void **state) {
	enum { MADE = 300000 };
	struct sigaction action = {.sa_handler = mark_in_handler, .sa_flags = SA_RESTART}, before;
	struct itimerval often = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}}, never = {0};
	handled = 0;
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	size_t made = 0;
	for (; made < MADE; made++) {
		tl_counter("n", (double)made);
		if (made % 10000 == 0)
			marker_sync(side.marker, &side.spool);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	read_all();
	size_t counters = 0, handlers = 0;
	for (size_t i = 0; i < side.marks.count; i++) {
		const struct event *event = &side.marks.items[i];
		if (event->mark.type == MARK_COUNTER)
			assert_int_equal((size_t)event->mark.value, counters++);
		else
			handlers += strcmp(text_of(event), "handler") == 0;
	}
	assert_int_equal(side.lost, 0);
	assert_int_equal(counters, MADE);
	assert_int_equal(handlers, (size_t)handled);
}

// ---- the watermark ----

static void test_a_mark_that_is_being_made_holds_the_watermark_back(void **state) {
	tl_mark("first");
	marker_sync(side.marker, &side.spool);
	uint64_t before = clock_boot_now();
	struct tl_mark_record *record = tl_mark_reserve(&tl_mark_thread, tl_mark_process.area, 24);
	uint64_t time = clock_boot_now();
	marker_sync(side.marker, &side.spool);
	assert_true(side.spool.watermark_limit <= before);
	record->time = time;
	__atomic_store_n(&record->state, TL_MARK_DONE | TL_MARK_INSTANT << 16 | 24, __ATOMIC_RELEASE);
	marker_sync(side.marker, &side.spool);
	assert_true(side.spool.watermark_limit > time);
	read_all();
	assert_int_equal(side.marks.count, 2);
	assert_int_equal(side.marks.items[1].time, time);
}

static void test_a_mark_that_is_not_done_at_the_end_is_counted(void **state) {
	tl_mark("done");
	tl_mark_reserve(&tl_mark_thread, tl_mark_process.area, 24);
	read_all();
	assert_int_equal(side.marks.count, 1);
	assert_int_equal(side.lost, 1);
}

// ---- without a tracer ----

static void test_without_a_session_nothing_happens(void **state) {
	client_begin(NULL);
	errno = ENOTTY;
	tl_mark("nobody");
	assert_int_equal(errno, ENOTTY);
	assert_true(tl_mark_off);
	assert_null(tl_mark_process.area);
}

static void test_a_name_that_leads_nowhere_is_as_good_as_none(void **state) {
	char self[64], other[96];
	int fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	snprintf(self, sizeof(self), "/proc/self/fd/%d:0", fd); // not sealed, not ours
	marker_name(fd, getpid(), other);
	char wrong[MARKER_NAME_SIZE];
	snprintf(wrong, sizeof(wrong), "%s0", getenv("TRACELET_MARKS")); // another session's
	const char *const names[] = {self,
				     other,
				     wrong,
				     "",
				     ":",
				     "/proc/",
				     "/proc/self/fd/99999:1",
				     "/etc/passwd:1",
				     "/proc/self/mem:1",
				     "/proc/1/fd/0",
				     "/proc/self/fd/0123456789012345678901234567890123456789"
				     "01234567890123456789012345678901234567890123456789:1"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		client_begin(names[i]);
		tl_mark("nobody");
		assert_true(tl_mark_off);
	}
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}

static void test_after_the_end_marks_do_nothing(void **state) {
	read_all();
	tl_mark("too late");
	marker_sync(side.marker, &side.spool);
	assert_int_equal(marker_count(side.marker), 0);
	assert_int_equal(tl_mark_process.area->lost, 0);
}

// The tracer is gone: the area is no longer emptied.
static void test_a_test_goes_on_without_its_tracer(void **state) {
	marker_close(side.marker);
	side.marker = NULL;
	tl_mark_process.area->recording = 1; // a killed tracer cannot clear this
	count_up(1000000);
	assert_true(tl_mark_process.area->lost > 0);
}

static void test_the_area_cannot_be_made_smaller(void **state) {
	char path[64];
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(getenv("TRACELET_MARKS"), ":"),
		 getenv("TRACELET_MARKS"));
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	close(fd);
}

// ---- hostile tests ----

static void test_an_area_that_makes_no_sense_does_no_harm(void **state) {
	struct tl_mark_area *area = tl_mark_process.area;
	tl_mark("good");
	struct tl_mark_chunk *chunk = tl_mark_thread.chunk;
	static const uint32_t states[] = {TL_MARK_DONE,
					  TL_MARK_DONE | 7,
					  TL_MARK_DONE | 0xffff,
					  TL_MARK_DONE | 200 << 16 | 24,
					  TL_MARK_DONE | TL_MARK_INSTANT << 16 | 8,
					  ~0u};
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		struct tl_mark_record *record = tl_mark_reserve(&tl_mark_thread, area, 24);
		record->text_size = UINT32_MAX;
		record->state = states[i];
		marker_sync(side.marker, &side.spool);
	}
	struct tl_mark_record *record = tl_mark_reserve(&tl_mark_thread, area, 32);
	*record = (struct tl_mark_record){.state = TL_MARK_DONE | TL_MARK_INSTANT << 16 | 32,
					  .text_size = UINT32_MAX,
					  .time = UINT64_MAX};
	__atomic_store_n(&chunk->reserved, UINT64_MAX, __ATOMIC_RELEASE);
	area->owners[70] = UINT64_MAX;
	area->owners[3] = 1;
	for (int i = 0; i < 3; i++)
		marker_sync(side.marker, &side.spool);
	struct capture_totals totals = {0};
	marker_stop(side.marker, &side.spool, &totals);
	assert_true(totals.lost[SOURCE_MARKER] >= ARRAY_SIZE(states));
}

#define WITH_BOTH_SIDES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		WITH_BOTH_SIDES(test_every_mark_arrives_as_it_was_made),
		WITH_BOTH_SIDES(test_a_long_text_is_cut_between_two_characters),
		WITH_BOTH_SIDES(test_chunks_are_used_again_and_order_is_kept),
		WITH_BOTH_SIDES(test_a_full_area_drops_the_newest_and_counts),
		WITH_BOTH_SIDES(test_eight_threads_at_once_lose_nothing_uncounted),
		WITH_BOTH_SIDES(test_threads_that_come_and_go_leave_their_chunks),
		WITH_BOTH_SIDES(test_after_fork_each_process_has_its_own),
		WITH_BOTH_SIDES(test_a_process_that_is_killed_costs_only_what_it_was_writing),
		WITH_BOTH_SIDES(test_a_signal_handler_may_mark_inside_a_mark),
		WITH_BOTH_SIDES(test_a_mark_that_is_being_made_holds_the_watermark_back),
		WITH_BOTH_SIDES(test_a_mark_that_is_not_done_at_the_end_is_counted),
		WITH_BOTH_SIDES(test_without_a_session_nothing_happens),
		WITH_BOTH_SIDES(test_a_name_that_leads_nowhere_is_as_good_as_none),
		WITH_BOTH_SIDES(test_after_the_end_marks_do_nothing),
		WITH_BOTH_SIDES(test_a_test_goes_on_without_its_tracer),
		WITH_BOTH_SIDES(test_the_area_cannot_be_made_smaller),
		WITH_BOTH_SIDES(test_an_area_that_makes_no_sense_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
