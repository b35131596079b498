// The C library that mingw uses (msvcrt.dll) takes names of files, arguments and
// variables in the code page of the machine, which cannot hold most names. So the
// wide functions are called, and everything above sees UTF-8.
#include "base/system.h"
#include "base/buffer.h"

#include <errno.h>
#include <io.h>
#include <share.h>
#include <string.h>
#include <windows.h>

#include <bcrypt.h>

// ---- text ----

wchar_t *system_wide(const char *text) {
	int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
	wchar_t *wide = memory_alloc(((size_t)size + 1) * sizeof(*wide));
	MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, size);
	return wide;
}

char *system_utf8(const wchar_t *text) {
	int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
	char *utf8 = memory_alloc((size_t)size + 1);
	WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8, size, NULL, NULL);
	return utf8;
}

static wchar_t *full_path(const wchar_t *path) {
	DWORD size = GetFullPathNameW(path, 0, NULL, NULL);
	wchar_t *full = memory_alloc(((size_t)size + 1) * sizeof(*full));
	if (!size || !GetFullPathNameW(path, size, full, NULL))
		*full = 0;
	return full;
}

// Names of 260 characters and more are taken only with this prefix, and with it only if they
// are absolute and tidy.
wchar_t *system_wide_path(const char *path) {
	enum { LONGEST_PLAIN = 240 };
	wchar_t *wide = system_wide(path);
	CLEANUP_FREE wchar_t *full = full_path(wide);
	size_t length = wcslen(full);
	if (length < LONGEST_PLAIN || wcsncmp(full, L"\\\\?\\", 4) == 0 || wcsncmp(full, L"\\\\.\\", 4) == 0)
		return wide;
	bool share = wcsncmp(full, L"\\\\", 2) == 0;
	free(wide);
	wide = memory_alloc((length + 16) * sizeof(*wide));
	wcscpy(wide, share ? L"\\\\?\\UNC\\" : L"\\\\?\\");
	wcscat(wide, share ? full + 2 : full);
	return wide;
}

static int fail(DWORD error) {
	static const struct {
		DWORD code;
		int number;
	} known[] = {
		{ERROR_FILE_NOT_FOUND, ENOENT},
		{ERROR_PATH_NOT_FOUND, ENOENT},
		{ERROR_ACCESS_DENIED, EACCES},
		{ERROR_SHARING_VIOLATION, EACCES},
		{ERROR_LOCK_VIOLATION, EACCES},
		{ERROR_ALREADY_EXISTS, EEXIST},
		{ERROR_FILE_EXISTS, EEXIST},
		{ERROR_DISK_FULL, ENOSPC},
		{ERROR_DIRECTORY, ENOTDIR},
		{ERROR_INVALID_NAME, EINVAL},
		{ERROR_BAD_PATHNAME, ENOENT},
		{ERROR_BAD_NETPATH, ENOENT},
		{ERROR_WRITE_PROTECT, EROFS},
		{ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
		{ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
	};
	errno = EIO;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].code == error)
			errno = known[i].number;
	return -1;
}

void *system_find(const void *bytes, size_t size, const void *wanted, size_t length) {
	const char *at = bytes, *end = at + size;
	while (length && (size_t)(end - at) >= length &&
	       (at = memchr(at, *(const char *)wanted, (size_t)(end - at) - length + 1))) {
		if (memcmp(at, wanted, length) == 0)
			return (void *)(uintptr_t)at;
		at++;
	}
	return length ? NULL : (void *)(uintptr_t)bytes;
}

// ---- files ----

int system_open(const char *path, int flags, ...) {
	CLEANUP_FREE wchar_t *wide = system_wide_path(path);
	// Opening a directory would fail with a misleading error.
	DWORD attributes = GetFileAttributesW(wide);
	if (attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY &&
	    !(flags & O_EXCL)) {
		errno = EISDIR;
		return -1;
	}
	return _wsopen(wide, flags | O_BINARY | _O_NOINHERIT, _SH_DENYNO, _S_IREAD | _S_IWRITE);
}

static time_t unix_time(FILETIME time) {
	const uint64_t from_1601_to_1970 = 11644473600;
	uint64_t ticks = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
	return (time_t)(ticks / 10000000 - from_1601_to_1970);
}

