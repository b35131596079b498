// Loads the BPF programs, puts the test into a session, and moves batches from the session's ring
// to the spool.
//
// One object holds all programs; those not needed are not loaded (loader.c). File descriptors hold
// everything, so that nothing stays attached when this process ends, however it ends.
#include "base/log.h"
#include "capture/bpf/constants.h"
#include "capture/bpf/counting.h"
#include "capture/bpf/event_stacks.h"
#include "capture/bpf/heap.h"
#include "capture/bpf/hidden.h"
#include "capture/bpf/lane.h"
#include "capture/bpf/loader.h"
#include "capture/bpf/long_waits.h"
#include "capture/bpf/points.h"
#include "capture/bpf/sample_event.h"
#include "capture/bpf/sample_ticks.h"
#include "capture/bpf/sampling.h"
#include "capture/bpf/statistics.h"
#include "capture/bpf/symbol_names.h"
#include "capture/capture.h"
#include "capture/copies.h"
#include "capture/crashes.h"
#include "capture/kernel_version.h"
#include "capture/tasks.h"
#include "event/event.h"
#include "process/user.h"
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
	bool sampled;               // stacks are recorded
	bool all;                   // of every process
	pid_array followed;         // otherwise of these and their descendants
	bool by_tables;             // unwind tables are needed
	bool stacks_rare;           // only those of long waits, which are copied
	struct ring_buffer *nudges; // NULL unless long waits are recorded
	unsigned sample_frequency;  // 0 if not sampling by time
	bool sample_cycles;         // on CPU cycles, else on the CPU clock
	struct sample_event overflow;
	bool by_overflow;   // sampling at its overflow
	bool described;     // the spool says what is sampled
	bool names_refused; // the kernel rejected the program that names its addresses
	struct sampling *sampling;
	struct point_links points;
	struct cpu_counters *counters; // NULL if none
	struct statistics statistics;
	uint64_t drained; // bytes taken from the ring; copied stacks as packed, about as much as they cost
	struct capture_crashes crashes;
	struct copies copies;
	struct hidden hidden;
};

enum { SLOT = 1 }; // one run is one session

// ---- libbpf's messages: kept, and shown with --verbose or when loading fails ----

// The first program that the kernel rejected; libbpf reports it nowhere else.
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

// The source that each program serves; programs not listed are always loaded.
static const struct {
	const char *program;
	int source;
} program_sources[] = {
	{"on_switch", SOURCE_SCHED},
	{"on_waking", SOURCE_SCHED},
	{"sample_newtask", SOURCE_SAMPLE},
	{"sample_exec", SOURCE_SAMPLE},
};

// Wakeups say whether an interrupt caused them. These programs track that, even if interrupts are
// not recorded.
static const char *const irq_programs[] = {"on_irq_entry",    "on_irq_exit",    "on_softirq_entry",
					   "on_softirq_exit", "on_timer_entry", "on_timer_exit"};

// Is the program that names kernel addresses useful, and does this kernel accept it?
static bool names_wanted(const struct capture *capture, const struct capture_options *options) {
	return !capture->names_refused &&
	       (options->sources[SOURCE_SAMPLE] || options->sources[SOURCE_TIMER] ||
		options->sources[SOURCE_WORK] || options->sources[SOURCE_IPI]);
}

// Only root may record for others.
static void choose_owner(struct tracelet *programs, const struct capture_options *options) {
	bool root = getuid() == 0;
	uid_t owner = root ? options->owner : getuid();
	programs->rodata->owner = owner;
	programs->rodata->owner_group = root ? options->owner_group : getgid();
	programs->rodata->owner_is_root = owner == 0;
	programs->rodata->keeps_members = owner == 0 || (root && options->keeps_members);
}

// For crash.bpf.c.
static void tell_where_modules_are(struct tracelet *programs) {
	programs->rodata->auxiliary_headers = auxiliary_index(AT_PHDR);
	programs->rodata->auxiliary_name = auxiliary_index(AT_EXECFN);
	programs->rodata->auxiliary_base = auxiliary_index(AT_BASE);
	programs->rodata->auxiliary_entry = auxiliary_index(AT_ENTRY);
	programs->rodata->linker_debug = linker_debug_offset();
}

