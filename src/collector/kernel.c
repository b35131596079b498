#include "collector/kernel.h"
#include "base/log.h"
#include "capture/bpf/constants.h"
#include "capture/bpf/loader.h"
#include "capture/bpf/symbol_names.h"
#include "capture/bpf/symbol_text.h"
#include "capture/kernel_version.h"
#include "collector.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WALKS_OF_CPU = 2 }; // capture/bpf/walk.h

// ---- the programs ----

static int print_libbpf(enum libbpf_print_level level, const char *format, va_list arguments) {
	char line[1024];
	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = 0;
	log_verbose("%s", line);
	return 0;
}

// A map of maps: the programs must know at load time what is in it.
static int make_outer(const char *name, int like, uint32_t count) {
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)like);
	int fd = like < 0 ? -1 : bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, name, 4, 4, count, &options);
	int error = errno;
	if (like >= 0)
		close(like);
	return fd < 0 ? -error : fd;
}

static int make_lanes(const struct kernel *kernel) {
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "tracelet_lanes", 4, sizeof(struct lane), kernel->cpu_count,
			      &options);
}

static int make_maps(struct kernel *kernel) {
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tracelet_ring", 0, 0,
				  (uint32_t)sysconf(_SC_PAGESIZE), NULL);
	kernel->rings_fd = make_outer("rings", ring, kernel->place_count);
	kernel->lanes_fd = make_outer("lanes", make_lanes(kernel), kernel->place_count);
	return kernel->rings_fd < 0 ? kernel->rings_fd : MIN(kernel->lanes_fd, 0);
}

static void set_constants(struct collector_programs *programs, uint32_t cpu_count, bool has_state) {
	programs->rodata->cpu_count = cpu_count;
	programs->rodata->preemptible = kernel_at_least(6, 19); // tracepoints disabled preemption before
	programs->rodata->irq_recorded = true;
	programs->rodata->switch_has_state = has_state;
	programs->rodata->has_loop = kernel_at_least(5, 17);
	programs->rodata->page_size = (uint32_t)sysconf(_SC_PAGESIZE);
	programs->rodata->auxiliary_headers = auxiliary_index(AT_PHDR);
	programs->rodata->auxiliary_name = auxiliary_index(AT_EXECFN);
	programs->rodata->auxiliary_base = auxiliary_index(AT_BASE);
	programs->rodata->auxiliary_entry = auxiliary_index(AT_ENTRY);
	programs->rodata->linker_debug = linker_debug_offset();
	struct call_sets sets = points_call_sets();
	memcpy((void *)programs->rodata->memory_calls, sets.memory, sizeof(sets.memory));
	memcpy((void *)programs->rodata->file_calls, sets.file, sizeof(sets.file));
	memcpy((void *)programs->rodata->lock_calls, sets.lock, sizeof(sets.lock));
	memcpy((void *)programs->rodata->path_calls, sets.paths, sizeof(sets.paths));
	memset((void *)programs->rodata->wanted_calls, 0xff, sizeof(programs->rodata->wanted_calls));
}

static struct collector_programs *open_programs(void) {
	char path[LOADER_PATH];
	if (!loader_begin(path))
		return collector_programs__open();
	LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = path);
	return collector_programs__open_opts(&options);
}

// Those that are attached by themselves, or not at all.
static void choose_programs(struct collector_programs *programs, bool more) {
	struct bpf_program *apart[] = {programs->progs.flush_lane, programs->progs.look_at_self,
				       programs->progs.name_symbol, programs->progs.on_long_wait,
				       programs->progs.on_sample};
	for (size_t i = 0; i < ARRAY_SIZE(apart); i++)
		bpf_program__set_autoattach(apart[i], false);
	bpf_program__set_autoload(programs->progs.name_symbol, more);
	bpf_program__set_autoload(programs->progs.stacks_newtask, more);
	bpf_program__set_autoload(programs->progs.on_long_wait, more);
	bpf_program__set_autoload(programs->progs.on_sample, false);
	extras_choose(programs->obj, false);
}