static int stat_handle(HANDLE file, struct stat *status) {
	BY_HANDLE_FILE_INFORMATION information;
	*status = (struct stat){0};
	if (GetFileType(file) != FILE_TYPE_DISK) {
		status->st_mode = _S_IFCHR;
		return 0;
	}
	if (!GetFileInformationByHandle(file, &information))
		return fail(GetLastError());
	DWORD attributes = information.dwFileAttributes;
	// A link is neither: what is asked about it is whether it is a plain file.
	status->st_mode = attributes & FILE_ATTRIBUTE_REPARSE_POINT ? 0
			  : attributes & FILE_ATTRIBUTE_DIRECTORY   ? _S_IFDIR
								    : _S_IFREG;
	status->st_size = (int64_t)((uint64_t)information.nFileSizeHigh << 32 | information.nFileSizeLow);
	status->st_mtime = unix_time(information.ftLastWriteTime);
	return 0;
}

static int stat_path(const char *path, DWORD flags, struct stat *status) {
	CLEANUP_FREE wchar_t *wide = system_wide_path(path);
	HANDLE file = CreateFileW(wide, FILE_READ_ATTRIBUTES,
				  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
				  FILE_FLAG_BACKUP_SEMANTICS | flags, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return fail(GetLastError());
	int error = stat_handle(file, status);
	CloseHandle(file);
	return error;
}

int system_stat(const char *path, struct stat *status) {
	return stat_path(path, 0, status);
}

int system_link_stat(const char *path, struct stat *status) {
	return stat_path(path, FILE_FLAG_OPEN_REPARSE_POINT, status);
}

int system_unlink(const char *path) {
	CLEANUP_FREE wchar_t *wide = system_wide_path(path);
	return DeleteFileW(wide) ? 0 : fail(GetLastError());
}

int system_make_dir(const char *path) {
	CLEANUP_FREE wchar_t *wide = system_wide_path(path);
	return CreateDirectoryW(wide, NULL) ? 0 : fail(GetLastError());
}

// A deleted file stays in its directory until the last process, perhaps a virus scanner, closes it.
int system_remove_dir(const char *path) {
	enum { ATTEMPTS = 20, PAUSE = 50 };
	CLEANUP_FREE wchar_t *wide = system_wide_path(path);
	for (int i = 0; i < ATTEMPTS; i++) {
		if (RemoveDirectoryW(wide))
			return 0;
		if (GetLastError() != ERROR_DIR_NOT_EMPTY)
			break;
		Sleep(PAUSE);
	}
	return fail(GetLastError());
}

char *system_make_temporary_dir(const char *beginning) {
	enum { ATTEMPTS = 100 };
	wchar_t folder[MAX_PATH + 1];
	if (!GetTempPathW(MAX_PATH, folder)) {
		fail(GetLastError());
		return NULL;
	}
	CLEANUP_FREE char *utf8 = system_utf8(folder);
	for (int i = 0; i < ATTEMPTS; i++) {
		char *path = memory_format("%s%s.%lu.%llu", utf8, beginning, GetCurrentProcessId(),
					   GetTickCount64() + (unsigned)i);
		if (system_make_dir(path) == 0)
			return path;
		free(path);
		if (errno != EEXIST)
			break;
	}
	return NULL;
}

int system_rename(const char *from, const char *to, bool replace) {
	CLEANUP_FREE wchar_t *old = system_wide_path(from);
	CLEANUP_FREE wchar_t *new = system_wide_path(to);
	return MoveFileExW(old, new, replace ? MOVEFILE_REPLACE_EXISTING : 0) ? 0 : fail(GetLastError());
}

int system_list(const char *folder, void (*take)(void *context, const char *name), void *context) {
	CLEANUP_FREE char *pattern = memory_format("%s/*", folder);
	CLEANUP_FREE wchar_t *wide = system_wide_path(pattern);
	WIN32_FIND_DATAW found;
	HANDLE search = FindFirstFileW(wide, &found);
	if (search == INVALID_HANDLE_VALUE)
		return fail(GetLastError());
	do {
		CLEANUP_FREE char *name = system_utf8(found.cFileName);
		take(context, name);
	} while (FindNextFileW(search, &found));
	FindClose(search);
	return 0;
}

// Far beyond the end: on Windows a lock also prevents reading.
static int lock(int fd, DWORD flags) {
	OVERLAPPED place = {.OffsetHigh = 0x40000000};
	return LockFileEx((HANDLE)_get_osfhandle(fd), LOCKFILE_EXCLUSIVE_LOCK | flags, 0, 1, 0, &place)
		       ? 0
		       : fail(GetLastError());
}

int system_lock(int fd) {
	return lock(fd, 0);
}

int system_try_lock(int fd) {
	int result = lock(fd, LOCKFILE_FAIL_IMMEDIATELY);
	if (result && GetLastError() == ERROR_LOCK_VIOLATION)
		errno = EWOULDBLOCK;
	return result;
}

int system_truncate(int fd, uint64_t size) {
	errno_t error = _chsize_s(fd, (int64_t)size);
	if (error)
		errno = error;
	return error ? -1 : 0;
}

static char *path_utf8(const wchar_t *path) {
	if (wcsncmp(path, L"\\\\?\\UNC\\", 8) == 0) {
		char *utf8 = system_utf8(path + 6);
		*utf8 = '\\';
		return utf8;
	}
	return system_utf8(wcsncmp(path, L"\\\\?\\", 4) == 0 ? path + 4 : path);
}

char *system_absolute(const char *path) {
	struct stat status;
	if (system_stat(path, &status))
		return NULL;
	CLEANUP_FREE wchar_t *wide = system_wide_path(path);
	CLEANUP_FREE wchar_t *full = full_path(wide);
	return path_utf8(full);
}

char *system_pin_folder(const char *folder, int *fd) {
	*fd = -1;
	return memory_string(folder);
}

char *system_folder(void) {
	DWORD size = GetCurrentDirectoryW(0, NULL);
	CLEANUP_FREE wchar_t *folder = memory_alloc(((size_t)size + 1) * sizeof(*folder));
	if (!size || !GetCurrentDirectoryW(size, folder))
		return NULL;
	for (wchar_t *at = folder; *at; at++)
		if (*at == '\\')
			*at = '/';
	return path_utf8(folder);
}

bool system_is_absolute(const char *path) {
	return *path == '/' || *path == '\\' || (*path && path[1] == ':');
}

const char *system_base_name(const char *path) {
	const char *base = path;
	for (const char *at = path; *at; at++)
		if (strchr("/\\:", *at) && at[1])
			base = at + 1;
	return base;
}

char *system_command_name(const char *path) {
	static const char *const extensions[] = {".exe", ".bat", ".cmd", ".com"};
	const char *base = system_base_name(path);
	size_t length = strlen(base), cut = 0;
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++)
		if (length > 4 && _stricmp(base + length - 4, extensions[i]) == 0)
			cut = 4;
	return memory_format("%.*s", (int)(length - cut), base);
}

