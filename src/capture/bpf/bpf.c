// Loads the BPF programs, marks the test as a session's, and moves batches from
// the session's ring to the spool.
//
// One object holds all programs; those that were not asked for are not loaded
// (loader.c). Everything is held by file descriptors: when this process
// ends, however it ends, nothing stays attached.
#include "base/log.h"
#include "capture/bpf/copies.h"
#include "capture/bpf/counting.h"
#include "capture/bpf/event_stacks.h"
#include "capture/bpf/heap.h"
#include "capture/bpf/lane.h"
#include "capture/bpf/loader.h"
#include "capture/bpf/points.h"
#include "capture/bpf/sample_event.h"
#include "capture/bpf/sample_ticks.h"
#include "capture/bpf/sampling.h"
#include "capture/bpf/statistics.h"
#include "capture/bpf/symbol_names.h"
#include "capture/capture.h"
#include "capture/kernel_version.h"
#include "capture/tasks.h"
#include "event/event.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct capture {
	struct tracelet *programs;
	struct ring_buffer *ring;
	struct spool *spool; // while draining
	struct slot *slot;
	struct lane *lanes;
	size_t slot_bytes, lane_bytes;
	uint32_t cpu_count;
	int ring_fd, rings_fd;
	uint32_t ring_bytes;
	pthread_t ring_maker;
	bool making_ring, ring_made;
	int ring_error;
	bool sampled;              // there are stacks to be walked
	bool all;                  // of every process
	pid_array followed;        // else of these, and of all they start
	bool by_tables;            // by tables, which have to be made
	unsigned sample_frequency; // 0: not by time
	bool sample_cycles;        // by the CPU's cycles, else by its clock
	struct sample_event overflow;
	bool by_overflow;   // of that
	bool described;     // in the spool: what the samples are of
	bool names_refused; // by the kernel: the program that names its addresses
	struct sampling *sampling;
	struct point_links points;
	struct cpu_counters *counters; // NULL: none
	struct statistics statistics;
	struct capture_crashes crashes;
	struct copies copies;
};

enum { MOST_CRASHES = 16 };
enum { SLOT = 1 }; // one run is one session

// ---- libbpf's own words: kept, and shown with --verbose or when loading fails ----

// The first program that the kernel has refused; libbpf says it nowhere else.
static char refused[64];

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments) {
	if (level == LIBBPF_DEBUG)
		return 0;
	char line[1024];
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = 0;
	const char *name = strstr(line, "prog '");
	if (!*refused && name && strstr(line, "failed"))
		sscanf(name, "prog '%63[^']", refused);
	log_verbose("%s", line);
	return 0;
}

// ---- opening ----

// The source each program serves; programs not listed are always there.
static const struct {
	const char *program;
	int source;
} program_sources[] = {
	{"on_switch", RECORD_SOURCE_SCHED},
	{"on_waking", RECORD_SOURCE_SCHED},
	{"sample_newtask", RECORD_SOURCE_SAMPLE},
	{"sample_exec", RECORD_SOURCE_SAMPLE},
};

// Wakeups tell whether an interrupt has made them: these see that, also if nobody wants interrupts.
static const char *const irq_programs[] = {"on_irq_entry",    "on_irq_exit",    "on_softirq_entry",
					   "on_softirq_exit", "on_timer_entry", "on_timer_exit"};

// Read between two readings of the other clock, which keeps the error below a microsecond.
static uint64_t boot_offset(void) {
	uint64_t best = UINT64_MAX, offset = 0;
	for (int try = 0; try < 5; try++) {
		uint64_t before = clock_monotonic_now(), boot = clock_boot_now(),
			 after = clock_monotonic_now();
		if (after - before < best) {
			best = after - before;
			offset = boot - (before + best / 2);
		}
	}
	return offset;
}

// Where the kernel puts an entry into the auxiliary vector: for us as for everybody.
static uint32_t auxiliary_index(uint64_t key) {
	uint64_t entries[2 * 64] = {0};
	int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, entries, sizeof(entries));
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; size > 0 && i < (size_t)size / 16; i++)
		if (entries[2 * i] == key)
			return i;
	return 0;
}

