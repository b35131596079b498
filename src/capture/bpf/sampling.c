// Perf reports every executable mapping on the machine, and forks, execs and exits, in one ring per
// CPU. A thread takes them in order of time, tracks the address space of each process, and writes
// it to the programs' maps. It examines each file while the process that maps it still exists, and
// has another thread make its unwind table.
#include "capture/bpf/sampling.h"
#include "base/array.h"
#include "base/map.h"
#include "capture/mapped_files.h"
#include "capture/bpf/pythons.h"
#include "capture/bpf/sample.h"
#include "capture/bpf/sample_ticks.h"
#include "capture/bpf/table_maker.h"
#include "capture/perf_ring.h"
#include "capture/tasks.h"
#include "symbol/elf.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct code_file {
	struct elf_object *object; // for its segments; NULL if unusable
	uint64_t base;             // address that pc 0 in its rows stands for
};

struct address_space {
	struct space space;
	uint32_t id;    // its id in the programs' maps
	uint32_t users; // processes: a fork shares its parent's
};

struct change { // a perf record, kept until all rings are read
	uint64_t time;
	uint32_t type;
	uint32_t pid, other; // other: the parent
	bool admitted;
	size_t mapping; // index in `mappings` plus 1; 0 if none
};

struct seen_mapping {
	struct spool_mapping head;
	struct file_number number;
	uint32_t path;   // offset in `texts`
	uint32_t file;   // index in `mapped` plus 1; 0 if none
	uint32_t python; // the interpreter: index in `pythons` plus 1; 0 if it is not
};

struct kept_mapping {
	struct seen_mapping seen;
	char *path;
};

struct sampling {
	struct tracelet *programs;
	ARRAY(struct perf_ring) rings;
	struct sample_ticks ticks;
	ARRAY(struct code_file) files;
	ARRAY(struct change) changes;
	ARRAY(struct seen_mapping) mappings;
	struct buffer texts;
	struct map processes; // pid → struct address_space *
	struct mapped_files mapped;
	struct map by_content; // content of a mapped file → file + 1
	struct pythons pythons;
	bool all;           // all processes are of interest
	struct map members; // if not all: these and their children; may include threads
	uint32_t next_space;
	struct table_maker *maker; // NULL if no tables are needed
	pthread_t thread;
	bool running;
	uint64_t begun;            // start time
	int wake;                  // eventfd that wakes the thread
	struct ring_buffer *looks; // requests from the programs
	bool asked;                // by the programs
	bool ending, settled;      // settled: the first scan is done
	bool over;                 // everything has been handed over
	pthread_mutex_t lock;
	struct buffer collected;         // spool blocks, under the lock
	uint64_t until;                  // all mappings before this time are in; under the lock
	size_t early;                    // looks so far, of the first ones
	bool rare;                       // no stack has been taken yet: no file is looked at
	ARRAY(struct kept_mapping) kept; // meanwhile
};

// ---- files ----

// Table addresses are relative to the file's first one.
static uint64_t base_of(const struct elf_object *object) {
	uint64_t base = UINT64_MAX;
	for (size_t i = 0; i < object->segment_count; i++)
		base = MIN(base, object->segments[i].address);
	return base;
}

// The mapped file; queues its table if the code is new. NO_FILE if there is none.
static uint32_t code_file(struct sampling *sampling, const struct seen_mapping *seen) {
	if (!seen->file)
		return NO_FILE;
	struct mapped_file *mapped = &sampling->mapped.items.items[seen->file - 1];
	struct code_file file = {.object = mapped->object};
	mapped->object = NULL;
	uint64_t *known = map_put(&sampling->by_content, mapped->content);
	uint32_t number = (uint32_t)sampling->files.count;
	bool useful = sampling->maker && number < UNWIND_MOST_FILES && file.object && file.object->eh_frame &&
		      file.object->segment_count;
	if (*known || !useful) {
		elf_close(file.object);
		*known = *known ? *known : NO_FILE + 1;
		return (uint32_t)*known - 1;
	}
	*known = number + 1u;
	file.base = base_of(file.object);
	array_push(&sampling->files, file);
	table_maker_add(sampling->maker, number, file.object, file.base);
	return number;
}

