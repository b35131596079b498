// Points: each is read back from a Perfetto trace unchanged, and from a spool as the kernel wrote
// it.
#include "event/event_stacks.h"
#include "event/kvm_reasons.h"
#include "event/points.h"
#include "sample_spool.h"
#include "trace_keeper.h"
#include "trace_run.h"

// A value for every bit of the point's fields.
static struct event a_point(uint16_t number, uint64_t time) {
	struct event event = {
		.kind = EVENT_POINT, .cpu = 1, .time = time, .tid = 10, .point = {.number = number}};
	const struct point *point = &points[number];
	for (size_t i = 0; i < POINT_MOST_FIELDS && point->fields[i].name; i++) {
		const struct point_field *field = &point->fields[i];
		if (field->type == POINT_TEXT)
			point_set_text(&event, field, "sixteen letters.", 16);
		else if (field->type == POINT_CODE)
			point_set(&event, field, strings_add(run.tables.strings, "hrtimer_wakeup"));
		else if (field->type == POINT_LIST)
			for (size_t at = 0; at < point_list(&event, field); at++)
				event.point.values[field->place + at] = at ? UINT64_MAX - at : 0;
		else
			point_set(&event, field, 0xfedcba9876543210 >> i);
	}
	return event;
}

static void test_every_point_comes_back_from_a_trace(void **state) {
	struct keeper keeper;
	struct buffer trace = {0};
	trace_begin("system");
	struct event were[POINT_COUNT];
	for (uint16_t i = 0; i < POINT_COUNT; i++)
		push(were[i] = a_point(i, 2000 + i));
	trace_finish(&trace);
	read_trace(&keeper, &trace);
	assert_int_equal(keeper.error, 0);
	assert_string_equal(keeper.said, "");
	assert_int_equal(count_kind(&keeper, EVENT_POINT), POINT_COUNT);
	for (uint16_t i = 0; i < POINT_COUNT; i++) {
		const struct event *back = nth(&keeper, EVENT_POINT, i);
		struct event was = were[i];
		assert_int_equal(back->point.number, i);
		assert_int_equal(back->time, 2000 + i);
		assert_int_equal(back->cpu, 1);
		assert_int_equal(back->tid, 10);
		assert_int_equal(back->point.small, was.point.small);
		for (size_t at = 0; at < POINT_VALUES; at++) {
			bool code = false;
			for (size_t f = 0; f < POINT_MOST_FIELDS; f++)
				code |= points[i].fields[f].type == POINT_CODE &&
					points[i].fields[f].place == at;
			if (code)
				assert_string_equal(TEXT(&keeper, (uint32_t)back->point.values[at]),
						    "hrtimer_wakeup");
			else
				assert_true(back->point.values[at] == was.point.values[at]);
		}
	}
	keeper_free(&keeper);
	buffer_free(&trace);
}

static void test_every_point_has_a_name_a_source_and_values_for_its_fields(void **state) {
	for (size_t i = 0; i < POINT_COUNT; i++) {
		assert_non_null(points[i].group);
		assert_non_null(points[i].name);
		assert_in_range(points[i].source, SOURCE_FAULT, RECORD_SOURCE_COUNT - 1);
		assert_in_range(points[i].values, 0, POINT_VALUES);
		for (size_t f = 0; f < POINT_MOST_FIELDS && points[i].fields[f].name; f++) {
			const struct point_field *field = &points[i].fields[f];
			assert_true(field->place == POINT_SMALL || field->place < points[i].values);
			assert_true(!points[i].message == !field->number);
		}
	}
}

// Recorded files refer to points by these numbers.
static void test_numbers_of_points_stay(void **state) {
	static const struct {
		int number;
		const char *name;
	} rows[] = {{0, "sys_enter"},       {3, "page_fault_major"},
		    {5, "block_io_done"},   {11, "timer_expire_exit"},
		    {17, "ipi_raise"},      {24, "kvm_exit"},
		    {33, "tasklet_exit"},   {37, "rss_stat"},
		    {45, "block_split"},    {51, "call_function_single_exit"},
		    {52, "signal_generate"}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(points[rows[i].number].name, rows[i].name);
}

static void test_system_calls_have_the_names_of_their_machine(void **state) {
	assert_string_equal(system_call_name("x86_64", 0), "read");
	assert_string_equal(system_call_name("x86_64", 9), "mmap");
	assert_string_equal(system_call_name("aarch64", 222), "mmap");
	assert_null(system_call_name("x86_64", 100000));
	assert_null(system_call_name("riscv64", 0));
}

static void test_guests_are_left_for_reasons_in_words(void **state) {
	enum { ARM64, VMX, SVM };
	assert_string_equal(kvm_exit_reason(VMX, 48), "EPT_VIOLATION");
	assert_string_equal(kvm_exit_reason(VMX, 0x80000021), "INVALID_STATE"); // the upper half is flags
	assert_string_equal(kvm_exit_reason(SVM, 0x7b), "io");
	assert_string_equal(kvm_exit_reason(SVM, 0x400), "npf");
	assert_string_equal(kvm_exit_reason(SVM, UINT32_MAX), "invalid_guest_state");
	assert_string_equal(kvm_exit_reason(ARM64, 0x24), "DABT_LOW");
	assert_null(kvm_exit_reason(VMX, 5));
	assert_null(kvm_exit_reason(SVM, 0x4ff));
	assert_null(kvm_exit_reason(ARM64, 1000));
}

static void test_events_that_have_stacks_are_known_by_name(void **state) {
	struct strings *strings = strings_new();
	static const char *const names[] = {"page_fault_minor", "sys_enter_mmap", "sys_exit", "sched_waking",
					    "task_newtask",     "softirq_entry",  "kmalloc"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int event = stack_event_find("x86_64", names[i]);
		assert_true(event != NO_STACK_EVENT);
		assert_true(stack_event_is(names[i]));
		assert_string_equal(
			strings_get(strings, stack_event_name(strings, "x86_64", (uint32_t)event)), names[i]);
	}
	assert_int_equal(stack_event_find("aarch64", "sys_enter_open"), NO_STACK_EVENT); // it only has openat
	assert_int_equal(stack_event_find("x86_64", "cpu-clock"), NO_STACK_EVENT);
	assert_false(stack_event_is("cpu-clock"));
	assert_string_equal(strings_get(strings, stack_event_name(strings, "x86_64", 0x7fff)), "event");
	assert_string_equal(strings_get(strings, stack_event_name(strings, "", 9 << 16)), "sys_enter_9");
	strings_free(strings);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_point_comes_back_from_a_trace),
		cmocka_unit_test(test_every_point_has_a_name_a_source_and_values_for_its_fields),
		cmocka_unit_test(test_numbers_of_points_stay),
		cmocka_unit_test(test_system_calls_have_the_names_of_their_machine),
		cmocka_unit_test(test_guests_are_left_for_reasons_in_words),
		cmocka_unit_test(test_events_that_have_stacks_are_known_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
