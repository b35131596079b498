#include "process/test_windows.h"
#include "base/log.h"
#include "base/system.h"

#include <string.h>
#include <strings.h>
#include <tlhelp32.h>

// ---- the command ----

// Where the last `count` words of our command line begin. If we quoted them again, they might mean
// something else to a program with its own rules, such as cmd.exe.
static const wchar_t *find_words(size_t count) {
	const wchar_t *at = GetCommandLineW();
	size_t words = 0;
	for (const wchar_t *word = at; *word || !words; words++)
		word = system_next_word(word, words == 0, NULL);
	for (size_t i = 0; i + count < words; i++)
		at = system_next_word(at, i == 0, NULL);
	return at;
}

static bool ends_with(const wchar_t *path, const wchar_t *extension) {
	size_t length = wcslen(path), more = wcslen(extension);
	return length > more && _wcsicmp(path + length - more, extension) == 0;
}

bool test_is_script(const wchar_t *path) {
	return ends_with(path, L".bat") || ends_with(path, L".cmd");
}

// NULL if there is none.
static wchar_t *search(const wchar_t *name) {
	DWORD size = SearchPathW(NULL, name, NULL, 0, NULL, NULL);
	wchar_t *path = memory_alloc(((size_t)size + 1) * sizeof(*path));
	DWORD attributes = size && SearchPathW(NULL, name, NULL, size, path, NULL) ? GetFileAttributesW(path)
										   : INVALID_FILE_ATTRIBUTES;
	if (attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY))
		return path;
	free(path);
	return NULL;
}

// As a prompt would find it: by its name, or the name plus an extension, even if it seems to have
// one.
wchar_t *test_find_program(const char *name) {
	static const char *const extensions[] = {"", ".com", ".exe", ".bat", ".cmd"};
	const char *dot = strchr(system_base_name(name), '.');
	wchar_t *path = NULL;
	for (size_t i = dot ? 0 : 1; !path && i < ARRAY_SIZE(extensions); i++) {
		CLEANUP_FREE char *whole = memory_format("%s%s", name, extensions[i]);
		CLEANUP_FREE wchar_t *wide = system_wide(whole);
		path = search(wide);
	}
	return path;
}

// A script needs its full name: Windows does not add .bat.
static wchar_t *command_line(const wchar_t *program, size_t count) {
	const wchar_t *words = find_words(count);
	if (!test_is_script(program))
		return wcsdup(words);
	const wchar_t *rest = system_next_word(words, false, NULL);
	wchar_t *line = memory_alloc((wcslen(program) + wcslen(rest) + 8) * sizeof(*line));
	wcscpy(line, L"\"");
	wcscat(line, program);
	wcscat(line, L"\" ");
	wcscat(line, rest);
	return line;
}

// ---- the job ----

// The job only observes: processes may break away as they could without us, and none ends with us.
HANDLE test_make_job(void) {
	JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
		.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_BREAKAWAY_OK};
	HANDLE job = CreateJobObjectW(NULL, NULL);
	if (job)
		SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof(limits));
	return job;
}

static void make_job(struct test *test) {
	test->job = test_make_job();
	test->port = CreateIoCompletionPort(INVALID_HANDLE_VALUE, NULL, 0, 1);
	JOBOBJECT_ASSOCIATE_COMPLETION_PORT association = {test->job, test->port};
	if (!test->job)
		return;
	SetInformationJobObject(test->job, JobObjectAssociateCompletionPortInformation, &association,
				sizeof(association));
}

// ---- its life ----

DWORD test_prepare(struct test *test, char **command, size_t count) {
	PROCESS_INFORMATION process;
	STARTUPINFOW startup;
	*test = (struct test){0};
	CLEANUP_FREE wchar_t *program = test_find_program(command[0]);
	if (!program)
		return ERROR_FILE_NOT_FOUND;
	CLEANUP_FREE wchar_t *line = command_line(program, count);
	make_job(test);
	// Passes on what we were given: standard handles, C library descriptors, window appearance.
	GetStartupInfoW(&startup);
	startup.lpReserved = NULL;
	startup.dwFlags = (startup.dwFlags & STARTF_USESHOWWINDOW) | STARTF_USESTDHANDLES;
	startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
	startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
	startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
	if (!CreateProcessW(test_is_script(program) ? NULL : program, line, NULL, NULL, TRUE,
			    CREATE_SUSPENDED, NULL, NULL, &startup, &process)) {
		DWORD error = GetLastError();
		test_close(test);
		return error;
	}
	test->process = process.hProcess;
	test->thread = process.hThread;
	test->pid = process.dwProcessId;
	if (test->job && !AssignProcessToJobObject(test->job, test->process)) {
		log_verbose("cannot follow child processes: Windows error %lu", GetLastError());
		CloseHandle(test->job);
		test->job = NULL;
	}
	return 0;
}

