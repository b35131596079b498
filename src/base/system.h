// What portable code needs from the operating system. File names are UTF-8 and may be
// long. On Windows the C library has other names for much of this and takes file names in
// an old encoding; system_windows.c hides that.
//
// All return what their namesakes return: -1 and errno on failure.
#pragma once

#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef _WIN32

#include <wchar.h>

#define O_CLOEXEC  _O_NOINHERIT
#define O_NOFOLLOW 0
#define O_NONBLOCK 0
#define O_NOCTTY   0

#define system_utc_seconds _mkgmtime
#define SYSTEM_TEMPORARY   "TMP" // where temporary files are

int system_open(const char *path, int flags, ...); // on Windows the directory decides the mode of a new file
int system_stat(const char *path, struct stat *status);      // kind, size and time
int system_link_stat(const char *path, struct stat *status); // of the link itself
int system_unlink(const char *path);
int system_make_dir(const char *path);
#define system_make_private_dir system_make_dir         // on Windows the directory above decides
int system_remove_dir(const char *path);                // must be empty
char *system_make_temporary_dir(const char *beginning); // of its name; to be freed; NULL on failure
int system_rename(const char *from, const char *to, bool replace); // EEXIST if it must not replace
int system_lock(int fd);                                           // the whole file, until it is closed
int system_try_lock(int fd); // the same, but EWOULDBLOCK if another process has locked it
int system_truncate(int fd, uint64_t size);
int system_list(const char *folder, void (*take)(void *context, const char *name), void *context);
char *system_absolute(const char *path);              // to be freed; NULL if there is none
char *system_pin_folder(const char *folder, int *fd); // on Windows nothing is pinned: the path itself
char *system_folder(void);                            // the current directory, with slashes; to be freed
const char *system_variable(const char *name);        // of the environment; stays valid
bool system_is_terminal(int fd);
bool system_is_open(int fd);
uint64_t system_memory(void);                 // of the machine, in bytes
char *system_host_name(void);                 // to be freed
unsigned system_cpus(void);                   // those that are online
void system_random(void *bytes, size_t size); // unpredictable bytes; zeros if the system has none
bool system_process_exists(int pid);
bool system_is_absolute(const char *path);
const char *system_base_name(const char *path); // its last component; all of it if that is empty
char *system_command_name(const char *path);    // the same without a program's extension; to be freed
char *system_program(void);                     // path of this program; to be freed
void *system_find(const void *bytes, size_t size, const void *wanted, size_t length); // as memmem()
ssize_t system_write(int fd, const void *bytes, size_t size); // UTF-8, also to a console

// Converts the arguments to UTF-8 and sets the console to UTF-8.
void system_begin(int *argc, char ***argv);
// Restores the console, before a test uses it.
void system_give_back_console(void);

// ---- Windows only ----

wchar_t *system_wide(const char *text);      // to be freed, like all of these
wchar_t *system_wide_path(const char *path); // the same, for long paths
char *system_utf8(const wchar_t *text);

struct buffer;
// Appends a word to a command line, quoted so that system_next_word() gets it back.
void system_add_word(struct buffer *line, const char *word);

// The real version; GetVersionEx() returns the one the program was built for.
struct system_version {
	unsigned major, minor, build;
} system_version(void);

// Skips the next word of a command line, as split by Microsoft's C library, and copies it to `word`
// unless that is NULL; `word` has room for all that is left. The first word is the program.
const wchar_t *system_next_word(const wchar_t *at, bool first, wchar_t *word);

#else

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

#define O_BINARY           0
#define system_open        open
#define system_stat        stat
#define system_link_stat   lstat
#define system_unlink      unlink
#define system_variable    getenv
#define system_is_terminal isatty
#define system_write       write
#define system_utc_seconds timegm
#define system_remove_dir  rmdir
#define SYSTEM_TEMPORARY   "TMPDIR"
#define system_find        memmem

static inline int system_make_dir(const char *path) {
	return mkdir(path, 0777);
}

// What others may not look into.
static inline int system_make_private_dir(const char *path) {
	return mkdir(path, 0700);
}

static inline char *system_make_temporary_dir(const char *beginning) {
	const char *folder = getenv("TMPDIR");
	char *path = memory_format("%s/%s.XXXXXX", folder && *folder ? folder : "/tmp", beginning);
	if (mkdtemp(path))
		return path;
	free(path);
	return NULL;
}

static inline int system_lock(int fd) {
	return flock(fd, LOCK_EX);
}

static inline int system_try_lock(int fd) {
	return flock(fd, LOCK_EX | LOCK_NB);
}

static inline int system_truncate(int fd, uint64_t size) {
	return ftruncate(fd, (off_t)size);
}

static inline int system_list(const char *folder, void (*take)(void *context, const char *name),
			      void *context) {
	DIR *directory = opendir(folder);
	if (!directory)
		return -1;
	for (struct dirent *entry; (entry = readdir(directory));)
		take(context, entry->d_name);
	closedir(directory);
	return 0;
}

static inline char *system_absolute(const char *path) {
	return realpath(path, NULL);
}

// A path that leads to the same folder from now on, whatever its owner puts in its place; to be freed. It is
// valid while `*fd` is open, which is -1 if the folder cannot be pinned: then it is the path itself.
static inline char *system_pin_folder(const char *folder, int *fd) {
	*fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *path = memory_format("/proc/self/fd/%d", *fd);
	if (*fd >= 0 && access(path, F_OK) == 0)
		return path;
	free(path);
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return memory_string(folder);
}

static inline char *system_folder(void) {
	return getcwd(NULL, 0);
}

static inline bool system_is_open(int fd) {
	return fcntl(fd, F_GETFD) >= 0;
}

static inline uint64_t system_memory(void) {
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static inline char *system_host_name(void) {
	enum { LONGEST = 256 };
	char *name = memory_alloc(LONGEST); // it may not be terminated
	gethostname(name, LONGEST - 1);
	return name;
}

static inline unsigned system_cpus(void) {
	return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

// Unpredictable bytes; zeros if the system has none.
static inline void system_random(void *bytes, size_t size) {
	if (getrandom(bytes, size, 0) != (ssize_t)size)
		memset(bytes, 0, size);
}

static inline bool system_process_exists(int pid) {
	return kill(pid, 0) == 0 || errno == EPERM;
}

static inline bool system_is_absolute(const char *path) {
	return *path == '/';
}

static inline const char *system_base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static inline char *system_command_name(const char *path) {
	return memory_string(system_base_name(path));
}

static inline char *system_program(void) {
	return realpath("/proc/self/exe", NULL);
}

static inline void system_begin(int *argc, char ***argv) {
}

static inline void system_give_back_console(void) {
}

#endif
