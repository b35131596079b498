// The test wrote the area: nothing in it is trusted.
#include "heap/heap.h"

#include "base/file.h"
#include "base/log.h"
#include "base/shared_memory.h"
#include "base/text.h"
#include "heap/allocator.h"
#include "heap/children.h"
#include "heap/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- the beginning ----

int heap_create(const struct heap_options *options) {
#ifndef __x86_64__
	log_warning("no heap profile: stacks can be walked only on x86-64");
	return -1;
#endif
	struct heap_head head = {.magic = HEAP_MAGIC,
				 .version = HEAP_VERSION,
				 .most = options->children ? HEAP_MOST_PROCESSES : 1,
				 .sample = options->sample,
				 .children = options->children,
				 .usable = options->usable,
				 .leaks = options->leaks};
	int fd = shared_memory_new("tracelet-heap", heap_file_size(head.most), &head, sizeof(head));
	if (fd < 0)
		log_warning("no heap profile: %s", strerror(-fd));
	return MAX(fd, -1);
}

void heap_expect(int heap, pid_t test) {
	uint32_t first = (uint32_t)test;
	if (heap >= 0 && pwrite(heap, &first, sizeof(first), offsetof(struct heap_head, first)) < 0)
		log_verbose("heap: cannot record the test's process id: %s", strerror(errno));
}

struct heap_time heap_time_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (struct heap_time){heap_ticks(), (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec};
}

// ---- what is shared ----

static bool read_head(int heap, struct heap_head *head) {
	struct stat status;
	return fstat(heap, &status) == 0 && pread(heap, head, sizeof(*head), 0) == (ssize_t)sizeof(*head) &&
	       head->magic == HEAP_MAGIC && head->version == HEAP_VERSION &&
	       head->most <= HEAP_MOST_PROCESSES && (uint64_t)status.st_size == heap_file_size(head->most);
}

// NULL if nothing was ever written to it, or it cannot be mapped.
static struct heap_area *map_area(int heap, uint32_t index, int protection) {
	if (!shared_items_there(heap, heap_area_offset(index), 1, 1))
		return NULL;
	struct heap_area *area = mmap(NULL, sizeof(*area), protection, MAP_SHARED, heap,
				      (off_t)heap_area_offset(index));
	return area == MAP_FAILED ? NULL : area;
}

static void unmap_area(struct heap_area *area) {
	if (area)
		munmap(area, sizeof(*area));
}

// ---- the end ----

static void warn_of_losses(const struct heap_area *area) {
	uint64_t missed = SHARED_LOAD(area->missed), interrupted = SHARED_LOAD(area->interrupted),
		 broken = SHARED_LOAD(area->broken);
	if (missed)
		log_warning("the heap profile lacks %" PRIu64 " block%s: out of memory for its tables",
			    missed, plural(missed));
	if (interrupted)
		log_warning("the heap profile is not exact: %" PRIu64 " time%s a signal handler "
			    "jumped out of the allocator",
			    interrupted, plural(interrupted));
	if (broken)
		log_warning("the heap profile is incomplete: a thread that stopped running holds %" PRIu64
			    " of its tables",
			    broken);
}

static char *command_text(char **command) {
	struct buffer words = {0};
	for (char **word = command; word && *word; word++)
		buffer_printf(&words, "%s%s", words.size ? " " : "", *word);
	buffer_append(&words, "", 1);
	return (char *)words.data;
}

// Warns if the program uses an allocator other than the one we intercept. The kernel can watch most
// of them.
static void warn_of_own_allocator(const struct heap_area *area, bool is_empty) {
	CLEANUP_FREE char *program = shared_text(area->program, HEAP_PATH_SIZE);
	const char *within = allocator_within(program);
	if (within)
		log_warning("the heap profile %s: the program has its own allocator (%s)%s",
			    is_empty ? "is empty" : "is incomplete", within,
			    strcmp(within, "Go's") == 0 ? "; use runtime/pprof"
							: "; 'tracelet heap -p PID' can watch it");
	else if (is_empty)
		log_warning("the heap profile is empty: the program may have its own allocator");
}

static bool is_first(const struct heap_head *head, uint32_t index) {
	return head->first ? head->owners[index].pid == head->first : index == 0;
}

