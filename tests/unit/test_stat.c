// From counts to the output of `tracelet stat`: values, metrics, assertions, baselines, tables,
// names of files.
#include "aside.h"

#include "stat/stat.h"

#include <math.h>

// Two CPUs with two threads, and three events: one counts all the time, one half of it, one is
// missing.
enum { PLACES = 4, EVENTS = 3, FAULTS = 0, CYCLES = 1, MISSING = 2 };

static struct stat_options options;
static struct counting counting;
static struct count counts[PLACES * EVENTS];

static void set_count(size_t place, size_t event, uint64_t value, uint64_t enabled, uint64_t running) {
	counts[place * EVENTS + event] = (struct count){
		.value = value,
		.scaled = running ? (double)value * (double)enabled / (double)running : 0,
		.enabled = enabled,
		.running = running};
}

static void add_metrics(const char *text) {
	assert_int_equal(metrics_read(&counting.metrics, text), 0);
}

static int begin(void **state) {
	static const struct {
		pid_t pid;
		int cpu;
	} places[PLACES] = {{10, 0}, {10, 1}, {11, 0}, {11, 1}};
	static const char *const names[EVENTS] = {"page-faults", "context-switches", "absent"};
	if (folder_setup(state))
		return -1;
	options = (struct stat_options){.tolerance = 0.02};
	counting = (struct counting){.options = &options};
	for (size_t i = 0; i < EVENTS; i++)
		array_push(&counting.events, (struct pmu_event){.name = memory_string(names[i]), .scale = 1});
	counting.events.items[MISSING].missing = memory_string("this machine has no such PMU");
	for (size_t i = 0; i < PLACES; i++) {
		array_push(&counting.places,
			   (struct counter_place){.pid = places[i].pid, .cpu = places[i].cpu});
		set_count(i, FAULTS, 10 * (i + 1), 100, 100);
		set_count(i, CYCLES, 1000, 100, 50);
		set_count(i, MISSING, 0, 0, 0);
	}
	counting.total = (struct stat_reading){.begin = 0, .end = 2, .counts = counts};
	return 0;
}

static int end(void **state) {
	pmu_events_free(&counting.events);
	metrics_free(&counting.metrics);
	stat_baseline_free(&counting.baseline);
	for (size_t i = 0; i < counting.assertions.count; i++)
		formula_free(&counting.assertions.items[i].formula);
	array_free(&counting.assertions);
	array_free(&counting.places);
	array_free(&counting.shown);
	array_free(&counting.timeline);
	array_free(&options.assertions);
	return folder_teardown(state);
}

static double whole(const char *name) {
	struct stat_part part = stat_whole(&counting, &counting.total);
	return stat_lookup(name, &part);
}

// ---- values ----

static void test_a_part_has_the_counts_of_its_places(void **state) {
	struct stat_part part = stat_whole(&counting, &counting.total);
	assert_int_equal(stat_count(&part, FAULTS).value, 100);
	part.cpu = 1;
	assert_int_equal(stat_count(&part, FAULTS).value, 60);
	part.thread = 11;
	assert_int_equal(stat_count(&part, FAULTS).value, 40);
	part.cpu = STAT_ALL_PLACES;
	assert_int_equal(stat_count(&part, FAULTS).value, 70);
	part.thread = 12;
	assert_int_equal(stat_count(&part, FAULTS).value, 0);
}

static void test_a_value_is_scaled_and_one_that_is_not_there_is_no_number(void **state) {
	assert_true(whole("page-faults") == 100);
	assert_true(whole("context-switches") == 8000);
	assert_true(whole("seconds") == 2);
	assert_true(isnan(whole("absent")));
	assert_true(isnan(whole("nothing")));
	assert_non_null(strstr(stat_why_not(&counting, MISSING), "no such PMU"));
}

static void test_what_was_never_on_a_counter_has_no_value(void **state) {
	for (size_t i = 0; i < PLACES; i++)
		set_count(i, CYCLES, 0, 100, 0);
	assert_true(isnan(whole("context-switches")));
	assert_string_equal(stat_why_not(&counting, CYCLES), "it never got a hardware counter");
	options.cpus = "0";
	assert_non_null(strstr(stat_why_not(&counting, CYCLES), "these CPUs"));
	for (size_t i = 0; i < PLACES; i++)
		set_count(i, CYCLES, 0, 0, 0); // it had no time to count: zero is right
	assert_true(whole("context-switches") == 0);
}

