// A trace made while its spool grows equals the one made from the complete spool.
#include "aside.h"

#include "flow/follow.h"
#include "sample_spool.h"
#include "symbol/symbolizer.h"

#include <errno.h>

enum { DRAIN = 1000000, STEP = 100, DRAINS = 40 }; // nanoseconds; 10,000 switches each

static void hand_over(int fd, unsigned drain, uint64_t *written) {
	struct buffer blocks = {0};
	uint64_t begin = SAMPLE_START + (uint64_t)drain * DRAIN;
	if (drain == 0) {
		spool_begin(&blocks, SAMPLE_START);
		sample_facts(&blocks);
	}
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		size_t batch = batch_begin(&blocks, cpu, begin);
		for (uint32_t time = 0; time < DRAIN; time += STEP)
			record_a_switch(&blocks, time, 10 + cpu, 1, time / STEP % 2 ? 10 + cpu : 0);
		batch_end(&blocks, batch);
	}
	spool_a_watermark(&blocks, begin + DRAIN);
	assert_int_equal(file_write_all(fd, blocks.data, blocks.size), 0);
	*written += blocks.size;
	buffer_free(&blocks);
}

static struct conversion to(const char *output) {
	return (struct conversion){.input = in_folder("a.spool"),
				   .output = output,
				   .reader = &spool_reader,
				   .writer = &perfetto_writer,
				   .mode = OUTPUT_CREATE};
}

static int new_spool(void) {
	return open(in_folder("a.spool"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void assert_same_files(const char *left, const char *right) {
	struct input a, b;
	assert_int_equal(input_open(&a, left), 0);
	assert_int_equal(input_open(&b, right), 0);
	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.data, b.data, a.size);
	input_close(&a);
	input_close(&b);
}

static void test_a_followed_trace_is_that_of_the_whole(void **state) {
	int fd = new_spool();
	struct conversion conversion = to(in_folder("followed.pb")), afterwards = to(in_folder("whole.pb"));
	struct conversion_result followed, whole;
	struct follower *follower = NULL;
	uint64_t written = 0;
	for (unsigned drain = 0; drain < DRAINS; drain++) {
		hand_over(fd, drain, &written);
		if (!follower)
			follower = follow(&conversion);
		assert_non_null(follower);
		follow_written(follower, written);
	}
	close(fd);
	assert_int_not_equal(access(in_folder("followed.pb"), F_OK), 0); // it is not complete yet
	int error = follow_end(follower, &followed);
	follow_free(follower);
	if (error == -EPERM)
		skip(); // no permission to change how threads are scheduled
	assert_int_equal(error, 0);
	assert_int_equal(convert(&afterwards, &whole), 0);
	assert_int_equal(followed.tally.events, whole.tally.events);
	assert_int_equal(followed.size, whole.size);
	assert_same_files(in_folder("followed.pb"), in_folder("whole.pb"));
}

static void test_what_is_cancelled_leaves_nothing(void **state) {
	int fd = new_spool();
	struct conversion conversion = to(in_folder("followed.pb"));
	uint64_t written = 0;
	hand_over(fd, 0, &written);
	struct follower *follower = follow(&conversion);
	assert_non_null(follower);
	follow_written(follower, written);
	hand_over(fd, 1, &written);
	follow_written(follower, written);
	follow_cancel(follower);
	close(fd);
	assert_int_equal(folder_entries(), 1);
	follow_cancel(NULL);
}

// The file may be shorter than announced, on a full disk.
static void test_a_spool_that_is_cut_ends(void **state) {
	int fd = new_spool();
	struct conversion conversion = to(in_folder("followed.pb"));
	struct conversion_result result;
	uint64_t written = 0;
	hand_over(fd, 0, &written);
	close(fd);
	struct follower *follower = follow(&conversion);
	assert_non_null(follower);
	follow_written(follower, written + (1 << 20));
	int error = follow_end(follower, &result);
	follow_free(follower);
	assert_true(error == 0 || error == -EPERM);
}

// ---- names that become known later ----

static char map_path[64];

static void tell_names(void *context) {
	FILE *map = fopen(map_path, "we");
	++*(int *)context;
	fputs("7f0000000000 1000 made_later\n", map);
	fclose(map);
}

static const char *name_of(struct symbolizer *symbolizer, struct tables *tables) {
	struct frame frame = {.kind = FRAME_USER,
			      .address = 0x7f0000000010,
			      .module = strings_add(tables->strings, map_path)};
	uint32_t id;
	assert_int_equal(symbolizer->resolve(symbolizer, tables, &frame, &id, 1), 1);
	return strings_get(tables->strings, stacks_frame(tables->stacks, id)->symbol);
}

static void test_names_of_compiled_code_are_looked_for_at_the_end(void **state) {
	struct tables tables = tables_new();
	struct symbolizer *symbolizer = symbolizer_new(false);
	int waited = 0;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	symbolizer_wait_by(symbolizer, tell_names, &waited);
	assert_string_equal(name_of(symbolizer, &tables), "made_later");
	assert_string_equal(name_of(symbolizer, &tables), "made_later");
	assert_int_equal(waited, 1);
	unlink(map_path);
	symbolizer_free(symbolizer);
	tables_free(&tables);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_a_followed_trace_is_that_of_the_whole),
		IN_FOLDER(test_what_is_cancelled_leaves_nothing),
		IN_FOLDER(test_a_spool_that_is_cut_ends),
		cmocka_unit_test(test_names_of_compiled_code_are_looked_for_at_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
