// The parts of the Windows side that are plain C: they read what may be anything, so
// they are tested here, where sanitizers look.
#include "unit.h"

#include "base/memory.h"
#include "capture/wpr/wpr.h"
#include "session/ini_file.h"
#include "session/windows/json_scan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- JSON ----

struct seen {
	char *name;
	double number;
	int items;
};

static void count_item(struct json_scan *scan, void *context) {
	struct seen *seen = context;
	json_scan_skip(scan);
	seen->items++;
}

static void take_member(struct json_scan *scan, const char *key, void *context) {
	struct seen *seen = context;
	if (strcmp(key, "name") == 0) {
		free(seen->name);
		seen->name = json_scan_string(scan);
	} else if (strcmp(key, "number") == 0) {
		json_scan_number(scan, &seen->number);
	} else if (strcmp(key, "items") == 0) {
		json_scan_array(scan, count_item, seen);
	}
}

// From a copy that ends where the text does, so that reading on is noticed.
static bool scan(const char *text, size_t size, struct seen *seen) {
	char *copy = memory_alloc(size + !size);
	memcpy(copy, text, size);
	struct json_scan scan = {.at = copy, .end = copy + size};
	*seen = (struct seen){0};
	json_scan_object(&scan, take_member, seen);
	free(copy);
	return !scan.bad;
}

static void test_members_are_taken_in_any_order(void **state) {
	static const char text[] =
		" {\"other\":{\"a\":[1,{\"b\":null}]}, \"items\":[1,\"x\",[],{}], \"number\":-1.5e2,"
		"\"name\":\"a\\\"\\\\\\n\\u00e9\\ud83d\\ude00\", \"yes\":true}";
	struct seen seen;
	assert_true(scan(text, strlen(text), &seen));
	assert_string_equal(seen.name, "a\"\\\n\xc3\xa9\xf0\x9f\x98\x80");
	assert_int_equal(seen.items, 4);
	assert_true(seen.number == -150);
	free(seen.name);
}

static void test_every_beginning_of_a_line_is_refused(void **state) {
	static const char text[] = "{\"name\":\"a\\u00e9b\",\"items\":[{\"x\":[1,2]}],\"number\":12}";
	struct seen seen;
	for (size_t size = 0; size < strlen(text); size++) {
		assert_false(scan(text, size, &seen));
		free(seen.name);
	}
	assert_true(scan(text, strlen(text), &seen));
	free(seen.name);
}

static void test_what_is_no_json_is_refused(void **state) {
	static const char *const bad[] = {
		"[]",
		"{\"a\" 1}",
		"{\"a\":}",
		"{a:1}",
		"{\"name\":\"\\q\"}",
		"{\"a\":1,}",
		"{\"a\":1 2}",
		"{\"number\":1x}",
		"{\"name\":\"\\u0000\"}",
		"{\"name\":\"\\u12g4\"}",
	};
	struct seen seen;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (scan(bad[i], strlen(bad[i]), &seen))
			fail_msg("taken: %s", bad[i]);
		free(seen.name);
	}
}

static void test_depth_is_limited(void **state) {
	enum { DEPTH = 100000 };
	char *text = memory_alloc(DEPTH + 8);
	struct seen seen;
	memcpy(text, "{\"a\":", 5);
	memset(text + 5, '[', DEPTH);
	assert_false(scan(text, DEPTH + 5, &seen));
	free(text);
}

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
	int result = ini_file_read(path, add_line, lines);
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
	assert_int_equal(ini_file_read("/no/such/file", add_line, lines), -1);
}

// ---- codes of wpr.exe ----

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
		cmocka_unit_test(test_members_are_taken_in_any_order),
		cmocka_unit_test(test_every_beginning_of_a_line_is_refused),
		cmocka_unit_test(test_what_is_no_json_is_refused),
		cmocka_unit_test(test_depth_is_limited),
		cmocka_unit_test(test_keys_have_sections_and_comments),
		cmocka_unit_test(test_a_line_that_is_neither_has_its_number),
		cmocka_unit_test(test_codes_become_words),
		cmocka_unit_test(test_only_a_lack_of_collectors_is_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
