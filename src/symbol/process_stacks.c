// States and kernel stacks come from /proc, frames from elfutils' libdwfl, which
// attaches to one thread after another with ptrace. Threads that sleep
// uninterruptibly cannot be stopped and come last, lest they hold up the others.
#include "symbol/process_stacks.h"
#include "base/array.h"
#include "symbol/frames.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FRAMES = 256, MOST_THREADS = 4096 };

struct threads {
	ARRAY(pid_t) ids;
};

// The file as text, cut at `size`; false: there is none, or it may not be read.
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

// ---- what /proc tells ----

// Control characters would steer the reader's terminal.
static void print_plain(FILE *out, const char *text, size_t size) {
	for (size_t i = 0; i < size; i++)
		fputc((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i], out);
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

static void print_thread(FILE *out, pid_t pid, pid_t tid) {
	char name[64], text[4096];
	read_thread_file(pid, tid, "comm", name, sizeof(name));
	fprintf(out, "  thread %d \"", (int)tid);
	print_plain(out, name, strcspn(name, "\n"));
	fprintf(out, "\": %s", state_words(thread_state(pid, tid)));
	if (read_thread_file(pid, tid, "wchan", text, sizeof(text)) && strcmp(text, "0") != 0)
		fprintf(out, " in %s", text);
	fputc('\n', out);
	if (!read_thread_file(pid, tid, "stack", text, sizeof(text)))
		return;
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		const char *symbol = strchr(line, ' '); // behind an address that is always hidden
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
			print_plain(out, word, strlen(word));
		}
	fputc('\n', out);
}

void process_print_threads(FILE *out, pid_t pid) {
	struct threads threads = {0};
	list_threads(pid, &threads);
	if (!threads.ids.count)
		fprintf(out, "  has ended meanwhile\n");
	for (size_t i = 0; i < threads.ids.count; i++)
		print_thread(out, pid, threads.ids.items[i]);
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
	fputs("    ", walk->out);
	frame_print(walk->out, walk->dwfl, walk->frames, address, !activation);
	return ++walk->frames < MOST_FRAMES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void print_thread_with_frames(FILE *out, Dwfl *dwfl, pid_t pid, pid_t tid) {
	struct walk walk = {.out = out, .dwfl = dwfl};
	print_thread(out, pid, tid);
	fflush(out); // what comes next may hang
	int error = dwfl_getthread_frames(dwfl, tid, take_frame, &walk);
	if (walk.frames == MOST_FRAMES)
		fprintf(out, "    and more\n");
	else if (error && walk.frames == 0)
		fprintf(out, "    none: %s\n", error > 0 ? "stopped early" : dwfl_errmsg(-1));
	fflush(out);
}

// Another debugger would be in the way; whoever reads this wants to know which.
static pid_t other_tracer(pid_t pid) {
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	read_text(path, text, sizeof(text));
	const char *line = strstr(text, "\nTracerPid:");
	return line ? (pid_t)strtol(line + strlen("\nTracerPid:"), NULL, 10) : 0;
}

// The address space is known by any thread that still has it: the first one may have ended.
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

static const char *open_process(pid_t pid, Dwfl **dwfl) {
	pid = living_thread(pid);
	*dwfl = dwfl_begin(&frames_of_process);
	int error = !*dwfl || dwfl_linux_proc_report(*dwfl, pid) || dwfl_report_end(*dwfl, NULL, NULL) ? -1
												       : 0;
	if (!error)
		error = dwfl_linux_proc_attach(*dwfl, pid, false);
	return !error ? NULL : error > 0 ? strerror(error) : dwfl_errmsg(-1);
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
	list_threads(pid, &threads);
	for (int last = 0; last <= 1; last++)
		for (size_t i = 0; i < threads.ids.count; i++) {
			char state = thread_state(pid, threads.ids.items[i]);
			bool over = state == 'Z' || state == 'X' || state == '?';
			if (over && last)
				print_thread(out, pid, threads.ids.items[i]);
			else if (!over && (state == 'D') == last)
				print_thread_with_frames(out, dwfl, pid, threads.ids.items[i]);
		}
	array_free(&threads.ids);
	dwfl_end(dwfl);
}
