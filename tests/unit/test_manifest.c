// A line of the manifest: what is written is read back, and truncated or hostile lines do no harm.
#include "unit.h"

#include "format/manifest_record.h"

static struct manifest_crash full_crash(void) {
	struct manifest_crash crash = {0};
	MANIFEST_PUT(&crash, signal, 11);
	MANIFEST_PUT(&crash, name, "SIGSEGV");
	MANIFEST_PUT(&crash, pid, 12);
	MANIFEST_PUT(&crash, tid, 13);
	MANIFEST_PUT(&crash, thread, "worker");
	MANIFEST_PUT(&crash, code, -6);
	MANIFEST_PUT(&crash, address, "0x10");
	MANIFEST_PUT(&crash, instruction, "0x400000");
	crash.there.stack = MANIFEST_THERE;
	array_push(&crash.stack, "main");
	array_push(&crash.stack, "_start");
	return crash;
}

static struct manifest_case full_case(void) {
	struct manifest_case test = {0};
	MANIFEST_PUT(&test, name, "Suite.Case");
	MANIFEST_PUT(&test, result, "passed");
	MANIFEST_PUT(&test, wall_seconds, 0.125);
	MANIFEST_PUT(&test, trace, "out/case.pb");
	return test;
}

static struct manifest_deletion full_deletion(void) {
	struct manifest_deletion deletion = {0};
	MANIFEST_PUT(&deletion, test, "old");
	MANIFEST_PUT(&deletion, kind, "perfetto");
	MANIFEST_PUT(&deletion, path, "out/old.pb");
	MANIFEST_PUT(&deletion, size, 3);
	return deletion;
}

static void put_counts(struct manifest_record *record) {
	record->there.metrics = MANIFEST_THERE;
	array_push(&record->metrics, (struct manifest_count){"ready_ns", 12});
	MANIFEST_PUT(record, waited, "{\"mutex\":[3,118000000,90000000]}");
	MANIFEST_PUT(record, functions, "{\"samples\":9,\"self\":{\"main\":4}}");
	MANIFEST_PUT(record, events, 1234567);
	record->there.lost = MANIFEST_THERE;
	array_push(&record->lost, (struct manifest_count){"sched", 5});
	array_push(&record->lost, (struct manifest_count){"irq", 0});
	MANIFEST_PUT(record, samples, 100);
	MANIFEST_PUT(record, sample_event, "cycles");
	MANIFEST_PUT(record, samples_short_delivered, 7);
	MANIFEST_PUT(record, samples_short_expected, 90);
	MANIFEST_PUT(record, samples_throttled, 4);
	MANIFEST_PUT(record, recording_stopped_by, "--max-size");
	MANIFEST_PUT(record, recording_stopped_after_seconds, 0.5);
	MANIFEST_PUT(record, waits, 6);
	MANIFEST_PUT(record, event_stacks, 8);
	MANIFEST_PUT(record, broken_stacks, 9);
	MANIFEST_PUT(record, cut_stacks, 3);
	MANIFEST_PUT(record, gaps, 10);
	MANIFEST_PUT(record, late, 11);
	MANIFEST_PUT(record, cost_bpf_seconds, 0.005);
	MANIFEST_PUT(record, cost_bpf_runs_measured, 17);
	MANIFEST_PUT(record, cost_bpf_estimated, true);
	MANIFEST_PUT(record, cost_tracer_cpu_seconds, 0.025);
}