// ---- address spaces ----

static struct address_space *space_of(struct sampling *sampling, uint32_t pid) {
	uint64_t *slot = map_get(&sampling->processes, pid);
	return slot ? (struct address_space *)(uintptr_t)*slot : NULL;
}

static void leave_space(struct sampling *sampling, uint32_t pid) {
	struct address_space *space = space_of(sampling, pid);
	if (!space)
		return;
	map_delete(&sampling->processes, pid);
	if (--space->users)
		return;
	bpf_map_delete_elem(bpf_map__fd(sampling->programs->maps.spaces), &space->id);
	free(space);
}

static void enter_space(struct sampling *sampling, uint32_t pid, struct address_space *space) {
	space->users++;
	leave_space(sampling, pid);
	*map_put(&sampling->processes, pid) = (uintptr_t)space;
}

// An address space of the process's own: it is about to change.
static struct address_space *own_space(struct sampling *sampling, uint32_t pid) {
	struct address_space *space = space_of(sampling, pid);
	if (space && space->users == 1)
		return space;
	struct address_space *own = memory_alloc(sizeof(*own));
	if (space)
		own->space = space->space;
	own->id = ++sampling->next_space;
	enter_space(sampling, pid, own);
	return own;
}

static void publish_space(struct sampling *sampling, uint32_t pid, const struct address_space *space) {
	bpf_map_update_elem(bpf_map__fd(sampling->programs->maps.spaces), &space->id, &space->space, BPF_ANY);
	bpf_map_update_elem(bpf_map__fd(sampling->programs->maps.space_ids), &pid, &space->id, BPF_ANY);
}

// Inserts a mapping and removes whatever it covers.
static void insert_mapping(struct space *space, struct mapping mapping) {
	uint32_t kept = 0, at = 0;
	for (uint32_t i = 0; i < space->count; i++)
		if (space->mappings[i].end <= mapping.start || space->mappings[i].start >= mapping.end)
			space->mappings[kept++] = space->mappings[i];
	space->count = kept;
	if (kept == SPACE_MOST_MAPPINGS)
		return;
	while (at < kept && space->mappings[at].start < mapping.start)
		at++;
	memmove(&space->mappings[at + 1], &space->mappings[at], (kept - at) * sizeof(mapping));
	space->mappings[at] = mapping;
	space->count++;
}

// `more`: others of the same process follow immediately.
static void apply_mapping(struct sampling *sampling, const struct seen_mapping *seen, bool more) {
	const struct spool_mapping *head = &seen->head;
	uint32_t file = code_file(sampling, seen);
	struct code_file *code = &sampling->files.items[file];
	uint64_t address = code->base;
	if (code->object && !elf_mapping_address(code->object, head->offset, &address)) {
		file = NO_FILE;
		address = code->base;
	}
	struct address_space *space = own_space(sampling, head->pid);
	insert_mapping(&space->space, (struct mapping){.start = head->start,
						       .end = head->start + head->size,
						       .bias = head->start - (address - code->base),
						       .file = file});
	if (!more)
		publish_space(sampling, head->pid, space);
}

static void apply(struct sampling *sampling, const struct change *change, bool more) {
	struct address_space *space;
	switch (change->type) {
	case PERF_RECORD_MMAP2:
		apply_mapping(sampling, &sampling->mappings.items[change->mapping - 1], more);
		break;
	case PERF_RECORD_FORK:
		space = change->pid == change->other ? NULL : space_of(sampling, change->other);
		if (!space)
			break;
		enter_space(sampling, change->pid, space);
		bpf_map_update_elem(bpf_map__fd(sampling->programs->maps.space_ids), &change->pid, &space->id,
				    BPF_ANY); // sample_newtask() did the same, if it knew the parent
		break;
	case PERF_RECORD_COMM: // an exec
	case PERF_RECORD_EXIT:
		bpf_map_delete_elem(bpf_map__fd(sampling->programs->maps.space_ids), &change->pid);
		leave_space(sampling, change->pid);
		break;
	}
}

