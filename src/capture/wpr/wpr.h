// Windows Performance Recorder, through wpr.exe, which controls the system's collectors and writes the .etl
// file. Each session has its own instance name, so that several can record at the same time. wpr.exe can
// hang. It has a time limit, after which it is killed with everything it has started, and its own console, so
// that Ctrl-C does not reach it.
//
// Variables: TRACELET_WPR names another wpr.exe; TRACELET_WPR_START_SECONDS (60, for all but
// stop) and TRACELET_WPR_STOP_SECONDS (600) are the limits.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wpr_answer {
	bool missing;    // no wpr.exe, or it cannot be started; `code` says why
	bool timed_out;  // it was killed
	double limit;    // its time limit in seconds
	uint32_t code;   // HRESULT; 0 for success
	char said[1024]; // output of wpr.exe, on one line
};

// Each of `profiles` is FILE[!NAME], no two with the same FILE: WPR refuses that (800700b7). Collectors with
// the same name become one, whichever files they come from. Returns true if it worked.
bool wpr_start(char *const *profiles, size_t count, bool to_file, const char *instance,
	       struct wpr_answer *answer);
bool wpr_stop(const char *path, const char *instance, struct wpr_answer *answer);
bool wpr_cancel(const char *instance, struct wpr_answer *answer);
bool wpr_marker(const char *text, const char *instance, struct wpr_answer *answer);

// True if it says that no recording with this name is running. False also if unknown.
bool wpr_is_idle(const char *instance, struct wpr_answer *answer);

// Its path, to be freed; its version, 0.0.0 if unknown.
char *wpr_path(void);
struct wpr_version {
	unsigned major, minor, build;
} wpr_version(void);

// All collectors are in use: it may work later.
bool wpr_is_busy(const struct wpr_answer *answer);

enum {
	WPR_NOTHING_RUNNING = (int)0xc5583000,
	WPR_ALREADY_RUNNING = (int)0xc5583001,
	WPR_COLLECTOR_IN_USE = (int)0xc5583014,
	WPR_STATE_PROVIDER = (int)0xc558300c,
	WPR_NOT_ELEVATED = (int)0xc5585011,
	WPR_NO_PROVIDER = (int)0xc5580612,
	WPR_INVALID_PROFILE = (int)0xc5580701,
	WPR_NO_SUCH_PROFILE = (int)0xc5584017,
	WPR_FILE_TWICE = (int)0x800700b7,
	WPR_TOO_MANY_SESSIONS = (int)0x800705aa,
	WPR_OUT_OF_MEMORY = (int)0x80070008,
	WPR_ACCESS_DENIED = (int)0x80070005,
	WPR_ABORTED = (int)0x80071069,
	WPR_COM_FAILURE = (int)0x80010106,
};

// What went wrong and what to do, as text.
void wpr_words(const struct wpr_answer *answer, char *words, size_t size);

// A number of seconds from the environment, or `usual`.
double wpr_seconds(const char *variable, double usual);