static void put_identity(struct manifest_record *record) {
	MANIFEST_PUT(record, version, 2);
	MANIFEST_PUT(record, session, "019a8f0e-6b1c-7a52-9d0e-3f1c5b7a9e42");
	MANIFEST_PUT(record, run, "github-1");
	MANIFEST_PUT(record, parent, "019a8f0e-6b1c-7a52-9d0e-3f1c5b7a9e43");
	MANIFEST_PUT(record, attempt, 3);
	MANIFEST_PUT(record, project, "tracelet");
	MANIFEST_PUT(record, suite, "unit_tests");
	MANIFEST_PUT(record, machine_class, "large");
	MANIFEST_PUT(record, source_head, "5211dcb");
	MANIFEST_PUT(record, source_fork, true);
	MANIFEST_PUT(record, source_dirty, true);
	MANIFEST_PUT(record, status, "failed");
	MANIFEST_PUT(record, source_commit, "5211dca");
	MANIFEST_PUT(record, source_branch, "main");
	MANIFEST_PUT(record, source_change, "17");
	MANIFEST_PUT(record, source_ci, "github");
	MANIFEST_PUT(record, source_job, "unit");
	MANIFEST_PUT(record, cpu, "a fast one");
	MANIFEST_PUT(record, cpus, 2);
	MANIFEST_PUT(record, memory, 1ull << 40);
}

static struct manifest_record full_record(void) {
	struct manifest_record record = {0};
	put_identity(&record);
	MANIFEST_PUT(&record, test, "unit \"1\"");
	MANIFEST_PUT(&record, name, "unit[a;b]");
	manifest_put_word(&record, "./unit");
	manifest_put_word(&record, "");
	MANIFEST_PUT(&record, kind, "test");
	MANIFEST_PUT(&record, result, "failed: exit status 3");
	MANIFEST_PUT(&record, guest_failed, "panic\n");
	MANIFEST_PUT(&record, timed_out_after, 2.5);
	MANIFEST_PUT(&record, signal, 11);
	MANIFEST_PUT(&record, exit, -1073741819);
	MANIFEST_PUT(&record, variant, "{\"a\":[1.50e3,\"\\u0001\",{}],\"b\":null}");
	MANIFEST_PUT(&record, variant_hash, "0123456789abcdef");
	MANIFEST_PUT(&record, repro, true);
	MANIFEST_PUT(&record, started, (struct timespec){.tv_sec = 86400, .tv_nsec = 7000000});
	MANIFEST_PUT(&record, wall_seconds, 1.25);
	MANIFEST_PUT(&record, cpu_seconds, 0);
	MANIFEST_PUT(&record, host, "h\xc3\xb6st");
	MANIFEST_PUT(&record, kernel, "6.1");
	MANIFEST_PUT(&record, machine, "x86_64");
	MANIFEST_PUT(&record, kvm, false);
	MANIFEST_PUT(&record, tracelet, "0.1");
	MANIFEST_PUT(&record, profile, "embedded");
	MANIFEST_PUT(&record, scope, "tree");
	MANIFEST_PUT(&record, backend, "bpf");
	manifest_put_artifact(&record, "perfetto", "out/a.pb", UINT64_MAX, "00ff");
	MANIFEST_PUT(manifest_put_artifact(&record, "partial", "C:\\b", 0, NULL), partial, true);
	MANIFEST_PUT(&record, not_kept, "--keep never");
	MANIFEST_PUT(&record, crashes_more, 84);
	MANIFEST_PUT(&record, explanation, "it slept");
	MANIFEST_PUT(&record, waited, "{\"disk\":7}");
	MANIFEST_PUT(&record, functions, "{\"f\":5}");
	record.there.metrics = MANIFEST_THERE;
	array_push(&record.metrics, (struct manifest_count){"rss", 4096});
	MANIFEST_PUT(&record, time_digest, "{\"wall_ns\":5}");
	MANIFEST_PUT(&record, held_seconds, 1.5);
	MANIFEST_PUT(&record, limits_cpus, 0.5);
	MANIFEST_PUT(&record, limits_periods, 46);
	MANIFEST_PUT(&record, limits_throttled_periods, 45);
	MANIFEST_PUT(&record, limits_throttled_seconds, 2.5);
	MANIFEST_PUT(&record, limits_memory, 60000000);
	MANIFEST_PUT(&record, limits_memory_peak, 59000000);
	MANIFEST_PUT(&record, limits_oom_kills, 1);
	record.there.outlived = MANIFEST_THERE;
	array_push(&record.outlived, "daemon (17)");
	record.there.crashes = MANIFEST_THERE;
	array_push(&record.crashes, full_crash());
	record.there.cases = MANIFEST_THERE;
	array_push(&record.cases, full_case());
	MANIFEST_PUT(&record, guest, "vsock:3");
	MANIFEST_PUT(&record, guest_clock_offset_ns, -1700000000123456789);
	MANIFEST_PUT(&record, guest_clock_bound_ns, 2500);
	record.there.deleted = MANIFEST_THERE;
	array_push(&record.deleted, full_deletion());
	MANIFEST_PUT(&record, why, "max-age");
	MANIFEST_PUT(&record, when, "2026-01-02T03:04:05Z");
	put_counts(&record);
	return record;
}

