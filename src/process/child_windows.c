// A child that ends sets an event, from a Windows thread. Ctrl-C reaches every process on our console, so it
// need not be passed on.
#include "process/child.h"
#include "base/system.h"
#include "process/interrupt_windows.h"
#include "process/test_windows.h"

#include <errno.h>

struct children {
	HANDLE changed;
	bool killed; // at least one
};

struct children *children_begin(void) {
	struct children *children = memory_alloc(sizeof(*children));
	children->changed = CreateEventW(NULL, FALSE, FALSE, NULL);
	interrupt_event();
	_putenv(CHILD_REPORTED "=1"); // we report it once for all
	return children;
}

bool children_end(struct children *children) {
	bool killed = children->killed; // WPR is still recording
	CloseHandle(children->changed);
	free(children);
	return killed;
}

// WPR has few collectors, and it records the whole machine: a case running alongside would appear
// in this one's trace.
unsigned children_usual(void) {
	return 1;
}

// ---- starting ----

static HANDLE open_for_child(const wchar_t *path, DWORD access, DWORD how) {
	SECURITY_ATTRIBUTES inherited = {.nLength = sizeof(inherited), .bInheritHandle = TRUE};
	return CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &inherited,
			   how, 0, NULL);
}

static wchar_t *command_line(const wchar_t *program, char **words) {
	struct buffer line = {0};
	CLEANUP_FREE char *script = test_is_script(program) ? system_utf8(program) : NULL;
	system_add_word(&line, script ? script : words[0]);
	for (char **word = words + 1; *word; word++)
		system_add_word(&line, *word);
	buffer_append(&line, "", 1);
	wchar_t *wide = system_wide((char *)line.data);
	buffer_free(&line);
	return wide;
}

// Starts it suspended; it inherits these three handles and nothing else. On false, GetLastError()
// says why.
static bool spawn(char **words, HANDLE handles[3], PROCESS_INFORMATION *process) {
	CLEANUP_FREE wchar_t *program = test_find_program(words[0]);
	if (!program) {
		SetLastError(ERROR_FILE_NOT_FOUND);
		return false;
	}
	CLEANUP_FREE wchar_t *line = command_line(program, words);
	HANDLE inherited[3];
	size_t count = 0, size = 0;
	for (size_t i = 0; i < 3; i++) // each only once
		if (i == 0 || (handles[i] != handles[0] && handles[i] != handles[i - 1]))
			inherited[count++] = handles[i];
	InitializeProcThreadAttributeList(NULL, 1, 0, &size);
	CLEANUP_FREE LPPROC_THREAD_ATTRIBUTE_LIST attributes = memory_alloc(size);
	STARTUPINFOEXW startup = {.StartupInfo = {.cb = sizeof(startup),
						  .dwFlags = STARTF_USESTDHANDLES,
						  .hStdInput = handles[0],
						  .hStdOutput = handles[1],
						  .hStdError = handles[2]},
				  .lpAttributeList = attributes};
	InitializeProcThreadAttributeList(attributes, 1, 0, &size);
	UpdateProcThreadAttribute(attributes, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, inherited,
				  count * sizeof(*inherited), NULL, NULL);
	bool done = CreateProcessW(test_is_script(program) ? NULL : program, line, NULL, NULL, TRUE,
				   CREATE_SUSPENDED | EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
				   &startup.StartupInfo, process);
	DWORD error = GetLastError();
	DeleteProcThreadAttributeList(attributes);
	SetLastError(error);
	return done;
}

static int error_number(void) {
	DWORD error = GetLastError();
	return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND ? -ENOENT
	       : error == ERROR_ACCESS_DENIED                                 ? -EACCES
	       : error == ERROR_BAD_EXE_FORMAT                                ? -ENOEXEC
									      : -EIO;
}

static void close_all(HANDLE *handles, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (handles[i] && handles[i] != INVALID_HANDLE_VALUE)
			CloseHandle(handles[i]);
}

static void CALLBACK note_end(void *changed, BOOLEAN timed_out) {
	SetEvent(changed);
}

static HANDLE put_into_job(HANDLE process) {
	HANDLE job = test_make_job();
	if (!job || AssignProcessToJobObject(job, process))
		return job;
	CloseHandle(job);
	return NULL;
}

