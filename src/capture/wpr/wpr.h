// Windows Performance Recorder, through wpr.exe: it alone may make the system's
// collectors record, and leaves the .etl file. Each session has an instance name of
// its own, so that several record at the same time.
//
// wpr.exe can hang. It gets a time limit, a console of its own, so that no Ctrl-C
// meets it, and is killed then with all it has started.
//
// Variables: TRACELET_WPR names another wpr.exe; TRACELET_WPR_START_SECONDS (60, for all but
// stop) and TRACELET_WPR_STOP_SECONDS (600) are the limits.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wpr_answer {
	bool missing;    // there is no wpr.exe, or it cannot be started; `code` says why
	bool timed_out;  // it was killed
	double limit;    // seconds that it had
	uint32_t code;   // HRESULT, 0: it is done
	char said[1024]; // by wpr.exe, on one line
};

// Each of `profiles` is FILE[!NAME], no two of the same FILE: WPR refuses that (800700b7). Collectors
// of the same name become one, whichever files they come from. True: it is done.
bool wpr_start(char *const *profiles, size_t count, bool to_file, const char *instance,
	       struct wpr_answer *answer);
bool wpr_stop(const char *path, const char *instance, struct wpr_answer *answer);
bool wpr_cancel(const char *instance, struct wpr_answer *answer);
bool wpr_marker(const char *text, const char *instance, struct wpr_answer *answer);

// Whether it says that nothing is being recorded under this name. If it cannot tell, so it is told, too:
// false.
bool wpr_is_idle(const char *instance, struct wpr_answer *answer);

// Where it is, to be freed; its version, 0.0.0 if it does not say.
char *wpr_path(void);
struct wpr_version {
	unsigned major, minor, build;
} wpr_version(void);

// All collectors are in use: it may go well later.
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

// What went wrong and what to do, in words.
void wpr_words(const struct wpr_answer *answer, char *words, size_t size);

// A number of seconds from the environment, else `usual`.
double wpr_seconds(const char *variable, double usual);
