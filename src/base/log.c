#include "base/log.h"
#include "base/system.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum log_level current_level = LOG_NORMAL;
static bool progress_shown;

void log_set_level(enum log_level level) {
	current_level = level;
}

enum log_level log_get_level(void) {
	return current_level;
}

bool log_colours(void) {
	const char *terminal = system_variable("TERM");
	return system_is_terminal(STDERR_FILENO) && !system_variable("NO_COLOR") && terminal &&
	       strcmp(terminal, "dumb") != 0;
}

// A name in a message may hold anything: what would break the line or steer the
// terminal is shown as '?'.
static int format_line(char *line, int room, const char *format, va_list arguments) {
	int length = vsnprintf(line, (size_t)room, format, arguments);
	length = length < 0 ? 0 : length < room ? length : room - 1;
	for (int i = 0; i < length; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	return length;
}

// One write per line, so that lines of parallel runs do not mix.
static void say(const char *colour, const char *word, const char *format, va_list arguments) {
	static const char plain[] = "\033[0m";
	char line[4096];
	bool colours = log_colours();
	int size = snprintf(line, sizeof(line), "%stracelet: %s%s%s", progress_shown ? "\r\033[K" : "",
			    colours ? colour : "", word, colours && *word ? plain : "");
	size += format_line(line + size, (int)(sizeof(line) - sizeof(plain)) - size - 1, format, arguments);
	size += snprintf(line + size, sizeof(line) - (size_t)size, "%s\n", colours && !*word ? plain : "");
	progress_shown = false;
	fflush(stderr);
	if (system_write(STDERR_FILENO, line, (size_t)size) < 0)
		return; // there is nobody to tell
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
	if (current_level == LOG_QUIET || !system_is_terminal(STDERR_FILENO) || (!format && !progress_shown))
		return;
	fputs("\r\033[K", stderr);
	progress_shown = format != NULL;
	if (format) {
		char line[512];
		va_list arguments;
		va_start(arguments, format);
		format_line(line, sizeof(line), format, arguments);
		va_end(arguments);
		fputs(line, stderr);
	}
	fflush(stderr);
}