void children_run_here(struct children *children, const char *program, child_main *here) {
	// there is no fork
}

int child_start(struct children *children, struct child *child, char **words, const char *output) {
	CLEANUP_FREE wchar_t *path = system_wide_path(output);
	HANDLE in = open_for_child(L"NUL", GENERIC_READ, OPEN_EXISTING);
	HANDLE out = open_for_child(path, FILE_APPEND_DATA, OPEN_ALWAYS);
	PROCESS_INFORMATION process;
	bool done = out != INVALID_HANDLE_VALUE && spawn(words, (HANDLE[]){in, out, out}, &process);
	int error = done ? 0 : error_number();
	close_all((HANDLE[]){in, out}, 2);
	if (!done)
		return error;
	*child = (struct child){.process = process.hProcess, .job = put_into_job(process.hProcess)};
	RegisterWaitForSingleObject(&child->waiting, child->process, note_end, children->changed, INFINITE,
				    WT_EXECUTEONLYONCE | WT_EXECUTEINWAITTHREAD);
	ResumeThread(process.hThread);
	CloseHandle(process.hThread);
	return 0;
}

// ---- its end ----

bool child_ended(struct child *child, int *status) {
	DWORD code = 1;
	if (WaitForSingleObject(child->process, 0) != WAIT_OBJECT_0)
		return false;
	GetExitCodeProcess(child->process, &code);
	*status = (int)code;
	if (child->waiting)
		UnregisterWaitEx(child->waiting, INVALID_HANDLE_VALUE);
	close_all((HANDLE[]){child->process, child->job}, 2);
	*child = (struct child){0};
	return true;
}

int children_wait(struct children *children, int milliseconds) {
	HANDLE both[] = {children->changed, interrupt_event()};
	if (WaitForMultipleObjects(2, both, FALSE, milliseconds < 0 ? INFINITE : (DWORD)milliseconds) !=
	    WAIT_OBJECT_0 + 1)
		return 0;
	ResetEvent(both[1]); // it may be set again
	return (int)STATUS_CONTROL_C_EXIT;
}

void child_stop(struct children *children, struct child *child, bool at_once) {
	if (!at_once)
		return;
	children->killed = true;
	if (child->job)
		TerminateJobObject(child->job, (UINT)STATUS_CONTROL_C_EXIT);
	TerminateProcess(child->process, (UINT)STATUS_CONTROL_C_EXIT);
}

// ---- commands ----

static int read_all(HANDLE pipe, struct buffer *text) {
	enum { LONGEST_OUTPUT = 64 << 20, PIECE = 1 << 16 };
	DWORD got = 0;
	while (text->size < LONGEST_OUTPUT && ReadFile(pipe, buffer_room(text, PIECE), PIECE, &got, NULL))
		text->size += got;
	return text->size >= LONGEST_OUTPUT ? -EFBIG : 0;
}

int child_output(char **command, struct buffer *text) {
	SECURITY_ATTRIBUTES inherited = {.nLength = sizeof(inherited), .bInheritHandle = TRUE};
	HANDLE nothing = open_for_child(L"NUL", GENERIC_READ | GENERIC_WRITE, OPEN_EXISTING), from, to;
	PROCESS_INFORMATION process;
	if (!CreatePipe(&from, &to, &inherited, 0)) {
		CloseHandle(nothing);
		return -EIO;
	}
	bool done = spawn(command, (HANDLE[]){nothing, to, nothing}, &process);
	int error = done ? 0 : error_number();
	close_all((HANDLE[]){nothing, to}, 2);
	if (done) {
		DWORD code = 1;
		ResumeThread(process.hThread);
		error = read_all(from, text);
		CloseHandle(from);
		WaitForSingleObject(process.hProcess, INFINITE);
		GetExitCodeProcess(process.hProcess, &code);
		close_all((HANDLE[]){process.hThread, process.hProcess}, 2);
		error = error ? error : code <= INT32_MAX ? (int)code : 255;
	} else {
		CloseHandle(from);
	}
	buffer_append(text, "", 1); // never NULL
	text->size--;
	return error;
}

char *child_find_program(const char *name) {
	CLEANUP_FREE wchar_t *path = test_find_program(name);
	return path ? system_utf8(path) : memory_string(name);
}

void child_quote(struct buffer *line, const char *word) {
	system_add_word(line, word);
}