static void collect_area(struct heap_area *area, const struct heap_extent *extent,
			 const struct heap_head *head, uint32_t index, char **command,
			 const struct heap_time *end, struct heap_results *results) {
	struct heap_made *made = heap_make(area, extent, HEAP_WHOLE, end, results->modules);
	struct heap_result result = {
		.made = made, .begin = SHARED_LOAD(area->begin_ns), .first = is_first(head, index)};
	made->profile.sample = head->sample;
	if (result.first) {
		free(made->command);
		made->profile.command = made->command = command_text(command);
	}
	if (result.first)
		warn_of_own_allocator(area, !made->profile.points.count && !head->sample);
	warn_of_losses(area);
	array_push(&results->items, result);
}

static void say_not_counted(const char *program, bool is_left) {
	if (is_left)
		log_warning("no heap profile: %s exec'd a program that did not load libtracelet-heap.so "
			    "(static, set-user-id, or a changed environment?)",
			    program);
	else
		log_warning("no heap profile: %s did not load libtracelet-heap.so (a static or set-user-id "
			    "program?)",
			    program);
}

void heap_collect(int heap, char **command, const struct heap_time *end, struct heap_results *results) {
	struct heap_head head;
	bool first = false, is_left = false;
	if (!read_head(heap, &head)) {
		log_warning("no heap profile: the test overwrote the counters");
		return;
	}
	results->modules = memory_alloc(sizeof(*results->modules));
	for (uint32_t i = 0; i < MIN(head.count, head.most); i++) {
		struct heap_area *area = map_area(heap, i, PROT_READ);
		bool is_used = area && SHARED_LOAD(area->owner);
		if (is_used && SHARED_LOAD(area->is_left)) {
			is_left |= is_first(&head, i);
		} else if (is_used) {
			struct heap_extent extent = heap_extent(heap, i, area);
			collect_area(area, &extent, &head, i, command, end, results);
			first |= is_first(&head, i);
		}
		unmap_area(area);
	}
	if (!first)
		say_not_counted(command[0], is_left);
	if (head.refused && head.children)
		log_warning("no heap profiles for %" PRIu32 " children: only %" PRIu32
			    " processes can be profiled in one run",
			    head.refused, head.most);
}

void heap_save(const struct heap_results *results, const char *stem, struct heap_files *files) {
	for (size_t i = 0; i < results->items.count; i++) {
		const struct heap_result *result = &results->items.items[i];
		const struct dhat_profile *profile = &result->made->profile;
		struct heap_file file = {.child = !result->first};
		file.path = result->first ? memory_format("%s.dhat.json", stem)
					  : memory_format("%s.%" PRIu32 ".dhat.json", stem, profile->pid);
		int error = dhat_save(file.path, profile, OUTPUT_CREATE);
		if (!error) {
			array_push(&files->items, file);
			continue;
		}
		log_warning("%s: cannot be written: %s", file.path, strerror(-error));
		free(file.path);
	}
}

void heap_results_sum(const struct heap_results *results, struct heap_sums *sums) {
	*sums = (struct heap_sums){0};
	for (size_t i = 0; i < results->items.count; i++)
		heap_add_sums(sums, results->items.items[i].made);
}

void heap_results_free(struct heap_results *results) {
	for (size_t i = 0; i < results->items.count; i++)
		heap_made_free(results->items.items[i].made);
	array_free(&results->items);
	if (results->modules)
		heap_modules_free(results->modules);
	free(results->modules);
}

void heap_files_free(struct heap_files *files) {
	for (size_t i = 0; i < files->items.count; i++)
		free(files->items.items[i].path);
	array_free(&files->items);
}

// ---- processes that were not counted ----

static bool was_counted(const struct heap_results *results, const struct heap_exec *exec) {
	for (size_t i = 0; i < results->items.count; i++)
		if (results->items.items[i].made->profile.pid == exec->pid &&
		    (results->items.items[i].first || results->items.items[i].begin >= exec->time))
			return true;
	return false;
}

