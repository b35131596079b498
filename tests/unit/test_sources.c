// What a kernel can record, according to a made-up tracefs, and which keywords ask for which
// source.
#include "aside.h"

#include "capture/sources.h"
#include "event/event.h"
#include "profile/builtin.h"
#include "profile/keywords.h"

#include <sys/stat.h>

// ---- tracefs ----

static void have_point(const char *group, const char *name) {
	char path[128];
	snprintf(path, sizeof(path), "%s", group);
	mkdir(in_folder(path), 0777);
	snprintf(path, sizeof(path), "%s/%s", group, name);
	assert_int_equal(mkdir(in_folder(path), 0777), 0);
}

static int tracefs_setup(void **state) {
	return folder_setup(state) || setenv("TRACELET_TRACEFS", aside_folder, 1);
}

static int tracefs_teardown(void **state) {
	unsetenv("TRACELET_TRACEFS");
	return folder_teardown(state);
}

#define WITH_TRACEFS(test) cmocka_unit_test_setup_teardown(test, tracefs_setup, tracefs_teardown)

static void test_a_source_needs_its_tracepoint(void **state) {
	assert_false(source_has_point("sock/inet_sock_set_state"));
	assert_string_equal(source_why_not(SOURCE_NETWORK), "this kernel has no socket events");
	have_point("sock", "inet_sock_set_state");
	assert_true(source_has_point("sock/inet_sock_set_state"));
	assert_null(source_why_not(SOURCE_NETWORK));
}

static void test_one_of_several_tracepoints_will_do(void **state) {
	assert_string_equal(source_why_not(SOURCE_IPI), "this kernel has no IPI events");
	have_point("irq_vectors", "reschedule_entry"); // the last of three
	assert_null(source_why_not(SOURCE_IPI));
	assert_string_equal(source_why_not(SOURCE_LOCK), "this kernel has no lock events");
	have_point("raw_syscalls", "sys_enter"); // the first of two
	assert_null(source_why_not(SOURCE_LOCK));
	assert_null(source_why_not(SOURCE_FILE));
}

static void test_every_kernel_has_switches_processes_and_marks(void **state) {
	static const int always[] = {SOURCE_SCHED, SOURCE_PROCESS, SOURCE_IRQ, SOURCE_MARKER, SOURCE_SAMPLE};
	for (size_t i = 0; i < ARRAY_SIZE(always); i++)
		assert_null(source_why_not(always[i]));
}

static void test_what_is_missing_is_listed_once(void **state) {
	bool without[RECORD_SOURCE_COUNT];
	struct buffer missing = {0};
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		without[source] = source != SOURCE_SCHED && source != SOURCE_BLOCK && source != SOURCE_SIGNAL;
	sources_limit(without, &missing);
	buffer_append(&missing, "", 1);
	assert_string_equal((char *)missing.data, "block (this kernel has no block device events), "
						  "signal (this kernel has no signal events)");
	assert_true(without[SOURCE_BLOCK] && without[SOURCE_SIGNAL]);
	assert_false(without[SOURCE_SCHED]);
	missing.size = 0;
	sources_limit(without, &missing); // known by now
	assert_int_equal(missing.size, 0);
	buffer_free(&missing);
}

static void test_a_field_is_found_by_its_whole_name(void **state) {
	static const char format[] = "name: kvm_exit\nID: 7\nformat:\n"
				     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				     "\n"
				     "\tfield:unsigned int exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n"
				     "\tfield:unsigned long guest_rip;\toffset:16;\tsize:8;\tsigned:0;\n"
				     "\nprint fmt: \"reason %u\", REC->exit_reason\n";
	have_point("kvm", "kvm_exit");
	put_file(in_folder("kvm/kvm_exit/format"), format, strlen(format));
	assert_int_equal(source_field_offset("kvm/kvm_exit", "exit_reason"), 8);
	assert_int_equal(source_field_offset("kvm/kvm_exit", "guest_rip"), 16);
	assert_int_equal(source_field_offset("kvm/kvm_exit", "reason"), 0);
	assert_int_equal(source_field_offset("kvm/kvm_exit", "exit_reason_more"), 0);
	assert_int_equal(source_field_offset("kvm/kvm_entry", "exit_reason"), 0);
}