// ---- perf's records ----

static void take_mapping(struct sampling *sampling, struct cursor *in, struct change *change) {
	enum { PROTECTION_EXECUTE = 4 };
	struct seen_mapping seen = {.head = {.pid = cursor_u32(in), .time = change->time}};
	cursor_u32(in); // tid
	seen.head.start = cursor_u64(in);
	seen.head.size = cursor_u64(in);
	seen.head.offset = cursor_u64(in);
	uint32_t major = cursor_u32(in), minor = cursor_u32(in);
	seen.number = (struct file_number){makedev(major, minor), cursor_u64(in)};
	cursor_u64(in); // the inode's generation
	uint32_t protection = cursor_u32(in);
	cursor_u32(in); // flags
	const char *path = cursor_string(in);
	if (in->failed || !(protection & PROTECTION_EXECUTE))
		return;
	seen.path = (uint32_t)sampling->texts.size;
	buffer_append(&sampling->texts, path, strlen(path) + 1);
	change->pid = seen.head.pid;
	array_push(&sampling->mappings, seen);
	change->mapping = sampling->mappings.count;
	array_push(&sampling->changes, *change);
}

// The reader treats an exec as a mapping of nothing: the kernel's own event comes only after the
// program has been mapped.
static void note_exec(struct sampling *sampling, struct change *change) {
	array_push(&sampling->mappings,
		   (struct seen_mapping){.head = {.time = change->time, .pid = change->pid},
					 .path = (uint32_t)sampling->texts.size});
	buffer_append(&sampling->texts, "", 1);
	change->mapping = sampling->mappings.count;
}

static void take(void *context, const struct perf_event_header *header, struct cursor in) {
	enum { SAMPLE_ID_SIZE = 24 }; // pid, tid, time, cpu, reserved
	struct sampling *sampling = context;
	if (cursor_left(&in) < SAMPLE_ID_SIZE)
		return;
	struct cursor tail = cursor_of(in.end - 16, 16);
	struct change change = {.type = header->type, .time = cursor_u64(&tail)};
	if (header->type == PERF_RECORD_MMAP2) {
		take_mapping(sampling, &in, &change);
		return;
	}
	change.pid = cursor_u32(&in);
	uint32_t second = cursor_u32(&in), tid = cursor_u32(&in);
	change.other = second;
	bool wanted = header->type == PERF_RECORD_FORK ||
		      (header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC)) ||
		      (header->type == PERF_RECORD_EXIT && change.pid == tid);
	if (wanted && header->type == PERF_RECORD_COMM)
		note_exec(sampling, &change);
	if (wanted)
		array_push(&sampling->changes, change);
}

static int by_time(const void *a, const void *b) {
	const struct change *left = a, *right = b;
	return (left->time > right->time) - (left->time < right->time);
}

static bool is_member(struct sampling *sampling, uint32_t pid) {
	return sampling->all || map_get(&sampling->members, pid);
}

// Perf reports all processes: does this change matter to us?
static bool admit(struct sampling *sampling, const struct change *change) {
	bool fork = change->type == PERF_RECORD_FORK && !sampling->all;
	bool wanted = is_member(sampling, fork ? change->other : change->pid);
	if (change->type == PERF_RECORD_EXIT)
		map_delete(&sampling->members, change->pid);
	if (!fork)
		return wanted;
	if (wanted)
		*map_put(&sampling->members, change->pid) = 1;
	return wanted;
}