// Is the program that names the kernel's addresses of use, and does this kernel take it?
static bool names_wanted(const struct capture *capture, const struct capture_options *options) {
	return !capture->names_refused &&
	       (options->sources[RECORD_SOURCE_SAMPLE] || options->sources[RECORD_SOURCE_TIMER] ||
		options->sources[RECORD_SOURCE_WORK] || options->sources[RECORD_SOURCE_IPI]);
}

// A kernel that does not take this program, for tests: it knows no such flag.
static void spoil(struct tracelet *programs) {
	const char *name = getenv("TRACELET_REFUSED");
	struct bpf_program *program = name ? bpf_object__find_program_by_name(programs->obj, name) : NULL;
	if (program)
		bpf_program__set_flags(program, 1u << 31);
}

static int load_once(struct capture *capture, const struct capture_options *options, bool switch_has_state) {
	capture->programs = programs_open();
	if (!capture->programs)
		return -errno;
	struct tracelet *programs = capture->programs;
	for (size_t i = 0; i < ARRAY_SIZE(program_sources); i++)
		if (!options->sources[program_sources[i].source])
			bpf_program__set_autoload(
				bpf_object__find_program_by_name(programs->obj, program_sources[i].program),
				false);
	bool irq = options->sources[RECORD_SOURCE_IRQ], sched = options->sources[RECORD_SOURCE_SCHED];
	for (size_t i = 0; i < ARRAY_SIZE(irq_programs); i++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(programs->obj, irq_programs[i]),
					  irq || sched);
	programs->rodata->irq_recorded = irq;
	points_choose(programs, options, SLOT);
	event_stacks_choose(programs, options->stacks);
	// Maps that only samples need take their time to be made, too.
	struct bpf_map *sampling_maps[] = {programs->maps.space_ids,    programs->maps.spaces,
					   programs->maps.unwind_files, programs->maps.unwind_sizes,
					   programs->maps.walks,        programs->maps.memories,
					   programs->maps.looks};
	for (size_t i = 0; i < ARRAY_SIZE(sampling_maps); i++)
		bpf_map__set_autocreate(sampling_maps[i], options->sources[RECORD_SOURCE_SAMPLE]);
	symbol_names_choose(programs, names_wanted(capture, options));
	programs_without_heap(programs);
	bpf_program__set_autoload(programs->progs.on_sample, options->sample_frequency);
	bpf_program__set_autoload(programs->progs.on_blocked, options->off_cpu);
	bpf_program__set_autoattach(programs->progs.flush_lane, false);
	bpf_program__set_autoattach(programs->progs.on_sample, false);
	programs->rodata->call_graph = options->call_graph;
	capture->sample_cycles = options->sample_frequency &&
				 (capture->by_overflow ? sample_event_is_hardware(&capture->overflow)
						       : sample_ticks_have_cycles());
	programs->rodata->sample_cycles = capture->sample_cycles;
	cpu_counters_prepare(capture->counters, programs, capture->cpu_count, SLOT);
	bpf_map__set_max_entries(programs->maps.lanes, capture->cpu_count);
	bpf_map__reuse_fd(programs->maps.rings, capture->rings_fd);
	programs->rodata->cpu_count = capture->cpu_count;
	programs->rodata->boot_offset = boot_offset();
	programs->rodata->system_slot = options->scope == SCOPE_SYSTEM ? SLOT : NO_SLOT;
	programs->rodata->has_loop = kernel_at_least(5, 17);
	programs->rodata->auxiliary_headers = auxiliary_index(AT_PHDR);
	programs->rodata->auxiliary_name = auxiliary_index(AT_EXECFN);
	programs->rodata->auxiliary_base = auxiliary_index(AT_BASE);
	programs->rodata->auxiliary_entry = auxiliary_index(AT_ENTRY);
	programs->rodata->switch_has_state = switch_has_state;
	programs->rodata->preemptible = kernel_at_least(6, 19); // before, tracepoints ran with preemption off
	spoil(programs);
	int error = programs_load(programs);
	if (error) {
		tracelet__destroy(programs);
		capture->programs = NULL;
	}
	return error;
}

static int load(struct capture *capture, const struct capture_options *options, bool switch_has_state) {
	int error = load_once(capture, options, switch_has_state);
	if (error && programs_load_otherwise(error)) {
		*refused = 0;
		error = load_once(capture, options, switch_has_state);
	}
	return error;
}

