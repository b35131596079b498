// The options that all verbs about profiles have: what is read, what is counted,
// how it is named. They are those of stackcollapse-perf.pl.
#pragma once

#include "read/reader.h"
#include "write/profile.h"

#include <getopt.h>

struct profile_input {
	struct profile_options options;
	const struct reader *reader; // NULL: by content
};

// Values of getopt_long() for these, above those of letters.
enum {
	OPTION_PID = 1000,
	OPTION_TID,
	OPTION_KERNEL,
	OPTION_JIT,
	OPTION_ALL,
	OPTION_ADDRS,
	OPTION_EVENT_FILTER,
	OPTION_ALL_EVENTS,
	OPTION_INLINE,
	OPTION_NO_INLINE,
	OPTION_SRCLINE,
	OPTION_FROM,
	OPTION_OF_VERB, // a verb's own begin here
};

#define PROFILE_LONG_OPTIONS                                                                                 \
	{"pid", no_argument, NULL, OPTION_PID}, {"tid", no_argument, NULL, OPTION_TID},                      \
		{"kernel", no_argument, NULL, OPTION_KERNEL}, {"jit", no_argument, NULL, OPTION_JIT},        \
		{"all", no_argument, NULL, OPTION_ALL}, {"addrs", no_argument, NULL, OPTION_ADDRS},          \
		{"event-filter", required_argument, NULL, OPTION_EVENT_FILTER},                              \
		{"all-events", no_argument, NULL, OPTION_ALL_EVENTS},                                        \
		{"inline", no_argument, NULL, OPTION_INLINE},                                                \
		{"no-inline", no_argument, NULL, OPTION_NO_INLINE},                                          \
		{"srcline", no_argument, NULL, OPTION_SRCLINE},                                              \
		{"from", required_argument, NULL, OPTION_FROM}, {"quiet", no_argument, NULL, 'q'}, {         \
		"help", no_argument, NULL, 'h'                                                               \
	}

#define PROFILE_OPTIONS_HELP                                                                                 \
	"      --pid               task names with the process id\n"                                         \
	"      --tid               task names with process and thread id\n"                                  \
	"      --kernel            mark the kernel's functions with _[k]\n"                                  \
	"      --jit               mark those of JIT compilers with _[j]\n"                                  \
	"      --all               both of these\n"                                                          \
	"      --addrs             addresses of functions that have no name\n"                               \
	"      --event-filter NAME only samples of this event, in place of the first one's\n"                \
	"      --all-events        samples of every event, added up\n"                                       \
	"      --inline            look up inlined functions in debug information (default)\n"               \
	"      --no-inline         look up nothing there\n"                                                  \
	"      --srcline           names with where they are declared: function:file:line\n"                 \
	"      --from FORMAT       the input's format, if its content does not tell\n"                       \
	"  -q, --quiet             no progress line\n"                                                       \
	"  -h, --help              this text\n"

// Takes one of the options above (not -h). 0, or EXIT_USAGE after a line that says why.
int profile_option(struct profile_input *input, int option, const char *value);