static int load_once(struct kernel *kernel, bool has_state, bool more) {
	struct collector_programs *programs = open_programs();
	if (!programs)
		return -errno;
	set_constants(programs, kernel->cpu_count, has_state);
	choose_programs(programs, more);
	bpf_map__set_max_entries(programs->maps.slots, kernel->place_count);
	bpf_map__set_max_entries(programs->maps.queues, kernel->cpu_count);
	bpf_map__set_max_entries(programs->maps.walks, kernel->cpu_count * WALKS_OF_CPU);
	bpf_map__reuse_fd(programs->maps.rings, kernel->rings_fd);
	bpf_map__reuse_fd(programs->maps.lanes, kernel->lanes_fd);
	int error = loader_load(programs->obj, programs->skeleton);
	if (error)
		collector_programs__destroy(programs);
	else
		kernel->programs = programs;
	kernel->has_more = !error && more;
	return error;
}

// sched_switch got its fourth argument in 5.18; some older kernels have it, too.
static int load_either(struct kernel *kernel, bool more) {
	bool has_state = kernel_at_least(5, 18);
	int error = load_once(kernel, has_state, more);
	if (error && programs_load_otherwise(error))
		error = load_once(kernel, has_state, more);
	if (error && error != -EPERM && !kernel_at_least(6, 0))
		error = load_once(kernel, !has_state, more);
	return error;
}

// A kernel that does not take the programs for the stacks of waits still has the others.
static int load(struct kernel *kernel) {
	int error = load_either(kernel, true);
	return error && error != -EPERM ? load_either(kernel, false) : error;
}

// ---- programs that only some sessions want ----

// The same object once more, with the other programs and the same maps: loading all at the start would take
// twice as long.
static int load_more(struct kernel *kernel) {
	struct collector_programs *programs = open_programs();
	struct bpf_program *program;
	struct bpf_map *map;
	if (!programs)
		return -errno;
	bpf_object__for_each_program(program, programs->obj) {
		bpf_program__set_autoload(program, false);
		bpf_program__set_autoattach(program, false);
	}
	bpf_object__for_each_map(map, programs->obj) {
		const char *name = bpf_map__name(map);
		bpf_map__reuse_fd(map,
				  bpf_map__fd(bpf_object__find_map_by_name(kernel->programs->obj, name)));
	}
	bpf_program__set_autoload(programs->progs.on_sample, true);
	extras_choose(programs->obj, true);
	int error = loader_load(programs->obj, programs->skeleton);
	if (error)
		collector_programs__destroy(programs);
	else
		kernel->more = programs;
	return error;
}

static int have_more(struct kernel *kernel) {
	if (kernel->more)
		return 0;
	if (!kernel->has_more)
		return -EOPNOTSUPP;
	int error = load_more(kernel);
	if (error && programs_load_otherwise(error))
		error = load_more(kernel);
	if (error) {
		__atomic_store_n(&kernel->has_more, false, __ATOMIC_RELAXED);
		return error;
	}
	kernel->extras.object = kernel->more->obj;
	kernel->ticks = ticks_new(kernel->more->progs.on_sample);
	return 0;
}

int kernel_set_extras(struct kernel *kernel, unsigned frequency, uint64_t sources) {
	int error = frequency || sources ? have_more(kernel) : 0;
	if (!error)
		error = ticks_set(kernel->ticks, frequency);
	return error ? error : extras_set(&kernel->extras, sources);
}

// ---- opening ----

static int take_nothing(void *context, void *data, size_t size) {
	return 0;
}

static int open_nudges(struct kernel *kernel) {
	struct bpf_map *maps[] = {kernel->programs->maps.nudge_0, kernel->programs->maps.nudge_1,
				  kernel->programs->maps.nudge_2, kernel->programs->maps.nudge_3};
	kernel->nudges = ring_buffer__new(bpf_map__fd(maps[0]), take_nothing, NULL, NULL);
	int error = kernel->nudges ? 0 : -errno;
	for (size_t i = 1; !error && i < ARRAY_SIZE(maps); i++)
		error = ring_buffer__add(kernel->nudges, bpf_map__fd(maps[i]), take_nothing, NULL);
	return error;
}

