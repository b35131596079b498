#include "capture/bpf/heap.h"

#include "base/array.h"
#include "base/log.h"
#include "capture/bpf/loader.h"
#include "capture/bpf/sampling.h"
#include "capture/kernel_version.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct heap_probes {
	struct tracelet *programs;
	struct sampling *sampling;
	struct ring_buffer *ring;
	ARRAY(struct bpf_link *) links;
	ARRAY(int) multi_links; // each covers several functions
	bool multi;
	pid_t process;
	void (*take)(void *context, const void *record, size_t size); // while draining
	void *context;
};

void programs_without_heap(struct tracelet *programs) {
	struct bpf_program *of_heap[] = {programs->progs.heap_enter, programs->progs.heap_leave,
					 programs->progs.heap_release, programs->progs.heap_exec};
	struct bpf_map *maps[] = {programs->maps.heap_calls, programs->maps.heap_stacks,
				  programs->maps.heap_ring, programs->maps.heap_counts};
	for (size_t i = 0; i < ARRAY_SIZE(of_heap); i++)
		bpf_program__set_autoload(of_heap[i], false);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		bpf_map__set_autocreate(maps[i], false);
}

// ---- opening ----

static int explain(int error, const char *what, char *why) {
	if (error == -EPERM || error == -EACCES)
		snprintf(why, HEAP_WHY_SIZE,
			 "%s is not permitted (run as root, or give CAP_BPF and CAP_PERFMON)", what);
	else
		snprintf(why, HEAP_WHY_SIZE, "%s failed: %s ('tracelet doctor' shows what works here)", what,
			 strerror(-error));
	return error;
}

static int print_nothing(enum libbpf_print_level level, const char *format, va_list arguments) {
	char line[1024];
	if (level == LIBBPF_DEBUG || log_get_level() < LOG_VERBOSE)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = 0;
	log_verbose("%s", line);
	return 0;
}

// One link for all functions of a file, since 6.6 (correct for a single process only since 6.10):
// it detaches them all at once, where each would take 75 ms by itself. Debian 12's headers lack it.
enum { TRACE_UPROBE_MULTI = 48, MULTI_RETURN = 1 };

struct multi_attribute {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, multi_flags, process;
	uint32_t unused;
};

// Loads only those programs of the object that the heap needs.
static int load(struct heap_probes *watch, size_t ring_size) {
	enum { WALKS = 6 }; // two for samples, four for the heap
	struct tracelet *programs = watch->programs = programs_open();
	if (!programs)
		return -errno;
	struct bpf_program *program;
	bpf_object__for_each_program(program, programs->obj) {
		bool wanted = strncmp(bpf_program__name(program), "heap_", 5) == 0;
		bpf_program__set_autoload(program, wanted);
		if (wanted && watch->multi && program != programs->progs.heap_exec)
			bpf_program__set_expected_attach_type(program,
							      (enum bpf_attach_type)TRACE_UPROBE_MULTI);
	}
	struct bpf_map *unused[] = {
		programs->maps.task_slots, programs->maps.slots,      programs->maps.lanes,
		programs->maps.rings,      programs->maps.cpu_states, programs->maps.queues,
		programs->maps.waits,      programs->maps.nudge_0,    programs->maps.nudge_1,
		programs->maps.nudge_2,    programs->maps.nudge_3};
	for (size_t i = 0; i < ARRAY_SIZE(unused); i++)
		bpf_map__set_autocreate(unused[i], false);
	programs->rodata->heap_process = (uint32_t)watch->process;
	bpf_map__set_max_entries(programs->maps.walks, WALKS);
	bpf_map__set_max_entries(programs->maps.memories, WALKS);
	bpf_map__set_max_entries(programs->maps.heap_ring, (uint32_t)ring_size);
	return programs_load(programs);
}

static int load_either_way(struct heap_probes *watch, size_t ring_size) {
	watch->multi = kernel_at_least(6, 10);
	int error = load(watch, ring_size);
	if (error && programs_load_otherwise(error)) {
		tracelet__destroy(watch->programs);
		error = load(watch, ring_size);
	}
	return error;
}

int heap_probes_check(char *why) {
	libbpf_set_print(print_nothing);
	if (access("/sys/bus/event_source/devices/uprobe/type", F_OK) && errno == ENOENT) {
		snprintf(why, HEAP_WHY_SIZE, "this kernel has no uprobes");
		return -ENOTSUP;
	}
	struct heap_probes watch = {0};
	int error = load_either_way(&watch, (size_t)sysconf(_SC_PAGESIZE));
	tracelet__destroy(watch.programs);
	return error ? explain(error, "loading BPF programs", why) : 0;
}

static int take_record(void *context, void *data, size_t size) {
	struct heap_probes *watch = context;
	watch->take(watch->context, data, size);
	return 0;
}

