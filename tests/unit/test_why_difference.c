// What counts as growth between two runs of a test. Digests are made up here; bench/why_difference.sh has
// runs of a real test.
#include "unit.h"

#include "analyse/why.h"

#include <stdio.h>
#include <string.h>

enum { FUNCTIONS = 10, MS = 1000 * 1000 };

static const double usual[FUNCTIONS] = {5, 10, 15, 20, 8, 12, 4, 25, 9, 12};

static void add_part(struct buffer *digest, const char *reason, const char *function, const char *caller,
		     double ms) {
	buffer_printf(digest, ",{\"role\":\"test\",\"reason\":\"%s\"", reason);
	if (function)
		buffer_printf(digest, ",\"function\":\"%s\"", function);
	if (caller)
		buffer_printf(digest, ",\"caller\":\"%s\"", caller);
	buffer_printf(digest, ",\"ns\":%.0f}", ms * MS);
}

// A run in which each function ran for its usual time, more or less.
static void begin_run(struct buffer *digest, double wall, const double ms[FUNCTIONS]) {
	*digest = (struct buffer){0};
	buffer_printf(digest, "{\"wall_ns\":%.0f,\"segments\":[{\"role\":\"x\",\"reason\":\"cpu\",\"ns\":1}",
		      wall * MS);
	for (int i = 0; i < FUNCTIONS; i++) {
		char name[24];
		snprintf(name, sizeof(name), "part_%d", i);
		add_part(digest, "cpu", name, NULL, ms[i]);
	}
}

static void close_run(struct buffer *digest, struct why_parts *parts) {
	buffer_text(digest, "]}");
	buffer_append(digest, "", 1);
	assert_true(why_parts_read(parts, (const char *)digest->data));
	buffer_free(digest);
}

// What grew from `before` to `after`, as "reason function caller|". Frees both. `others` may be NULL.
static const char *growth_beside(struct buffer *before, struct buffer *after,
				 const struct why_passes *others) {
	static char found[400];
	struct why_parts parts[2];
	struct why_difference difference = {0};
	struct buffer *digests[] = {before, after};
	for (int i = 0; i < 2; i++)
		close_run(digests[i], &parts[i]);
	why_compare(&difference, &parts[1], &parts[0], others);
	*found = 0;
	for (size_t i = 0; i < difference.changes.count; i++) {
		const struct why_change *change = &difference.changes.items[i];
		size_t used = strlen(found);
		snprintf(found + used, sizeof(found) - used, "%s %s %s|", change->reason,
			 change->function ? change->function : "-", change->caller ? change->caller : "-");
	}
	why_difference_free(&difference);
	for (int i = 0; i < 2; i++)
		why_parts_free(&parts[i]);
	return found;
}

static const char *growth(struct buffer *before, struct buffer *after) {
	return growth_beside(before, after, NULL);
}

static void test_a_function_that_takes_longer_is_named(void **state) {
	for (int slow = 0; slow < FUNCTIONS; slow++) {
		struct buffer before, after;
		double ms[FUNCTIONS];
		char wanted[40];
		memcpy(ms, usual, sizeof(ms));
		ms[slow] += 20;
		begin_run(&before, 121, usual);
		begin_run(&after, 141, ms);
		snprintf(wanted, sizeof(wanted), "cpu part_%d -|", slow);
		assert_string_equal(growth(&before, &after), wanted);
	}
}

static void test_samples_that_differ_by_chance_are_no_growth(void **state) {
	static const double chance[FUNCTIONS] = {3, -4, 2.5, 3.7, 1.7, 3.3, 1.3, 3.3, 2.5, -6};
	struct buffer before, after;
	double ms[FUNCTIONS];
	for (int i = 0; i < FUNCTIONS; i++)
		ms[i] = usual[i] + chance[i];
	begin_run(&before, 121, usual);
	begin_run(&after, 135, ms);
	assert_string_equal(growth(&before, &after), "");
}

static void test_a_slower_machine_is_no_growth_of_all_functions(void **state) {
	struct buffer before, after;
	double normal[FUNCTIONS], slower[FUNCTIONS];
	for (int i = 0; i < FUNCTIONS; i++) {
		normal[i] = usual[i] * 10;
		slower[i] = normal[i] * 1.5;
	}
	begin_run(&before, 1210, normal);
	begin_run(&after, 1810, slower);
	assert_string_equal(growth(&before, &after), "");
	slower[3] += 260;
	begin_run(&before, 1210, normal);
	begin_run(&after, 2070, slower);
	assert_string_equal(growth(&before, &after), "cpu part_3 -|");
}

static void test_a_busy_machine_is_named_last(void **state) {
	struct buffer before, after;
	double ms[FUNCTIONS];
	begin_run(&before, 130, usual);
	begin_run(&after, 230, usual);
	add_part(&after, "ready", NULL, NULL, 100);
	assert_string_equal(growth(&before, &after), "");
	memcpy(ms, usual, sizeof(ms));
	ms[7] += 20;
	begin_run(&before, 130, usual);
	begin_run(&after, 430, ms);
	add_part(&after, "ready", NULL, NULL, 280);
	assert_string_equal(growth(&before, &after), "cpu part_7 -|ready - -|");
}