static char *line_of(const struct manifest_record *record) {
	struct buffer line = {0};
	manifest_write(record, &line);
	buffer_append(&line, "", 1);
	return (char *)line.data;
}

// Parses from memory of exactly this size: reading past it is detected.
static bool parse(const char *text, size_t size, struct manifest_record *record) {
	CLEANUP_FREE char *copy = memory_alloc(size + !size);
	memcpy(copy, text, size);
	return manifest_parse(copy, size, record);
}

// ---- what is written is read ----

// Members of the same name and type in two structs.
#define SAME_TEXT(left, right)    assert_string_equal(left, right)
#define SAME_JSON(left, right)    assert_string_equal(left, right)
#define SAME_NUMBER(left, right)  assert_true((left) == (right))
#define SAME_COUNT(left, right)   assert_true((left) == (right))
#define SAME_INTEGER(left, right) assert_true((left) == (right))
#define SAME_FLAG(left, right)    assert_true((left) == (right))
#define SAME_TIME(left, right)                                                                               \
	assert_true((left).tv_sec == (right).tv_sec && (left).tv_nsec == (right).tv_nsec)
#define SAME_COUNTED(left, right)   assert_int_equal((left).count, (right).count)
#define SAME_WORDS(left, right)     SAME_COUNTED(left, right)
#define SAME_COUNTS(left, right)    SAME_COUNTED(left, right)
#define SAME_ARTIFACTS(left, right) SAME_COUNTED(left, right)
#define SAME_DELETIONS(left, right) SAME_COUNTED(left, right)
#define SAME_CRASHES(left, right)   SAME_COUNTED(left, right)
#define SAME_CASES(left, right)     SAME_COUNTED(left, right)

#define CHECK(type, name)                                                                                    \
	assert_int_equal(left->there.name, right->there.name);                                               \
	if (left->there.name == MANIFEST_THERE)                                                              \
		SAME_##type(left->name, right->name);
#define CHECK_INSIDE(type, object, name) CHECK(type, object##_##name)

static void check_items(const struct manifest_record *one, const struct manifest_record *other) {
	for (size_t i = 0; i < one->artifacts.count; i++) {
		const struct manifest_artifact *left = &one->artifacts.items[i];
		const struct manifest_artifact *right = &other->artifacts.items[i];
		MANIFEST_ARTIFACT(CHECK)
	}
	for (size_t i = 0; i < one->deleted.count; i++) {
		const struct manifest_deletion *left = &one->deleted.items[i];
		const struct manifest_deletion *right = &other->deleted.items[i];
		MANIFEST_DELETION(CHECK)
	}
	for (size_t i = 0; i < one->cases.count; i++) {
		const struct manifest_case *left = &one->cases.items[i], *right = &other->cases.items[i];
		MANIFEST_CASE(CHECK)
	}
	for (size_t i = 0; i < one->crashes.count; i++) {
		const struct manifest_crash *left = &one->crashes.items[i], *right = &other->crashes.items[i];
		MANIFEST_CRASH(CHECK)
		for (size_t k = 0; k < left->stack.count; k++)
			assert_string_equal(left->stack.items[k], right->stack.items[k]);
	}
}