// The programs learn in which user namespace we are.
static int look_at_self(struct kernel *kernel) {
	uint64_t arguments[1] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
	int error = bpf_prog_test_run_opts(bpf_program__fd(kernel->programs->progs.look_at_self), &run);
	return error ? error : kernel->programs->bss->own_namespace ? 0 : -EINVAL;
}

static int map_slots(struct kernel *kernel) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	_Static_assert(sizeof(struct lane) % 8 == 0 && sizeof(struct session_slot) % 8 == 0,
		       "array elements");
	kernel->lane_bytes = (kernel->cpu_count * sizeof(struct lane) + page - 1) / page * page;
	kernel->slot_bytes = (kernel->place_count * sizeof(struct session_slot) + page - 1) / page * page;
	kernel->slots = mmap(NULL, kernel->slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(kernel->programs->maps.slots), 0);
	if (kernel->slots == MAP_FAILED)
		kernel->slots = NULL;
	return kernel->slots ? 0 : -errno;
}

void kernel_init(struct kernel *kernel) {
	*kernel = (struct kernel){.rings_fd = -1, .lanes_fd = -1};
	for (size_t i = 0; i < SLOTS_MOST; i++)
		kernel->places[i] = (struct place){.ring.fd = -1, .lanes_fd = -1, .index = (uint32_t)i};
}

int kernel_open(struct kernel *kernel, uint32_t place_count, uint32_t ring_bytes) {
	libbpf_set_print(print_libbpf);
	kernel->place_count = MIN(place_count, (uint32_t)SLOTS_MOST);
	kernel->ring_bytes = ring_bytes;
	kernel->cpu_count = (uint32_t)libbpf_num_possible_cpus();
	int error = make_maps(kernel);
	if (!error)
		error = load(kernel);
	if (!error)
		error = look_at_self(kernel);
	if (!error)
		error = map_slots(kernel);
	if (!error)
		error = open_nudges(kernel);
	if (error)
		return error;
	kernel->tasks_fd = bpf_map__fd(kernel->programs->maps.task_slots);
	kernel_set_clock(kernel);
	return 0;
}

void kernel_close(struct kernel *kernel) {
	for (size_t i = 0; i < SLOTS_MOST; i++) {
		struct place *place = &kernel->places[i];
		ring_free(&place->ring);
		if (place->lanes)
			munmap(place->lanes, kernel->lane_bytes);
		if (place->lanes_fd >= 0)
			close(place->lanes_fd);
	}
	if (kernel->slots)
		munmap(kernel->slots, kernel->slot_bytes);
	ring_buffer__free(kernel->nudges);
	ticks_free(kernel->ticks);
	extras_set(&kernel->extras, 0);
	collector_programs__destroy(kernel->more);
	collector_programs__destroy(kernel->programs);
	if (kernel->rings_fd >= 0)
		close(kernel->rings_fd);
	if (kernel->lanes_fd >= 0)
		close(kernel->lanes_fd);
}

int kernel_attach(struct kernel *kernel) {
	kernel_set_clock(kernel);
	int error = collector_programs__attach(kernel->programs);
	if (error)
		collector_programs__detach(kernel->programs);
	else if (kernel->has_more && !kernel->programs->links.on_long_wait) // not on every architecture
		kernel->programs->links.on_long_wait = bpf_program__attach(
			kernel->programs->progs.on_long_wait);
	__atomic_store_n(&kernel->attached, !error, __ATOMIC_RELEASE);
	return error;
}

void kernel_detach(struct kernel *kernel) {
	__atomic_store_n(&kernel->attached, false, __ATOMIC_RELEASE);
	ticks_close(kernel->ticks);
	extras_set(&kernel->extras, 0);
	collector_programs__detach(kernel->programs);
}

void kernel_set_clock(struct kernel *kernel) {
	uint64_t now = boot_offset_now(), *known = (uint64_t *)(uintptr_t)&kernel->programs->bss->boot_offset;
	enum { NOISE_NS = 100000 }; // two readings differ by less
	if (now - *known > NOISE_NS && *known - now > NOISE_NS)
		__atomic_store_n(known, now, __ATOMIC_RELAXED);
}