// A few megabytes per CPU: enough for the bursts of a busy machine while the
// drain waits for its turn, little enough to be allocated in a millisecond.
static size_t ring_size(const struct capture *capture, const struct capture_options *options) {
	size_t each = options->sparing ? 1 << 20 : 4 << 20;
	size_t size = options->buffer_size ? options->buffer_size : MIN(capture->cpu_count * each, 16 * each);
	size_t power = (size_t)sysconf(_SC_PAGESIZE);
	while (power < size && power < ((size_t)1 << 30))
		power *= 2;
	return power;
}

// A crash comes in a batch of its own.
static void note_crash(struct capture *capture, const struct batch *batch) {
	struct record_crash head;
	if (batch->size < sizeof(head))
		return;
	memcpy(&head, batch + 1, sizeof(head.head));
	if (head.head.kind != RECORD_CRASH)
		return;
	struct capture_crashes *crashes = &capture->crashes;
	if (crashes->list.count == MOST_CRASHES) {
		buffer_free(&crashes->list.items[0].record);
		memmove(crashes->list.items, crashes->list.items + 1,
			--crashes->list.count * sizeof(*crashes->list.items));
	}
	struct capture_crash crash = {.time = batch->base};
	buffer_append(&crash.record, batch + 1, batch->size);
	array_push(&crashes->list, crash);
}

static int take_batch(void *context, void *data, size_t size) {
	struct capture *capture = context;
	const struct batch *batch = data;
	// An exec's room in the ring is larger than what it used.
	if (size >= sizeof(*batch) && batch->size <= size - sizeof(*batch)) {
		note_crash(capture, batch);
		batch = copies_pack(&capture->copies, batch);
		spool_append(capture->spool, SPOOL_BATCH, batch, sizeof(*batch) + batch->size);
	}
	return 0;
}

// A ring of megabytes takes milliseconds to be made and mapped. Putting a map into a map of maps is done
// at once, but the kernel goes on to wait for an RCU grace period, 5 to 20 ms, in case the old map were in
// use. So a thread does all that while the programs are being loaded, and nobody waits for its end.
static void *make_ring(void *context) {
	struct capture *capture = context;
	uint32_t index = SLOT - 1;
	int error = 0;
	capture->ring_fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tracelet_ring", 0, 0, capture->ring_bytes,
					  NULL);
	if (capture->ring_fd >= 0)
		capture->ring = ring_buffer__new(capture->ring_fd, take_batch, capture, NULL);
	if (!capture->ring || bpf_map_update_elem(capture->rings_fd, &index, &capture->ring_fd, BPF_ANY))
		error = -errno;
	__atomic_store_n(&capture->ring_error, error, __ATOMIC_RELAXED);
	__atomic_store_n(&capture->ring_made, true, __ATOMIC_RELEASE);
	return NULL;
}

// The programs want to know what the rings will be like: of any size.
static int begin_ring(struct capture *capture) {
	int like = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tracelet_ring", 0, 0,
				  (uint32_t)sysconf(_SC_PAGESIZE), NULL);
	if (like < 0)
		return -errno;
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)like);
	capture->rings_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rings", 4, 4, 1, &options);
	int error = capture->rings_fd < 0 ? -errno : 0;
	close(like);
	if (!error)
		error = -pthread_create(&capture->ring_maker, NULL, make_ring, capture);
	capture->making_ring = !error;
	return error;
}

// The ring is in its place, or the thread has given up.
static int finish_ring(struct capture *capture) {
	uint32_t index = SLOT - 1, id = 0;
	while (!__atomic_load_n(&capture->ring_made, __ATOMIC_ACQUIRE) &&
	       bpf_map_lookup_elem(capture->rings_fd, &index, &id))
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	return id ? 0 : __atomic_load_n(&capture->ring_error, __ATOMIC_RELAXED);
}

static size_t page_multiple(size_t size) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (size + page - 1) / page * page;
}