char *system_program(void) {
	enum { LONGEST = 32768 };
	CLEANUP_FREE wchar_t *path = memory_alloc(LONGEST * sizeof(*path));
	return GetModuleFileNameW(NULL, path, LONGEST) ? system_utf8(path) : NULL;
}

bool system_is_open(int fd) {
	return _get_osfhandle(fd) != -1;
}

uint64_t system_memory(void) {
	MEMORYSTATUSEX status = {.dwLength = sizeof(status)};
	return GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
}

char *system_host_name(void) {
	wchar_t name[256] = L"";
	DWORD size = ARRAY_SIZE(name);
	GetComputerNameExW(ComputerNameDnsHostname, name, &size);
	return system_utf8(name);
}

unsigned system_cpus(void) {
	return GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

void system_random(void *bytes, size_t size) {
	if (BCryptGenRandom(NULL, bytes, (ULONG)size, BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
		memset(bytes, 0, size);
}

bool system_process_exists(int pid) {
	HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)pid);
	if (process)
		CloseHandle(process);
	return process || GetLastError() == ERROR_ACCESS_DENIED;
}

// ---- the environment ----

const char *system_variable(const char *name) {
	CLEANUP_FREE wchar_t *wide = system_wide(name);
	const wchar_t *value = _wgetenv(wide);
	return value ? system_utf8(value) : NULL;
}

struct system_version system_version(void) {
	typedef LONG WINAPI version_getter(OSVERSIONINFOW * version);
	OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof(version)};
	version_getter *getter = (version_getter *)(void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"),
									  "RtlGetVersion");
	if (getter)
		getter(&version);
	return (struct system_version){version.dwMajorVersion, version.dwMinorVersion, version.dwBuildNumber};
}

// ---- arguments ----