static void test_metrics_are_made_of_events_and_of_metrics(void **state) {
	add_metrics("[metric rate]\nformula = page-faults / seconds\n"
		    "[metric twice]\nformula = 2 * rate\n"
		    "[metric none]\nformula = rate / absent\n"
		    "[metric zero]\nformula = rate / (rate - rate)\n");
	assert_true(whole("rate") == 50);
	assert_true(whole("twice") == 100);
	assert_true(isnan(whole("none")));
	assert_true(isnan(whole("zero")));
}

#define IN_CIRCLES                                                                                           \
	"[metric hen]\nformula = egg + 1\n[metric egg]\nformula = hen + 1\n[metric self]\nformula = self\n"

static void test_metrics_that_go_in_circles_have_no_value(void **state) {
	add_metrics(IN_CIRCLES);
	assert_true(isnan(whole("hen")));
	assert_true(isnan(whole("self")));
}

static void test_numbers_are_for_people(void **state) {
	static const struct {
		double value;
		const char *text;
	} cases[] = {{0, "0"},
		     {7, "7"},
		     {999, "999"},
		     {1000, "1,000"},
		     {1234567, "1,234,567"},
		     {0.98, "0.98"},
		     {12.3456, "12.35"},
		     {1234.6, "1,235"},
		     {-5, "-5"},
		     {1e18, "1e+18"},
		     {INFINITY, "inf"}};
	char text[40];
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(stat_number(cases[i].value, text), cases[i].text);
	assert_non_null(strstr(stat_number((double)NAN, text), "nan"));
	assert_string_equal(stat_number(999999999999999999.0 / 10, text), "100,000,000,000,000,000");
}

// ---- assertions ----

// The output of a check with the expected status.
static char *check_says(int expected, const char *assertion) {
	if (assertion)
		array_push(&options.assertions, (struct stat_wanted){assertion, false});
	struct captured captured = capture_begin();
	int status = stat_take_assertions(&counting);
	if (!status)
		status = stat_check(&counting);
	char *said = capture_end(captured);
	assert_int_equal(status, expected);
	return said;
}

static void test_an_assertion_that_holds_is_silent(void **state) {
	CLEANUP_FREE char *said = check_says(0, "page-faults<=100");
	assert_string_equal(said, "");
}

static void test_a_failed_assertion_reports_both_sides(void **state) {
	CLEANUP_FREE char *said = check_says(STAT_DIFFERS, "context-switches<5e3");
	assert_non_null(strstr(said, "--assert 'context-switches<5e3' failed: it compares 8,000 with 5,000"));
}

static void test_the_case_is_named(void **state) {
	counting.test = "group.case";
	CLEANUP_FREE char *said = check_says(STAT_DIFFERS, "page-faults<1");
	assert_non_null(strstr(said, "group.case: --assert"));
}

static void test_what_cannot_be_counted_has_failed(void **state) {
	CLEANUP_FREE char *said = check_says(STAT_DIFFERS, "absent<1");
	assert_non_null(strstr(said, "--assert 'absent<1' failed: absent is not available"));
}

static void test_unless_it_is_only_for_where_it_can(void **state) {
	array_push(&options.assertions, (struct stat_wanted){"absent<1", true});
	CLEANUP_FREE char *said = check_says(0, NULL);
	assert_non_null(strstr(said, "not checked: absent is not available"));
}

static void test_so_has_a_metric_of_it(void **state) {
	add_metrics("[metric inner]\nformula = 1 / absent\n[metric outer]\nformula = inner * 2\n");
	CLEANUP_FREE char *said = check_says(STAT_DIFFERS, "outer<1");
	assert_non_null(strstr(said, "absent is not available"));
}

static void test_an_assertion_on_a_metric_that_goes_in_circles_has_failed(void **state) {
	add_metrics(IN_CIRCLES);
	CLEANUP_FREE char *said = check_says(STAT_DIFFERS, "hen<1");
	assert_non_null(strstr(said, "failed: it has no value"));
}