static void check_equal(const struct manifest_record *left, const struct manifest_record *right) {
	MANIFEST_RECORD(CHECK, CHECK_INSIDE)
	check_items(left, right);
	for (size_t i = 0; i < left->command.count; i++)
		assert_string_equal(left->command.items[i], right->command.items[i]);
	for (size_t i = 0; i < left->lost.count; i++) {
		assert_string_equal(left->lost.items[i].name, right->lost.items[i].name);
		assert_true(left->lost.items[i].count == right->lost.items[i].count);
	}
}

static void test_a_full_record_is_read_back_equal(void **state) {
	struct manifest_record record = full_record(), again;
	const uint8_t *there = (const uint8_t *)&record.there;
	for (size_t i = 0; i < sizeof(record.there); i++)
		assert_int_equal(there[i], MANIFEST_THERE); // the test must cover all of them
	CLEANUP_FREE char *line = line_of(&record);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_true(parse(line, strlen(line), &again));
	check_equal(&record, &again);
	CLEANUP_FREE char *second = line_of(&again);
	assert_string_equal(line, second);
	manifest_record_free(&record);
	manifest_record_free(&again);
}

static void test_what_is_not_there_is_not_written_and_null_stays_null(void **state) {
	struct manifest_record record = {0}, again;
	MANIFEST_PUT(&record, test, "a");
	MANIFEST_PUT(&record, backend, NULL);
	MANIFEST_PUT(&record, cost_tracer_cpu_seconds, 0);
	record.there.artifacts = MANIFEST_THERE;
	record.there.events = record.there.lost = MANIFEST_NULL;
	CLEANUP_FREE char *line = line_of(&record);
	assert_string_equal(line, "{\"test\":\"a\",\"backend\":null,\"artifacts\":[],\"events\":null,"
				  "\"lost\":null,\"cost\":{\"tracer_cpu_seconds\":0}}\n");
	assert_true(parse(line, strlen(line), &again));
	assert_null(again.backend);
	CLEANUP_FREE char *second = line_of(&again);
	assert_string_equal(line, second);
	manifest_record_free(&again);
}

static void test_a_line_of_deletions_is_a_record(void **state) {
	static const char line[] = "{\"deleted\":[{\"test\":\"t\",\"kind\":\"perfetto\",\"path\":\"a.pb\","
				   "\"size\":1}],\"why\":\"max-age\",\"when\":\"2026-01-02T03:04:05Z\"}\n";
	struct manifest_record record;
	assert_true(parse(line, strlen(line), &record));
	assert_int_equal(record.deleted.count, 1);
	CLEANUP_FREE char *again = line_of(&record);
	assert_string_equal(line, again);
	manifest_record_free(&record);
}

// ---- lines from other writers ----

static void test_a_torn_line_is_none(void **state) {
	struct manifest_record record = full_record(), again;
	CLEANUP_FREE char *line = line_of(&record);
	for (size_t size = 0; size < strlen(line) - 1; size++)
		assert_false(parse(line, size, &again));
	manifest_record_free(&record);
}

static void test_other_lines_are_no_records(void **state) {
	static const char *const others[] = {"",
					     "[]",
					     "{}",
					     "null",
					     "{\"test\":1}",
					     "{\"test\":null}",
					     "{\"test\":\"a\",\"test\":null}",
					     "{\"test\":\"a\",\"test\":7}",
					     "{\"test\":\"a\",}",
					     "{\"test\":\"a\"}x",
					     "{\"test\":\"a\"}{\"test\":\"b\"}",
					     "{\"deleted\":null}",
					     "{\"test\":\"a\",\"variant\":{\"a\":nonsense}}",
					     "{\"test\":\"a\",\"variant\":{\"a\":01}}",
					     "{\"test\":\"a\",\"wall_seconds\":1x}"};
	struct manifest_record record;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (parse(others[i], strlen(others[i]), &record))
			fail_msg("taken for a record: %s", others[i]);
}

