// Messages to people, on stderr: one line each, prefixed with the program's name,
// coloured only on a terminal.
#pragma once

#include "base/memory.h"

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

// Messages go there instead of stderr, which may be the test's.
void log_set_descriptor(int fd);
int log_descriptor(void);

// As at the start of the program: for a child that goes on as if it were a new one.
void log_reset(void);

bool log_colours(void); // stderr is a terminal that supports colours

void log_error(const char *format, ...) PRINTF_LIKE(1, 2);   // always
void log_warning(const char *format, ...) PRINTF_LIKE(1, 2); // always
void log_verbose(const char *format, ...) PRINTF_LIKE(1, 2); // with --verbose

// A progress line that the next one overwrites, for work that takes over a second.
// Does nothing if stderr is not a terminal. NULL removes the line.
void log_progress(const char *format, ...) PRINTF_LIKE(1, 2);