static void test_an_assertion_that_compares_nothing_is_bad_usage(void **state) {
	CLEANUP_FREE char *said = check_says(STAT_USAGE, "page-faults");
	assert_non_null(strstr(said, "no comparison"));
}

static void test_one_that_is_no_formula_is_bad_usage(void **state) {
	CLEANUP_FREE char *said = check_says(STAT_USAGE, "page-faults < (");
	assert_non_null(strstr(said, "--assert 'page-faults < ('"));
}

// ---- baselines ----

static int read_baseline(const char *json, const char *test) {
	put_file(in_folder("before.json"), json, strlen(json));
	return stat_baseline_read(&counting.baseline, in_folder("before.json"), test);
}

#define COUNTERS(list)       "{\"core\":{\"overall\":{\"Systemwide_Overall_Performance_Counters\":[" list "]}}}"
#define COUNTER(name, value) "{\"event_name\":\"" name "\",\"counter_value\":" value "}"

static char *compared(int expected, const char *json) {
	assert_int_equal(read_baseline(json, NULL), 0);
	return check_says(expected, NULL);
}

static void test_within_the_tolerance_nothing_is_said(void **state) {
	CLEANUP_FREE char *said = compared(0, COUNTERS(COUNTER("page-faults", "99")));
	assert_string_equal(said, "");
}

static void test_more_than_the_tolerance_fails(void **state) {
	CLEANUP_FREE char *said = compared(STAT_DIFFERS, COUNTERS(COUNTER("page-faults", "80")));
	assert_non_null(strstr(said, "page-faults: 100, baseline 80 (+25.00%, tolerance 2%)"));
}

static void test_less_is_a_warning_only(void **state) {
	CLEANUP_FREE char *said = compared(0, COUNTERS(COUNTER("page-faults", "200")));
	assert_non_null(strstr(said, "(-50.00%"));
}

static void test_a_baseline_of_zero_is_exceeded_by_anything(void **state) {
	CLEANUP_FREE char *said = compared(STAT_DIFFERS, COUNTERS(COUNTER("page-faults", "0")));
	assert_non_null(strstr(said, "baseline 0 (+inf%"));
}

static void test_what_is_counted_on_one_side_only_is_not_compared(void **state) {
	CLEANUP_FREE char *said = compared(0, COUNTERS(COUNTER("another", "1") "," COUNTER(
						      "absent", "1") "," COUNTER("page-faults", "null")));
	assert_non_null(strstr(said, "absent not compared with the baseline"));
	assert_null(strstr(said, "another"));
	assert_null(strstr(said, "page-faults"));
}

static void test_a_scaled_value_is_compared_with_a_scaled_one(void **state) {
	CLEANUP_FREE char *said = compared(0,
					   COUNTERS("{\"event_name\":\"context-switches\",\"counter_value\":"
						    "4000,\"scaled_value\":8000}"));
	assert_string_equal(said, "");
}

static void test_a_case_has_its_own_baseline_and_a_new_one_has_none(void **state) {
	const char *json =
		"{\"tests\":[{\"test\":\"one\",\"core\":{\"overall\":{\"Systemwide_Overall_"
		"Performance_Counters\":[" COUNTER(
			"page-faults",
			"5") "]}}},{\"test\":\"two\","
			     "\"core\":{\"overall\":{\"Systemwide_Overall_Performance_Counters\":[" COUNTER(
				     "page-faults", "6") "]}}}]}";
	assert_int_equal(read_baseline(json, "two"), 0);
	assert_int_equal(counting.baseline.count, 1);
	assert_true(counting.baseline.items[0].value == 6);
	stat_baseline_free(&counting.baseline);
	counting.baseline = (struct stat_baseline){0};
	assert_int_equal(read_baseline(json, "three"), 0);
	assert_int_equal(counting.baseline.count, 0);
}

