// States and kernel stacks come from /proc, frames from elfutils' libdwfl, which
// attaches to one thread after another with ptrace. Threads in uninterruptible
// sleep cannot be stopped and come last, so that they do not hold up the others.
#include "symbol/stacks/process_stacks.h"
#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "symbol/stacks/frames.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FRAMES = 256, MOST_THREADS = 4096 };

struct threads {
	ARRAY(pid_t) ids;
};

// Reads the file as text, truncated to `size`; false if it does not exist or may not be read.
static bool read_text(const char *path, char *text, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
	text[got > 0 ? got : 0] = 0;
	if (fd >= 0)
		close(fd);
	return got > 0;
}

static bool read_thread_file(pid_t pid, pid_t tid, const char *name, char *text, size_t size) {
	char path[96];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	return read_text(path, text, size);
}

static void list_threads(pid_t pid, struct threads *threads) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder && (entry = readdir(folder)) && threads->ids.count < MOST_THREADS) {
		long tid = strtol(entry->d_name, NULL, 10);
		if (tid > 0)
			array_push(&threads->ids, (pid_t)tid);
	}
	if (folder)
		closedir(folder);
}

// ---- from /proc ----

static void print_plain(FILE *out, const char *text) {
	CLEANUP_FREE char *plain = text_plain_copy(text);
	fputs(plain, out);
}

static char thread_state(pid_t pid, pid_t tid) {
	char stat[512];
	read_thread_file(pid, tid, "stat", stat, sizeof(stat));
	const char *end = strrchr(stat, ')');
	return end && end[1] == ' ' ? end[2] : '?';
}

static const char *state_words(char state) {
	static const struct {
		char state;
		const char *words;
	} known[] = {{'R', "running"}, {'S', "sleeping"}, {'D', "in uninterruptible sleep"},
		     {'T', "stopped"}, {'t', "traced"},   {'Z', "a zombie"},
		     {'X', "dead"},    {'I', "idle"}};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].state == state)
			return known[i].words;
	return "in an unknown state";
}

// ---- what a thread waits for ----

// The C library's mutex has the id of its owner eight bytes behind the word on which threads wait; a thread
// that is joined has its own id in that word.
struct blocked_on {
	enum { ON_NOTHING_KNOWN, ON_LOCK, ON_THREAD, ON_DESCRIPTOR } kind;
	uint64_t address; // of a lock
	pid_t thread;     // the owner of the lock; the thread whose end it waits for
	int descriptor;
	char target[256]; // of a descriptor: a path, "pipe:[1234]", "socket:[1234]"
};

// x86-64 only: elsewhere nothing is known.
#ifdef __x86_64__
enum { CALL_FUTEX = 202, CALL_POLL = 7, CALL_PPOLL = 271 };

// System calls whose first argument is the descriptor that they wait for.
static const uint16_t descriptor_calls[] = {0,  1,  17, 18, 19, 20, 42,  43,  44,
					    45, 46, 47, 73, 74, 75, 232, 281, 288};

static bool is_thread_of(pid_t pid, uint32_t tid) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32 "/comm", (int)pid, tid);
	int fd = tid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

// The first words of what is at an address.
static bool read_words(pid_t pid, uint64_t address, uint32_t words[3]) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool whole = fd >= 0 && pread(fd, words, 12, (off_t)address) == 12;
	if (fd >= 0)
		close(fd);
	return whole;
}

// A futex is a mutex if it is locked and what would be its owner is another thread of the process.
static void read_futex(pid_t pid, pid_t tid, uint64_t address, uint64_t expected, struct blocked_on *on) {
	enum { LOCKED = 2 }; // 1, or 2 if others wait
	uint32_t words[3] = {0};
	if (!read_words(pid, address, words))
		return;
	on->address = address;
	if (words[0] == expected && words[0] > LOCKED && is_thread_of(pid, words[0])) {
		on->kind = ON_THREAD;
		on->thread = (pid_t)words[0];
	} else if (words[0] && words[0] <= LOCKED && words[2] != (uint32_t)tid &&
		   is_thread_of(pid, words[2])) {
		on->kind = ON_LOCK;
		on->thread = (pid_t)words[2];
	}
}

