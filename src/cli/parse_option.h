// Values in the options of verbs: times and counts.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// 1.5 or 1.5s, 20ms, 7us, 100ns; in nanoseconds. False: not a time.
bool parse_time(const char *text, uint64_t *nanoseconds);

// The same for the value of an option; if it is no time, one line says so.
bool parse_time_option(const char *option, const char *value, uint64_t *nanoseconds);

// A number of things, for --limit and the like; anything else than digits is refused with one line.
bool parse_count_option(const char *option, const char *value, uint64_t *count);
