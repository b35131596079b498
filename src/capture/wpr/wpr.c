#include "capture/wpr/wpr.h"
#include "base/buffer.h"
#include "base/log.h"
#include "base/system.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <windows.h>

double wpr_seconds(const char *variable, double usual) {
	const char *text = system_variable(variable);
	char *end;
	double seconds = text ? strtod(text, &end) : 0;
	return text && *text && !*end && seconds >= 0 && seconds < 1e6 ? seconds : usual;
}

// ---- its command line ----

// Never runs a file with that name from the current directory.
static wchar_t *find_program(void) {
	const char *chosen = system_variable("TRACELET_WPR");
	if (chosen && *chosen)
		return system_wide_path(chosen);
	wchar_t *path = memory_alloc((MAX_PATH + 16) * sizeof(*path));
	if (!GetSystemDirectoryW(path, MAX_PATH))
		*path = 0;
	wcscat(path, L"\\wpr.exe");
	return path;
}

char *wpr_path(void) {
	CLEANUP_FREE wchar_t *program = find_program();
	return system_utf8(program);
}

struct wpr_version wpr_version(void) {
	CLEANUP_FREE wchar_t *program = find_program();
	struct wpr_version version = {0};
	DWORD unused, size = GetFileVersionInfoSizeW(program, &unused);
	CLEANUP_FREE void *block = memory_alloc(size + 1);
	VS_FIXEDFILEINFO *fixed;
	UINT length;
	if (size && GetFileVersionInfoW(program, 0, size, block) &&
	    VerQueryValueW(block, L"\\", (void **)&fixed, &length) && length >= sizeof(*fixed))
		version = (struct wpr_version){HIWORD(fixed->dwFileVersionMS), LOWORD(fixed->dwFileVersionMS),
					       HIWORD(fixed->dwFileVersionLS)};
	return version;
}

// ---- running it ----

struct running {
	HANDLE job, output, nothing;
	PROCESS_INFORMATION process;
};

// Inherited by wpr.exe only; deleted when closed.
static HANDLE open_output(void) {
	wchar_t folder[MAX_PATH + 1], path[MAX_PATH + 16];
	SECURITY_ATTRIBUTES inherited = {.nLength = sizeof(inherited), .bInheritHandle = TRUE};
	if (!GetTempPathW(MAX_PATH, folder) || !GetTempFileNameW(folder, L"wpr", 0, path))
		return INVALID_HANDLE_VALUE;
	return CreateFileW(path, GENERIC_READ | GENERIC_WRITE,
			   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, &inherited, CREATE_ALWAYS,
			   FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
}

static HANDLE open_nothing(void) {
	SECURITY_ATTRIBUTES inherited = {.nLength = sizeof(inherited), .bInheritHandle = TRUE};
	return CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited,
			   OPEN_EXISTING, 0, NULL);
}

static bool spawn(struct running *running, const wchar_t *program, wchar_t *line) {
	HANDLE handles[2] = {running->nothing, running->output};
	SIZE_T size = 0;
	InitializeProcThreadAttributeList(NULL, 1, 0, &size);
	LPPROC_THREAD_ATTRIBUTE_LIST attributes = memory_alloc(size);
	STARTUPINFOEXW startup = {.StartupInfo = {.cb = sizeof(startup),
						  .dwFlags = STARTF_USESTDHANDLES,
						  .hStdInput = running->nothing,
						  .hStdOutput = running->output,
						  .hStdError = running->output},
				  .lpAttributeList = attributes};
	bool listed = InitializeProcThreadAttributeList(attributes, 1, 0, &size) &&
		      UpdateProcThreadAttribute(attributes, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles,
						sizeof(handles), NULL, NULL);
	bool started = CreateProcessW(program, line, NULL, NULL, TRUE,
				      CREATE_NO_WINDOW | CREATE_SUSPENDED |
					      (listed ? EXTENDED_STARTUPINFO_PRESENT : 0),
				      NULL, NULL, &startup.StartupInfo, &running->process);
	if (started) {
		AssignProcessToJobObject(running->job, running->process.hProcess);
		ResumeThread(running->process.hThread);
	}
	DWORD error = GetLastError();
	DeleteProcThreadAttributeList(attributes);
	free(attributes);
	SetLastError(error);
	return started;
}

// The output is in the console's encoding, UTF-8, or UTF-16, which some programs use in files.
static char *decode(const char *bytes, size_t size) {
	wchar_t wide[sizeof(((struct wpr_answer *)NULL)->said) + 1];
	int count = 0;
	if (size > 1 && (!bytes[1] || memcmp(bytes, "\xff\xfe", 2) == 0)) {
		bool marked = bytes[1];
		count = (int)(size / 2) - marked;
		memcpy(wide, bytes + 2 * marked, (size_t)count * 2);
	}
	if (!count)
		count = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, bytes, (int)size, wide, (int)size);
	if (!count)
		count = MultiByteToWideChar(CP_OEMCP, 0, bytes, (int)size, wide, (int)size);
	wide[count] = 0;
	return system_utf8(wide);
}

static bool has(const char *line, size_t length, const char *word) {
	size_t size = strlen(word);
	for (size_t i = 0; i + size <= length; i++)
		if (strncasecmp(line + i, word, size) == 0)
			return true;
	return false;
}

