#include "base/log.h"
#include "base/system.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum log_level current_level = LOG_NORMAL;
static bool progress_shown;
static int descriptor = STDERR_FILENO;

void log_set_descriptor(int fd) {
	descriptor = fd;
}

int log_descriptor(void) {
	return descriptor;
}

void log_set_level(enum log_level level) {
	current_level = level;
}

enum log_level log_get_level(void) {
	return current_level;
}

void log_reset(void) {
	current_level = LOG_NORMAL;
	progress_shown = false;
	descriptor = STDERR_FILENO;
}

bool log_colours(void) {
	const char *terminal = system_variable("TERM");
	return system_is_terminal(descriptor) && !system_variable("NO_COLOR") && terminal &&
	       strcmp(terminal, "dumb") != 0;
}

// A name in a message may hold anything.
static void append_message(struct buffer *line, const char *format, va_list arguments) {
	char message[4000];
	int length = vsnprintf(message, sizeof(message), format, arguments);
	text_plain(line, message, (size_t)MAX(0, MIN(length, (int)sizeof(message) - 1)));
}

// One write per line, so that lines of parallel runs do not mix.
static void say(const char *colour, const char *word, const char *format, va_list arguments) {
	static const char plain[] = "\033[0m";
	struct buffer line = {0};
	bool colours = log_colours();
	buffer_printf(&line, "%stracelet: %s%s%s", progress_shown ? "\r\033[K" : "", colours ? colour : "",
		      word, colours && *word ? plain : "");
	append_message(&line, format, arguments);
	buffer_printf(&line, "%s\n", colours && !*word ? plain : "");
	progress_shown = false;
	fflush(stderr);
	ssize_t written = system_write(descriptor, line.data, line.size);
	(void)written; // if stderr is gone, there is nowhere to report it
	buffer_free(&line);
}

#define SAY(colour, word)                                                                                    \
	do {                                                                                                 \
		va_list arguments;                                                                           \
		va_start(arguments, format);                                                                 \
		say(colour, word, format, arguments);                                                        \
		va_end(arguments);                                                                           \
	} while (0)

void log_error(const char *format, ...) {
	SAY("\033[31m", "");
}

void log_warning(const char *format, ...) {
	SAY("\033[33m", "warning: ");
}

void log_verbose(const char *format, ...) {
	if (current_level >= LOG_VERBOSE)
		SAY("", "");
}

void log_progress(const char *format, ...) {
	if (current_level == LOG_QUIET || !system_is_terminal(descriptor) || (!format && !progress_shown))
		return;
	fputs("\r\033[K", stderr);
	progress_shown = format != NULL;
	if (format) {
		struct buffer line = {0};
		va_list arguments;
		va_start(arguments, format);
		append_message(&line, format, arguments);
		va_end(arguments);
		fwrite(line.data, 1, line.size, stderr);
		buffer_free(&line);
	}
	fflush(stderr);
}
