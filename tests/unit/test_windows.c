// The parts of the Windows side that are plain C: they parse untrusted input, so they are tested
// here, with sanitizers.
#include "unit.h"

#include "capture/wpr/wpr.h"
#include "settings/ini_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- tracelet.ini ----

static int add_line(void *context, const char *section, const char *key, const char *value) {
	char *lines = context;
	snprintf(lines + strlen(lines), 256 - strlen(lines), "%s/%s=%s\n", section, key, value);
	return strcmp(key, "bad") != 0;
}

static int read_text(const char *text, char lines[256]) {
	char path[] = "/tmp/tracelet-ini.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	*lines = 0;
	char why[INI_FILE_WHY] = "";
	int result = ini_file_read(path, INI_FILE_OF_PROJECT, add_line, lines, why);
	unlink(path);
	return result;
}

static void test_keys_have_sections_and_comments(void **state) {
	char lines[256];
	assert_int_equal(
		read_text("\xef\xbb\xbf# first\r\na = 1 ; one\r\n[s]\r\n b: two words\n\n;c = 3\nd=x;y",
			  lines),
		0);
	assert_string_equal(lines, "/a=1\ns/b=two words\ns/d=x;y\n");
}

static void test_a_line_that_is_neither_has_its_number(void **state) {
	char lines[256];
	assert_int_equal(read_text("a = 1\nnothing\n", lines), 2);
	assert_int_equal(read_text("a = 1\n\nbad = 2\nc = 3\n", lines), 3);
	assert_string_equal(lines, "/a=1\n/bad=2\n");
	assert_int_equal(read_text("[open\n", lines), 1);
	char why[INI_FILE_WHY] = "";
	assert_int_equal(ini_file_read("/no/such/file", INI_FILE_OF_PROJECT, add_line, lines, why), -1);
}

// ---- wpr.exe's exit codes ----

static void test_codes_become_words(void **state) {
	char words[256];
	struct wpr_answer answer = {.code = 0xc5585011};
	wpr_words(&answer, words, sizeof(words));
	assert_non_null(strstr(words, "administrator rights (c5585011); start it from an elevated prompt"));
	answer = (struct wpr_answer){.code = 0xc5580701, .said = "line 7, column 12"};
	wpr_words(&answer, words, sizeof(words));
	assert_non_null(strstr(words, "not valid: line 7, column 12 (c5580701)"));
	answer = (struct wpr_answer){.code = 0x80004005, .said = "Unspecified error"};
	wpr_words(&answer, words, sizeof(words));
	assert_string_equal(words, "wpr.exe failed with 80004005: Unspecified error");
	answer = (struct wpr_answer){.timed_out = true, .limit = 60};
	wpr_words(&answer, words, sizeof(words));
	assert_string_equal(words, "wpr.exe did not end within 60 s and was killed");
}

static void test_only_a_lack_of_collectors_is_waited_for(void **state) {
	assert_true(wpr_is_busy(&(struct wpr_answer){.code = 0x800705aa}));
	assert_true(wpr_is_busy(&(struct wpr_answer){.code = 0xc5583014}));
	assert_false(wpr_is_busy(&(struct wpr_answer){.code = 0xc5585011}));
	assert_false(wpr_is_busy(&(struct wpr_answer){.code = 0x800705aa, .missing = true}));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_have_sections_and_comments),
		cmocka_unit_test(test_a_line_that_is_neither_has_its_number),
		cmocka_unit_test(test_codes_become_words),
		cmocka_unit_test(test_only_a_lack_of_collectors_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