static void read_descriptor(pid_t pid, uint64_t number, struct blocked_on *on) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd/%" PRIu64, (int)pid, number);
	ssize_t size = readlink(path, on->target, sizeof(on->target) - 1);
	if (size <= 0)
		return;
	on->target[size] = 0;
	on->kind = ON_DESCRIPTOR;
	on->descriptor = (int)number;
}

static void blocked_on_read(pid_t pid, pid_t tid, struct blocked_on *on) {
	*on = (struct blocked_on){0};
	char path[64];
	long call;
	uint64_t first, second, third;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	FILE *file = fopen(path, "re");
	bool in_call = file && fscanf(file, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64, &call, &first, &second,
				      &third) == 4;
	if (file)
		fclose(file);
	if (in_call && call == CALL_FUTEX)
		read_futex(pid, tid, first, third, on);
	uint32_t polled[3] = {0};
	if (in_call && (call == CALL_POLL || call == CALL_PPOLL) && second == 1 &&
	    read_words(pid, first, polled))
		read_descriptor(pid, polled[0], on);
	for (size_t i = 0; in_call && i < ARRAY_SIZE(descriptor_calls); i++)
		if (call == descriptor_calls[i])
			read_descriptor(pid, first, on);
}
#else
static void blocked_on_read(pid_t pid, pid_t tid, struct blocked_on *on) {
	*on = (struct blocked_on){0};
}
#endif

struct held_lock {
	pid_t waiter, owner;
	uint64_t address;
};

struct report {
	FILE *out;
	pid_t pid;
	Dwfl *dwfl; // NULL if the process cannot be looked into
	ARRAY(struct held_lock) locks;
};

// "thread 12 "worker""
static void print_thread_name(FILE *out, pid_t pid, pid_t tid) {
	char name[64];
	read_thread_file(pid, tid, "comm", name, sizeof(name));
	name[strcspn(name, "\n")] = 0;
	fprintf(out, "thread %d \"", (int)tid);
	print_plain(out, name);
	fputc('"', out);
}

static void print_lock(const struct report *report, uint64_t address) {
	GElf_Sym symbol;
	GElf_Off offset = 0;
	Dwfl_Module *module = report->dwfl ? dwfl_addrmodule(report->dwfl, address) : NULL;
	const char *name = module ? dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL)
				  : NULL;
	fprintf(report->out, "the lock 0x%" PRIx64, address);
	if (!name)
		return;
	fputs(" (", report->out);
	print_plain(report->out, name);
	if (offset)
		fprintf(report->out, "+%" PRIu64, (uint64_t)offset);
	fputc(')', report->out);
}

static void print_wait_for_lock(const struct report *report, const struct held_lock *lock) {
	fputs("waits for ", report->out);
	print_lock(report, lock->address);
	fputs(", which is held by ", report->out);
	print_thread_name(report->out, report->pid, lock->owner);
}

// Nothing if it is not known what the thread waits for.
static void print_blocked_on(struct report *report, pid_t tid) {
	struct blocked_on on;
	blocked_on_read(report->pid, tid, &on);
	if (on.kind == ON_NOTHING_KNOWN)
		return;
	fputs("    ", report->out);
	if (on.kind == ON_LOCK) {
		struct held_lock lock = {.waiter = tid, .owner = on.thread, .address = on.address};
		array_push(&report->locks, lock);
		print_wait_for_lock(report, &lock);
	} else if (on.kind == ON_THREAD) {
		fputs("waits for the end of ", report->out);
		print_thread_name(report->out, report->pid, on.thread);
	} else {
		fprintf(report->out, "waits for descriptor %d: ", on.descriptor);
		print_plain(report->out, on.target);
	}
	fputc('\n', report->out);
}

static const struct held_lock *lock_of(const struct report *report, pid_t waiter) {
	for (size_t i = 0; i < report->locks.count; i++)
		if (report->locks.items[i].waiter == waiter)
			return &report->locks.items[i];
	return NULL;
}