static void test_a_file_that_is_no_report_is_bad_usage(void **state) {
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"core\":1}",
		"{\"tests\":{}}",
		COUNTERS("1") "garbage",
		"{\"core\":{\"overall\":{\"Systemwide_Overall_Performance_Counters\":5}}}"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (strstr(bad[i], "garbage"))
			continue; // what follows the report is ignored
		struct captured captured = capture_begin();
		int status = read_baseline(bad[i], NULL);
		CLEANUP_FREE char *said = capture_end(captured);
		assert_int_equal(status, STAT_USAGE);
		assert_non_null(strstr(said, "before.json"));
	}
	struct captured captured = capture_begin();
	assert_int_equal(stat_baseline_read(&counting.baseline, in_folder("none"), NULL), STAT_USAGE);
	free(capture_end(captured));
}

static void test_a_report_with_other_types_than_ours_does_no_harm(void **state) {
	static const char *const strange[] = {COUNTERS("null,5,\"x\",[],{}"),
					      COUNTERS("{\"event_name\":null,\"counter_value\":1}"),
					      COUNTERS("{\"event_name\":7,\"counter_value\":[]}"),
					      COUNTERS("{\"event_name\":\"page-faults\",\"counter_value\":1,"
						       "\"scaled_value\":null}"),
					      "{\"tests\":[null,5,{\"test\":null},{\"test\":[]}]}"};
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++) {
		struct captured captured = capture_begin();
		read_baseline(strange[i], "some test");
		free(capture_end(captured));
	}
}

// ---- tables ----

static char *text_of(struct buffer *text) {
	buffer_append(text, "", 1);
	return (char *)text->data;
}

static void test_a_table_has_values_notes_and_what_is_missing(void **state) {
	struct buffer text = {0};
	stat_table_end(&counting, &text);
	const char *table = text_of(&text);
	assert_non_null(strstr(table, "counted for 2.000000 s\n"));
	assert_non_null(strstr(table, "                 100  page-faults  "));
	assert_non_null(strstr(table, "               8,000  context-switches              scaled  "));
	assert_non_null(strstr(table, "4,000    50.0%\n")); // per second, and how long it was on a counter
	assert_non_null(strstr(table, "                   -  absent                        not available: "));
	buffer_free(&text);
}

static void test_each_core_is_a_part_of_its_own(void **state) {
	struct buffer text = {0};
	options.per_core = true;
	stat_table_end(&counting, &text);
	const char *table = text_of(&text);
	const char *first = strstr(table, "\nCPU 0\n"), *second = strstr(table, "\nCPU 1\n"),
		   *all = strstr(table, "\nall\n");
	assert_true(first && second && all && first < second && second < all);
	assert_non_null(strstr(second, "                  60  page-faults"));
	buffer_free(&text);
}

static void test_a_timeline_has_a_row_for_each_reading(void **state) {
	struct buffer text = {0};
	options.timeline = true;
	stat_table_begin(&counting, &text);
	stat_table_row(&counting, &counting.total, &text);
	assert_string_equal(text_of(&text),
			    "     SECONDS     page-faults  context-switches          absent\n"
			    "       2.000             100             8,000               -\n");
	buffer_free(&text);
}

static void test_a_case_is_a_row_with_its_name(void **state) {
	struct buffer text = {0};
	counting.test = "group.case";
	stat_table_case(&counting, 0, &text);
	stat_table_case(&counting, 3, &text);
	const char *rows = text_of(&text);
	assert_non_null(strstr(rows, "  group.case\n"));
	assert_non_null(strstr(rows, "  group.case (exit status 3)\n"));
	buffer_free(&text);
}

static void test_a_spark_line_goes_from_least_to_most(void **state) {
	static struct count rows[3][PLACES * EVENTS];
	struct buffer text = {0};
	for (size_t i = 0; i < 3; i++) {
		rows[i][FAULTS] = (struct count){.scaled = 50.0 * (double)i, .enabled = 1, .running = 1};
		array_push(
			&counting.timeline,
			(struct stat_reading){.begin = (double)i, .end = (double)i + 1, .counts = rows[i]});
	}
	stat_table_sparks(&counting, &text);
	const char *lines = text_of(&text);
	assert_non_null(strstr(lines, "page-faults                   ▁▅█  at most 100 in a row\n"));
	assert_non_null(strstr(lines, "context-switches              ▁▁▁  at most 0 in a row\n"));
	assert_null(strstr(lines, "absent"));
	buffer_free(&text);
}