static int load_once(struct capture *capture, const struct capture_options *options, bool switch_has_state) {
	capture->programs = programs_open();
	if (!capture->programs)
		return -errno;
	struct tracelet *programs = capture->programs;
	bool many = capture_stacks_are_many(options);
	for (size_t i = 0; i < ARRAY_SIZE(program_sources); i++)
		if (!options->sources[program_sources[i].source] ||
		    (program_sources[i].source == SOURCE_SAMPLE && !many))
			bpf_program__set_autoload(
				bpf_object__find_program_by_name(programs->obj, program_sources[i].program),
				false);
	bool irq = options->sources[SOURCE_IRQ], sched = options->sources[SOURCE_SCHED];
	for (size_t i = 0; i < ARRAY_SIZE(irq_programs); i++)
		bpf_program__set_autoload(bpf_object__find_program_by_name(programs->obj, irq_programs[i]),
					  irq || sched);
	programs->rodata->irq_recorded = irq;
	points_choose(programs, options, SLOT);
	event_stacks_choose(programs, options->stacks);
	// Creating the maps that only samples need takes time, too.
	struct bpf_map *walking_maps[] = {programs->maps.space_ids, programs->maps.spaces,
					  programs->maps.unwind_files, programs->maps.unwind_sizes,
					  programs->maps.memories};
	for (size_t i = 0; i < ARRAY_SIZE(walking_maps); i++)
		bpf_map__set_autocreate(walking_maps[i], many);
	struct bpf_map *stack_maps[] = {programs->maps.walks, programs->maps.looks, programs->maps.pythons,
					programs->maps.python_walks, programs->maps.codes_known};
	for (size_t i = 0; i < ARRAY_SIZE(stack_maps); i++)
		bpf_map__set_autocreate(stack_maps[i], options->sources[SOURCE_SAMPLE]);
	symbol_names_choose(programs, names_wanted(capture, options));
	programs_without_heap(programs);
	bpf_program__set_autoload(programs->progs.on_sample, options->sample_frequency);
	bpf_program__set_autoload(programs->progs.on_blocked, options->off_cpu);
	long_waits_choose(programs, options);
	bpf_program__set_autoattach(programs->progs.flush_lane, false);
	bpf_program__set_autoattach(programs->progs.on_sample, false);
	programs->rodata->call_graph = options->call_graph;
	capture->sample_cycles = options->sample_frequency &&
				 (capture->by_overflow ? sample_event_is_hardware(&capture->overflow)
						       : sample_ticks_have_cycles());
	programs->rodata->sample_cycles = capture->sample_cycles;
	cpu_counters_prepare(capture->counters, programs, capture->cpu_count, SLOT);
	bpf_map__set_max_entries(programs->maps.lanes, capture->cpu_count);
	bpf_map__set_max_entries(programs->maps.queues, capture->cpu_count);
	bpf_map__reuse_fd(programs->maps.rings, capture->rings_fd);
	programs->rodata->cpu_count = capture->cpu_count;
	choose_owner(programs, options);
	programs->rodata->boot_offset = boot_offset_now();
	programs->rodata->system_slot = options->scope == SCOPE_SYSTEM ? SLOT : NO_SLOT;
	programs->rodata->has_loop = kernel_at_least(5, 17);
	programs->rodata->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	tell_where_modules_are(programs);
	programs->rodata->switch_has_state = switch_has_state;
	programs->rodata->preemptible = kernel_at_least(6, 19); // tracepoints disabled preemption before
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

// A few megabytes per CPU: enough for a busy machine's bursts while the drain waits for its turn,
// and small enough to allocate in a millisecond.
static size_t ring_size(const struct capture *capture, const struct capture_options *options) {
	size_t each = options->sparing ? 1 << 20 : 4 << 20;
	size_t size = options->buffer_size ? options->buffer_size : MIN(capture->cpu_count * each, 16 * each);
	size_t power = (size_t)sysconf(_SC_PAGESIZE);
	while (power < size && power < ((size_t)1 << 30))
		power *= 2;
	return power;
}

static int take_batch(void *context, void *data, size_t size) {
	struct capture *capture = context;
	const struct batch *batch = data;
	// An exec reserves more room in the ring than it uses.
	if (size >= sizeof(*batch) && batch->size <= size - sizeof(*batch)) {
		crashes_note(&capture->crashes, batch);
		batch = hidden_batch(&capture->hidden, copies_pack(&capture->copies, batch));
		spool_append(capture->spool, SPOOL_BATCH, batch, sizeof(*batch) + batch->size);
		capture->drained += sizeof(*batch) + batch->size;
	}
	return 0;
}

// A ring of megabytes takes milliseconds to create and map. Putting a map into a map of maps takes
// effect at once, but then the kernel waits for an RCU grace period, 5 to 20 ms, in case the old
// map is in use. So a thread does all that while the programs load; the start does not wait for the
// thread to finish.
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

// The programs must know the type of the rings at load time; the size does not matter.
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

// Waits until the ring is in place or the thread has given up.
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

// Detaches from tracepoints at once, before the next test's tracer attaches: where two meet, the
// kernel waits for an RCU grace period at each. True if perf events (KVM, rss, slab) remain.
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

// The last process to close a tracepoint's perf event waits 75 ms in the kernel, and blocks every
// process that opens or closes such an event. If the next tracer has them open by then, none of
// them waits.
static void stay_for_others(void) {
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

static void bpf_close(struct capture *capture) {
	if (!capture)
		return;
	bool stay = capture->programs && leave_tracepoints(capture->programs);
	crashes_free(&capture->crashes);
	if (capture->making_ring)
		pthread_join(capture->ring_maker, NULL);
	symbol_names_withdraw();
	sampling_free(capture->sampling);
	points_detach(&capture->points);
	cpu_counters_close(capture->counters);
	sample_event_free(&capture->overflow);
	array_free(&capture->followed);
	copies_free(&capture->copies);
	hidden_free(&capture->hidden);
	ring_buffer__free(capture->ring);
	ring_buffer__free(capture->nudges);
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
	if (error == -EPERM || (error == -EACCES && geteuid() != 0)) // root: the verifier
		snprintf(why, 256, "BPF is not permitted (run as root, or give CAP_BPF and CAP_PERFMON)");
	else if (access("/sys/kernel", F_OK) != 0)
		snprintf(why, 256, "/sys is not mounted (mount -t sysfs sysfs /sys)");
	else if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		snprintf(why, 256, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	else
		snprintf(why, 256, "the BPF programs could not be loaded: %s (see 'tracelet doctor')",
			 strerror(-error));
}

static int load_either(struct capture *capture, const struct capture_options *options, bool has_state) {
	int error = load(capture, options, has_state);
	if (error && error != -EPERM && !kernel_at_least(6, 0))
		error = load(capture, options, !has_state);
	return error;
}

// Leaves out the stacks that needed the rejected program and returns their name; NULL if it has
// nothing to do with stacks.
static const char *leave_out_stacks(struct capture_options *options) {
	bool spaces = strncmp(refused, "sample_", 7) == 0; // without these, no stacks at all
	bool samples = strcmp(refused, "on_sample") == 0;
	bool waits = strcmp(refused, "on_blocked") == 0 || strcmp(refused, "on_long_wait") == 0;
	bool events = strncmp(refused, "stack_at", 8) == 0, *on = &options->sources[SOURCE_SAMPLE];
	if (!*on || !(spaces || samples || waits || events))
		return NULL;
	if (spaces || samples)
		options->sample_frequency = 0;
	if (spaces || waits) {
		options->off_cpu = false;
		options->long_waits = 0;
	}
	if (spaces || events)
		options->stacks = NULL;
	*on = capture_stacks_are_many(options) || options->long_waits;
	return samples ? "samples" : waits ? "waits" : events ? "stacks at events" : "samples and stacks";
}

// Leaves out the source of the rejected program; false if the program is not optional.
static bool leave_out(struct capture_options *options, struct buffer *names) {
	const char *what = leave_out_stacks(options);
	if (!what)
		what = points_leave_out(refused, options->sources);
	if (what)
		buffer_printf(names, "%s%s", names->size ? ", " : "", what);
	return what;
}

static void leave_out_most(struct capture_options *options, struct buffer *names) {
	for (int source = SOURCE_SAMPLE; source < RECORD_SOURCE_COUNT; source++)
		options->sources[source] = false;
	options->sample_frequency = 0;
	options->off_cpu = false;
	options->long_waits = 0;
	options->stacks = NULL;
	names->size = 0;
	buffer_printf(names, "all but switches, processes and interrupts");
}

// Without the program that names them, kernel addresses are looked up in /proc/kallsyms.
static int load_without_names(struct capture *capture, const struct capture_options *options,
			      bool has_state) {
	capture->names_refused = true;
	log_verbose("the kernel rejected the program that names its addresses; using /proc/kallsyms");
	*refused = 0;
	return load_either(capture, options, has_state);
}

// If this kernel's events differ from what their names promise, we lose those events, not the
// trace. They are removed from the options.
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
		log_warning(
			"the kernel rejected the BPF programs for %.*s; recording the rest (--verbose for "
			"details)",
			(int)names.size, (char *)names.data);
	buffer_free(&names);
	return error;
}

// Falls back to the clock if this machine lacks the event.
static void choose_sample_event(struct capture *capture, const struct capture_options *options) {
	char why[PMU_WHY_SIZE] = "";
	if (!options->sample_event)
		return;
	int error = sample_event_parse(&capture->overflow, options->sample_event, why);
	CLEANUP_FREE char *missing = error ? memory_string(why) : sample_event_missing(&capture->overflow);
	capture->by_overflow = !missing;
	if (missing)
		log_warning("cannot sample on %s: %s; sampling on the CPU clock at %u Hz instead",
			    options->sample_event, missing, options->sample_frequency);
}

static const char *sample_event_reported(const struct capture *capture) {
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
	capture->ring_fd = capture->rings_fd = capture->statistics.fd = -1;
	capture->cpu_count = (uint32_t)libbpf_num_possible_cpus();
	capture->all = options->scope == SCOPE_SYSTEM;
	capture->by_tables = options->call_graph != CALL_GRAPH_FP;
	capture->counters = cpu_counters_open(&options->counting);
	choose_sample_event(capture, options);
	if (options->hide_kernel)
		hidden_begin(&capture->hidden);
	// sched_switch got its fourth argument in 5.18; some older kernels have it backported.
	bool has_state = kernel_at_least(5, 18);
	capture->ring_bytes = (uint32_t)ring_size(capture, options);
	struct capture_options loaded = *options;
	long_waits_limit(&loaded);
	int error = begin_ring(capture);
	if (!error)
		error = load_what_goes(capture, &loaded, has_state);
	capture->sampled = loaded.sources[SOURCE_SAMPLE];
	capture->stacks_rare = !capture_stacks_are_many(&loaded);
	capture->sample_frequency = loaded.sample_frequency;
	if (!error)
		error = finish_ring(capture);
	if (!error)
		error = map_lanes(capture);
	if (!error && loaded.long_waits)
		error = long_waits_rings(capture->programs, &capture->nudges);
	if (error) {
		explain(error, why);
		bpf_close(capture);
		return error;
	}
	symbol_names_offer(capture->programs);
	capture->slot->wakeup_bytes = capture->ring_bytes / 4;
	capture->slot->sources = UINT64_MAX;
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

// What tracefs says is for root, also if the test is another user's. No thread starts here: it would
// keep our rights to files.
static int attach(struct capture *capture) {
	user_files_end();
	int error = tracelet__attach(capture->programs);
	if (!error)
		error = points_attach(capture->programs, &capture->points);
	if (!error)
		error = event_stacks_attach(capture->programs, &capture->points);
	user_files_begin();
	return error;
}

static int bpf_start(struct capture *capture, char *why) {
	capture->slot->recording = 1;
	int error = attach(capture);
	struct sampling_options options = {.frequency = capture->sample_frequency,
					   .event = capture->by_overflow ? &capture->overflow : NULL,
					   .cycles = capture->sample_cycles,
					   .by_tables = capture->by_tables && !capture->stacks_rare,
					   .rare = capture->stacks_rare,
					   .all = capture->all,
					   .processes = capture->followed.items,
					   .process_count = capture->followed.count};
	if (!error && capture->sampled)
		error = sampling_start(&capture->sampling, capture->programs, &options);
	if (!error && capture->counters)
		error = cpu_counters_start(capture->counters, capture->programs, capture->cpu_count);
	statistics_start(&capture->statistics);
	if (error)
		explain(error, why);
	return error;
}

static int bpf_wait_fd(const struct capture *capture) {
	return ring_buffer__epoll_fd(capture->ring);
}

// Bytes that the programs have written so far, in the ring and in lanes that are not full yet.
static uint64_t recorded_bytes(const struct capture *capture) {
	uint64_t bytes = capture->drained;
	for (uint32_t cpu = 0; cpu < capture->cpu_count; cpu++)
		bytes += __atomic_load_n(&capture->lanes[cpu].batch.size, __ATOMIC_RELAXED);
	return bytes;
}

static void bpf_drain(struct capture *capture, struct spool *spool) {
	capture->spool = spool;
	cpu_counters_describe(capture->counters, spool);
	describe_samples(capture, spool);
	ring_buffer__consume(capture->ring);
	if (capture->nudges)
		ring_buffer__consume(capture->nudges);
	statistics_turn(&capture->statistics, capture->programs->obj, recorded_bytes(capture));
}

// Empties one CPU's lane into the ring by running a program there. Fails only while another program
// is writing a record on that CPU.
static void flush_lane(struct capture *capture, uint32_t cpu) {
	uint64_t arguments[] = {SLOT};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments),
		    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
	int program = bpf_program__fd(capture->programs->progs.flush_lane);
	for (int try = 0; try < 100; try++)
		if (bpf_prog_test_run_opts(program, &run) || run.retval == 0)
			return;
}

// The sample of a long wait has the time of the switch, and is written a moment after it.
static void bpf_sync(struct capture *capture, struct spool *spool) {
	enum { MOMENT = 100 * 1000 };
	uint64_t now = clock_boot_now() - MOMENT;
	for (uint32_t cpu = 0; cpu < capture->cpu_count; cpu++)
		if (__atomic_load_n(&capture->lanes[cpu].batch.size, __ATOMIC_RELAXED))
			flush_lane(capture, cpu);
	uint64_t complete = sampling_collect(capture->sampling, spool, now);
	bpf_drain(capture, spool);
	spool_watermark(spool, complete);
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
		totals->sample_event = sample_event_reported(capture);
	totals->delivery = sampling_delivery(capture->sampling);
	totals->unfollowed = capture->slot->unfollowed;
	statistics_total(&capture->statistics, capture->programs->obj, recorded_bytes(capture), totals);
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