// Also while no stack has been taken: the first one shall have Python's functions, too.
static void look_for_python(struct sampling *sampling, const struct change *change) {
	if (!change->admitted || change->type != PERF_RECORD_MMAP2)
		return;
	struct seen_mapping *seen = &sampling->mappings.items[change->mapping - 1];
	seen->python = pythons_look(&sampling->pythons, &sampling->mapped.reader, &seen->head, seen->number,
				    (const char *)sampling->texts.data + seen->path);
}

// As early as possible: once its process has ended, a file may be impossible to find.
static void look_at_file(struct sampling *sampling, const struct change *change) {
	if (!change->admitted || change->type != PERF_RECORD_MMAP2)
		return;
	struct seen_mapping *seen = &sampling->mappings.items[change->mapping - 1];
	seen->file = mapped_files_look(&sampling->mapped, &seen->head, seen->number,
				       (const char *)sampling->texts.data + seen->path);
}

// A child has its parent's interpreter: sample_newtask().
static void apply_python(struct sampling *sampling, const struct change *change) {
	const struct seen_mapping *seen = change->type == PERF_RECORD_MMAP2
						  ? &sampling->mappings.items[change->mapping - 1]
						  : NULL;
	if (seen && seen->python)
		pythons_begin(&sampling->pythons, sampling->programs, seen->python, &seen->head);
	else if (sampling->pythons.files.count &&
		 (change->type == PERF_RECORD_COMM || change->type == PERF_RECORD_EXIT))
		pythons_end(sampling->programs, change->pid);
}

static void hand_over(struct sampling *sampling, size_t count, uint64_t until) {
	pthread_mutex_lock(&sampling->lock);
	sampling->until = until;
	for (size_t i = 0; i < count; i++) {
		const struct change *change = &sampling->changes.items[i];
		if (!change->admitted || !change->mapping)
			continue;
		const struct seen_mapping *seen = &sampling->mappings.items[change->mapping - 1];
		const char *path = (const char *)sampling->texts.data + seen->path;
		uint32_t size = (uint32_t)(sizeof(seen->head) + strlen(path) + 1);
		buffer_append(&sampling->collected, &size, sizeof(size));
		buffer_append(&sampling->collected, &seen->head, sizeof(seen->head));
		buffer_append(&sampling->collected, path, strlen(path) + 1);
	}
	pthread_mutex_unlock(&sampling->lock);
}

// ---- processes that already exist ----

struct looking {
	struct sampling *sampling;
	pid_t pid;
	uint64_t time; // earlier than any record from perf
};

static void take_known_mapping(void *context, const struct task_mapping *mapping) {
	struct looking *looking = context;
	struct sampling *sampling = looking->sampling;
	struct seen_mapping seen = {.head = {.time = looking->time,
					     .pid = (uint32_t)looking->pid,
					     .start = mapping->start,
					     .size = mapping->size,
					     .offset = mapping->offset},
				    .number = {mapping->device, mapping->inode},
				    .path = (uint32_t)sampling->texts.size};
	buffer_append(&sampling->texts, mapping->path, strlen(mapping->path) + 1);
	array_push(&sampling->mappings, seen);
	array_push(&sampling->changes, (struct change){.type = PERF_RECORD_MMAP2,
						       .time = looking->time,
						       .pid = seen.head.pid,
						       .mapping = sampling->mappings.count});
}

// Until it execs, the test is a copy of us.
static bool is_like_us(pid_t pid) {
	char path[64], theirs[4096], ours[4096];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t size = readlink(path, theirs, sizeof(theirs));
	return size > 0 && readlink("/proc/self/exe", ours, sizeof(ours)) == size &&
	       memcmp(ours, theirs, (size_t)size) == 0;
}

static bool is_wanted(struct sampling *sampling, pid_t pid) {
	return sampling->all || (is_member(sampling, (uint32_t)pid) && !is_like_us(pid));
}

static void take_process(void *context, pid_t pid) {
	struct looking *looking = context;
	looking->pid = pid;
	if (is_wanted(looking->sampling, pid))
		task_mappings(pid, take_known_mapping, looking);
}