static void test_members_of_other_types_are_left_out(void **state) {
	static const char text[] =
		"{\"unknown\":{\"a\":[1,{\"b\":null}]},\"test\":\"a\\u00e9\",\"result\":[],"
		"\"wall_seconds\":\"1\",\"exit\":{},\"repro\":1,\"started\":\"yesterday\",\"variant\":[],"
		"\"command\":[1,\"x\",null],\"cost\":7,\"samples_short\":{\"delivered\":-1,\"other\":2},"
		"\"events\":-1,\"artifacts\":[7,{\"size\":12,\"path\":\"C:\\\\a\"},{\"size\":3},"
		"{\"path\":null}],\"crashes\":[null,{\"stack\":[1]}],\"cases\":[{},{\"name\":\"n\"}]}";
	struct manifest_record record;
	assert_true(parse(text, strlen(text), &record));
	CLEANUP_FREE char *line = line_of(&record);
	assert_string_equal(line, "{\"test\":\"a\xc3\xa9\",\"command\":[\"x\"],\"artifacts\":[{\"path\":"
				  "\"C:\\\\a\",\"size\":12}],\"crashes\":[{\"stack\":[]}],\"cases\":[{"
				  "\"name\":\"n\"}]}\n");
	manifest_record_free(&record);
}

static void test_of_a_member_that_comes_twice_the_last_counts(void **state) {
	static const char text[] =
		"{\"test\":\"a\",\"test\":\"b\",\"result\":\"passed\",\"result\":1,\"exit\":4,\"exit\":null,"
		"\"artifacts\":[{\"path\":\"x\"}],\"artifacts\":[],\"crashes\":[{\"stack\":[\"s\"]}],"
		"\"crashes\":[],\"command\":[\"c\"],\"command\":[],\"lost\":{\"sched\":1},\"lost\":{}}";
	struct manifest_record record;
	assert_true(parse(text, strlen(text), &record));
	CLEANUP_FREE char *line = line_of(&record);
	assert_string_equal(line, "{\"test\":\"b\",\"command\":[],\"exit\":null,\"artifacts\":[],"
				  "\"lost\":{},\"crashes\":[]}\n");
	assert_null(record.result);
	manifest_record_free(&record);
}

static void test_times_have_a_fraction_or_none(void **state) {
	static const struct {
		const char *text;
		long long seconds, milliseconds;
	} cases[] = {{"1970-01-02T00:00:00Z", 86400, 0},          {"1970-01-02T00:00:00.005Z", 86400, 5},
		     {"1970-01-02T00:00:00.999Z", 86400, 999},    {"1970-01-02T00:00:00.9999Z", 86400, 999},
		     {"2024-02-29T12:00:01.5Z", 1709208001, 500}, {"1970-01-02T00:00:00.9e99Z", 86400, 0}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_FREE char *line = memory_format("{\"test\":\"a\",\"started\":\"%s\"}", cases[i].text);
		struct manifest_record record;
		assert_true(parse(line, strlen(line), &record));
		assert_int_equal(record.there.started, MANIFEST_THERE);
		assert_int_equal(record.started.tv_sec, cases[i].seconds);
		assert_int_equal(record.started.tv_nsec, cases[i].milliseconds * 1000000);
		manifest_record_free(&record);
	}
}

static void test_deep_nesting_is_refused(void **state) {
	enum { DEPTH = 100000 };
	struct buffer line = {0};
	struct manifest_record record;
	buffer_text(&line, "{\"test\":\"a\",\"variant\":{\"a\":");
	for (int i = 0; i < DEPTH; i++)
		buffer_text(&line, "[");
	assert_false(parse((char *)line.data, line.size, &record));
	buffer_free(&line);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_record_is_read_back_equal),
		cmocka_unit_test(test_what_is_not_there_is_not_written_and_null_stays_null),
		cmocka_unit_test(test_a_line_of_deletions_is_a_record),
		cmocka_unit_test(test_a_torn_line_is_none),
		cmocka_unit_test(test_other_lines_are_no_records),
		cmocka_unit_test(test_members_of_other_types_are_left_out),
		cmocka_unit_test(test_of_a_member_that_comes_twice_the_last_counts),
		cmocka_unit_test(test_times_have_a_fraction_or_none),
		cmocka_unit_test(test_deep_nesting_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
