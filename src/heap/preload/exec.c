// exec: if the new program loads us, it takes over its process's area. If not (a static program, a
// set-user-id one, an environment without us), the counts would belong to a program that is gone,
// unnoticed. So the area is marked as abandoned before an exec, until the new program claims it.
#include "heap/preload/heap.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	int (*execvp)(const char *file, char *const words[]);
	int (*execvpe)(const char *file, char *const words[], char *const environment[]);
	int (*fexecve)(int fd, char *const words[], char *const environment[]);
} next;

// exec may also be called by a child of vfork(), which shares its parent's memory, and in signal
// handlers: so everything needed is looked up in advance.
void heap_exec_begin(void) {
	*(void **)&next.execvp = dlsym(RTLD_NEXT, "execvp");
	*(void **)&next.execvpe = dlsym(RTLD_NEXT, "execvpe");
	*(void **)&next.fexecve = dlsym(RTLD_NEXT, "fexecve");
}

static void leave(uint32_t is_left) {
	struct heap_area *area = heap_area;
	int error = errno;
	if (area && area->owner == (uint32_t)syscall(SYS_getpid))
		__atomic_store_n(&area->is_left, is_left, __ATOMIC_RELEASE);
	errno = error;
}

#define EXEC(call)                                                                                           \
	do {                                                                                                 \
		leave(1);                                                                                    \
		int result = (call);                                                                         \
		leave(0);                                                                                    \
		return result;                                                                               \
	} while (0)

static int not_there(void) {
	errno = ENOSYS;
	return -1;
}

HEAP_PUBLIC int execve(const char *path, char *const words[], char *const environment[]) {
	EXEC((int)syscall(SYS_execve, path, words, environment));
}

HEAP_PUBLIC int execv(const char *path, char *const words[]) {
	EXEC((int)syscall(SYS_execve, path, words, environ));
}

HEAP_PUBLIC int execveat(int folder, const char *path, char *const words[], char *const environment[],
			 int flags) {
	EXEC((int)syscall(SYS_execveat, folder, path, words, environment, flags));
}

HEAP_PUBLIC int fexecve(int fd, char *const words[], char *const environment[]) {
	EXEC(next.fexecve ? next.fexecve(fd, words, environment) : not_there());
}

HEAP_PUBLIC int execvp(const char *file, char *const words[]) {
	EXEC(next.execvp ? next.execvp(file, words) : not_there());
}

HEAP_PUBLIC int execvpe(const char *file, char *const words[], char *const environment[]) {
	EXEC(next.execvpe ? next.execvpe(file, words, environment) : not_there());
}

// Collects a NULL-terminated argument list into an array; `list` then points past it.
#define GATHER(words, first, list)                                                                           \
	do {                                                                                                 \
		size_t count = 1;                                                                            \
		va_list counted;                                                                             \
		va_copy(counted, list);                                                                      \
		while (va_arg(counted, const char *))                                                        \
			count++;                                                                             \
		va_end(counted);                                                                             \
		(words) = alloca((count + 1) * sizeof(*(words)));                                            \
		(words)[0] = (char *)(first);                                                                \
		for (size_t i = 1; i <= count; i++)                                                          \
			(words)[i] = va_arg(list, char *);                                                   \
	} while (0)

HEAP_PUBLIC int execl(const char *path, const char *first, ...) {
	va_list list;
	char **words;
	va_start(list, first);
	GATHER(words, first, list);
	va_end(list);
	return execve(path, words, environ);
}

HEAP_PUBLIC int execle(const char *path, const char *first, ...) {
	va_list list;
	char **words;
	va_start(list, first);
	GATHER(words, first, list);
	char *const *environment = va_arg(list, char *const *);
	va_end(list);
	return execve(path, words, environment);
}

HEAP_PUBLIC int execlp(const char *file, const char *first, ...) {
	va_list list;
	char **words;
	va_start(list, first);
	GATHER(words, first, list);
	va_end(list);
	return execvp(file, words);
}
