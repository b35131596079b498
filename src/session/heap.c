// The area was written by the test: nothing in it is believed.
#include "session/heap.h"

#include "base/log.h"
#include "session/allocator.h"
#include "session/heap_children.h"
#include "session/heap_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// ---- the beginning ----

// The file has holes only; a limit of sizes for what the test writes is not about it.
static int set_size(int fd, uint64_t size) {
	struct rlimit before, none;
	getrlimit(RLIMIT_FSIZE, &before);
	none = (struct rlimit){before.rlim_max, before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &none);
	int error = before.rlim_max != RLIM_INFINITY && before.rlim_max < size ? EFBIG : 0;
	if (!error && ftruncate(fd, (off_t)size))
		error = errno;
	setrlimit(RLIMIT_FSIZE, &before);
	return error;
}

int heap_create(const struct heap_options *options) {
#ifndef __x86_64__
	log_warning("no heap profile: stacks are walked on x86-64 only");
	return -1;
#endif
	struct heap_head head = {.magic = HEAP_MAGIC,
				 .version = HEAP_VERSION,
				 .most = options->children ? HEAP_MOST_PROCESSES : 1,
				 .sample = options->sample,
				 .children = options->children,
				 .usable = options->usable};
	int fd = memfd_create("tracelet-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error = fd < 0 ? errno : set_size(fd, heap_file_size(head.most));
	if (!error && (pwrite(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
		       fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)))
		error = errno;
	if (!error)
		return fd;
	log_warning("no heap profile: %s", strerror(error));
	if (fd >= 0)
		close(fd);
	return -1;
}

void heap_expect(int heap, pid_t test) {
	uint32_t first = (uint32_t)test;
	if (heap >= 0 && pwrite(heap, &first, sizeof(first), offsetof(struct heap_head, first)) < 0)
		log_verbose("heap: the test's number is not noted: %s", strerror(errno));
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

static struct heap_area *map_area(int heap, uint32_t index, int protection) {
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
	if (area->missed)
		log_warning("the heap profile lacks %" PRIu64 " blocks: there was no memory to note them",
			    area->missed);
	if (area->interrupted)
		log_warning("the heap profile is not exact: %" PRIu64 " times a signal's handler left the "
			    "allocator and did not come back",
			    area->interrupted);
	if (area->broken)
		log_warning("the heap profile is not whole: a thread that did not go on held %" PRIu64
			    " of its tables",
			    area->broken);
}

static char *command_text(char **command) {
	struct buffer words = {0};
	for (char **word = command; word && *word; word++)
		buffer_printf(&words, "%s%s", words.size ? " " : "", *word);
	buffer_append(&words, "", 1);
	return (char *)words.data;
}

// Another one than that which we stand before. The kernel can watch most of them.
static void warn_of_own_allocator(const struct heap_area *area, bool is_empty) {
	CLEANUP_FREE char *program = memory_format("%.*s", HEAP_PATH_SIZE, area->program);
	const char *within = allocator_within(program);
	if (within)
		log_warning("the heap profile %s: the program brings an allocator along (%s)%s",
			    is_empty ? "is empty" : "is not whole", within,
			    strcmp(within, "Go's") == 0 ? "; runtime/pprof tells of that"
							: "; 'tracelet heap -p PID' can watch it");
	else if (is_empty)
		log_warning("the heap profile is empty: the program may have an allocator of its own");
}

static bool is_first(const struct heap_head *head, uint32_t index) {
	return head->first ? head->owners[index].pid == head->first : index == 0;
}

static void collect_area(struct heap_area *area, const struct heap_head *head, uint32_t index, char **command,
			 const struct heap_time *end, struct heap_results *results) {
	struct heap_made *made = heap_make(area, HEAP_WHOLE, end, results->modules);
	struct heap_result result = {.made = made, .begin = area->begin_ns, .first = is_first(head, index)};
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
		log_warning("no heap profile: %s went on as another program, which did not load our library "
			    "(static, set-user-id, or without our environment?)",
			    program);
	else
		log_warning("no heap profile: %s did not load our library (a static or set-user-id program?)",
			    program);
}

void heap_collect(int heap, char **command, const struct heap_time *end, struct heap_results *results) {
	struct heap_head head;
	bool first = false, is_left = false;
	if (!read_head(heap, &head)) {
		log_warning("no heap profile: the test has destroyed what was counted");
		return;
	}
	results->modules = memory_alloc(sizeof(*results->modules));
	for (uint32_t i = 0; i < MIN(head.count, head.most); i++) {
		struct heap_area *area = map_area(heap, i, PROT_READ);
		if (area && area->owner && area->is_left) {
			is_left |= is_first(&head, i);
		} else if (area && area->owner) {
			collect_area(area, &head, i, command, end, results);
			first |= is_first(&head, i);
		}
		unmap_area(area);
	}
	if (!first)
		say_not_counted(command[0], is_left);
	if (head.refused && head.children)
		log_warning("no heap profiles of %" PRIu32 " children: only %" PRIu32
			    " processes are counted in one run",
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

// ---- who was not counted ----

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
		log_warning("no heap profiles of %zu children that did not load our library (static or "
			    "set-user-id programs?): %.*s%s",
			    count, (int)names.size, (const char *)names.data, count > NAMED ? ", ..." : "");
	buffer_free(&names);
}

// ---- while it runs ----

// What the process was started with names the file. It may be anybody's process: what it names must be
// a file of a process, and one whose size nobody can change while we look.
static int open_named(const char *path) {
	enum { NEEDED = F_SEAL_SHRINK | F_SEAL_GROW };
	if (strncmp(path, "/proc/", 6) != 0 || strstr(path, ".."))
		return -ENOENT;
	int heap = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (heap < 0)
		return -errno;
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
	bool counting = area && !area->is_left;
	unmap_area(area);
	return counting;
}

int heap_find(pid_t process, int *heap, uint32_t *area) {
	struct heap_head head;
	*heap = open_of_process(process);
	if (*heap < 0)
		return *heap;
	if (read_head(*heap, &head))
		for (uint32_t i = MIN(head.count, head.most); i-- > 0;) // the newest with this number
			if (head.owners[i].pid == (uint32_t)process && is_counting(*heap, i)) {
				*area = i;
				return 0;
			}
	close(*heap);
	*heap = -1;
	return -ENOENT;
}

int heap_snapshot(int heap, uint32_t index, enum heap_window window, const char *path) {
	struct heap_head head;
	struct heap_area *area = NULL;
	if (!read_head(heap, &head) || index >= MIN(head.count, head.most) ||
	    !(area = map_area(heap, index, PROT_READ | PROT_WRITE)))
		return -ENODATA;
	struct heap_time now = heap_time_now();
	struct heap_modules modules;
	heap_modules_begin(&modules, (pid_t)area->owner);
	struct heap_made *made = heap_make(area, window, &now, &modules);
	made->profile.sample = head.sample;
	int error = dhat_save(path, &made->profile, OUTPUT_REPLACE);
	heap_made_free(made);
	heap_modules_free(&modules);
	unmap_area(area);
	return error;
}

bool heap_live_now(const struct heap_area *area, struct heap_live *live) {
	enum { MANY = 1 << 14 }; // then it would take longer than it is worth
	uint32_t points = MIN(area->point_count, HEAP_MOST_POINTS);
	*live = (struct heap_live){.pid = area->owner,
				   .bytes = __atomic_load_n(&area->bytes, __ATOMIC_RELAXED)};
	for (uint32_t i = 0; i < MIN(points, MANY); i++)
		live->blocks += __atomic_load_n(&area->points[i].blocks, __ATOMIC_RELAXED);
	return live->pid;
}
