#include "base/memory.h"
#include "capture/wpr/wpr.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
	int code;
	bool busy;
	bool quote; // what wpr.exe says has more: the line of a profile
	const char *words, *advice;
} codes[] = {
	{WPR_NOTHING_RUNNING, .words = "nothing is being recorded under this name",
	 .advice = "somebody has stopped or cancelled it"},
	{WPR_ALREADY_RUNNING, .words = "a recording of this name is running already",
	 .advice = "'tracelet status' lists them, 'tracelet cancel' ends one"},
	{WPR_COLLECTOR_IN_USE, .busy = true, .words = "the collector is in use by another recording",
	 .advice = "'wpr -status' and 'logman query -ets' tell by whom"},
	{WPR_STATE_PROVIDER,
	 .words = "the provider of runtime state, or one of the profile's, is not running",
	 .advice = "is one Strict that is not there? else another wpr.exe (TRACELET_WPR) or a restart helps"},
	{WPR_NOT_ELEVATED, .words = "not allowed: recording needs administrator rights",
	 .advice = "start it from an elevated prompt (Run as administrator)"},
	{WPR_NO_PROVIDER, .words = "no provider of the profile could be enabled",
	 .advice = "is what it traces installed here (and, with a ProcessExeFilter, running)? 'tracelet "
		   "profile show' lists the providers"},
	{WPR_INVALID_PROFILE, .quote = true, .words = "the profile is not valid",
	 .advice = "'tracelet profile check FILE.wprp' tells more"},
	{WPR_NO_SUCH_PROFILE, .quote = true,
	 .words = "the file has no such profile for this way of recording",
	 .advice = "'tracelet profile check FILE.wprp' tells more; --type file or memory says which variant "
		   "is wanted"},
	{WPR_FILE_TWICE, .words = "one .wprp file is named twice",
	 .advice = "WPR takes one profile of each file at a time"},
	{WPR_TOO_MANY_SESSIONS, .busy = true, .words = "all event collectors of this machine are in use",
	 .advice = "run fewer traced tests at the same time ('logman query -ets' lists who records)"},
	{WPR_OUT_OF_MEMORY, .words = "not enough memory for the buffers",
	 .advice = "a profile with smaller buffers needs less, as --profile light"},
	{WPR_ACCESS_DENIED, .words = "access denied",
	 .advice = "start it from an elevated prompt (Run as administrator)"},
	{WPR_ABORTED, .words = "the recording was aborted", .advice = "is the disk full?"},
	{WPR_COM_FAILURE, .words = "COM failed while the recording was saved",
	 .advice = "a restart of Windows or a newer wpr.exe (Windows ADK; TRACELET_WPR) helps"},
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
			 "wpr.exe cannot be started (error %" PRIu32
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