static void *map_memory(struct bpf_map *map, size_t size) {
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static int map_lanes(struct capture *capture) {
	// The kernel rounds the elements of such an array up to 8 bytes.
	_Static_assert(sizeof(struct lane) % 8 == 0 && sizeof(struct slot) % 8 == 0, "array elements");
	capture->slot_bytes = page_multiple(sizeof(struct slot));
	capture->lane_bytes = page_multiple(capture->cpu_count * sizeof(struct lane));
	capture->slot = map_memory(capture->programs->maps.slots, capture->slot_bytes);
	capture->lanes = map_memory(capture->programs->maps.lanes, capture->lane_bytes);
	return capture->slot && capture->lanes ? 0 : -errno;
}

// Leaves tracepoints at once, before the next test's tracer comes to them: where two meet, the kernel waits
// for an RCU grace period at each. Those that are perf events (KVM, rss, slab) stay: true.
static bool leave_tracepoints(struct tracelet *programs) {
	bool stay = false;
	for (int i = 0; i < programs->skeleton->prog_cnt; i++) {
		struct bpf_prog_skeleton *each = &programs->skeleton->progs[i];
		if (*each->link && bpf_program__type(*each->prog) == BPF_PROG_TYPE_TRACEPOINT) {
			stay = true;
		} else {
			bpf_link__destroy(*each->link);
			*each->link = NULL;
		}
	}
	return stay;
}

// The last one who leaves the perf event of a tracepoint waits for 75 ms in the kernel, and everybody who
// opens or leaves such an event waits for him. If the next tracer has them open by then, nobody does.
static void stay_for_others(void) {
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

static void bpf_close(struct capture *capture) {
	if (!capture)
		return;
	bool stay = capture->programs && leave_tracepoints(capture->programs);
	for (size_t i = 0; i < capture->crashes.list.count; i++)
		buffer_free(&capture->crashes.list.items[i].record);
	array_free(&capture->crashes.list);
	if (capture->making_ring)
		pthread_join(capture->ring_maker, NULL);
	symbol_names_withdraw();
	sampling_free(capture->sampling);
	points_detach(&capture->points);
	cpu_counters_close(capture->counters);
	sample_event_free(&capture->overflow);
	array_free(&capture->followed);
	copies_free(&capture->copies);
	ring_buffer__free(capture->ring);
	if (capture->slot)
		munmap(capture->slot, capture->slot_bytes);
	if (capture->lanes)
		munmap(capture->lanes, capture->lane_bytes);
	statistics_close(&capture->statistics);
	if (capture->rings_fd >= 0)
		close(capture->rings_fd);
	if (capture->ring_fd >= 0)
		close(capture->ring_fd);
	if (stay)
		stay_for_others();
	tracelet__destroy(capture->programs);
	free(capture);
}

static void explain(int error, char *why) {
	if (error == -EPERM || (error == -EACCES && geteuid() != 0)) // root is refused by the verifier
		snprintf(why, 256, "BPF is not permitted (run as root, or give CAP_BPF and CAP_PERFMON)");
	else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		snprintf(why, 256, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	else
		snprintf(why, 256, "the BPF programs could not be loaded: %s ('tracelet doctor' tells more)",
			 strerror(-error));
}

static int load_either(struct capture *capture, const struct capture_options *options, bool has_state) {
	int error = load(capture, options, has_state);
	if (error && error != -EPERM && !kernel_at_least(6, 0))
		error = load(capture, options, !has_state);
	return error;
}

// What has to go with the program of stacks that was refused; NULL: it is none of theirs.
static const char *leave_out_stacks(struct capture_options *options) {
	bool spaces = strncmp(refused, "sample_", 7) == 0; // without them there are no stacks at all
	bool samples = strcmp(refused, "on_sample") == 0, waits = strcmp(refused, "on_blocked") == 0;
	bool events = strncmp(refused, "stack_at", 8) == 0, *on = &options->sources[RECORD_SOURCE_SAMPLE];
	if (!*on || !(spaces || samples || waits || events))
		return NULL;
	if (spaces || samples)
		options->sample_frequency = 0;
	if (spaces || waits)
		options->off_cpu = false;
	if (spaces || events)
		options->stacks = NULL;
	*on = options->sample_frequency || options->off_cpu || options->stacks;
	return samples ? "samples" : waits ? "waits" : events ? "stacks at events" : "samples and stacks";
}

// Leaves out the source of the program that was refused; false: it is none of those that can be.
static bool leave_out(struct capture_options *options, struct buffer *names) {
	const char *what = leave_out_stacks(options);
	if (!what)
		what = points_leave_out(refused, options->sources);
	if (what)
		buffer_printf(names, "%s%s", names->size ? ", " : "", what);
	return what;
}

static void leave_out_most(struct capture_options *options, struct buffer *names) {
	for (int source = RECORD_SOURCE_SAMPLE; source < RECORD_SOURCE_COUNT; source++)
		options->sources[source] = false;
	options->sample_frequency = 0;
	options->off_cpu = false;
	options->stacks = NULL;
	names->size = 0;
	buffer_printf(names, "all but switches, processes and interrupts");
}

// Without the program that names them the kernel's addresses are looked up in /proc/kallsyms.
static int load_without_names(struct capture *capture, const struct capture_options *options,
			      bool has_state) {
	capture->names_refused = true;
	log_verbose("the program that names the kernel's addresses was refused: by /proc/kallsyms then");
	*refused = 0;
	return load_either(capture, options, has_state);
}

// A kernel whose events are not what they are called costs those events, and not the trace: they are no
// more among the options then.
static int load_what_goes(struct capture *capture, struct capture_options *options, bool has_state) {
	struct buffer names = {0};
	int error;
	do {
		*refused = 0;
		error = load_either(capture, options, has_state);
		if (error && error != -EPERM && strcmp(refused, "name_symbol") == 0)
			error = load_without_names(capture, options, has_state);
	} while (error && error != -EPERM && leave_out(options, &names));
	if (error && error != -EPERM) {
		leave_out_most(options, &names);
		error = load_either(capture, options, has_state);
	}
	if (!error && names.size)
		log_warning("this kernel does not take the programs of: %.*s; the rest of the profile is "
			    "recorded (--verbose tells more)",
			    (int)names.size, (char *)names.data);
	buffer_free(&names);
	return error;
}

// An event that this machine does not have gives way to the clock.
static void choose_sample_event(struct capture *capture, const struct capture_options *options) {
	char why[PMU_WHY_SIZE] = "";
	if (!options->sample_event)
		return;
	int error = sample_event_parse(&capture->overflow, options->sample_event, why);
	CLEANUP_FREE char *missing = error ? memory_string(why) : sample_event_missing(&capture->overflow);
	capture->by_overflow = !missing;
	if (missing)
		log_warning("no samples of %s: %s; they are taken in time, %u a second",
			    options->sample_event, missing, options->sample_frequency);
}

static const char *sample_event_told(const struct capture *capture) {
	return capture->by_overflow     ? sample_event_name(&capture->overflow)
	       : capture->sample_cycles ? "cycles"
					: "cpu-clock";
}

static void describe_samples(struct capture *capture, struct spool *spool) {
	if (capture->by_overflow && !capture->described)
		spool_meta(spool, SPOOL_SAMPLE_EVENT, sample_event_name(&capture->overflow));
	capture->described = true;
}

static int bpf_open(const struct capture_options *options, struct capture **result, char *why) {
	libbpf_set_print(print_libbpf);
	struct capture *capture = memory_alloc(sizeof(*capture));
	capture->ring_fd = capture->rings_fd = capture->statistics.fd = capture->statistics.timer = -1;
	capture->cpu_count = (uint32_t)libbpf_num_possible_cpus();
	capture->all = options->scope == SCOPE_SYSTEM;
	capture->by_tables = options->call_graph != CALL_GRAPH_FP;
	capture->counters = cpu_counters_open(&options->counting);
	choose_sample_event(capture, options);
	// sched_switch got its fourth argument in 5.18, and some older kernels by a backport.
	bool has_state = kernel_at_least(5, 18);
	capture->ring_bytes = (uint32_t)ring_size(capture, options);
	struct capture_options loaded = *options;
	int error = begin_ring(capture);
	if (!error)
		error = load_what_goes(capture, &loaded, has_state);
	capture->sampled = loaded.sources[RECORD_SOURCE_SAMPLE];
	capture->sample_frequency = loaded.sample_frequency;
	if (!error)
		error = finish_ring(capture);
	if (!error)
		error = map_lanes(capture);
	if (error) {
		explain(error, why);
		bpf_close(capture);
		return error;
	}
	symbol_names_offer(capture->programs);
	capture->slot->wakeup_bytes = capture->ring_bytes / 4;
	statistics_open(&capture->statistics);
	*result = capture;
	return 0;
}

// ---- recording ----

static int bpf_follow(struct capture *capture, pid_t pid, int pidfd) {
	uint32_t slot = SLOT;
	if (capture->sampled && !capture->all)
		array_push(&capture->followed, pid);
	int map = bpf_map__fd(capture->programs->maps.task_slots);
	int error = bpf_map_update_elem(map, &pidfd, &slot, BPF_ANY) ? -errno : 0;
	__atomic_fetch_add(&capture->programs->bss->task_generation, 1, __ATOMIC_SEQ_CST);
	return error;
}

static int bpf_start(struct capture *capture, char *why) {
	capture->slot->recording = 1;
	int error = tracelet__attach(capture->programs);
	if (!error)
		error = points_attach(capture->programs, &capture->points);
	if (!error)
		error = event_stacks_attach(capture->programs, &capture->points);
	struct sampling_options options = {.frequency = capture->sample_frequency,
					   .event = capture->by_overflow ? &capture->overflow : NULL,
					   .cycles = capture->sample_cycles,
					   .by_tables = capture->by_tables,
					   .all = capture->all,
					   .processes = capture->followed.items,
					   .process_count = capture->followed.count};
	if (!error && capture->sampled)
		error = sampling_start(&capture->sampling, capture->programs, &options);
	if (!error && capture->counters)
		error = cpu_counters_start(capture->counters, capture->programs, capture->cpu_count);
	statistics_start(&capture->statistics, ring_buffer__epoll_fd(capture->ring));
	if (error)
		explain(error, why);
	return error;
}

static int bpf_wait_fd(const struct capture *capture) {
	return ring_buffer__epoll_fd(capture->ring);
}

static void bpf_drain(struct capture *capture, struct spool *spool) {
	capture->spool = spool;
	cpu_counters_describe(capture->counters, spool);
	describe_samples(capture, spool);
	ring_buffer__consume(capture->ring);
	statistics_turn(&capture->statistics, capture->programs->obj);
}

// Empties one CPU's lane into the ring by running a program there. It fails
// only while another program is in the middle of a record on that CPU.
static void flush_lane(struct capture *capture, uint32_t cpu) {
	uint64_t arguments[] = {SLOT};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments),
		    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
	int program = bpf_program__fd(capture->programs->progs.flush_lane);
	for (int try = 0; try < 100; try++)
		if (bpf_prog_test_run_opts(program, &run) || run.retval == 0)
			return;
}

static void bpf_sync(struct capture *capture, struct spool *spool) {
	uint64_t now = clock_boot_now();
	for (uint32_t cpu = 0; cpu < capture->cpu_count; cpu++)
		if (__atomic_load_n(&capture->lanes[cpu].batch.size, __ATOMIC_RELAXED))
			flush_lane(capture, cpu);
	uint64_t mapped = sampling_collect(capture->sampling, spool);
	bpf_drain(capture, spool);
	spool_watermark(spool, MIN(now, mapped));
}

static void bpf_stop(struct capture *capture, struct spool *spool, struct capture_totals *totals) {
	__atomic_store_n(&capture->slot->recording, 0, __ATOMIC_SEQ_CST);
	sampling_stop(capture->sampling, spool);
	bpf_sync(capture, spool);
	cpu_counters_close(capture->counters);
	capture->counters = NULL;
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		totals->lost[source] = capture->slot->lost[source];
	if (capture->sample_frequency)
		totals->sample_event = sample_event_told(capture);
	totals->delivery = sampling_delivery(capture->sampling);
	totals->unfollowed = capture->slot->unfollowed;
	statistics_total(&capture->statistics, capture->programs->obj, totals);
	statistics_say(capture->programs->obj);
	statistics_close(&capture->statistics); // what follows is not recorded
}

static const struct capture_crashes *bpf_crashes(const struct capture *capture) {
	return &capture->crashes;
}

const struct capture_backend capture_bpf = {
	.name = "bpf",
	.open = bpf_open,
	.follow = bpf_follow,
	.start = bpf_start,
	.wait_fd = bpf_wait_fd,
	.drain = bpf_drain,
	.sync = bpf_sync,
	.stop = bpf_stop,
	.crashes = bpf_crashes,
	.close = bpf_close,
};