// Each of these threads waits for a lock that the next one holds, the last for one of the first. A circle is
// printed from its smallest id on, so that it is printed once.
static void print_deadlock(const struct report *report, pid_t first) {
	size_t length = 1;
	const struct held_lock *at = lock_of(report, first);
	for (; at && at->owner != first && length <= report->locks.count; length++) {
		at = at->owner > first ? lock_of(report, at->owner) : NULL;
	}
	if (!at || at->owner != first)
		return;
	fputs("  deadlock:", report->out);
	at = lock_of(report, first);
	for (size_t i = 0; i < length; i++, at = lock_of(report, at->owner)) {
		fputs(i ? "; " : " ", report->out);
		print_thread_name(report->out, report->pid, at->waiter);
		fputc(' ', report->out);
		print_wait_for_lock(report, at);
	}
	fputc('\n', report->out);
}

// ---- threads ----

static void print_thread(struct report *report, pid_t tid) {
	FILE *out = report->out;
	pid_t pid = report->pid;
	char name[64], text[4096];
	read_thread_file(pid, tid, "comm", name, sizeof(name));
	fprintf(out, "  thread %d \"", (int)tid);
	name[strlen(name) - (*name && name[strlen(name) - 1] == '\n')] = 0;
	print_plain(out, name);
	fprintf(out, "\": %s", state_words(thread_state(pid, tid)));
	if (read_thread_file(pid, tid, "wchan", text, sizeof(text)) && strcmp(text, "0") != 0)
		fprintf(out, " in %s", text);
	fputc('\n', out);
	print_blocked_on(report, tid);
	if (!read_thread_file(pid, tid, "stack", text, sizeof(text)))
		return;
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		const char *symbol = strchr(line, ' '); // after an address, which is always hidden
		fprintf(out, "    kernel %s\n", symbol ? symbol + 1 : line);
	}
}

void process_print_name(FILE *out, pid_t pid) {
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fprintf(out, "\nprocess %d:", (int)pid);
	if (read_text(path, text, sizeof(text)))
		for (const char *word = text; *word; word += strlen(word) + 1) {
			fputc(' ', out);
			print_plain(out, word);
		}
	fputc('\n', out);
}

void process_print_threads(FILE *out, pid_t pid) {
	struct threads threads = {0};
	list_threads(pid, &threads);
	struct report report = {.out = out, .pid = pid};
	if (!threads.ids.count)
		fprintf(out, "  has ended meanwhile\n");
	for (size_t i = 0; i < threads.ids.count; i++)
		print_thread(&report, threads.ids.items[i]);
	array_free(&report.locks);
	array_free(&threads.ids);
}

// ---- user frames ----

struct walk {
	FILE *out;
	Dwfl *dwfl;
	unsigned frames;
};

