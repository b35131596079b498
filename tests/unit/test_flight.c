// The flight recorder: what it keeps is complete from one moment on, on all CPUs.
#include "spool_keeper.h"

#include "sample_spool.h"
#include "session/flight.h"

// A recording drained every DRAIN nanoseconds: CPU 1 is read a little later than CPU 0, so it
// delivers some events after the watermark.
enum { DRAIN = 1000000, STEP = 10000, EARLY = 5 * STEP };

static uint64_t watermark(unsigned drain) {
	return SAMPLE_START + (uint64_t)(drain + 1) * DRAIN;
}

static void add_switches(struct buffer *blocks, uint32_t cpu, uint64_t from, uint64_t to) {
	size_t batch = batch_begin(blocks, cpu, from);
	for (uint64_t time = from; time < to; time += STEP)
		record_a_switch(blocks, (uint32_t)(time - from), 10, 1, 10);
	batch_end(blocks, batch);
}

// A child whose fork CPU 0 reports one drain later than CPU 1 reports its exec.
static void add_birth(struct buffer *blocks, unsigned drain) {
	size_t batch = batch_begin(blocks, 0, watermark(drain) + 1);
	RECORD(blocks, record_fork, RECORD_FORK, 0, 0, .tid = 10, .pid = 10, .child_tid = 100 + drain,
	       .child_pid = 100 + drain, .parent_pid = 10, .name = "unborn");
	batch_end(blocks, batch);
}

static void add_exec(struct buffer *blocks, unsigned drain) {
	size_t batch = batch_begin(blocks, 1, watermark(drain) + 2);
	record_an_exec(blocks, 0, 100 + drain, "/bin/test", "/bin/test\0", 10);
	batch_end(blocks, batch);
}

static void hand_over(struct spool *spool, unsigned drain) {
	struct buffer blocks = {0};
	uint64_t begin = watermark(drain) - DRAIN, end = watermark(drain);
	if (drain == 0) {
		spool_begin(&blocks, SAMPLE_START);
		sample_facts(&blocks);
	} else {
		add_birth(&blocks, drain - 1);
	}
	add_switches(&blocks, 0, begin, end);
	// A spool passes on its data whenever there is a lot of it.
	assert_int_equal(spool->write(spool->context, blocks.data, blocks.size), 0);
	blocks.size = 0;
	add_switches(&blocks, 1, begin + (drain ? EARLY : 0), end + EARLY);
	add_exec(&blocks, drain);
	spool_a_watermark(&blocks, end);
	assert_int_equal(spool->write(spool->context, blocks.data, blocks.size), 0);
	buffer_free(&blocks);
}

static void save(struct flight *flight, struct keeper *keeper) {
	int fd = memfd_create("saved", MFD_CLOEXEC);
	char path[32];
	assert_int_equal(flight_save(flight, fd), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_file(keeper, path);
	close(fd);
	assert_int_equal(keeper->error, 0);
	assert_string_equal(keeper->said, "");
}

// Every switch on both CPUs, from the start to the last drain.
static size_t switches_since(uint64_t start, unsigned last) {
	size_t count = 0;
	for (unsigned cpu = 0; cpu < 2; cpu++)
		for (uint64_t time = SAMPLE_START; time < watermark(last) + cpu * EARLY; time += STEP)
			count += time >= start;
	return count;
}

static size_t named_children(const struct keeper *keeper) {
	size_t count = count_kind(keeper, EVENT_EXEC);
	for (size_t i = 0; i < keeper->events.count; i++) {
		const struct event *event = &keeper->events.items[i];
		count += event->kind == EVENT_TASK && event->tid >= 100 &&
			 strcmp(TEXT(keeper, event->task.command_line), "/bin/test") == 0;
	}
	return count;
}

static void check_after_each_drain(size_t limit) {
	struct flight *flight = flight_new(limit, 0);
	struct spool spool = {.fd = -1};
	flight_take(flight, &spool);
	uint64_t start = 0;
	for (unsigned drain = 0; drain < 60; drain++) {
		struct keeper keeper;
		hand_over(&spool, drain);
		save(flight, &keeper);
		assert_true(nth(&keeper, EVENT_START, 0)->time >= start);
		start = nth(&keeper, EVENT_START, 0)->time;
		assert_int_equal(count_kind(&keeper, EVENT_SWITCH), switches_since(start, drain));
		assert_int_equal(named_children(&keeper), drain + 1);
		assert_int_equal(count_kind(&keeper, EVENT_CLOCK), 1);
		keeper_free(&keeper);
	}
	assert_true(start > SAMPLE_START);
	assert_true(start < watermark(59));
	flight_free(flight);
}

static void test_what_is_kept_is_whole_in_a_ring_of_many_pieces(void **state) {
	check_after_each_drain(64 << 10);
}

static void test_what_is_kept_is_whole_in_a_ring_of_one_piece(void **state) {
	check_after_each_drain(6 << 10);
}

static void test_at_least_a_third_of_the_ring_is_used(void **state) {
	struct flight *flight = flight_new(16 << 10, 0);
	struct spool spool = {.fd = -1};
	flight_take(flight, &spool);
	for (unsigned drain = 0; drain < 40; drain++) {
		struct keeper keeper;
		hand_over(&spool, drain);
		save(flight, &keeper);
		size_t bytes = count_kind(&keeper, EVENT_SWITCH) * sizeof(struct record_switch);
		assert_true(bytes <= 16 << 10);
		assert_true(drain < 4 || bytes > (16 << 10) / 3);
		keeper_free(&keeper);
	}
	flight_free(flight);
}

static void test_old_losses_are_not_reported_again(void **state) {
	struct flight *flight = flight_new(8 << 10, 0);
	struct spool spool = {.fd = -1};
	flight_take(flight, &spool);
	hand_over(&spool, 0);
	struct buffer blocks = {0};
	size_t batch = batch_begin(&blocks, 0, watermark(0) + 1);
	record_a_switch(&blocks, 0, 10, 1, 10);
	batch_lost(&blocks, batch, SOURCE_IRQ, 5);
	batch_end(&blocks, batch);
	assert_int_equal(spool.write(spool.context, blocks.data, blocks.size), 0);
	for (unsigned drain = 1; drain < 20; drain++)
		hand_over(&spool, drain);
	struct spool_lost totals = {.time = watermark(20), .count = {[SOURCE_IRQ] = 7}};
	blocks.size = 0;
	add_block(&blocks, SPOOL_LOST, &totals, sizeof(totals));
	assert_int_equal(spool.write(spool.context, blocks.data, blocks.size), 0);
	struct keeper keeper;
	save(flight, &keeper);
	assert_int_equal(count_kind(&keeper, EVENT_LOST), 1);
	assert_int_equal(nth(&keeper, EVENT_LOST, 0)->lost.count, 2);
	keeper_free(&keeper);
	buffer_free(&blocks);
	flight_free(flight);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_kept_is_whole_in_a_ring_of_many_pieces),
		cmocka_unit_test(test_what_is_kept_is_whole_in_a_ring_of_one_piece),
		cmocka_unit_test(test_at_least_a_third_of_the_ring_is_used),
		cmocka_unit_test(test_old_losses_are_not_reported_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