void heap_warn_of_children(const struct heap_results *results, const struct heap_execs *execs, pid_t test) {
	enum { NAMED = 3 };
	struct buffer names = {0};
	size_t count = 0;
	for (size_t i = 0; i < execs->items.count; i++) {
		const struct heap_exec *exec = &execs->items.items[i];
		if (exec->pid == (uint32_t)test || was_counted(results, exec))
			continue;
		if (++count <= NAMED)
			buffer_printf(&names, "%s%s", count > 1 ? ", " : "", exec->file);
	}
	if (count)
		log_warning("no heap profiles for %zu child process%s that did not load libtracelet-heap.so "
			    "(static or set-user-id programs?): %.*s%s",
			    count, count == 1 ? "" : "es", (int)names.size, (const char *)names.data,
			    count > NAMED ? ", ..." : "");
	buffer_free(&names);
}

// ---- while it runs ----

// The process's environment names the file, and any user may have started the process: only a file that a
// process holds is taken, and only if its size cannot change while we look.
static int open_named(const char *path) {
	enum { NEEDED = F_SEAL_SHRINK | F_SEAL_GROW };
	if (strncmp(path, "/proc/", 6) != 0 || strstr(path, ".."))
		return -ENOENT;
	int heap = file_open_regular(path, O_RDWR);
	if (heap < 0)
		return heap;
	int seals = fcntl(heap, F_GET_SEALS);
	if (seals >= 0 && (seals & NEEDED) == NEEDED)
		return heap;
	close(heap);
	return -ENOENT;
}

static int open_of_process(pid_t process) {
	static const char variable[] = HEAP_VARIABLE "=";
	CLEANUP_FREE char *path = memory_format("/proc/%d/environ", (int)process);
	CLEANUP_FREE char *line = NULL;
	size_t room = 0;
	int heap = -ENOENT;
	FILE *environment = fopen(path, "re");
	if (!environment)
		return -errno;
	while (heap == -ENOENT && getdelim(&line, &room, 0, environment) > 0)
		if (strncmp(line, variable, sizeof(variable) - 1) == 0) {
			heap = open_named(line + sizeof(variable) - 1);
			break;
		}
	fclose(environment);
	return heap;
}

// Whether it is still the program that is counted there.
static bool is_counting(int heap, uint32_t index) {
	struct heap_area *area = map_area(heap, index, PROT_READ);
	bool counting = area && !SHARED_LOAD(area->is_left);
	unmap_area(area);
	return counting;
}

int heap_find(pid_t process, int *heap, uint32_t *area) {
	struct heap_head head;
	*heap = open_of_process(process);
	if (*heap < 0)
		return *heap;
	if (read_head(*heap, &head))
		for (uint32_t i = MIN(head.count, head.most); i-- > 0;) // the newest with this pid
			if (head.owners[i].pid == (uint32_t)process && is_counting(*heap, i)) {
				*area = i;
				return 0;
			}
	close(*heap);
	*heap = -1;
	return -ENOENT;
}

int heap_snapshot(int heap, uint32_t index, enum heap_window window, const char *path,
		  struct heap_sums *sums) {
	struct heap_head head;
	struct heap_area *area = NULL;
	if (!read_head(heap, &head) || index >= MIN(head.count, head.most) ||
	    !(area = map_area(heap, index, PROT_READ | PROT_WRITE)))
		return -ENODATA;
	struct heap_time now = heap_time_now();
	struct heap_modules modules;
	struct heap_extent extent = heap_extent(heap, index, area);
	heap_modules_begin(&modules, (pid_t)SHARED_LOAD(area->owner));
	struct heap_made *made = heap_make(area, &extent, window, &now, &modules);
	made->profile.sample = head.sample;
	if (sums)
		heap_add_sums(sums, made);
	int error = dhat_save(path, &made->profile, OUTPUT_REPLACE);
	heap_made_free(made);
	heap_modules_free(&modules);
	unmap_area(area);
	return error;
}

bool heap_live_now(int heap, uint32_t index, const struct heap_area *area, struct heap_live *live) {
	enum { MANY = 1 << 14 }; // more than this would take too long
	uint32_t claimed = SHARED_LOAD(area->point_count);
	uint32_t points = shared_items_there(heap,
					     heap_area_offset(index) + offsetof(struct heap_area, points),
					     sizeof(struct heap_point), MIN(claimed, MANY));
	*live = (struct heap_live){.pid = SHARED_LOAD(area->owner), .bytes = SHARED_LOAD(area->bytes)};
	for (uint32_t i = 0; i < points; i++)
		live->blocks += SHARED_LOAD(area->points[i].blocks);
	return live->pid;
}