static void test_waits_are_exact(void **state) {
	struct buffer before, after;
	begin_run(&before, 1000, usual);
	add_part(&before, "sleep", "settle", NULL, 100);
	begin_run(&after, 1020, usual);
	add_part(&after, "sleep", "settle", NULL, 120);
	assert_string_equal(growth(&before, &after), "sleep settle -|");
	begin_run(&before, 1000, usual);
	add_part(&before, "fsync", "commit", NULL, 100);
	begin_run(&after, 1020, usual);
	add_part(&after, "fsync", "commit", NULL, 120);
	assert_string_equal(growth(&before, &after), "");
}

static void test_a_helper_is_compared_for_each_caller(void **state) {
	struct buffer before, after;
	begin_run(&before, 500, usual);
	add_part(&before, "sleep", "nap", "load", 300);
	add_part(&before, "sleep", "nap", "store", 20);
	begin_run(&after, 500, usual);
	add_part(&after, "sleep", "nap", "load", 20);
	add_part(&after, "sleep", "nap", "store", 300);
	assert_string_equal(growth(&before, &after), "sleep nap store|");
}

// Adds a passing run in which one function took so much longer.
static void add_pass(struct why_passes *passes, int function, double more) {
	struct buffer digest;
	struct why_parts parts;
	double ms[FUNCTIONS];
	memcpy(ms, usual, sizeof(ms));
	ms[function] += more;
	begin_run(&digest, 121 + more, ms);
	close_run(&digest, &parts);
	array_push(&passes->list, parts);
}

static void test_what_other_passing_runs_took_is_no_growth(void **state) {
	struct buffer before, after;
	struct why_passes passes = {0};
	double ms[FUNCTIONS];
	memcpy(ms, usual, sizeof(ms));
	ms[7] += 16;
	begin_run(&before, 121, usual);
	begin_run(&after, 137, ms);
	assert_string_equal(growth(&before, &after), "cpu part_7 -|");
	add_pass(&passes, 3, 0);
	add_pass(&passes, 7, 14);
	begin_run(&before, 121, usual);
	begin_run(&after, 137, ms);
	assert_string_equal(growth_beside(&before, &after, &passes), "");
	begin_run(&before, 121, usual);
	begin_run(&after, 133, usual);
	add_part(&after, "sleep", "settle", NULL, 12);
	assert_string_equal(growth_beside(&before, &after, &passes), "sleep settle -|");
	why_passes_free(&passes);
}

static void test_several_passing_runs_show_a_smaller_growth(void **state) {
	struct buffer before, after;
	struct why_passes passes = {0};
	double ms[FUNCTIONS];
	memcpy(ms, usual, sizeof(ms));
	ms[4] += 6;
	begin_run(&before, 121, usual);
	begin_run(&after, 127, ms);
	assert_string_equal(growth(&before, &after), "");
	for (int i = 0; i < 5; i++)
		add_pass(&passes, i, 1);
	begin_run(&before, 121, usual);
	begin_run(&after, 127, ms);
	assert_string_equal(growth_beside(&before, &after, &passes), "cpu part_4 -|");
	why_passes_free(&passes);
}

// A function that took 10 ms more, after so many passing runs.
static void test_few_passing_runs_say_less(void **state) {
	struct why_passes passes = {0};
	double ms[FUNCTIONS];
	memcpy(ms, usual, sizeof(ms));
	ms[7] += 10;
	for (int known = 1; known <= 4; known++) {
		struct buffer before, after;
		begin_run(&before, 121, usual);
		begin_run(&after, 131, ms);
		assert_string_equal(growth_beside(&before, &after, &passes),
				    known < WHY_FEW ? "" : "cpu part_7 -|");
		add_pass(&passes, 3, 0);
	}
	why_passes_free(&passes);
}

// A digest has room for the largest parts: one that is not there may have been as large as the smallest.
static void test_what_a_digest_left_out_is_no_growth(void **state) {
	for (int cut = 0; cut < 2; cut++) {
		struct buffer before = {0}, after;
		buffer_printf(&before,
			      "{\"wall_ns\":%d,\"rest_ns\":%d,\"segments\":[{\"role\":\"test\","
			      "\"reason\":\"sleep\",\"function\":\"wait\",\"ns\":%d}",
			      121 * MS, cut ? 9 * MS : 0, 5 * MS);
		static const double none[FUNCTIONS] = {0};
		begin_run(&after, 121, none);
		add_part(&after, "sleep", "settle", NULL, 4);
		assert_string_equal(growth(&before, &after), cut ? "" : "sleep settle -|");
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_function_that_takes_longer_is_named),
		cmocka_unit_test(test_samples_that_differ_by_chance_are_no_growth),
		cmocka_unit_test(test_a_slower_machine_is_no_growth_of_all_functions),
		cmocka_unit_test(test_a_busy_machine_is_named_last),
		cmocka_unit_test(test_waits_are_exact),
		cmocka_unit_test(test_a_helper_is_compared_for_each_caller),
		cmocka_unit_test(test_what_other_passing_runs_took_is_no_growth),
		cmocka_unit_test(test_several_passing_runs_show_a_smaller_growth),
		cmocka_unit_test(test_few_passing_runs_say_less),
		cmocka_unit_test(test_what_a_digest_left_out_is_no_growth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
