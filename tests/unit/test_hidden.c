// Recordings for another user contain no kernel addresses.
#include "capture/bpf/hidden.h"
#include "unit.h"

#define SLIDE 0x12000000ull

struct sample_batch {
	struct batch head;
	struct record_sample sample;
	uint64_t addresses[3];
};

static void test_samples(void **state) {
	struct hidden hidden = {.slide = SLIDE, .secret = 1};
	struct sample_batch batch = {
		.head.size = sizeof(batch) - sizeof(batch.head),
		.sample = {.head = {.kind = RECORD_SAMPLE, .size = sizeof(batch) - sizeof(batch.head)},
			   .kernel_frames = 2,
			   .user_frames = 1},
		.addresses = {HIDDEN_TEXT + SLIDE + 5, HIDDEN_TEXT + SLIDE + 9, 0x400000}};
	const struct sample_batch *out = (const void *)hidden_batch(&hidden, &batch.head);
	assert_int_equal(out->addresses[0], HIDDEN_TEXT + 5);
	assert_int_equal(out->addresses[1], HIDDEN_TEXT + 9);
	assert_int_equal(out->addresses[2], 0x400000);
	batch.sample.kernel_frames = 1000; // more than there is room for
	out = (const void *)hidden_batch(&hidden, &batch.head);
	assert_int_equal(out->addresses[1], HIDDEN_TEXT + 9);
	hidden_free(&hidden);
}

static void test_points(void **state) {
	struct hidden hidden = {.slide = SLIDE, .secret = 1};
	struct {
		struct batch head;
		struct record_point points[2];
	} batch = {.head.size = sizeof(batch.points)};
	for (int i = 0; i < 2; i++)
		batch.points[i] = (struct record_point){
			.head = {.kind = RECORD_POINT, .size = sizeof(struct record_point)},
			.point = POINT_HRTIMER_START,
			.values = {0xffff888000001000, HIDDEN_TEXT + SLIDE, 77}};
	const struct record_point *out = (const void *)(hidden_batch(&hidden, &batch.head) + 1);
	for (int i = 0; i < 2; i++) {
		assert_true(out[i].values[0] <= UINT32_MAX);
		assert_int_equal(out[i].values[1], HIDDEN_TEXT);
		assert_int_equal(out[i].values[2], 77);
	}
	assert_int_equal(out[0].values[0], out[1].values[0]);
	hidden_free(&hidden);
}

// The programs send as many values as a point has.
static void test_short_points(void **state) {
	struct hidden hidden = {.slide = SLIDE, .secret = 1};
	enum { SIZE = offsetof(struct record_point, values) + 2 * sizeof(uint64_t) };
	struct {
		struct batch head;
		uint8_t bytes[2 * SIZE];
	} batch = {.head.size = sizeof(batch.bytes)};
	for (int i = 0; i < 2; i++)
		memcpy(batch.bytes + i * SIZE,
		       &(struct record_point){.head = {.kind = RECORD_POINT, .size = SIZE},
					      .point = POINT_KFREE,
					      .values = {HIDDEN_TEXT + SLIDE, 0xffff888000001000}},
		       SIZE);
	const uint8_t *out = (const void *)(hidden_batch(&hidden, &batch.head) + 1);
	for (int i = 0; i < 2; i++) {
		uint64_t values[2];
		memcpy(values, out + i * SIZE + offsetof(struct record_point, values), sizeof(values));
		assert_int_equal(values[0], HIDDEN_TEXT);
		assert_true(values[1] <= UINT32_MAX);
	}
	hidden_free(&hidden);
}

static void test_nothing_to_hide(void **state) {
	struct hidden hidden = {0};
	struct batch batch = {0};
	assert_ptr_equal(hidden_batch(&hidden, &batch), &batch);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_samples), cmocka_unit_test(test_points),
					   cmocka_unit_test(test_short_points),
					   cmocka_unit_test(test_nothing_to_hide)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
