// Where the state of sessions is on Windows. A test's session ends with its tracelet.exe;
// an operation belongs to WPR, and ends when Windows restarts.
#include "base/system.h"
#include "session/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <windows.h>

int state_system_folder(char path[STATE_FOLDER_SIZE]) {
	const char *chosen = system_variable("TRACELET_STATE_DIR"), *local = system_variable("LOCALAPPDATA");
	int length;
	if (chosen && *chosen)
		length = snprintf(path, STATE_FOLDER_SIZE, "%s", chosen);
	else if (local && *local)
		length = snprintf(path, STATE_FOLDER_SIZE, "%s\\tracelet", local);
	else
		return -ENOENT;
	if (length >= STATE_FOLDER_SIZE)
		return -ENAMETOOLONG;
	return artifact_make_dir(path);
}

// When a process started; 0 if it does not exist.
static unsigned long long start_of(DWORD pid) {
	FILETIME created = {0}, exited, kernel, user;
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, pid);
	if (!process)
		return 0;
	bool there = WaitForSingleObject(process, 0) == WAIT_TIMEOUT &&
		     GetProcessTimes(process, &created, &exited, &kernel, &user);
	CloseHandle(process);
	return there ? (unsigned long long)created.dwHighDateTime << 32 | created.dwLowDateTime : 0;
}

void state_system_identify(struct state *state) {
	state->pid = (pid_t)GetCurrentProcessId();
	state->started = start_of(GetCurrentProcessId());
}

bool state_system_is_stale(const struct state *state) {
	// The two clocks are read one after the other, and one may have been set.
	enum { TOLERANCE = 120 };
	long long booted = (long long)time(NULL) - (long long)(GetTickCount64() / 1000);
	if (state->operation)
		return state->since < booted - TOLERANCE;
	unsigned long long started = start_of((DWORD)state->pid);
	return !started || started != state->started;
}