// ---- backends ----

static void test_what_a_backend_does_not_know_is_named(void **state) {
	static const bool known[RECORD_SOURCE_COUNT] = {[SOURCE_SCHED] = true};
	struct capture_backend backend = {.sources = known};
	struct capture_options options = {
		.sources = {[SOURCE_SCHED] = true, [SOURCE_IRQ] = true, [SOURCE_SIGNAL] = true}};
	struct buffer names = {0};
	sources_ignored(&options, &backend, &names);
	buffer_append(&names, "", 1);
	assert_string_equal((char *)names.data, "irq, signal");
	names.size = 0;
	backend.sources = NULL; // supports all
	sources_ignored(&options, &backend, &names);
	assert_int_equal(names.size, 0);
	buffer_free(&names);
}

// ---- keywords ----

static const char *const words_of[RECORD_SOURCE_COUNT] = {
#define SOURCE(NAME, name, keywords, tracepoints, why_not) [SOURCE_##NAME] = keywords,
#include "format/source_table.h"
#undef SOURCE
};

static void test_every_keyword_of_a_source_is_one_of_wpr(void **state) {
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++) {
		CLEANUP_FREE char *words = memory_string(words_of[source]);
		char *rest = NULL;
		for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
			int keyword = keyword_find(word);
			assert_true(keyword >= 0);
			assert_true(keyword_asks_for(&system_keywords[keyword], source));
			assert_true(system_keywords[keyword].linux_events);
		}
	}
}

static void test_a_keyword_may_ask_for_several_sources(void **state) {
	const struct system_keyword *keyword = &system_keywords[keyword_find("ProcessThread")];
	assert_true(keyword_asks_for(keyword, SOURCE_PROCESS));
	assert_true(keyword_asks_for(keyword, SOURCE_SIGNAL));
	assert_false(keyword_asks_for(keyword, SOURCE_SCHED));
	assert_int_equal(keyword_source(keyword), SOURCE_PROCESS);
	assert_int_equal(keyword_source(&system_keywords[keyword_find("Registry")]), NOT_RECORDED);
	// A name may be a prefix of another.
	assert_true(keyword_asks_for(&system_keywords[keyword_find("MemoryInfoWS")], SOURCE_RSS));
	assert_false(keyword_asks_for(&system_keywords[keyword_find("DPC")],
				      SOURCE_SOFTIRQ_QUEUE)); // DPCQueue does
}

static void test_the_verbose_profile_wants_all_but_the_slab(void **state) {
	struct plan plan;
	builtin_plan(builtin_find("verbose"), MODE_FILE, &plan);
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		assert_int_equal(plan_wants(&plan, source), source != SOURCE_SLAB && source != SOURCE_MARKER);
	plan_free(&plan);
}

// Recorded files refer to sources by these numbers.
static void test_numbers_of_sources_stay(void **state) {
	static const char *const names[] = {"sched", "process",   "irq",       "marker",      "sample",
					    "fault", "memory",    "file",      "system-call", "block",
					    "timer", "workqueue", "ipi",       "network",     "power",
					    "kvm",   "priority",  "migration", "clock",       "softirq-queue",
					    "rss",   "slab",      "lock",      "bio",         "signal"};
	assert_true(RECORD_SOURCE_COUNT >= ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(event_source_names[i], names[i]);
	assert_string_equal(event_source_names[SOURCE_TRACE], "trace");
	assert_string_equal(event_source_names[SOURCE_BUFFER], "buffer");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		WITH_TRACEFS(test_a_source_needs_its_tracepoint),
		WITH_TRACEFS(test_one_of_several_tracepoints_will_do),
		WITH_TRACEFS(test_every_kernel_has_switches_processes_and_marks),
		WITH_TRACEFS(test_what_is_missing_is_listed_once),
		WITH_TRACEFS(test_a_field_is_found_by_its_whole_name),
		cmocka_unit_test(test_what_a_backend_does_not_know_is_named),
		cmocka_unit_test(test_every_keyword_of_a_source_is_one_of_wpr),
		cmocka_unit_test(test_a_keyword_may_ask_for_several_sources),
		cmocka_unit_test(test_the_verbose_profile_wants_all_but_the_slab),
		cmocka_unit_test(test_numbers_of_sources_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