static void look_around(struct sampling *sampling, uint64_t time) {
	struct looking looking = {.sampling = sampling, .time = time};
	task_all(take_process, &looking);
}

// ---- while no stack has been taken ----

// Looking at a file takes a process that reads it. As long as no stack needs that, the mappings of live
// processes are kept. (Those that a child has from its parent are not: it does without build ids.)
static void keep_mapping(struct sampling *sampling, const struct change *change) {
	bool ends = change->type == PERF_RECORD_COMM || change->type == PERF_RECORD_EXIT;
	size_t left = 0;
	for (size_t i = 0; ends && i < sampling->kept.count; i++)
		if (sampling->kept.items[i].seen.head.pid == change->pid)
			free(sampling->kept.items[i].path);
		else
			sampling->kept.items[left++] = sampling->kept.items[i];
	if (ends)
		sampling->kept.count = left;
	if (!change->admitted || change->type != PERF_RECORD_MMAP2)
		return;
	const struct seen_mapping *seen = &sampling->mappings.items[change->mapping - 1];
	const char *path = (const char *)sampling->texts.data + seen->path;
	array_push(&sampling->kept, (struct kept_mapping){.seen = *seen, .path = memory_string(path)});
}

// The first stack: takes the kept mappings once more, now with their files. Up to now mappings were complete,
// so these get later times.
static void look_at_kept(struct sampling *sampling) {
	pthread_mutex_lock(&sampling->lock);
	uint64_t time = sampling->until;
	pthread_mutex_unlock(&sampling->lock);
	for (size_t i = 0; i < sampling->kept.count; i++) {
		struct kept_mapping *kept = &sampling->kept.items[i];
		kept->seen.head.time = MAX(kept->seen.head.time, ++time);
		kept->seen.path = (uint32_t)sampling->texts.size;
		buffer_append(&sampling->texts, kept->path, strlen(kept->path) + 1);
		array_push(&sampling->mappings, kept->seen);
		array_push(&sampling->changes, (struct change){.type = PERF_RECORD_MMAP2,
							       .time = kept->seen.head.time,
							       .pid = kept->seen.head.pid,
							       .mapping = sampling->mappings.count});
		free(kept->path);
	}
	array_free(&sampling->kept);
	sampling->rare = false;
}

// ---- the thread ----
static bool is_next_mapping(const struct change *change) {
	const struct change *next = change + 1;
	return next->admitted && next->type == PERF_RECORD_MMAP2 && next->pid == change->pid;
}

// Changes later than our first look at the clock have to wait: a ring that was read before may hold
// an earlier one by now. True if any are waiting.
static bool take_changes(struct sampling *sampling) {
	uint64_t until = clock_boot_now();
	for (size_t i = 0; i < sampling->rings.count; i++)
		perf_ring_drain(&sampling->rings.items[i], take, sampling);
	struct change *changes = sampling->changes.items;
	size_t count = sampling->changes.count, ready = 0;
	if (count)
		qsort(changes, count, sizeof(*changes), by_time);
	for (; ready < count && changes[ready].time < until; ready++) {
		changes[ready].admitted = admit(sampling, &changes[ready]);
		if (sampling->rare)
			keep_mapping(sampling, &changes[ready]);
		else
			look_at_file(sampling, &changes[ready]);
		look_for_python(sampling, &changes[ready]);
	}
	hand_over(sampling, ready, until);
	for (size_t i = 0; i < ready; i++)
		if (changes[i].admitted)
			apply_python(sampling, &changes[i]);
	for (size_t i = 0; i < ready; i++)
		if (changes[i].admitted && sampling->maker)
			apply(sampling, &changes[i], i + 1 < ready && is_next_mapping(&changes[i]));
		else if (changes[i].admitted && changes[i].mapping && !sampling->rare)
			code_file(sampling, &sampling->mappings.items[changes[i].mapping - 1]);
	sampling->changes.count = count - ready;
	if (count > ready)
		memmove(changes, changes + ready, (count - ready) * sizeof(*changes));
	else
		sampling->mappings.count = sampling->texts.size = 0;
	return count > ready;
}

