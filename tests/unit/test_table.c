// The table engine: rows, groups, sums, order, and the three output forms.
#include "analyse/table.h"
#include "written.h"

static struct tables tables;

static int table_setup(void **state) {
	tables = tables_new();
	return folder_setup(state);
}

static int table_teardown(void **state) {
	tables_free(&tables);
	return folder_teardown(state);
}

#define WITH_TABLES(test) cmocka_unit_test_setup_teardown(test, table_setup, table_teardown)

#define LOST(when, number, from, amount)                                                                     \
	{                                                                                                    \
		.kind = EVENT_LOST, .time = (when), .cpu = (number), .lost = {                               \
			.count = (amount),                                                                   \
			.source = (from)                                                                     \
		}                                                                                            \
	}

static const struct event losses[] = {
	{.kind = EVENT_START, .time = 1000000000, .cpu = CPU_NONE},
	LOST(1000000500, 0, SOURCE_IRQ, 5),
	LOST(1000000600, 1, SOURCE_SCHED, 7),
	LOST(1000000700, 1, SOURCE_IRQ, 10),
	LOST(3000000000, CPU_NONE, SOURCE_MARKER, 2),
};

static char *table_of(const struct table_options *options, const struct event *events, size_t count) {
	struct output output;
	assert_int_equal(output_open(&output, in_folder("written"), OUTPUT_REPLACE), 0);
	return write_all(table_new(&output, &tables, options), &output, events, count);
}

#define assert_table(expected, ...)                                                                          \
	do {                                                                                                 \
		CLEANUP_FREE char *text = table_of(&(struct table_options){.name = "lost", __VA_ARGS__},     \
						   losses, ARRAY_SIZE(losses));                              \
		assert_string_equal(text, expected);                                                         \
	} while (0)

static void test_rows_come_as_they_are(void **state) {
	assert_table("time,cpu,source,count\n"
		     "0.000000500,0,irq,5\n"
		     "0.000000600,1,sched,7\n"
		     "0.000000700,1,irq,10\n"
		     "2.000000000,,marker,2\n",
		     .format = TABLE_CSV);
}

static void test_columns_are_aligned(void **state) {
	assert_table("       time  cpu  source  count\n"
		     "0.000000500    0  irq         5\n"
		     "0.000000600    1  sched       7\n"
		     "0.000000700    1  irq        10\n"
		     "2.000000000       marker      2\n",
		     .format = TABLE_TEXT);
}

static void test_what_is_not_known_is_null_in_json(void **state) {
	assert_table("[{\"time\":2,\"cpu\":null,\"source\":\"marker\",\"count\":2},\n"
		     " {\"time\":5e-07,\"cpu\":0,\"source\":\"irq\",\"count\":5}]\n",
		     .format = TABLE_JSON, .sort = "count", .reverse = true, .limit = 2);
}

static void test_groups_are_counted_and_summed(void **state) {
	assert_table("source,count,count\nirq,2,15\nsched,1,7\nmarker,1,2\n", .format = TABLE_CSV,
		     .group_by = "source", .sum = "count");
	assert_table("source,cpu,count\nirq,0,1\nsched,1,1\nirq,1,1\nmarker,,1\n", .format = TABLE_CSV,
		     .group_by = "source,cpu");
	assert_table("cpu,count,count\n1,2,17\n0,1,5\n,1,2\n", .format = TABLE_CSV, .group_by = "cpu",
		     .sum = "count");
}

static void test_sums_without_groups_are_those_of_all(void **state) {
	assert_table("count,count\n4,24\n", .format = TABLE_CSV, .group_by = "none", .sum = "count");
}

static void test_rows_are_sorted_and_cut(void **state) {
	assert_table("time,cpu,source,count\n0.000000700,1,irq,10\n0.000000600,1,sched,7\n",
		     .format = TABLE_CSV, .sort = "count", .limit = 2);
	// Texts alphabetically; equal rows keep their order.
	assert_table("time,cpu,source,count\n"
		     "0.000000500,0,irq,5\n"
		     "0.000000700,1,irq,10\n"
		     "2.000000000,,marker,2\n"
		     "0.000000600,1,sched,7\n",
		     .format = TABLE_CSV, .sort = "source");
	assert_table("time,cpu,source,count\n"
		     "0.000000600,1,sched,7\n"
		     "2.000000000,,marker,2\n"
		     "0.000000500,0,irq,5\n"
		     "0.000000700,1,irq,10\n",
		     .format = TABLE_CSV, .sort = "source", .reverse = true);
}

static void test_a_table_of_nothing(void **state) {
	static const struct table_options options[] = {{.name = "lost", .format = TABLE_TEXT},
						       {.name = "lost", .format = TABLE_CSV},
						       {.name = "lost", .format = TABLE_JSON}};
	static const char *const expected[] = {"time  cpu  source  count\n", "time,cpu,source,count\n",
					       "[]\n"};
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		CLEANUP_FREE char *text = table_of(&options[i], losses, 1);
		assert_string_equal(text, expected[i]);
	}
}

static void refused(const struct table_options *options, const char *expected) {
	struct output output;
	assert_int_equal(output_open(&output, in_folder("refused"), OUTPUT_REPLACE), 0);
	struct captured captured = capture_begin();
	struct sink *sink = table_new(&output, &tables, options);
	CLEANUP_FREE char *said = capture_end(captured);
	assert_null(sink);
	assert_non_null(strstr(said, expected));
	output_abandon(&output);
}

static void test_what_there_is_not_is_refused_with_what_there_is(void **state) {
	refused(&(struct table_options){.name = "nothing"},
		"there is no table 'nothing'; there are processes");
	refused(&(struct table_options){.name = "lost", .group_by = "source,nobody"},
		"--group-by: table lost has no column 'nobody'; it has time cpu source count");
	refused(&(struct table_options){.name = "lost", .sum = "source"},
		"--sum: column 'source' has no numbers");
	refused(&(struct table_options){.name = "lost", .group_by = "source", .sort = "cpu"},
		"--sort: there is no column 'cpu'; there are source count");
}

// Every table begins, ends and can be written without an event, and all its columns exist.
static void test_every_definition_is_good(void **state) {
	struct table_name names[64];
	size_t count = table_names(names, ARRAY_SIZE(names));
	assert_in_range(count, 10, ARRAY_SIZE(names));
	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE char *text = table_of(
			&(struct table_options){.name = names[i].name, .format = TABLE_JSON}, losses, 1);
		assert_string_equal(text, "[]\n");
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		WITH_TABLES(test_rows_come_as_they_are),
		WITH_TABLES(test_columns_are_aligned),
		WITH_TABLES(test_what_is_not_known_is_null_in_json),
		WITH_TABLES(test_groups_are_counted_and_summed),
		WITH_TABLES(test_sums_without_groups_are_those_of_all),
		WITH_TABLES(test_rows_are_sorted_and_cut),
		WITH_TABLES(test_a_table_of_nothing),
		WITH_TABLES(test_what_there_is_not_is_refused_with_what_there_is),
		WITH_TABLES(test_every_definition_is_good),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