// ---- places ----

// Puts maps into a map of maps; one wait for all of them, where the kernel can do that.
static uint32_t put_all(int outer, const uint32_t *keys, const int *fds, uint32_t count) {
	uint32_t done = count;
	LIBBPF_OPTS(bpf_map_batch_opts, options);
	if (bpf_map_update_batch(outer, keys, fds, &done, &options) == 0)
		return count;
	for (done = 0; done < count; done++)
		if (bpf_map_update_elem(outer, &keys[done], &fds[done], BPF_ANY))
			break;
	return done;
}

static bool make_place(struct kernel *kernel, struct place *place) {
	place->lanes_fd = make_lanes(kernel);
	void *lanes = place->lanes_fd < 0 ? MAP_FAILED
					  : mmap(NULL, kernel->lane_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
						 place->lanes_fd, 0);
	place->lanes = lanes == MAP_FAILED ? NULL : lanes;
	return place->lanes && ring_make(&place->ring, kernel->ring_bytes) == 0;
}

uint32_t kernel_make_places(struct kernel *kernel, uint32_t first, uint32_t count) {
	uint32_t keys[SLOTS_MOST], made = 0;
	int rings[SLOTS_MOST], lanes[SLOTS_MOST];
	for (; made < count && make_place(kernel, &kernel->places[first + made]); made++) {
		keys[made] = first + made;
		rings[made] = kernel->places[first + made].ring.fd;
		lanes[made] = kernel->places[first + made].lanes_fd;
	}
	made = made ? put_all(kernel->lanes_fd, keys, lanes, made) : 0;
	return made ? put_all(kernel->rings_fd, keys, rings, made) : 0;
}

bool kernel_renew_place(struct kernel *kernel, struct place *place) {
	struct ring_view old = place->ring;
	if (ring_make(&place->ring, kernel->ring_bytes)) {
		place->ring = old;
		return false;
	}
	bool put = put_all(kernel->rings_fd, &place->index, &place->ring.fd, 1) == 1;
	if (!put) {
		struct ring_view unused = place->ring;
		place->ring = old;
		old = unused;
	}
	ring_free(&old);
	place->used = !put;
	return put;
}

// ---- sessions ----

struct session_slot *kernel_slot(struct kernel *kernel, const struct place *place) {
	return &kernel->slots[place->index];
}

// Tasks that the programs have seen may belong to another session than before.
static void forget_known_tasks(struct kernel *kernel) {
	__atomic_fetch_add(&kernel->programs->bss->task_generation, 1, __ATOMIC_SEQ_CST);
}

static void count_waits(struct kernel *kernel, int change) {
	uint32_t *wanted = (uint32_t *)(uintptr_t)&kernel->programs->bss->waits_wanted;
	__atomic_fetch_add(wanted, (uint32_t)change, __ATOMIC_SEQ_CST);
}

uint32_t kernel_begin(struct kernel *kernel, struct place *place, const struct peer *peer,
		      const struct wanted *wanted) {
	struct session_slot *slot = kernel_slot(kernel, place);
	uint32_t handle = ++place->generation << SLOT_BITS | (place->index + 1);
	*slot = (struct session_slot){
		.slot = {.recording = 1, .wakeup_bytes = kernel->ring_bytes / 4, .sources = wanted->sources},
		.flags = (peer->all ? SLOT_ANY_USER : 0u) | (peer->sees_all ? SLOT_ALL_NAMES : 0u) |
			 (wanted->hard_faults ? SLOT_HARD_FAULTS : 0u) |
			 (wanted->off_cpu ? SLOT_OFF_CPU : 0u),
		.uid = peer->uid,
		.gid = peer->gid,
		.capabilities = peer->uid ? 0 : peer->capabilities,
		.long_wait = kernel->programs->links.on_long_wait ? wanted->long_wait : 0};
	if (kernel->has_more && wanted->sample_frequency)
		slot->sample_period = 1000000000u / wanted->sample_frequency;
	if (slot->long_wait)
		count_waits(kernel, 1);
	place->used = true;
	place->uid = peer->uid;
	__atomic_store_n(&slot->handle, handle, __ATOMIC_SEQ_CST);
	return handle;
}

