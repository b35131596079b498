// Messages on stderr: one line each, and colours only on a terminal.
#include "aside.h"

#include "base/log.h"

#include <poll.h>
#include <termios.h>

// ---- into a file ----

static void test_a_message_is_one_line_without_colours(void **state) {
	struct captured captured = capture_begin();
	log_error("%s: cannot be read: %d", "file", 5);
	log_warning("half of it is missing");
	CLEANUP_FREE char *said = capture_end(captured);
	assert_string_equal(said,
			    "tracelet: file: cannot be read: 5\ntracelet: warning: half of it is missing\n");
}

static void test_a_hostile_name_neither_breaks_the_line_nor_steers_the_terminal(void **state) {
	struct captured captured = capture_begin();
	log_error("%s: no", "a\nb\033[31mc\x7f\xc3\xa9");
	CLEANUP_FREE char *said = capture_end(captured);
	assert_string_equal(said, "tracelet: a\\nb\\x1b[31mc\\x7f\xc3\xa9: no\n");
}

static void test_a_message_of_any_length_ends_its_line(void **state) {
	struct captured captured = capture_begin();
	log_error("%0100000d", 1);
	CLEANUP_FREE char *said = capture_end(captured);
	size_t length = strlen(said);
	assert_in_range(length, 1000, 4096);
	assert_int_equal(said[length - 1], '\n');
}

static void test_the_level_decides_what_is_said(void **state) {
	struct captured captured = capture_begin();
	log_set_level(LOG_NORMAL);
	log_verbose("not now");
	log_set_level(LOG_VERBOSE);
	log_verbose("detail");
	log_set_level(LOG_QUIET);
	log_verbose("not now");
	log_warning("always");
	assert_int_equal(log_get_level(), LOG_QUIET);
	log_set_level(LOG_NORMAL);
	CLEANUP_FREE char *said = capture_end(captured);
	assert_string_equal(said, "tracelet: detail\ntracelet: warning: always\n");
}

static void test_progress_is_for_terminals(void **state) {
	struct captured captured = capture_begin();
	log_progress("%d %%", 5);
	log_progress(NULL);
	CLEANUP_FREE char *said = capture_end(captured);
	assert_string_equal(said, "");
}

// ---- on a terminal ----

// What `speak` prints on a terminal.
static char *on_a_terminal(void (*speak)(void)) {
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		skip();
	int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	assert_true(side >= 0);
	struct termios modes;
	tcgetattr(side, &modes);
	cfmakeraw(&modes);
	tcsetattr(side, TCSANOW, &modes);
	int before = dup(STDERR_FILENO);
	dup2(side, STDERR_FILENO);
	close(side);
	speak();
	dup2(before, STDERR_FILENO);
	close(before);
	char *said = memory_alloc(4096);
	size_t size = 0;
	struct pollfd readable = {.fd = terminal, .events = POLLIN};
	while (poll(&readable, 1, 1000) > 0 && readable.revents & POLLIN) {
		ssize_t got = read(terminal, said + size, 4095 - size);
		if (got <= 0)
			break;
		size += (size_t)got;
	}
	close(terminal);
	return said;
}

static void speak_in_colours(void) {
	log_error("bad");
	log_warning("odd");
	log_set_level(LOG_VERBOSE);
	log_verbose("detail");
	log_set_level(LOG_NORMAL);
}

static void test_colours_end_with_their_line(void **state) {
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	CLEANUP_FREE char *said = on_a_terminal(speak_in_colours);
	char *line = said;
	unsigned lines = 0;
	for (char *end; (end = strchr(line, '\n')); line = end + 1, lines++) {
		*end = 0;
		char *last = NULL;
		for (char *at = line; (at = strstr(at, "\033[")); at += 2)
			last = at;
		assert_true(!last || strncmp(last, "\033[0m", 4) == 0);
	}
	assert_int_equal(lines, 3);
	assert_non_null(strstr(said, "\033[31mbad\033[0m"));
}

static void speak_in_words(void) {
	log_error("bad");
}

static void test_no_colours_where_they_are_not_wanted(void **state) {
	setenv("TERM", "dumb", 1);
	CLEANUP_FREE char *dumb = on_a_terminal(speak_in_words);
	assert_string_equal(dumb, "tracelet: bad\n");
	setenv("TERM", "xterm", 1);
	setenv("NO_COLOR", "1", 1);
	CLEANUP_FREE char *plain = on_a_terminal(speak_in_words);
	assert_string_equal(plain, "tracelet: bad\n");
	unsetenv("NO_COLOR");
}

static void speak_of_progress(void) {
	log_progress("%s %d %%", "a\nb", 50);
	log_error("bad");
	log_progress("%d %%", 51);
	log_progress(NULL);
	log_progress(NULL);
}

static void test_progress_is_wiped_before_the_next_line(void **state) {
	setenv("TERM", "dumb", 1);
	CLEANUP_FREE char *said = on_a_terminal(speak_of_progress);
	assert_string_equal(said, "\r\033[Ka\\nb 50 %\r\033[Ktracelet: bad\n\r\033[K51 %\r\033[K");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_is_one_line_without_colours),
		cmocka_unit_test(test_a_hostile_name_neither_breaks_the_line_nor_steers_the_terminal),
		cmocka_unit_test(test_a_message_of_any_length_ends_its_line),
		cmocka_unit_test(test_the_level_decides_what_is_said),
		cmocka_unit_test(test_progress_is_for_terminals),
		cmocka_unit_test(test_colours_end_with_their_line),
		cmocka_unit_test(test_no_colours_where_they_are_not_wanted),
		cmocka_unit_test(test_progress_is_wiped_before_the_next_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
