// dbghelp inspects a process that may be in any state, and has been seen to hang
// forever: it runs in its own thread with a time limit.
#include "session/dump_windows.h"
#include "base/log.h"
#include "base/system.h"

#include <windows.h>

#include <dbghelp.h>
#include <psapi.h>

typedef BOOL WINAPI dump_writer(HANDLE process, DWORD pid, HANDLE file, MINIDUMP_TYPE type,
				PMINIDUMP_EXCEPTION_INFORMATION exception,
				PMINIDUMP_USER_STREAM_INFORMATION streams,
				PMINIDUMP_CALLBACK_INFORMATION callback);

struct dump {
	HANDLE process, file;
	DWORD pid, error;
	bool whole;
};

// The system's own: the directory that we were started from may hold another.
static dump_writer *find_writer(void) {
	HMODULE library = LoadLibraryExW(L"dbghelp.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
	return library ? (dump_writer *)(void *)GetProcAddress(library, "MiniDumpWriteDump") : NULL;
}

static DWORD WINAPI write_dump(void *context) {
	struct dump *dump = context;
	MINIDUMP_TYPE type = dump->whole ? MiniDumpWithFullMemory | MiniDumpWithHandleData |
						   MiniDumpWithThreadInfo | MiniDumpWithUnloadedModules
					 : MiniDumpNormal | MiniDumpWithHandleData | MiniDumpWithThreadInfo |
						   MiniDumpWithUnloadedModules;
	dump_writer *writer = find_writer();
	if (!writer)
		dump->error = GetLastError();
	// Older systems do not support all of these.
	else if (!writer(dump->process, dump->pid, dump->file, type, NULL, NULL, NULL) &&
		 !writer(dump->process, dump->pid, dump->file,
			 dump->whole ? MiniDumpWithFullMemory : MiniDumpNormal, NULL, NULL, NULL))
		dump->error = GetLastError();
	return 0;
}

static bool write_within_limit(struct dump *dump) {
	enum { LIMIT = 60000 };
	HANDLE thread = CreateThread(NULL, 0, write_dump, dump, 0, NULL);
	dump->error = thread ? 0 : GetLastError();
	if (thread && WaitForSingleObject(thread, LIMIT) != WAIT_OBJECT_0) {
		TerminateThread(thread, 1); // our own process ends soon
		dump->error = ERROR_TIMEOUT;
	}
	if (thread)
		CloseHandle(thread);
	return dump->error == 0;
}

bool dump_process(unsigned long pid, const char *path, bool whole) {
	CLEANUP_FREE wchar_t *wide = system_wide_path(path);
	struct dump dump = {
		.process = OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ | PROCESS_DUP_HANDLE,
				       FALSE, pid),
		.file = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ, NULL, CREATE_NEW,
				    FILE_ATTRIBUTE_NORMAL, NULL),
		.pid = pid,
		.whole = whole,
	};
	bool opened = dump.file != INVALID_HANDLE_VALUE;
	if (!dump.process || !opened)
		dump.error = GetLastError();
	bool done = dump.process && opened && write_within_limit(&dump);
	if (dump.process)
		CloseHandle(dump.process);
	if (opened)
		CloseHandle(dump.file);
	if (!done) {
		log_warning("cannot dump process %lu: Windows error %lu", pid, dump.error);
		if (opened)
			DeleteFileW(wide);
	}
	return done;
}

size_t dump_size(unsigned long pid) {
	PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof(counters)};
	HANDLE process = OpenProcess(PROCESS_QUERY_INFORMATION | PROCESS_VM_READ, FALSE, pid);
	bool known = process && GetProcessMemoryInfo(process, &counters, sizeof(counters));
	if (process)
		CloseHandle(process);
	return known ? MAX(counters.PagefileUsage, counters.WorkingSetSize) : 0;
}
