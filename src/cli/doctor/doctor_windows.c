// What works on this Windows, determined by trying it, and how to fix what does not.
#include "base/system.h"
#include "capture/wpr/wpr.h"
#include "cli/doctor/doctor.h"
#include "session/state.h"

#include <errno.h>
#include <string.h>
#include <windows.h>

#include <evntrace.h>

static void examine_windows(struct finding *finding) {
	struct system_version version = system_version();
	snprintf(finding->found, sizeof(finding->found), "Windows %u.%u.%u", version.major, version.minor,
		 version.build);
	if (version.major < 10)
		doctor_fix(finding, LIMITED, "tracelet needs Windows 10 or later");
}

static void examine_rights(struct finding *finding) {
	TOKEN_ELEVATION elevation = {0};
	HANDLE token = NULL;
	DWORD size;
	if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
		GetTokenInformation(token, TokenElevation, &elevation, sizeof(elevation), &size);
		CloseHandle(token);
	}
	snprintf(finding->found, sizeof(finding->found), "%s",
		 elevation.TokenIsElevated ? "this prompt is elevated" : "this prompt is not elevated");
	if (!elevation.TokenIsElevated)
		doctor_fix(finding, MISSING, "run tracelet from an elevated prompt (Run as administrator)");
}

// Whether it responds at all, with an instance name that is not in use.
static void examine_wpr(struct finding *finding) {
	CLEANUP_FREE char *path = wpr_path();
	struct wpr_version version = wpr_version();
	struct wpr_answer answer;
	char words[1024];
	ULONGLONG begun = GetTickCount64();
	bool idle = wpr_is_idle("tracelet_doctor", &answer);
	unsigned long long milliseconds = GetTickCount64() - begun;
	if (!idle && (answer.missing || answer.timed_out || answer.code)) {
		wpr_words(&answer, words, sizeof(words));
		snprintf(finding->found, sizeof(finding->found), "%.150s", path);
		doctor_fix(finding, MISSING, words);
		return;
	}
	char number[48] = "";
	if (version.major)
		snprintf(number, sizeof(number), ", version %u.%u.%u", version.major, version.minor,
			 version.build);
	snprintf(finding->found, sizeof(finding->found), "%.80s%s, answers in %llu ms", path, number,
		 milliseconds);
}

// Trace sessions of all programs. There may be 64, some of which are reserved.
static void examine_collectors(struct finding *finding) {
	enum { MOST = 64, FEW_LEFT = 40, NAMES = 2 * 1024 * sizeof(wchar_t) };
	struct {
		EVENT_TRACE_PROPERTIES properties;
		wchar_t names[2 * 1024];
	} *sessions = memory_alloc(MOST * sizeof(*sessions));
	EVENT_TRACE_PROPERTIES *all[MOST];
	ULONG count = 0;
	for (size_t i = 0; i < MOST; i++) {
		all[i] = &sessions[i].properties;
		memset(&sessions[i], 0, sizeof(sessions[i]));
		all[i]->Wnode.BufferSize = sizeof(sessions[i]);
		all[i]->LoggerNameOffset = sizeof(EVENT_TRACE_PROPERTIES);
		all[i]->LogFileNameOffset = sizeof(EVENT_TRACE_PROPERTIES) + NAMES / 2;
	}
	ULONG error = QueryAllTracesW(all, MOST, &count);
	free(sessions);
	if (error && error != ERROR_MORE_DATA) {
		snprintf(finding->found, sizeof(finding->found), "cannot be counted: Windows error %lu",
			 error);
		finding->verdict = LIMITED;
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "%lu of 64 trace sessions are in use", count);
	if (count >= FEW_LEFT)
		doctor_fix(finding, LIMITED,
			   "'logman query -ets' lists them; tests wait for their turn, up to "
			   "TRACELET_WPR_WAIT_SECONDS");
}

static void examine_dumps(struct finding *finding) {
	HMODULE library = LoadLibraryExW(L"dbghelp.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
	bool there = library && GetProcAddress(library, "MiniDumpWriteDump");
	snprintf(finding->found, sizeof(finding->found), "%s",
		 there ? "--timeout can leave minidumps" : "cannot use the system's dbghelp.dll");
	if (!there)
		finding->verdict = LIMITED;
}

static void examine_state(struct finding *finding) {
	char folder[STATE_FOLDER_SIZE] = "";
	int error = state_folder(folder);
	if (error)
		snprintf(finding->found, sizeof(finding->found), "%.100s: %s", folder, strerror(-error));
	else
		snprintf(finding->found, sizeof(finding->found), "the state of sessions is in %.120s",
			 folder);
	if (error)
		doctor_fix(finding, LIMITED, "choose another directory with TRACELET_STATE_DIR");
}

// Made for the trial and gone again; a folder that is there already is tried with a file.
static void examine_output(struct finding *finding) {
	struct stat status;
	const char *folder = system_stat("tracelet-out", &status) == 0 ? "tracelet-out" : ".";
	CLEANUP_FREE char *path = memory_format("%s/tracelet-%lu.tmp", folder, GetCurrentProcessId());
	int fd = system_open(path, O_WRONLY | O_CREAT | O_EXCL);
	if (fd >= 0) {
		close(fd);
		system_unlink(path);
		snprintf(finding->found, sizeof(finding->found), "artifacts can go to .\\tracelet-out");
		return;
	}
	snprintf(finding->found, sizeof(finding->found), "%s: %s",
		 *folder == '.' ? "the current directory" : ".\\tracelet-out", strerror(errno));
	doctor_fix(finding, LIMITED, "choose another directory with --output-dir");
}

const struct examination doctor_examinations[] = {
	{"Windows", examine_windows}, {"rights", examine_rights},
	{"wpr.exe", examine_wpr},     {"collectors", examine_collectors},
	{"dumps", examine_dumps},     {"state", examine_state},
	{"output", examine_output},   {0},
};

const struct doctor_recording *doctor_recording(const struct finding *findings) {
	static const struct doctor_recording full = {"full", "'tracelet run' records what a profile asks "
							     "WPR for."},
					     none = {"none", "'tracelet run' runs tests here, but records "
							     "nothing."};
	for (size_t i = 0; doctor_examinations[i].name; i++)
		if (findings[i].verdict == MISSING)
			return &none;
	return &full;
}

// Nothing is looked for here.
void doctor_open(struct doctor_openings *all) {
	all->count = 0;
}