void test_begin(struct test *test) {
	ResumeThread(test->thread);
}

void test_drop(struct test *test) {
	TerminateProcess(test->process, 1);
	test_close(test);
}

static DWORD milliseconds(double seconds) {
	return seconds > 0 ? (DWORD)MIN(seconds * 1000 + 0.999, 4e9) : INFINITE;
}

bool test_wait(struct test *test, double seconds) {
	return WaitForSingleObject(test->process, milliseconds(seconds)) == WAIT_OBJECT_0;
}

static DWORD processes_left(const struct test *test) {
	JOBOBJECT_BASIC_ACCOUNTING_INFORMATION job = {0};
	return test->job && QueryInformationJobObject(test->job, JobObjectBasicAccountingInformation, &job,
						      sizeof(job), NULL)
		       ? job.ActiveProcesses
		       : 0;
}

// A message may get lost. What counts is the number of processes, which is checked now and then.
bool test_wait_tree(struct test *test, double seconds) {
	enum { LOOK_EVERY = 200 };
	ULONGLONG deadline = GetTickCount64() + (ULONGLONG)(seconds * 1000);
	while (processes_left(test)) {
		ULONGLONG now = GetTickCount64();
		DWORD message, pause = LOOK_EVERY;
		ULONG_PTR key;
		LPOVERLAPPED which;
		if (seconds > 0 && now >= deadline)
			return false;
		if (seconds > 0)
			pause = (DWORD)MIN(deadline - now, (ULONGLONG)LOOK_EVERY);
		GetQueuedCompletionStatus(test->port, &message, &key, &which, pause);
	}
	return true;
}

// Filters all processes by job: the job's own list is not available everywhere.
void test_processes(const struct test *test, process_array *processes) {
	HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
	PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
	if (WaitForSingleObject(test->process, 0) == WAIT_TIMEOUT)
		array_push(processes, test->pid);
	if (snapshot == INVALID_HANDLE_VALUE)
		return;
	for (BOOL more = Process32FirstW(snapshot, &entry); more; more = Process32NextW(snapshot, &entry)) {
		HANDLE process = OpenProcess(PROCESS_QUERY_INFORMATION, FALSE, entry.th32ProcessID);
		BOOL inside = FALSE;
		if (process && test->job && IsProcessInJob(process, test->job, &inside) && inside &&
		    entry.th32ProcessID != test->pid)
			array_push(processes, entry.th32ProcessID);
		if (process)
			CloseHandle(process);
	}
	CloseHandle(snapshot);
}

void test_end_tree(struct test *test, UINT code) {
	enum { KILL_TIME = 5000 };
	if (test->job)
		TerminateJobObject(test->job, code);
	TerminateProcess(test->process, code);
	WaitForSingleObject(test->process, KILL_TIME);
	test_wait_tree(test, KILL_TIME / 1000);
}

static double seconds_of(uint64_t ticks) {
	return (double)ticks / 1e7;
}

// For the whole job, or at least for the test itself.
double test_cpu_seconds(const struct test *test) {
	JOBOBJECT_BASIC_ACCOUNTING_INFORMATION job = {0};
	FILETIME created, exited, kernel = {0}, user = {0};
	if (test->job)
		QueryInformationJobObject(test->job, JobObjectBasicAccountingInformation, &job, sizeof(job),
					  NULL);
	GetProcessTimes(test->process, &created, &exited, &kernel, &user);
	double own = seconds_of((uint64_t)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime) +
		     seconds_of((uint64_t)user.dwHighDateTime << 32 | user.dwLowDateTime);
	double all = seconds_of((uint64_t)job.TotalUserTime.QuadPart) +
		     seconds_of((uint64_t)job.TotalKernelTime.QuadPart);
	return MAX(own, all);
}

DWORD test_exit_code(const struct test *test) {
	DWORD code = 1;
	GetExitCodeProcess(test->process, &code);
	return code;
}

void test_close(struct test *test) {
	HANDLE *const handles[] = {&test->process, &test->thread, &test->job, &test->port};
	for (size_t i = 0; i < ARRAY_SIZE(handles); i++) {
		if (*handles[i])
			CloseHandle(*handles[i]);
		*handles[i] = NULL;
	}
}
