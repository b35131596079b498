// Settings: how values are parsed, and which source takes precedence.
#include "unit.h"

#include "base/memory.h"
#include "settings/table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- a separate project and home ----

static char root[] = "/tmp/tracelet-settings.XXXXXX";

static void write_file(const char *name, const char *text) {
	CLEANUP_FREE char *path = memory_format("%s/%s", root, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

#define PROJECT "project/tracelet.ini"
#define USER    "config/tracelet/tracelet.ini"

static int prepare(void **state) {
	if (!mkdtemp(root))
		return -1;
	make_folder("project");
	make_folder("project/.git");
	make_folder("config");
	make_folder("config/tracelet");
	CLEANUP_FREE char *project = memory_format("%s/project", root);
	CLEANUP_FREE char *config = memory_format("%s/config", root);
	setenv("XDG_CONFIG_HOME", config, 1);
	unsetenv("CI");
	return chdir(project);
}

static int clean_up(void **state) {
	CLEANUP_FREE char *command = memory_format("rm -r '%s'", root);
	return chdir("/") || system(command);
}

// Before each test: no files, no variables.
static int forget(void **state) {
	for (enum setting_id id = 0; id < SETTING_COUNT; id++) {
		CLEANUP_FREE char *name = memory_format("TRACELET_%s", setting_table[id].name);
		for (char *letter = name; *letter; letter++)
			*letter = *letter == '-' ? '_' : (char)toupper(*letter);
		unsetenv(name);
		if (setting_table[id].alias)
			unsetenv(setting_table[id].alias);
	}
	write_file(PROJECT, "");
	write_file(USER, "");
	return 0;
}

// ---- what is printed on stderr ----

static FILE *said;
static int real_stderr;

static void listen_to_errors(void) {
	said = tmpfile();
	fflush(stderr);
	real_stderr = dup(STDERR_FILENO);
	dup2(fileno(said), STDERR_FILENO);
}

static void expect_error(const char *expected) {
	char text[1024] = "";
	fflush(stderr);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	rewind(said);
	text[fread(text, 1, sizeof(text) - 1, said)] = 0;
	fclose(said);
	assert_string_equal(text, expected);
}

// ---- helpers ----

static char *shown(const struct settings *settings, enum setting_id id) {
	struct buffer text = {0};
	setting_value(settings, id, &text);
	buffer_printf(&text, "|");
	setting_origin(settings, id, &text);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

static void expect_shown(const struct settings *settings, enum setting_id id, const char *expected) {
	CLEANUP_FREE char *text = shown(settings, id);
	assert_string_equal(text, expected);
}

// Loads, takes one flag (NULL for none) and compares one setting as `tracelet settings` shows it.
static void expect_setting(enum setting_id id, const char *flag, const char *expected) {
	struct settings settings;
	assert_true(settings_load(&settings, true));
	if (flag)
		assert_true(settings_take_flag(&settings, id, flag));
	expect_shown(&settings, id, expected);
	settings_free(&settings);
}

static void expect_bad_flag(enum setting_id id, const char *value, const char *expected) {
	struct settings settings;
	assert_true(settings_load(&settings, true));
	listen_to_errors();
	bool taken = settings_take_flag(&settings, id, value);
	expect_error(expected);
	assert_false(taken);
	settings_free(&settings);
}

static void expect_bad_load(const char *expected) {
	struct settings settings;
	listen_to_errors();
	bool loaded = settings_load(&settings, true);
	expect_error(expected);
	assert_false(loaded);
	settings_free(&settings);
}

// ---- values ----

static void test_sizes_have_units(void **state) {
	static const struct {
		const char *text;
		size_t size;
	} good[] = {{"0", 0},        {"4096", 4096},     {"64K", 64 << 10}, {"64k", 64 << 10},
		    {"3M", 3 << 20}, {"2G", 2ull << 30}, {"1T", 1ull << 40}};
	static const char *const bad[] = {"", "K", "-1", " 1", "1KB", "1.5M", "12Q", "99999999999999T"};
	size_t size;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(settings_parse_size(good[i].text, &size));
		assert_int_equal(size, good[i].size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(settings_parse_size(bad[i], &size));
}

static void test_seconds_have_units(void **state) {
	static const struct {
		const char *text;
		double seconds;
	} good[] = {{"0", 0},    {"1.5", 1.5}, {"1.5s", 1.5}, {"200ms", 0.2},
		    {"3m", 180}, {"2h", 7200}, {"7d", 604800}};
	static const char *const bad[] = {"", "s", "-3", "1x", "1ss", "nan", "inf", "1e10"};
	double seconds;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(settings_parse_seconds(good[i].text, &seconds));
		assert_true(seconds > good[i].seconds - 1e-9 && seconds < good[i].seconds + 1e-9);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(settings_parse_seconds(bad[i], &seconds));
}

static void test_choices_are_words_in_any_case(void **state) {
	expect_setting(SETTING_SCOPE, "system", "system|flag");
	expect_setting(SETTING_SCOPE, "TREE", "tree|flag");
	expect_setting(SETTING_KEEP, "Failed", "failed|flag");
}

static void test_yes_and_no_have_many_spellings(void **state) {
	static const char *const yes[] = {"yes", "TRUE", "on", "1"}, *const no[] = {"no", "False", "off",
										    "0"};
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		expect_setting(SETTING_STRICT, yes[i], "yes|flag");
		expect_setting(SETTING_STRICT, no[i], "no|flag");
		expect_setting(SETTING_ENABLED, no[i],
			       "no|flag"); // also for a choice that includes these words
	}
}

static void test_a_flag_alone_has_a_value(void **state) {
	struct settings settings;
	assert_true(settings_load(&settings, true));
	assert_true(settings.wait_tree < 0);
	assert_true(settings_take_flag(&settings, SETTING_SAMPLE, NULL));
	assert_true(settings_take_flag(&settings, SETTING_WAIT_TREE, NULL));
	assert_true(settings_take_flag(&settings, SETTING_HEAP, NULL));
	assert_int_equal(settings.sample, 999);
	assert_true(settings.wait_tree >= 0 && settings.wait_tree <= 0);
	assert_true(settings.heap);
	settings_free(&settings);
}

static void test_samples_are_a_frequency_or_an_event(void **state) {
	struct settings settings;
	assert_true(settings_load(&settings, true));
	assert_true(settings_take_flag(&settings, SETTING_SAMPLE, "cache-misses@10000"));
	assert_string_equal(settings.sample_event, "cache-misses@10000");
	expect_shown(&settings, SETTING_SAMPLE, "cache-misses@10000|flag");
	assert_true(settings_take_flag(&settings, SETTING_SAMPLE, "49"));
	assert_null(settings.sample_event);
	assert_int_equal(settings.sample, 49);
	assert_true(settings_take_flag(&settings, SETTING_SAMPLE, "no"));
	assert_int_equal(settings.sample, 0);
	settings_free(&settings);
}

static void test_defaults_are_in_the_table(void **state) {
	expect_setting(SETTING_OUTPUT_DIR, NULL, "tracelet-out|default");
	expect_setting(SETTING_RING_SIZE, NULL, "16M|default");
	expect_setting(SETTING_TIMEOUT_STATUS, NULL, "124|default");
	expect_setting(SETTING_WAIT_TREE, NULL, "|default");
	for (enum setting_id id = 0; id < SETTING_COUNT; id++) {
		struct settings settings;
		assert_true(settings_load(&settings, true));
		assert_int_equal(settings.origins[id], FROM_DEFAULT);
		// A default that its own parser rejects would silently leave a field empty.
		if (setting_table[id].usual)
			assert_true(settings_take_flag(&settings, id, setting_table[id].usual));
		settings_free(&settings);
	}
}

static void test_every_setting_is_described(void **state) {
	for (enum setting_id id = 0; id < SETTING_COUNT; id++) {
		const struct setting *setting = &setting_table[id];
		assert_non_null(setting->help);
		assert_true(setting->verbs != 0);
		// The help names the value; only yes/no settings and choices name it themselves.
		assert_true(setting->metavar || setting_choices(setting));
	}
}

// ---- sources of settings ----

static void test_a_stronger_place_wins(void **state) {
	CLEANUP_FREE char *user = memory_format("system|%s/" USER, root);
	CLEANUP_FREE char *project = memory_format("tree|%s/" PROJECT, root);
	expect_setting(SETTING_SCOPE, NULL, "tree|default");
	write_file(USER, "scope = system\n");
	expect_setting(SETTING_SCOPE, NULL, user);
	write_file(PROJECT, "[tracelet]\nscope = tree\n");
	expect_setting(SETTING_SCOPE, NULL, project);
	setenv("TRACELET_SCOPE", "system", 1);
	expect_setting(SETTING_SCOPE, NULL, "system|TRACELET_SCOPE");
	expect_setting(SETTING_SCOPE, "tree", "tree|flag");
}

static void test_an_empty_variable_is_not_set(void **state) {
	setenv("TRACELET_SCOPE", "", 1);
	expect_setting(SETTING_SCOPE, NULL, "tree|default");
}

static void test_places_do_not_add_up_but_flags_do(void **state) {
	struct settings settings;
	setenv("TRACELET_PROFILE", "io", 1);
	setenv("TRACELET_VARIANT", "kernel=6.1", 1);
	assert_true(settings_load(&settings, true));
	assert_true(settings_take_flag(&settings, SETTING_PROFILE, "cpu"));
	assert_true(settings_take_flag(&settings, SETTING_PROFILE, "memory"));
	assert_true(settings_take_flag(&settings, SETTING_VARIANT, "b=2"));
	assert_true(settings_take_flag(&settings, SETTING_VARIANT, "a=1"));
	assert_string_equal(settings.profile, "cpu+memory");
	assert_string_equal(settings.variant, "{\"a\":\"1\",\"b\":\"2\"}");
	settings_free(&settings);
}

static void test_auto_leaves_the_decision_to_the_environment(void **state) {
	expect_setting(SETTING_ENABLED, "auto", "auto|flag");
	setenv("TRACELET_ENABLED", "1", 1);
	expect_setting(SETTING_ENABLED, "auto", "yes|TRACELET_ENABLED");
}

// ---- bad values: one line that names the source ----

static void test_a_bad_flag_is_named(void **state) {
	expect_bad_flag(SETTING_SCOPE, "all", "tracelet: --scope: 'all' is not 'tree' or 'system'\n");
	expect_bad_flag(SETTING_KEEP, "x", "tracelet: --keep: 'x' is not 'always', 'failed' or 'never'\n");
	expect_bad_flag(SETTING_STRICT, "maybe", "tracelet: --strict: 'maybe' is not 'yes' or 'no'\n");
	expect_bad_flag(SETTING_TIMEOUT, "-3", "tracelet: --timeout: '-3' is not seconds\n");
	expect_bad_flag(SETTING_RING_SIZE, "1", "tracelet: --ring-size: '1' is not a size from 64K to 4G\n");
	expect_bad_flag(SETTING_TIMEOUT_STATUS, "256",
			"tracelet: --timeout-status: '256' is not a number from 0 to 255\n");
	expect_bad_flag(SETTING_VARIANT, "x", "tracelet: --variant: 'x' is not KEY=VALUE or a JSON object\n");
}

static void test_a_bad_variable_is_named(void **state) {
	setenv("TRACELET_TIMEOUT", "soon", 1);
	expect_bad_load("tracelet: TRACELET_TIMEOUT: 'soon' is not seconds\n");
}

static void test_a_bad_line_is_named_with_its_file(void **state) {
	static const struct {
		const char *text, *problem;
	} bad[] = {
		{"scope = all\n", ": scope: 'all' is not 'tree' or 'system'"},
		{"scoop = tree\n", ": unknown setting 'scoop'"},
		{"[tracer]\nscope = tree\n", ": unknown section [tracer]"},
		{"scope = tree\nwhat is this\n", ":2: neither a section nor 'key = value'"},
		{"scope = all\nscoop = tree\n", ": scope: 'all' is not 'tree' or 'system'"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP_FREE char *expected = memory_format("tracelet: %s/" PROJECT "%s\n", root,
							    bad[i].problem);
		write_file(PROJECT, bad[i].text);
		expect_bad_load(expected);
	}
	CLEANUP_FREE char *user = memory_format("tracelet: %s/" USER ": unknown setting 'x'\n", root);
	write_file(PROJECT, "");
	write_file(USER, "x = y\n");
	expect_bad_load(user);
}

static void test_folders_in_a_file_are_relative_to_it(void **state) {
	CLEANUP_FREE char *expected = memory_format("%s/project/traces|%s/" PROJECT, root, root);
	write_file(PROJECT, "output-dir = traces\n");
	expect_setting(SETTING_OUTPUT_DIR, NULL, expected);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sizes_have_units, forget),
		cmocka_unit_test_setup(test_seconds_have_units, forget),
		cmocka_unit_test_setup(test_choices_are_words_in_any_case, forget),
		cmocka_unit_test_setup(test_yes_and_no_have_many_spellings, forget),
		cmocka_unit_test_setup(test_a_flag_alone_has_a_value, forget),
		cmocka_unit_test_setup(test_samples_are_a_frequency_or_an_event, forget),
		cmocka_unit_test_setup(test_defaults_are_in_the_table, forget),
		cmocka_unit_test_setup(test_every_setting_is_described, forget),
		cmocka_unit_test_setup(test_a_stronger_place_wins, forget),
		cmocka_unit_test_setup(test_an_empty_variable_is_not_set, forget),
		cmocka_unit_test_setup(test_places_do_not_add_up_but_flags_do, forget),
		cmocka_unit_test_setup(test_auto_leaves_the_decision_to_the_environment, forget),
		cmocka_unit_test_setup(test_a_bad_flag_is_named, forget),
		cmocka_unit_test_setup(test_a_bad_variable_is_named, forget),
		cmocka_unit_test_setup(test_a_bad_line_is_named_with_its_file, forget),
		cmocka_unit_test_setup(test_folders_in_a_file_are_relative_to_it, forget),
	};
	return cmocka_run_group_tests(tests, prepare, clean_up);
}