static void test_a_reading_of_no_time_divides_by_nothing(void **state) {
	struct buffer text = {0};
	counting.total.end = 0;
	stat_table_end(&counting, &text);
	assert_null(strstr(text_of(&text), "inf"));
	assert_null(strstr((char *)text.data, "nan"));
	buffer_free(&text);
}

// ---- names of files ----

static void assert_name(const char *pattern, int core, const char *expected) {
	struct tm parts = {
		.tm_year = 126, .tm_mon = 10, .tm_mday = 6, .tm_hour = 7, .tm_min = 8, .tm_sec = 9};
	struct timespec time = {.tv_sec = mktime(&parts)};
	options.output = pattern;
	CLEANUP_FREE char *name = stat_file_name(&options, &time, core);
	assert_string_equal(name, expected);
}

static void test_words_of_a_name_are_filled_in(void **state) {
	assert_name("plain.csv", 0, "plain.csv");
	assert_name("{class}-{core}-{timestamp}.csv", STAT_ALL_PLACES, "all-all-2026_11_06_07_08_09.csv");
	options.per_core = true;
	assert_name("{class}{core}{core}", 3, "core33");
	options.per_core = false;
	options.per_thread = true;
	assert_name("{class}", 0, "thread");
	options.per_thread = false;
	options.per_test = true;
	assert_name("{class} {other} {core {} {", 1, "test {other} {core {} {");
}

static void test_a_file_for_each_core_is_wanted_for_csv_with_that_word(void **state) {
	assert_false(stat_wants_files(&options));
	options.output = "{core}.csv";
	options.format = STAT_CSV;
	assert_false(stat_wants_files(&options));
	options.per_core = true;
	assert_true(stat_wants_files(&options));
	options.format = STAT_JSON;
	assert_false(stat_wants_files(&options));
}

#define COUNTED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
	const struct CMUnitTest tests[] = {
		COUNTED(test_a_part_has_the_counts_of_its_places),
		COUNTED(test_a_value_is_scaled_and_one_that_is_not_there_is_no_number),
		COUNTED(test_what_was_never_on_a_counter_has_no_value),
		COUNTED(test_metrics_are_made_of_events_and_of_metrics),
		COUNTED(test_metrics_that_go_in_circles_have_no_value),
		COUNTED(test_numbers_are_for_people),
		COUNTED(test_an_assertion_that_holds_is_silent),
		COUNTED(test_a_failed_assertion_reports_both_sides),
		COUNTED(test_the_case_is_named),
		COUNTED(test_what_cannot_be_counted_has_failed),
		COUNTED(test_unless_it_is_only_for_where_it_can),
		COUNTED(test_so_has_a_metric_of_it),
		COUNTED(test_an_assertion_on_a_metric_that_goes_in_circles_has_failed),
		COUNTED(test_an_assertion_that_compares_nothing_is_bad_usage),
		COUNTED(test_one_that_is_no_formula_is_bad_usage),
		COUNTED(test_within_the_tolerance_nothing_is_said),
		COUNTED(test_more_than_the_tolerance_fails),
		COUNTED(test_less_is_a_warning_only),
		COUNTED(test_a_baseline_of_zero_is_exceeded_by_anything),
		COUNTED(test_what_is_counted_on_one_side_only_is_not_compared),
		COUNTED(test_a_scaled_value_is_compared_with_a_scaled_one),
		COUNTED(test_a_case_has_its_own_baseline_and_a_new_one_has_none),
		COUNTED(test_a_file_that_is_no_report_is_bad_usage),
		COUNTED(test_a_report_with_other_types_than_ours_does_no_harm),
		COUNTED(test_a_table_has_values_notes_and_what_is_missing),
		COUNTED(test_each_core_is_a_part_of_its_own),
		COUNTED(test_a_timeline_has_a_row_for_each_reading),
		COUNTED(test_a_case_is_a_row_with_its_name),
		COUNTED(test_a_spark_line_goes_from_least_to_most),
		COUNTED(test_a_reading_of_no_time_divides_by_nothing),
		COUNTED(test_words_of_a_name_are_filled_in),
		COUNTED(test_a_file_for_each_core_is_wanted_for_csv_with_that_word),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
