#include "process/interrupt_windows.h"

#include <windows.h>

static HANDLE noticed;

static BOOL WINAPI notice(DWORD event) {
	SetEvent(noticed);
	if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT)
		Sleep(INFINITE);
	return TRUE;
}

void *interrupt_event(void) {
	if (!noticed) {
		noticed = CreateEventW(NULL, TRUE, FALSE, NULL);
		SetConsoleCtrlHandler(notice, TRUE);
	}
	return noticed;
}

bool interrupted(void) {
	return noticed && WaitForSingleObject(noticed, 0) == WAIT_OBJECT_0;
}