void kernel_stop(struct kernel *kernel, struct place *place) {
	__atomic_store_n(&kernel_slot(kernel, place)->slot.recording, 0, __ATOMIC_SEQ_CST);
}

void kernel_end(struct kernel *kernel, struct place *place) {
	kernel_stop(kernel, place);
	if (kernel_slot(kernel, place)->long_wait)
		count_waits(kernel, -1);
	__atomic_store_n(&kernel_slot(kernel, place)->handle, 0, __ATOMIC_SEQ_CST);
	forget_known_tasks(kernel);
}

// Where CPUs are left alone (nohz_full) the call does not exist; placing a map waits as long.
void kernel_settle(struct kernel *kernel) {
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		put_all(kernel->rings_fd, &kernel->places[0].index, &kernel->places[0].ring.fd, 1);
}

void kernel_clear(struct kernel *kernel, struct place *place) {
	memset(place->lanes, 0, kernel->cpu_count * sizeof(struct lane));
	ring_take(&place->ring, __atomic_load_n(place->ring.producer, __ATOMIC_ACQUIRE));
}

bool kernel_is_followed(struct kernel *kernel, int pidfd) {
	struct membership mine = {0};
	if (bpf_map_lookup_elem(kernel->tasks_fd, &pidfd, &mine) || mine.handle == NO_SLOT)
		return false;
	uint32_t index = (mine.handle & SLOT_MASK) - 1;
	return index < kernel->place_count &&
	       __atomic_load_n(&kernel->slots[index].handle, __ATOMIC_RELAXED) == mine.handle;
}

int kernel_follow(struct kernel *kernel, uint32_t handle, int pidfd) {
	struct membership mine = {.handle = handle};
	if (kernel_is_followed(kernel, pidfd))
		return -EBUSY;
	if (bpf_map_update_elem(kernel->tasks_fd, &pidfd, &mine, BPF_ANY))
		return -errno;
	forget_known_tasks(kernel);
	return 0;
}

void kernel_take_nudges(struct kernel *kernel) {
	ring_buffer__consume(kernel->nudges);
}

// "schedule+0x12/0x340 [module]"; the kernel prints an address without a name as it is.
bool kernel_name(void *context, uint64_t address, char name[COLLECTOR_NAME_SIZE], uint64_t *start) {
	struct kernel *kernel = context;
	uint64_t arguments[] = {address};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
	uint32_t zero = 0;
	struct symbol_text text;
	if (bpf_prog_test_run_opts(bpf_program__fd(kernel->programs->progs.name_symbol), &run) ||
	    (int)run.retval <= 0 ||
	    bpf_map_lookup_elem(bpf_map__fd(kernel->programs->maps.symbol_text), &zero, &text))
		return false;
	text.text[sizeof(text.text) - 1] = 0;
	if (!symbol_text_parse(text.text, address, start))
		return false;
	snprintf(name, COLLECTOR_NAME_SIZE, "%.*s", COLLECTOR_NAME_SIZE - 1, text.text);
	return true;
}

// Runs a program on the lane's CPU. Fails only while another program is writing a record there.
static void flush_lane(struct kernel *kernel, uint32_t handle, uint32_t cpu) {
	uint64_t arguments[] = {handle};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments),
		    .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);
	int program = bpf_program__fd(kernel->programs->progs.flush_lane);
	for (int try = 0; try < 100; try++)
		if (bpf_prog_test_run_opts(program, &run) || run.retval == 0)
			return;
}

void kernel_flush(struct kernel *kernel, struct place *place, uint32_t handle) {
	for (uint32_t cpu = 0; cpu < kernel->cpu_count; cpu++)
		if (__atomic_load_n(&place->lanes[cpu].batch.size, __ATOMIC_RELAXED))
			flush_lane(kernel, handle, cpu);
}