static void take_all_changes(struct sampling *sampling) {
	while (take_changes(sampling))
		;
}

// Until the programs know a new process, its stacks have to be copied. So this must happen at once,
// even on a busy machine; it takes microseconds.
static void be_quick(void) {
	sched_setscheduler(0, SCHED_RR, &(struct sched_param){.sched_priority = 1});
}

static int take_look(void *context, void *data, size_t size) {
	struct sampling *sampling = context;
	sampling->asked = true;
	if (sampling->rare)
		look_at_kept(sampling);
	return 0;
}

// When to look again. A new program maps its libraries within milliseconds. While no stack has been taken,
// the test's own program is enough: it may be Python.
static struct timespec *again(struct sampling *sampling, struct timespec *time) {
	enum { FIRST_NS = 200000, LAST_NS = 1500000 };
	static const long early[] = {4000000, 8000000, 16000000};
	long before = time->tv_nsec;
	if (sampling->rare && sampling->early < ARRAY_SIZE(early)) {
		*time = (struct timespec){.tv_nsec = early[sampling->early++]};
		return time;
	}
	*time = (struct timespec){.tv_nsec = sampling->asked ? FIRST_NS : before + before / 2};
	sampling->asked = false;
	if (time->tv_nsec > LAST_NS)
		time->tv_nsec = 0;
	return time->tv_nsec ? time : NULL;
}

static void *watch(void *context) {
	struct sampling *sampling = context;
	size_t rings = sampling->rings.count, count = rings + 2;
	struct pollfd *waiting = memory_alloc(count * sizeof(*waiting));
	for (size_t i = 0; i < rings; i++)
		waiting[i] = (struct pollfd){.fd = sampling->rings.items[i].fd, .events = POLLIN};
	struct pollfd *wake = &waiting[rings], *look = &waiting[rings + 1];
	*wake = (struct pollfd){.fd = sampling->wake, .events = POLLIN};
	*look = (struct pollfd){.fd = ring_buffer__epoll_fd(sampling->looks), .events = POLLIN};
	look_around(sampling, sampling->begun);
	take_all_changes(sampling);
	__atomic_store_n(&sampling->settled, true, __ATOMIC_RELEASE);
	be_quick();
	struct timespec time = {0};
	while (!__atomic_load_n(&sampling->ending, __ATOMIC_ACQUIRE)) {
		uint64_t asked;
		ppoll(waiting, count, again(sampling, &time), NULL);
		if (wake->revents && read(sampling->wake, &asked, sizeof(asked)) < 0)
			break;
		if (look->revents)
			ring_buffer__consume(sampling->looks);
		take_all_changes(sampling);
	}
	ring_buffer__consume(sampling->looks);
	take_all_changes(sampling); // mapped while the changes before were being taken
	free(waiting);
	return NULL;
}

// ---- starting and stopping ----

static bool ask_thread(struct sampling *sampling) {
	return write(sampling->wake, &(uint64_t){1}, sizeof(uint64_t)) == sizeof(uint64_t);
}

// Without build ids: mapped_files.h says why.
static int open_rings(struct sampling *sampling) {
	enum { RING_SIZE = 512 * 1024 };
	struct perf_event_attr attribute = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = RING_SIZE / 4,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
	};
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		struct perf_ring ring;
		int error = perf_ring_open(&ring, attribute, -1, (uint32_t)cpu, RING_SIZE);
		if (error && error != -ENODEV) // an offline CPU
			return error;
		if (!error)
			array_push(&sampling->rings, ring);
	}
	return 0;
}

struct sample_delivery sampling_delivery(const struct sampling *sampling) {
	return sampling ? sampling->ticks.delivery : (struct sample_delivery){0};
}