static int take_frame(Dwfl_Frame *frame, void *context) {
	struct walk *walk = context;
	Dwarf_Addr address;
	bool activation;
	if (!dwfl_frame_pc(frame, &address, &activation))
		return DWARF_CB_ABORT;
	walk->frames += frame_print(walk->out, "    ", walk->dwfl, walk->frames, address, !activation);
	return walk->frames < MOST_FRAMES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void print_thread_with_frames(struct report *report, pid_t tid) {
	FILE *out = report->out;
	struct walk walk = {.out = out, .dwfl = report->dwfl};
	print_thread(report, tid);
	fflush(out); // the next step may hang
	int error = dwfl_getthread_frames(report->dwfl, tid, take_frame, &walk);
	if (walk.frames >= MOST_FRAMES)
		fprintf(out, "    and more\n");
	else if (error && walk.frames == 0)
		fprintf(out, "    none: %s\n", error > 0 ? "stopped early" : dwfl_errmsg(-1));
	fflush(out);
}

// Another debugger prevents attaching; the reader wants to know which one.
static pid_t other_tracer(pid_t pid) {
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	read_text(path, text, sizeof(text));
	const char *line = strstr(text, "\nTracerPid:");
	return line ? (pid_t)strtol(line + strlen("\nTracerPid:"), NULL, 10) : 0;
}

// Any live thread gives access to the address space: the first one may have ended.
static pid_t living_thread(pid_t pid) {
	struct threads threads = {0};
	pid_t living = pid;
	list_threads(pid, &threads);
	for (size_t i = 0; i < threads.ids.count; i++)
		if (!strchr("ZX?", thread_state(pid, threads.ids.items[i]))) {
			living = threads.ids.items[i];
			break;
		}
	array_free(&threads.ids);
	return living;
}

// Opens the file that is mapped at an address, even if its path now names another file, or does so
// for us. -1 if none can be opened.
static int open_mapped(pid_t pid, uint64_t address, const char *path) {
	CLEANUP_FREE char *maps = memory_format("/proc/%d/maps", (int)pid);
	CLEANUP_FREE char *theirs = memory_format("/proc/%d/root%s", (int)pid, path);
	CLEANUP_FREE char *line = NULL;
	unsigned long long start, end;
	size_t room = 0;
	int file = -1;
	FILE *mappings = fopen(maps, "re");
	while (mappings && getline(&line, &room, mappings) > 0)
		if (sscanf(line, "%llx-%llx", &start, &end) == 2 && start <= address && address < end) {
			CLEANUP_FREE char *mapped = memory_format("/proc/%d/map_files/%llx-%llx", (int)pid,
								  start, end);
			file = file_open_regular(mapped, O_RDONLY);
			break;
		}
	if (mappings)
		fclose(mappings);
	if (file < 0) // only root may follow map_files
		file = file_open_regular(theirs, O_RDONLY);
	return file < 0 ? file_open_regular(path, O_RDONLY) : file;
}

static pid_t looked_at; // libdwfl does not pass it to its callbacks

static int find_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **file_name,
		     Elf **elf) {
	if (*name != '/') // what the kernel provides (the vdso) is read from the process's memory
		return dwfl_linux_proc_find_elf(module, user, name, base, file_name, elf);
	int file = open_mapped(looked_at, base, name);
	if (file < 0)
		return -1;
	frames_keep_file(user, name, file);
	*file_name = strdup(name);
	return file;
}

static const char *open_process(pid_t pid, Dwfl **dwfl) {
	static const Dwfl_Callbacks callbacks = {.find_elf = find_file,
						 .find_debuginfo = frames_find_debug_file};
	looked_at = pid = living_thread(pid);
	*dwfl = dwfl_begin(&callbacks);
	int error = !*dwfl || dwfl_linux_proc_report(*dwfl, pid) || dwfl_report_end(*dwfl, NULL, NULL) ? -1
												       : 0;
	if (!error)
		error = dwfl_linux_proc_attach(*dwfl, pid, false);
	const char *known = error < 0 ? dwfl_errmsg(0) : strerror(error);
	return !error ? NULL : known ? known : "this user may not look into it";
}

void process_print(FILE *out, pid_t pid) {
	struct threads threads = {0};
	Dwfl *dwfl = NULL;
	pid_t debugger = other_tracer(pid);
	const char *problem = debugger ? NULL : open_process(pid, &dwfl);
	if (debugger || problem) {
		process_print_threads(out, pid);
		if (debugger)
			fprintf(out, "  no frames: process %d is debugging it\n", (int)debugger);
		else
			fprintf(out, "  no frames: %s\n", problem);
		dwfl_end(dwfl);
		return;
	}
	struct report report = {.out = out, .pid = pid, .dwfl = dwfl};
	list_threads(pid, &threads);
	for (int last = 0; last <= 1; last++)
		for (size_t i = 0; i < threads.ids.count; i++) {
			char state = thread_state(pid, threads.ids.items[i]);
			bool over = state == 'Z' || state == 'X' || state == '?';
			if (over && last)
				print_thread(&report, threads.ids.items[i]);
			else if (!over && (state == 'D') == last)
				print_thread_with_frames(&report, threads.ids.items[i]);
		}
	for (size_t i = 0; i < report.locks.count; i++)
		print_deadlock(&report, report.locks.items[i].waiter);
	array_free(&report.locks);
	array_free(&threads.ids);
	dwfl_end(dwfl);
}
