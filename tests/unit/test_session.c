// What a session leaves behind: names, the manifest, the summary, the artifact.
#include "aside.h"

#include "artifact/artifact.h"
#include "artifact/manifest.h"
#include "flow/convert.h"
#include "sample_spool.h"
#include "session/recording_facts.h"
#include "session/summary.h"
#include "session/waiting.h"
#include "tracelet/tracelet.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

// ---- names ----

static void test_names_are_one_plain_path_component(void **state) {
	static const char *const names[][2] = {
		{"unit", "unit"},
		{"Suite::case/1", "Suite__case_1"},
		{"a b\tc\nd", "a_b_c_d"},
		{"../../etc/passwd", "___.._etc_passwd"},
		{".", "_"},
		{"..", "__"},
		{".hidden", "_hidden"},
		{"--quiet", "__quiet"},
		{"", "test"},
		{"a'b\"c$d`e;f|g&h*i?j<k>l(m)n!o#p\\q[r]s{t}u^v:w",
		 "a_b_c_d_e_f_g_h_i_j_k_l_m_n_o_p_q_r_s_t_u_v_w"},
		{"v1.2+rc=3@x,y%z~", "v1.2+rc=3@x,y%z~"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"bad\xff\xc3", "bad__"},
		{"\x7f\x01", "__"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char name[ARTIFACT_NAME_SIZE];
		artifact_safe_name(names[i][0], name);
		assert_string_equal(name, names[i][1]);
	}
}

static void test_a_long_name_is_cut_between_characters(void **state) {
	char wanted[2000] = "", name[ARTIFACT_NAME_SIZE];
	for (size_t shift = 0; shift < 3; shift++) {
		memset(wanted, 'x', shift);
		for (size_t i = shift; i + 3 < sizeof(wanted); i += 3)
			memcpy(wanted + i, "\xe2\x82\xac", 4);
		artifact_safe_name(wanted, name);
		assert_int_equal(strlen(name), shift + (120 - shift) / 3 * 3);
		assert_memory_equal(name, wanted, strlen(name));
	}
}

// ---- folders and files ----

static void test_a_folder_is_made_with_its_parents(void **state) {
	struct stat status;
	assert_int_equal(artifact_make_dir(in_folder("a/b//c/")), 0);
	assert_int_equal(stat(in_folder("a/b/c"), &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	assert_int_equal(artifact_make_dir(in_folder("a/b/c")), 0);
	put_file(in_folder("file"), "", 0);
	assert_int_equal(artifact_make_dir(in_folder("file")), -ENOTDIR);
	assert_int_equal(artifact_make_dir(in_folder("file/below")), -ENOTDIR);
	assert_int_equal(artifact_make_dir(""), -ENOENT);
	assert_int_equal(artifact_make_dir("/"), 0);
}

static void test_a_reserved_name_is_free_of_both_files(void **state) {
	char *first, *second;
	int fd = artifact_reserve(aside_folder, "unit", &first);
	assert_true(fd >= 0);
	close(fd);
	CLEANUP_FREE char *spool = memory_format("%s.spool", first), *trace = memory_format("%s.pb", first);
	assert_int_equal(access(spool, F_OK), 0);
	assert_non_null(strstr(first, "/unit_2"));
	unlink(spool); // like a run that has ended: only its trace is left
	put_file(trace, "", 0);
	fd = artifact_reserve(aside_folder, "unit", &second);
	assert_true(fd >= 0);
	close(fd);
	assert_string_not_equal(first, second);
	free(first);
	free(second);
}

static void test_a_planted_link_is_not_followed(void **state) {
	char *first, *second;
	close(artifact_reserve(aside_folder, "unit", &first));
	CLEANUP_FREE char *spool = memory_format("%s.spool", first);
	unlink(spool);
	assert_int_equal(symlink(in_folder("victim"), spool), 0);
	int fd = artifact_reserve(aside_folder, "unit", &second);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(access(in_folder("victim"), F_OK), -1);
	free(first);
	free(second);
}

// Many at once, in the same second: each gets its own name.
static void test_parallel_runs_get_different_names(void **state) {
	enum { RUNS = 8, EACH = 25 };
	for (int i = 0; i < RUNS; i++) {
		if (fork() == 0) {
			for (int k = 0; k < EACH; k++) {
				char *stem;
				int fd = artifact_reserve(aside_folder, "unit", &stem);
				if (fd < 0 || write(fd, "x", 1) != 1 || lseek(fd, 0, SEEK_END) != 1)
					_exit(1);
				close(fd);
				free(stem);
			}
			_exit(0);
		}
	}
	for (int i = 0; i < RUNS; i++) {
		int status;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(folder_entries(), RUNS * EACH);
}

static void test_a_folder_that_takes_no_files_says_why_at_once(void **state) {
	char *stem = NULL;
	assert_int_equal(artifact_reserve(in_folder("missing"), "unit", &stem), -ENOENT);
	put_file(in_folder("file"), "", 0);
	assert_int_equal(artifact_reserve(in_folder("file"), "unit", &stem), -ENOTDIR);
	assert_null(stem);
	char name[300];
	memset(name, 'x', sizeof(name));
	name[299] = 0;
	assert_int_equal(artifact_reserve(aside_folder, name, &stem), -ENAMETOOLONG);
}

static void test_the_checksum_is_sha256(void **state) {
	char digits[65];
	put_file(in_folder("file"), "abc", 3);
	assert_int_equal(artifact_sha256(in_folder("file"), digits), 0);
	assert_string_equal(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(artifact_sha256(in_folder("missing"), digits), -ENOENT);
	assert_int_equal(artifact_sha256(aside_folder, digits), -EISDIR);
}

// ---- the manifest ----

static void test_lines_of_parallel_runs_do_not_mix(void **state) {
	enum { RUNS = 8, EACH = 20, LENGTH = 9000 };
	for (int i = 0; i < RUNS; i++) {
		if (fork() == 0) {
			struct buffer line = {0};
			memset(buffer_room(&line, LENGTH), 'a' + i, LENGTH);
			line.size = LENGTH;
			line.data[LENGTH - 1] = '\n';
			for (int k = 0; k < EACH; k++)
				if (manifest_append(aside_folder, &line))
					_exit(1);
			_exit(0);
		}
	}
	for (int i = 0; i < RUNS; i++) {
		int status;
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	struct input input;
	assert_int_equal(input_open(&input, in_folder("manifest.jsonl")), 0);
	assert_int_equal(input.size, RUNS * EACH * LENGTH);
	for (size_t i = 0; i < input.size; i++)
		assert_int_equal(input.data[i],
				 i % LENGTH == LENGTH - 1 ? '\n' : input.data[i / LENGTH * LENGTH]);
	input_close(&input);
}

static void test_a_manifest_that_cannot_be_written_says_why(void **state) {
	struct buffer line = {0};
	buffer_append(&line, "{}\n", 3);
	assert_int_equal(manifest_append(in_folder("missing"), &line), -ENOENT);
	assert_int_equal(symlink("elsewhere", in_folder("manifest.jsonl")), 0);
	assert_int_equal(manifest_append(aside_folder, &line), -ELOOP);
	buffer_free(&line);
}

// A line that does not fit on the disk leaves the previous lines unchanged.
static void test_a_full_disk_leaves_no_half_line(void **state) {
	struct rlimit before, limit;
	struct buffer line = {0};
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
	for (int i = 0; i < 69; i++)
		buffer_append(&line, "x", 1);
	buffer_append(&line, "\n", 1);
	assert_int_equal(manifest_append(aside_folder, &line), 0);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	int error = manifest_append(aside_folder, &line);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(error, -EFBIG);
	struct stat status;
	assert_int_equal(stat(in_folder("manifest.jsonl"), &status), 0);
	assert_int_equal(status.st_size, 70);
	buffer_free(&line);
}

// ---- the summary ----

static char word[] = "./unit", argument[] = "--name=\"x\"";
static char *command[] = {word, argument, NULL};
static const struct settings settings = {.command = command};

static struct finish begun(const struct settings *chosen) {
	struct finish finish;
	finish_open(&finish, chosen, "unit");
	finish.recorded = true;
	MANIFEST_PUT(&finish.record, backend, "bpf");
	return finish;
}

static void end_with(struct finish *finish, int status) {
	finish_end(finish, &(struct test_end){.status = status,
					      .started = {.tv_sec = 86400, .tv_nsec = 5000000},
					      .wall_seconds = 1.234567,
					      .cpu_seconds = 0.5});
}

static const struct capture_totals totals = {
	.program_ns = 5000000, .program_runs = 10, .program_stats = true};

static struct finish passed(void) {
	struct finish finish = begun(&settings);
	end_with(&finish, 0);
	finish_add_trace(&finish, "perfetto", "out/unit.pb", 12345, "00ff");
	facts_put_counts(&finish.record, &(struct tally){.events = 1234567}, &totals);
	facts_put_cost(&finish.record, &totals, 0.025);
	return finish;
}

// The same, but the recording could not be converted.
static struct finish without_trace(int status) {
	struct finish finish = begun(&settings);
	end_with(&finish, status);
	facts_put_no_counts(&finish.record);
	facts_put_cost(&finish.record, &totals, 0.025);
	return finish;
}

static void lose(struct finish *finish, int source, uint64_t count) {
	array_push(&finish->record.lost, (struct manifest_count){event_source_names[source], count});
}

static char *printed(const struct finish *finish) {
	struct captured captured = capture_begin();
	summary_print(finish);
	return capture_end(captured);
}

static void test_the_end_of_a_test_in_words(void **state) {
	static const struct {
		int status;
		const char *words;
	} cases[] = {{0, "passed"},
		     {3 << 8, "failed: exit status 3"},
		     {11, "killed by signal 11 (Segmentation fault)"},
		     {6 | 0x80, "killed by signal 6 (Aborted), core dumped"}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char words[128];
		finish_words(&settings, &(struct test_end){.status = cases[i].status}, words, sizeof(words));
		assert_string_equal(words, cases[i].words);
	}
	char small[8];
	finish_words(&settings, &(struct test_end){.status = 11}, small, sizeof(small));
	assert_string_equal(small, "killed ");
}

static void test_a_summary_says_what_there_is_and_what_to_do(void **state) {
	struct finish finish = passed();
	CLEANUP_FREE char *text = printed(&finish);
	assert_string_equal(text,
			    "tracelet: unit passed in 1.23 s\n"
			    "  trace   out/unit.pb (12.3 kB)\n"
			    "  events  1,234,567, none lost\n"
			    "  cost    BPF 5.0 ms (1.0 % of the test's CPU time), tracer 25 ms of CPU time\n"
			    "  next    open it in ui.perfetto.dev, or: tracelet report out/unit.pb\n");
	finish_free(&finish);
}

static void test_one_of_a_kind_is_not_many(void **state) {
	struct finish finish = passed();
	MANIFEST_PUT(&finish.record, samples, 1);
	MANIFEST_PUT(&finish.record, waits, 2);
	MANIFEST_PUT(&finish.record, event_stacks, 1);
	CLEANUP_FREE char *text = printed(&finish);
	assert_non_null(strstr(text, "1,234,567, including 1 sample, 2 waits and 1 stack at events, none"));
	finish_free(&finish);
}

static void test_only_one_line_is_called_events(void **state) {
	struct finish finish = passed();
	manifest_put_artifact(&finish.record, "events", "out/unit.events.svg", 1000, NULL);
	CLEANUP_FREE char *text = printed(&finish);
	assert_non_null(strstr(text, "  flame   out/unit.events.svg (1.00 kB)\n"));
	const char *first = strstr(text, "\n  events ");
	assert_non_null(first);
	assert_null(strstr(first + 1, "\n  events "));
	finish_free(&finish);
}

static void test_a_recording_of_windows_has_no_counts(void **state) {
	struct finish finish = begun(&settings);
	end_with(&finish, 0);
	manifest_put_artifact(&finish.record, "dump", "out/unit.dmp", 1000, NULL);
	finish_add_trace(&finish, "etl", "out/unit.etl", 12345, "00ff");
	CLEANUP_FREE char *text = printed(&finish);
	assert_string_equal(text, "tracelet: unit passed in 1.23 s\n"
				  "  trace   out/unit.etl (12.3 kB)\n"
				  "  dump    out/unit.dmp (1.00 kB)\n"
				  "  next    open it in Windows Performance Analyzer, or: tracelet report "
				  "out/unit.etl\n");
	finish_free(&finish);
}

static void test_losses_are_in_the_summary(void **state) {
	struct finish finish = passed();
	lose(&finish, SOURCE_SCHED, 1000);
	lose(&finish, SOURCE_IRQ, 7);
	finish.missing = "interrupts";
	end_with(&finish, 1 << 8);
	CLEANUP_FREE char *text = printed(&finish);
	assert_non_null(strstr(text, "unit failed: exit status 1 in"));
	assert_non_null(strstr(
		text, "LOST 1,000 sched 7 irq; try a larger --buffer-size; not recorded: interrupts\n"));
	finish_free(&finish);
}

static void test_what_is_missing_without_being_lost_is_in_the_summary_too(void **state) {
	struct finish finish = passed();
	MANIFEST_PUT(&finish.record, gaps, 1200);
	MANIFEST_PUT(&finish.record, late, 3);
	CLEANUP_FREE char *text = printed(&finish);
	assert_non_null(
		strstr(text, "none lost; 1,200 context switches not reported by the kernel; 3 too late"));
	lose(&finish, SOURCE_SCHED, 5); // explains the gaps
	CLEANUP_FREE char *lossy = printed(&finish);
	assert_null(strstr(lossy, "not reported"));
	finish_free(&finish);
}

static void test_a_trace_that_was_not_kept_says_why(void **state) {
	struct finish finish = without_trace(0);
	MANIFEST_PUT(&finish.record, not_kept, "a flight recorder is saved when a test fails");
	CLEANUP_FREE char *text = printed(&finish);
	assert_non_null(strstr(text, "not kept: a flight recorder is saved when a test fails\n"));
	assert_null(strstr(text, "events"));
	finish_free(&finish);
}

static void test_without_a_trace_the_spool_is_what_to_go_on_with(void **state) {
	struct finish finish = without_trace(0);
	manifest_put_artifact(&finish.record, "spool", "out/unit.spool", 5, NULL);
	CLEANUP_FREE char *text = printed(&finish);
	assert_null(strstr(text, "ui.perfetto.dev"));
	assert_non_null(strstr(text, "  next    tracelet convert out/unit.spool out.pb\n"));
	finish_free(&finish);
}

static void test_times_have_no_exponent(void **state) {
	static const struct {
		double seconds;
		const char *words;
	} cases[] = {{0.00001, "in 0.0000 s\n"},
		     {0.0123, "in 0.0123 s\n"},
		     {61.5, "in 61.5 s\n"},
		     {999.7, "in 1000 s\n"},
		     {86400, "in 86400 s\n"}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct finish finish = passed();
		MANIFEST_PUT(&finish.record, wall_seconds, cases[i].seconds);
		CLEANUP_FREE char *text = printed(&finish);
		if (!strstr(text, cases[i].words))
			fail_msg("%s", text);
		finish_free(&finish);
	}
}

static char *json_of(const struct finish *finish) {
	struct buffer line = {0};
	manifest_write(&finish->record, &line);
	buffer_append(&line, "", 1);
	return (char *)line.data;
}

static struct finish with_delivery(struct sample_delivery delivery) {
	struct finish finish = begun(&settings);
	struct capture_totals counted = totals;
	counted.delivery = delivery;
	end_with(&finish, 0);
	finish_add_trace(&finish, "perfetto", "out/unit.pb", 12345, "00ff");
	facts_put_counts(&finish.record, &(struct tally){.events = 1234567}, &counted);
	facts_put_cost(&finish.record, &counted, 0.025);
	return finish;
}

static void test_missing_samples_are_reported(void **state) {
	static const struct {
		struct sample_delivery delivery;
		bool told;
	} cases[] = {{{0}, false},
		     {{.delivered = 50}, false}, // sampling by frequency: no number is expected
		     {{.expected = 100, .delivered = 100}, false},
		     {{.expected = 100, .delivered = 90}, false},
		     {{.expected = 11, .delivered = 1}, false}, // few samples prove nothing
		     {{.expected = 12, .delivered = 1}, true},
		     {{.expected = 100000, .delivered = 90000}, false},
		     {{.expected = 100000, .delivered = 89999}, true}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(sample_delivery_falls_short(&cases[i].delivery), cases[i].told);
	struct finish few = with_delivery((struct sample_delivery){.expected = 1000, .delivered = 270});
	CLEANUP_FREE char *text = printed(&few), *line = json_of(&few);
	assert_non_null(strstr(text,
			       "\n  samples 270 of about 1,000 on all CPUs: some counter overflows were "
			       "not delivered\n  cost "));
	assert_null(strstr(text, "throttled"));
	assert_non_null(strstr(line, "\"samples_short\":{\"delivered\":270,\"expected\":1000}"));
	struct finish held = with_delivery(
		(struct sample_delivery){.expected = 99, .delivered = 9, .throttled = 4});
	CLEANUP_FREE char *held_text = printed(&held), *held_line = json_of(&held);
	assert_null(strstr(held_text, "delivered"));
	assert_non_null(strstr(held_text, "\n  samples throttled 4 times by the kernel: "));
	assert_non_null(strstr(held_line, "\"samples_throttled\":4,"));
	assert_null(strstr(held_line, "samples_short"));
	finish_free(&few);
	finish_free(&held);
}

static void test_the_summary_is_one_line_of_json(void **state) {
	struct finish finish = passed();
	CLEANUP_FREE char *line = json_of(&finish);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	static const char *const parts[] = {
		"\"test\":\"unit\",\"name\":\"unit\",\"command\":[\"./"
		"unit\",\"--name=\\\"x\\\"\"],\"kind\":\"test\",\"status\":\"passed\",\"result\":\"passed\","
		"\"exit\":0,",
		"\"started\":\"1970-01-02T00:00:00.005Z\",\"wall_seconds\":1.234567,\"cpu_seconds\":0.5,",
		"\"scope\":\"tree\",\"backend\":\"bpf\",",
		"\"artifacts\":[{\"kind\":\"perfetto\",\"path\":\"out/"
		"unit.pb\",\"size\":12345,\"sha256\":\"00ff\"}],",
		"\"events\":1234567,\"lost\":{},",
		"\"cost\":{\"bpf_seconds\":0.005,\"bpf_runs_measured\":10,\"bpf_estimated\":false,\"tracer_"
		"cpu_seconds\":0.025}}\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strstr(line, parts[i]))
			fail_msg("%s is not in %s", parts[i], line);
	finish_free(&finish);
}

static void test_json_of_a_run_without_trace_has_no_artifacts(void **state) {
	struct finish finish = without_trace(9);
	MANIFEST_PUT(&finish.record, backend, NULL);
	CLEANUP_FREE char *line = json_of(&finish);
	assert_non_null(strstr(line, "\"signal\":9,"));
	assert_null(strstr(line, "\"exit\":"));
	assert_non_null(strstr(line, "\"backend\":null,\"artifacts\":[],"));
	finish_free(&finish);
}

static void test_json_goes_to_a_file_or_a_descriptor(void **state) {
	struct finish finish = passed();
	CLEANUP_FREE char *line = json_of(&finish);
	manifest_write_json(in_folder("out.json"), &finish.record);
	assert_file(in_folder("out.json"), line);
	int fd = open(in_folder("descriptor"), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	char number[16];
	snprintf(number, sizeof(number), "%d", fd);
	manifest_write_json(number, &finish.record);
	close(fd);
	assert_file(in_folder("descriptor"), line);
	struct captured captured = capture_begin();
	manifest_write_json(in_folder("no/such/folder"), &finish.record);
	CLEANUP_FREE char *said = capture_end(captured);
	assert_non_null(strstr(said, "cannot be written: No such file or directory\n"));
	finish_free(&finish);
}

// ---- policy ----

static void test_what_is_kept(void **state) {
	static const struct {
		int keep, type;
		struct test_end end;
		const char *why; // part of the reason; NULL if it is kept
	} cases[] = {
		{KEEP_ALWAYS, RECORD_TO_FILE, {.status = 0}, NULL},
		{KEEP_NEVER, RECORD_TO_FILE, {.status = 1 << 8}, "--keep never"},
		{KEEP_FAILED, RECORD_TO_FILE, {.status = 0}, "--keep failed"},
		{KEEP_FAILED, RECORD_TO_FILE, {.status = 1 << 8}, NULL},
		{KEEP_FAILED, RECORD_TO_FILE, {.timed_out = true}, NULL},
		{KEEP_FAILED, RECORD_TO_FILE, {.leaked = true}, NULL},
		{KEEP_FAILED, RECORD_TO_FILE, {.operation = true}, NULL},
		{KEEP_ALWAYS, RECORD_TO_MEMORY, {.status = 0}, "flight recorder"},
		{KEEP_ALWAYS, RECORD_TO_MEMORY, {.operation = true}, NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings chosen = {.keep = cases[i].keep, .type = cases[i].type};
		const char *why = finish_not_kept(&chosen, &cases[i].end);
		assert_int_equal(!why, !cases[i].why);
		if (why)
			assert_non_null(strstr(why, cases[i].why));
	}
}

// A test that takes `test` seconds and leaves processes that take `tree` more.
struct clockwork {
	double now, test, tree;
};

static bool wait_until(struct clockwork *clockwork, double end, double seconds) {
	bool ended = seconds <= 0 || end <= clockwork->now + seconds;
	clockwork->now = ended ? MAX(end, clockwork->now) : clockwork->now + seconds;
	return ended;
}

static bool wait_for_test(void *context, double seconds) {
	struct clockwork *clockwork = context;
	return wait_until(clockwork, clockwork->test, seconds);
}

static bool wait_for_tree(void *context, double seconds) {
	struct clockwork *clockwork = context;
	return wait_until(clockwork, clockwork->test + clockwork->tree, seconds);
}

static double elapsed(void *context) {
	return ((struct clockwork *)context)->now;
}

static void test_how_long_a_test_is_waited_for(void **state) {
	static const struct {
		double timeout, wait_tree, test, tree;
		bool in_time, test_ended;
		double wall_seconds;
	} cases[] = {
		{0, -1, 5, 100, true, true, 5}, // waits for nothing else
		{3, -1, 5, 0, false, false, 3}, // the time limit
		{0, 0, 5, 7, true, true, 5},    // everything that it started
		{0, 2, 5, 7, true, true, 5},    // but not forever: a warning
		{10, 0, 5, 7, false, true, 5},  // and the time limit applies to all of them
		{10, 2, 5, 7, true, true, 5},   // the shorter of the two
		{10, 20, 5, 7, false, true, 5},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings chosen = {.timeout = cases[i].timeout, .wait_tree = cases[i].wait_tree};
		struct clockwork clockwork = {.test = cases[i].test, .tree = cases[i].tree};
		struct waiting waiting = {.context = &clockwork,
					  .test = wait_for_test,
					  .tree = wait_for_tree,
					  .elapsed = elapsed};
		struct test_end end = {0};
		bool test_ended;
		struct captured captured = capture_begin();
		bool in_time = waiting_for_end(&chosen, &waiting, &end, &test_ended);
		CLEANUP_FREE char *said = capture_end(captured);
		bool warned = strstr(said, "(--wait-tree)");
		assert_int_equal(in_time, cases[i].in_time);
		assert_int_equal(test_ended, cases[i].test_ended);
		assert_true(end.wall_seconds == cases[i].wall_seconds);
		bool given_up = in_time && cases[i].wait_tree > 0 && cases[i].tree > cases[i].wait_tree;
		assert_int_equal(warned, given_up);
	}
}

// ---- conversion ----

static int convert_file(const char *from, const char *to, enum output_mode mode,
			struct conversion_result *result, char **said) {
	struct conversion conversion = {
		.input = from, .output = to, .writer = &perfetto_writer, .mode = mode};
	struct captured captured = capture_begin();
	int error = convert(&conversion, result);
	*said = capture_end(captured);
	return error;
}

static void put_spool(const char *path, size_t cut) {
	struct buffer spool = {0};
	sample_spool(&spool);
	put_file(path, spool.data, spool.size - cut);
	buffer_free(&spool);
}

static void test_a_spool_becomes_a_trace(void **state) {
	struct conversion_result result;
	struct stat status;
	CLEANUP_FREE char *said = NULL;
	put_spool(in_folder("a.spool"), 0);
	assert_int_equal(convert_file(in_folder("a.spool"), in_folder("a.pb"), OUTPUT_CREATE, &result, &said),
			 0);
	assert_string_equal(said, "");
	assert_int_equal(stat(in_folder("a.pb"), &status), 0);
	assert_int_equal(status.st_size, result.size);
	assert_int_equal(result.tally.kinds[EVENT_SWITCH], 6);
	assert_int_equal(result.tally.lost[SOURCE_IRQ], 3);
	assert_int_equal(result.tally.late, 0);
	struct tl_check_result check = TL_INIT(check);
	assert_int_equal(tl_check_trace(in_folder("a.pb"), NULL, &check), 0);
	assert_int_equal(check.defects, 0);
	assert_int_equal(folder_entries(), 2);
}

static void test_a_spool_that_is_cut_becomes_a_good_trace_with_a_warning(void **state) {
	struct conversion_result result;
	CLEANUP_FREE char *said = NULL;
	put_spool(in_folder("a.spool"), 500);
	assert_int_equal(convert_file(in_folder("a.spool"), in_folder("a.pb"), OUTPUT_CREATE, &result, &said),
			 0);
	assert_non_null(strstr(said, "truncated inside a block"));
	struct tl_check_result check = TL_INIT(check);
	assert_int_equal(tl_check_trace(in_folder("a.pb"), NULL, &check), 0);
	assert_int_equal(check.defects, 0);
}

static void test_what_cannot_be_converted_leaves_nothing_and_says_one_line(void **state) {
	static const struct {
		const char *from, *to, *words;
		int error;
	} cases[] = {
		{"missing", "out.pb", "missing: cannot be read: No such file or directory\n", -ENOENT},
		{"folder", "out.pb", "folder: cannot be read: Is a directory\n", -EISDIR},
		{"empty", "out.pb", "empty: the file is empty\n", -EINVAL},
		{"text", "out.pb", "text: not in a format that tracelet reads\n", -EINVAL},
		{"header", "out.pb", "header: a spool of version 9; this tracelet reads version 5\n",
		 -EINVAL},
		{"good", "no/out.pb", "no/out.pb: cannot be written: No such file or directory\n", -ENOENT},
		{"good", "folder", "folder: cannot be written: Is a directory\n", -EISDIR},
	};
	assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
	put_file(in_folder("empty"), "", 0);
	put_file(in_folder("text"), "hello\n", 6);
	put_spool(in_folder("good"), 0);
	struct buffer header = {0};
	spool_begin(&header, 1);
	header.data[16] = 9;
	put_file(in_folder("header"), header.data, header.size);
	buffer_free(&header);
	size_t entries = folder_entries();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct conversion_result result;
		CLEANUP_FREE char *said = NULL;
		int error = convert_file(in_folder(cases[i].from), in_folder(cases[i].to), OUTPUT_REPLACE,
					 &result, &said);
		assert_int_equal(error, cases[i].error);
		if (!strstr(said, cases[i].words) || strchr(said, '\n')[1])
			fail_msg("said: %s", said);
		assert_int_equal(folder_entries(), entries);
	}
}

static void test_an_artifact_never_replaces_a_file(void **state) {
	struct conversion_result result;
	CLEANUP_FREE char *said = NULL;
	put_spool(in_folder("a.spool"), 0);
	put_file(in_folder("a.pb"), "mine", 4);
	assert_int_equal(convert_file(in_folder("a.spool"), in_folder("a.pb"), OUTPUT_CREATE, &result, &said),
			 -EEXIST);
	assert_file(in_folder("a.pb"), "mine");
	assert_int_equal(folder_entries(), 2);
}

static void test_a_full_disk_is_reported_once(void **state) {
	if (access("/dev/full", W_OK))
		skip();
	struct conversion_result result;
	CLEANUP_FREE char *said = NULL;
	put_spool(in_folder("a.spool"), 0);
	assert_int_equal(convert_file(in_folder("a.spool"), "/dev/full", OUTPUT_REPLACE, &result, &said),
			 -ENOSPC);
	assert_string_equal(said, "tracelet: /dev/full: cannot be written: No space left on device\n");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_one_plain_path_component),
		cmocka_unit_test(test_a_long_name_is_cut_between_characters),
		IN_FOLDER(test_a_folder_is_made_with_its_parents),
		IN_FOLDER(test_a_reserved_name_is_free_of_both_files),
		IN_FOLDER(test_a_planted_link_is_not_followed),
		IN_FOLDER(test_parallel_runs_get_different_names),
		IN_FOLDER(test_a_folder_that_takes_no_files_says_why_at_once),
		IN_FOLDER(test_the_checksum_is_sha256),
		IN_FOLDER(test_lines_of_parallel_runs_do_not_mix),
		IN_FOLDER(test_a_full_disk_leaves_no_half_line),
		IN_FOLDER(test_a_manifest_that_cannot_be_written_says_why),
		cmocka_unit_test(test_the_end_of_a_test_in_words),
		cmocka_unit_test(test_a_summary_says_what_there_is_and_what_to_do),
		cmocka_unit_test(test_one_of_a_kind_is_not_many),
		cmocka_unit_test(test_only_one_line_is_called_events),
		cmocka_unit_test(test_a_recording_of_windows_has_no_counts),
		cmocka_unit_test(test_what_is_kept),
		cmocka_unit_test(test_how_long_a_test_is_waited_for),
		cmocka_unit_test(test_losses_are_in_the_summary),
		cmocka_unit_test(test_missing_samples_are_reported),
		cmocka_unit_test(test_what_is_missing_without_being_lost_is_in_the_summary_too),
		cmocka_unit_test(test_a_trace_that_was_not_kept_says_why),
		cmocka_unit_test(test_without_a_trace_the_spool_is_what_to_go_on_with),
		cmocka_unit_test(test_times_have_no_exponent),
		cmocka_unit_test(test_the_summary_is_one_line_of_json),
		cmocka_unit_test(test_json_of_a_run_without_trace_has_no_artifacts),
		IN_FOLDER(test_json_goes_to_a_file_or_a_descriptor),
		IN_FOLDER(test_a_spool_becomes_a_trace),
		IN_FOLDER(test_a_spool_that_is_cut_becomes_a_good_trace_with_a_warning),
		IN_FOLDER(test_what_cannot_be_converted_leaves_nothing_and_says_one_line),
		IN_FOLDER(test_an_artifact_never_replaces_a_file),
		IN_FOLDER(test_a_full_disk_is_reported_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