// Joins its lines into one, without the banner and everything from the error code on: we know the
// code, and the rest repeats it.
static void read_output(HANDLE output, struct wpr_answer *answer) {
	char text[sizeof(answer->said)], code[16];
	DWORD size = 0;
	SetFilePointer(output, 0, NULL, FILE_BEGIN);
	if (!ReadFile(output, text, sizeof(text), &size, NULL) || !size)
		return;
	CLEANUP_FREE char *utf8 = decode(text, size);
	snprintf(code, sizeof(code), "%08" PRIx32, answer->code);
	struct buffer said = {0};
	for (const char *at = utf8; *at;) {
		size_t length = strcspn(at, "\r\n"), begin = strspn(at, " \t");
		if (has(at, length, code))
			break;
		if (length > begin && !has(at, length, "Microsoft Windows Performance Recorder") &&
		    !has(at, length, "Copyright (c)"))
			buffer_printf(&said, "%s%.*s", said.size ? " " : "", (int)(length - begin),
				      at + begin);
		at += length + strspn(at + length, "\r\n");
	}
	snprintf(answer->said, sizeof(answer->said), "%.*s", (int)said.size, (char *)said.data);
	buffer_free(&said);
}

// Saving a large recording takes minutes, so say what is going on.
static bool ends_within(HANDLE process, double seconds) {
	const double patience = 3;
	double first = MIN(seconds, patience);
	if (WaitForSingleObject(process, (DWORD)(first * 1000)) == WAIT_OBJECT_0)
		return true;
	if (seconds > first && system_is_terminal(STDERR_FILENO) && log_get_level() != LOG_QUIET)
		fprintf(stderr, "tracelet: running wpr.exe, for at most %g s\n", seconds);
	return WaitForSingleObject(process, (DWORD)((seconds - first) * 1000)) == WAIT_OBJECT_0;
}

static void wait_for(struct running *running, struct wpr_answer *answer) {
	DWORD code = 0;
	if (ends_within(running->process.hProcess, answer->limit)) {
		GetExitCodeProcess(running->process.hProcess, &code);
		answer->code = code;
		read_output(running->output, answer);
		return;
	}
	answer->timed_out = true;
	TerminateJobObject(running->job, 1);
	TerminateProcess(running->process.hProcess, 1);
	WaitForSingleObject(running->process.hProcess, 5000);
}

static void close_handle(HANDLE handle) {
	if (handle && handle != INVALID_HANDLE_VALUE)
		CloseHandle(handle);
}

static bool run(struct buffer *words, const char *instance, double limit, struct wpr_answer *answer) {
	*answer = (struct wpr_answer){.limit = limit};
	system_add_word(words, "-instancename"); // it must be the last
	system_add_word(words, instance);
	buffer_append(words, "", 1);
	CLEANUP_FREE wchar_t *program = find_program();
	CLEANUP_FREE wchar_t *line = system_wide((char *)words->data);
	log_verbose("%s", (char *)words->data);
	// So that its children can be killed with it. If we are killed, it runs to its end.
	struct running running = {
		.job = CreateJobObjectW(NULL, NULL), .output = open_output(), .nothing = open_nothing()};
	if (spawn(&running, program, line)) {
		wait_for(&running, answer);
	} else {
		answer->missing = true;
		answer->code = GetLastError();
	}
	close_handle(running.process.hThread);
	close_handle(running.process.hProcess);
	close_handle(running.output);
	close_handle(running.nothing);
	close_handle(running.job);
	buffer_free(words);
	return !answer->missing && !answer->timed_out && answer->code == 0;
}

// ---- what it can do ----

static struct buffer command(const char *verb) {
	struct buffer words = {0};
	system_add_word(&words, "wpr");
	system_add_word(&words, verb);
	return words;
}

static double start_seconds(void) {
	return wpr_seconds("TRACELET_WPR_START_SECONDS", 60);
}

bool wpr_start(char *const *profiles, size_t count, bool to_file, const char *instance,
	       struct wpr_answer *answer) {
	struct buffer words = {0};
	system_add_word(&words, "wpr");
	for (size_t i = 0; i < count; i++) {
		system_add_word(&words, "-start");
		system_add_word(&words, profiles[i]);
	}
	if (to_file)
		system_add_word(&words, "-filemode");
	return run(&words, instance, start_seconds(), answer);
}

// Symbols of managed code take minutes, and may never be used. Older versions do not have this option.
static bool knows_skip(void) {
	struct wpr_version version = wpr_version();
	return !version.major || version.major > 10 || (version.major == 10 && version.build >= 18955);
}

bool wpr_stop(const char *path, const char *instance, struct wpr_answer *answer) {
	struct buffer words = command("-stop");
	system_add_word(&words, path);
	if (knows_skip())
		system_add_word(&words, "-skipPdbGen");
	return run(&words, instance, wpr_seconds("TRACELET_WPR_STOP_SECONDS", 600), answer);
}

bool wpr_cancel(const char *instance, struct wpr_answer *answer) {
	struct buffer words = command("-cancel");
	return run(&words, instance, start_seconds(), answer);
}

bool wpr_marker(const char *text, const char *instance, struct wpr_answer *answer) {
	struct buffer words = command("-marker");
	system_add_word(&words, text);
	return run(&words, instance, start_seconds(), answer);
}

// It reports this by exit code or, with another code, as text in the system's language.
bool wpr_is_idle(const char *instance, struct wpr_answer *answer) {
	struct buffer words = command("-status");
	run(&words, instance, start_seconds(), answer);
	return !answer->missing && !answer->timed_out &&
	       (answer->code == (uint32_t)WPR_NOTHING_RUNNING || strstr(answer->said, "not recording"));
}