int sampling_start(struct sampling **result, struct tracelet *programs,
		   const struct sampling_options *options) {
	struct sampling *sampling = memory_alloc(sizeof(*sampling));
	sampling->programs = programs;
	sampling->wake = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&sampling->lock, NULL);
	array_push(&sampling->files, (struct code_file){0}); // NO_FILE
	int error = options->by_tables ? table_maker_start(&sampling->maker, programs) : 0;
	sampling->begun = clock_boot_now();
	sampling->all = options->all;
	sampling->rare = options->rare;
	for (size_t i = 0; i < options->process_count; i++)
		*map_put(&sampling->members, (uint32_t)options->processes[i]) = 1;
	if (!error)
		error = open_rings(sampling);
	sampling->looks = ring_buffer__new(bpf_map__fd(programs->maps.looks), take_look, sampling, NULL);
	if (!error && !sampling->looks)
		error = -errno;
	if (!error && pthread_create(&sampling->thread, NULL, watch, sampling) == 0)
		sampling->running = true;
	if (!error && options->frequency)
		error = sample_ticks_begin(&sampling->ticks, programs, options);
	if (error) {
		sampling_free(sampling);
		return error;
	}
	*result = sampling;
	return 0;
}

bool sampling_is_settled(struct sampling *sampling) {
	return __atomic_load_n(&sampling->settled, __ATOMIC_ACQUIRE) &&
	       (!sampling->maker || table_maker_is_idle(sampling->maker));
}

uint64_t sampling_collect(struct sampling *sampling, struct spool *spool, uint64_t now) {
	if (!sampling || sampling->over)
		return now;
	pthread_mutex_lock(&sampling->lock);
	struct cursor in = cursor_of(sampling->collected.data, sampling->collected.size);
	while (cursor_left(&in)) {
		uint32_t size = cursor_u32(&in);
		const uint8_t *block = cursor_take(&in, size);
		if (block)
			spool_append(spool, SPOOL_MAPPING, block, size);
	}
	sampling->collected.size = 0;
	uint64_t until = MIN(sampling->until, now);
	pthread_mutex_unlock(&sampling->lock);
	ask_thread(sampling); // for the next call
	return until;
}

void sampling_stop(struct sampling *sampling, struct spool *spool) {
	if (!sampling || sampling->over)
		return;
	sample_ticks_end(&sampling->ticks, sampling->programs);
	if (sampling->maker)
		table_maker_end(sampling->maker);
	__atomic_store_n(&sampling->ending, true, __ATOMIC_RELEASE);
	if (sampling->running && ask_thread(sampling))
		pthread_join(sampling->thread, NULL);
	if (spool)
		sampling_collect(sampling, spool, UINT64_MAX);
	sampling->over = true;
}

void sampling_free(struct sampling *sampling) {
	if (!sampling)
		return;
	sampling_stop(sampling, NULL);
	table_maker_stop(sampling->maker);
	for (size_t i = 0; i < sampling->rings.count; i++)
		perf_ring_close(&sampling->rings.items[i]);
	for (size_t i = 0; i < sampling->files.count; i++)
		elf_close(sampling->files.items[i].object);
	for (size_t i = 0; i < sampling->processes.capacity; i++)
		if (sampling->processes.slots[i].used) {
			struct address_space *space = (void *)(uintptr_t)sampling->processes.slots[i].value;
			if (--space->users == 0)
				free(space);
		}
	close(sampling->wake);
	ring_buffer__free(sampling->looks);
	map_free(&sampling->processes);
	map_free(&sampling->by_content);
	mapped_files_free(&sampling->mapped);
	pythons_free(&sampling->pythons);
	map_free(&sampling->members);
	array_free(&sampling->rings);
	array_free(&sampling->files);
	array_free(&sampling->changes);
	array_free(&sampling->mappings);
	for (size_t i = 0; i < sampling->kept.count; i++)
		free(sampling->kept.items[i].path);
	array_free(&sampling->kept);
	buffer_free(&sampling->texts);
	buffer_free(&sampling->collected);
	pthread_mutex_destroy(&sampling->lock);
	free(sampling);
}