// Makes the tables for all code before the first stack is walked.
static int learn_code(struct heap_probes *watch) {
	enum { PATIENCE = 20000 }; // milliseconds; a browser takes one second
	struct sampling_options options = {
		.by_tables = true, .processes = &watch->process, .process_count = 1};
	int error = sampling_start(&watch->sampling, watch->programs, &options);
	for (int i = 0; !error && i < PATIENCE && !sampling_is_settled(watch->sampling); i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return error;
}

int heap_probes_open(struct heap_probes **result, pid_t process, size_t ring_size, char *why) {
	libbpf_set_print(print_nothing);
	struct heap_probes *watch = memory_alloc(sizeof(*watch));
	watch->process = process;
	int error = load_either_way(watch, ring_size);
	if (!error) {
		watch->ring = ring_buffer__new(bpf_map__fd(watch->programs->maps.heap_ring), take_record,
					       watch, NULL);
		error = watch->ring ? learn_code(watch) : -errno;
	}
	if (error) {
		heap_probes_close(watch);
		return explain(error, "loading BPF programs", why);
	}
	*result = watch;
	return 0;
}

// ---- watching ----

static int attach(struct heap_probes *watch, struct bpf_program *program, const struct heap_place *place,
		  bool at_return) {
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = place->function, .retprobe = at_return);
	struct bpf_link *link = bpf_program__attach_uprobe_opts(program, watch->process, place->path,
								place->offset, &options);
	if (!link)
		return -errno;
	array_push(&watch->links, link);
	return 0;
}

enum part { FREES, RETURNS, BEGINNINGS }; // what to attach, in this order

static bool is_of(const struct heap_place *place, enum part part) {
	return (place->function == HEAP_CALL_FREE) == (part == FREES);
}

static struct bpf_program *program_of(const struct heap_probes *watch, enum part part) {
	struct bpf_program *programs[] = {[FREES] = watch->programs->progs.heap_release,
					  [RETURNS] = watch->programs->progs.heap_leave,
					  [BEGINNINGS] = watch->programs->progs.heap_enter};
	return programs[part];
}

// Attaches to all places in the first one's file.
static int attach_file(struct heap_probes *watch, enum part part, const struct heap_place *places,
		       size_t count) {
	ARRAY(uint64_t) offsets = {0};
	ARRAY(uint64_t) cookies = {0};
	for (size_t i = 0; i < count; i++)
		if (places[i].path == places->path && is_of(&places[i], part)) {
			array_push(&offsets, places[i].offset);
			array_push(&cookies, places[i].function);
		}
	struct multi_attribute attribute = {
		.program = (uint32_t)bpf_program__fd(program_of(watch, part)),
		.type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)places->path,
		.offsets = (uintptr_t)offsets.items,
		.cookies = (uintptr_t)cookies.items,
		.count = (uint32_t)offsets.count,
		.multi_flags = part == RETURNS ? MULTI_RETURN : 0,
		.process = (uint32_t)watch->process,
	};
	int fd = offsets.count ? (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attribute, sizeof(attribute)) : -1;
	int error = offsets.count && fd < 0 ? -errno : 0;
	if (fd >= 0)
		array_push(&watch->multi_links, fd);
	array_free(&offsets);
	array_free(&cookies);
	return error;
}

static int attach_part(struct heap_probes *watch, enum part part, const struct heap_place *places,
		       size_t count) {
	int error = 0;
	for (size_t i = 0; i < count && !error; i++) {
		bool first = true;
		for (size_t k = 0; k < i; k++)
			first &= places[k].path != places[i].path;
		if (!watch->multi && is_of(&places[i], part))
			error = attach(watch, program_of(watch, part), &places[i], part == RETURNS);
		else if (watch->multi && first)
			error = attach_file(watch, part, &places[i], count - i);
	}
	return error;
}

// What frees is attached first: so the free of every recorded block is seen.
int heap_probes_begin(struct heap_probes *watch, const struct heap_place *places, size_t count, char *why) {
	struct bpf_link *execs = bpf_program__attach(watch->programs->progs.heap_exec);
	int error = execs ? 0 : -errno;
	if (execs)
		array_push(&watch->links, execs);
	for (enum part part = FREES; part <= BEGINNINGS && !error; part++)
		error = attach_part(watch, part, places, count);
	if (!error)
		return 0;
	heap_probes_end(watch);
	return explain(error, "attaching to the allocator's functions", why);
}

void heap_probes_drain(struct heap_probes *watch,
		       void (*take)(void *context, const void *record, size_t size), void *context) {
	watch->take = take;
	watch->context = context;
	ring_buffer__consume(watch->ring);
}

// The kernel makes us wait for each detach until no thread is inside: do them all at once.
static void *detach(void *context) {
	bpf_link__destroy(context);
	return NULL;
}

void heap_probes_end(struct heap_probes *watch) {
	enum { MOST = 64 };
	pthread_t threads[MOST];
	size_t started = 0;
	while (watch->multi_links.count)
		close(watch->multi_links.items[--watch->multi_links.count]);
	for (size_t i = 0; i < watch->links.count; i++) {
		struct bpf_link *link = watch->links.items[watch->links.count - 1 - i];
		if (started < MOST && pthread_create(&threads[started], NULL, detach, link) == 0)
			started++;
		else
			detach(link);
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	watch->links.count = 0;
}

struct heap_counts heap_probes_counts(const struct heap_probes *watch) {
	struct heap_counts counts = {0};
	uint32_t zero = 0;
	bpf_map_lookup_elem(bpf_map__fd(watch->programs->maps.heap_counts), &zero, &counts);
	return counts;
}

void heap_probes_close(struct heap_probes *watch) {
	if (!watch)
		return;
	heap_probes_end(watch);
	array_free(&watch->links);
	array_free(&watch->multi_links);
	sampling_free(watch->sampling);
	ring_buffer__free(watch->ring);
	tracelet__destroy(watch->programs);
	free(watch);
}
