#include "base/memory.h"
#include "capture/wpr/wpr.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	int code;
	bool busy;
	bool quote; // append wpr.exe's output, which says more: the line of a profile
	const char *words, *advice;
} codes[] = {
	{WPR_NOTHING_RUNNING, .words = "no recording with this name is running",
	 .advice = "another process stopped or cancelled it"},
	{WPR_ALREADY_RUNNING, .words = "a recording with this name is already running",
	 .advice = "'tracelet status' lists them, 'tracelet cancel' ends one"},
	{WPR_COLLECTOR_IN_USE, .busy = true, .words = "the collector is in use by another recording",
	 .advice = "'wpr -status' and 'logman query -ets' list the recordings"},
	{WPR_STATE_PROVIDER,
	 .words = "the provider of runtime state, or one of the profile's, is not running",
	 .advice = "remove Strict from providers that are not installed; otherwise try another wpr.exe "
		   "(TRACELET_WPR) or restart Windows"},
	{WPR_NOT_ELEVATED, .words = "not allowed: recording needs administrator rights",
	 .advice = "start it from an elevated prompt (Run as administrator)"},
	{WPR_NO_PROVIDER, .words = "no provider of the profile could be enabled",
	 .advice = "check that the traced software is installed (and, with a ProcessExeFilter, running); "
		   "'tracelet profile show' lists the providers"},
	{WPR_INVALID_PROFILE, .quote = true, .words = "the profile is not valid",
	 .advice = "'tracelet profile check FILE.wprp' shows details"},
	{WPR_NO_SUCH_PROFILE, .quote = true,
	 .words = "the file has no such profile for this way of recording",
	 .advice = "'tracelet profile check FILE.wprp' shows details; choose a variant with --type file or "
		   "memory"},
	{WPR_FILE_TWICE, .words = "the same .wprp file is given twice",
	 .advice = "WPR takes only one profile from each file"},
	{WPR_TOO_MANY_SESSIONS, .busy = true, .words = "all event collectors on this machine are in use",
	 .advice = "run fewer traced tests at the same time ('logman query -ets' lists the recordings)"},
	{WPR_OUT_OF_MEMORY, .words = "not enough memory for the buffers",
	 .advice = "use a profile with smaller buffers, such as --profile light"},
	{WPR_ACCESS_DENIED, .words = "access denied",
	 .advice = "start it from an elevated prompt (Run as administrator)"},
	{WPR_ABORTED, .words = "the recording was aborted", .advice = "is the disk full?"},
	{WPR_COM_FAILURE, .words = "COM failed while saving the recording",
	 .advice = "restart Windows, or try a newer wpr.exe (Windows ADK; TRACELET_WPR)"},
};

bool wpr_is_busy(const struct wpr_answer *answer) {
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if ((uint32_t)codes[i].code == answer->code)
			return codes[i].busy && !answer->missing && !answer->timed_out;
	return false;
}

void wpr_words(const struct wpr_answer *answer, char *words, size_t size) {
	if (answer->timed_out) {
		snprintf(words, size, "wpr.exe did not end within %g s and was killed", answer->limit);
		return;
	}
	if (answer->missing) {
		snprintf(words, size,
			 "cannot start wpr.exe (error %" PRIu32
			 "): it is part of Windows 10 and later, in System32",
			 answer->code);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if ((uint32_t)codes[i].code != answer->code)
			continue;
		snprintf(words, size, "%s%s%s (%08" PRIx32 "); %s", codes[i].words,
			 codes[i].quote && *answer->said ? ": " : "", codes[i].quote ? answer->said : "",
			 answer->code, codes[i].advice);
		return;
	}
	snprintf(words, size, "wpr.exe failed with %08" PRIx32 "%s%s", answer->code,
		 *answer->said ? ": " : "", answer->said);
}