// Backslashes are themselves, except before a quotation mark: two of them are one there, and an
// odd one makes the mark a plain character.
static const wchar_t *take_backslashes(const wchar_t *at, wchar_t **out, bool *literal) {
	size_t count = wcsspn(at, L"\\");
	bool quote = at[count] == '"';
	for (size_t i = 0; i < (quote ? count / 2 : count); i++)
		if (*out)
			*(*out)++ = '\\';
	*literal = quote && count % 2;
	return at + count;
}

const wchar_t *system_next_word(const wchar_t *at, bool first, wchar_t *word) {
	bool quoted = false, literal = false;
	wchar_t *out = word;
	for (; *at && (quoted || (*at != ' ' && *at != '\t')); at++) {
		if (*at == '\\' && !first) {
			at = take_backslashes(at, &out, &literal);
			if (!*at || (!quoted && (*at == ' ' || *at == '\t')))
				break;
		}
		if (*at == '"' && !literal) {
			// Twice inside quotes it is one mark.
			if (quoted && !first && at[1] == '"') {
				at++;
			} else {
				quoted = !quoted;
				continue;
			}
		}
		literal = false;
		if (out)
			*out++ = *at;
	}
	if (out)
		*out = 0;
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

// In quotation marks: those inside it have a backslash, and backslashes before one are doubled.
void system_add_word(struct buffer *line, const char *word) {
	if (line->size)
		buffer_append(line, " ", 1);
	if (*word && !strpbrk(word, " \t\"&^()")) {
		buffer_append(line, word, strlen(word));
		return;
	}
	buffer_append(line, "\"", 1);
	for (;; word++) {
		size_t backslashes = strspn(word, "\\");
		word += backslashes;
		for (size_t i = 0; i < (*word && *word != '"' ? backslashes : 2 * backslashes); i++)
			buffer_append(line, "\\", 1);
		if (!*word)
			break;
		buffer_append(line, *word == '"' ? "\\\"" : word, *word == '"' ? 2 : 1);
	}
	buffer_append(line, "\"", 1);
}

static void take_arguments(int *argc, char ***argv) {
	const wchar_t *at = GetCommandLineW();
	size_t length = wcslen(at), count = 0;
	CLEANUP_FREE wchar_t *word = memory_alloc((length + 1) * sizeof(*word));
	char **words = memory_alloc((length + 2) * sizeof(*words));
	do {
		at = system_next_word(at, count == 0, word);
		words[count++] = system_utf8(word);
	} while (*at);
	*argc = (int)count;
	*argv = words;
	static char name[] = "tracelet";
	__argv[0] = name; // getopt() prefixes its messages with it
}

// ---- the console ----

static UINT code_page;
static DWORD mode;
static HANDLE terminal = INVALID_HANDLE_VALUE;

bool system_is_terminal(int fd) {
	DWORD any;
	return GetConsoleMode((HANDLE)_get_osfhandle(fd), &any);
}

// Whatever the console's code page is: it may be the test's choice.
ssize_t system_write(int fd, const void *bytes, size_t size) {
	enum { MOST = 4096 };
	wchar_t wide[MOST];
	DWORD written;
	int count = !size || size > MOST || !system_is_terminal(fd)
			    ? 0
			    : MultiByteToWideChar(CP_UTF8, 0, bytes, (int)size, wide, MOST);
	if (count && WriteConsoleW((HANDLE)_get_osfhandle(fd), wide, (DWORD)count, &written, NULL))
		return (ssize_t)size;
	return write(fd, bytes, (unsigned)size);
}

void system_give_back_console(void) {
	if (code_page)
		SetConsoleOutputCP(code_page);
	if (terminal != INVALID_HANDLE_VALUE)
		SetConsoleMode(terminal, mode);
	code_page = 0;
	terminal = INVALID_HANDLE_VALUE;
}

void system_begin(int *argc, char ***argv) {
	take_arguments(argc, argv);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		_setmode(fd, O_BINARY);
	bool out = system_is_terminal(STDOUT_FILENO), err = system_is_terminal(STDERR_FILENO);
	if (!out && !err)
		return;
	code_page = GetConsoleOutputCP();
	SetConsoleOutputCP(CP_UTF8);
	HANDLE handle = GetStdHandle(err ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE);
	// Progress lines and colours are made of escape sequences.
	if (GetConsoleMode(handle, &mode) &&
	    SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING))
		terminal = handle;
	atexit(system_give_back_console);
}
