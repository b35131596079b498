// What the program says to a person, on stderr: one line each, prefixed with
// the program's name, coloured only on a terminal.
#pragma once

#include "base/memory.h"

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);
bool log_colours(void); // stderr is a terminal that takes colours

void log_error(const char *format, ...) PRINTF_LIKE(1, 2);   // always
void log_warning(const char *format, ...) PRINTF_LIKE(1, 2); // always
void log_verbose(const char *format, ...) PRINTF_LIKE(1, 2); // with --verbose

// A line that is written over by the next one, for work of over a second;
// nothing when stderr is not a terminal. NULL wipes it.
void log_progress(const char *format, ...) PRINTF_LIKE(1, 2);
