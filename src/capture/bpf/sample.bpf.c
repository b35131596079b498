/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// CPU samples with complete stacks. The user part is walked right here, using unwind tables that
// the loader made from each file's .eh_frame. So programs need no frame pointers, and a sample is
// as large as its frames, not as its stack.
//
// Searches keep their state in memory: the verifier treats values loaded from there as unknown, so
// it checks each loop once instead of every path through it.
#include "capture/bpf/copy.h"
#include "capture/bpf/python.h"

const volatile bool sample_cycles = false; // else the CPU clock
const volatile uint32_t call_graph = CALL_GRAPH_AUTO;
uint64_t samples_delivered = 0; // for all tasks

extern const volatile bool switch_has_state, has_loop;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SPACE_MOST);
	__type(key, uint32_t); // process
	__type(value, uint32_t);
} space_ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SPACE_MOST);
	__type(key, uint32_t);
	__type(value, struct space);
} spaces SEC(".maps");

struct unwind_pages {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct unwind_page));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_MOST_FILES);
	__type(key, uint32_t);
	__array(values, struct unwind_pages);
} unwind_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_MOST_FILES);
	__type(key, uint32_t);
	__type(value, struct unwind_size);
} unwind_sizes SEC(".maps");

// Asks the loader to look at new mappings. Perf could wake it at every mapping, but that costs the
// test as much as several samples.
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} looks SEC(".maps");

uint64_t last_look = 0;

// Once asked, the loader keeps looking for two milliseconds; stacks at events come much faster than
// that.
static __always_inline void ask_for_a_look(void) {
	enum { SOON_NS = 500000 };
	uint64_t nothing = 0, now = bpf_ktime_get_ns();
	if (now - last_look < SOON_NS)
		return;
	last_look = now;
	if (!bpf_ringbuf_query(&looks, BPF_RB_AVAIL_DATA)) // otherwise a request is already pending
		bpf_ringbuf_output(&looks, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

struct walks walks SEC(".maps");

// Cache of the last rows found. Samples share most of their callers, even across processes that run
// the same program.
struct remembered {
	uint32_t file, pc; // of the address that was looked up
	struct kernel_row row;
};

enum { REMEMBERED_ROWS = 2048 }; // a power of two

struct memory {
	struct remembered rows[REMEMBERED_ROWS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_COUNT);
	__type(key, uint32_t);
	__type(value, struct memory);
} memories SEC(".maps");

// ---- searching ----

// Finds the mapping that holds an address. Returns 0 if found.
__attribute__((noinline)) int find_mapping(uint64_t pc, uint32_t which) {
	struct walk *walk = walk_of(which);
	if (!walk)
		return 1;
	struct space *space = bpf_map_lookup_elem(&spaces, &walk->space);
	if (!space)
		return 1;
	walk->low = 0;
	walk->high = space->count;
	for (int step = 0; step < 9 && walk->low < walk->high; step++) {
		uint32_t middle = ((walk->low + walk->high) / 2) & (SPACE_MOST_MAPPINGS - 1);
		struct mapping *mapping = &space->mappings[middle];
		if (pc < mapping->start) {
			walk->high = middle;
		} else if (pc >= mapping->end) {
			walk->low = middle + 1;
		} else {
			walk->start = mapping->start;
			walk->end = mapping->end;
			walk->file = mapping->file;
			walk->bias = mapping->bias;
			return 0;
		}
	}
	return 1;
}

// `step` if the row's address is not above the wanted one, else 0. Branch-free, because the
// verifier follows both sides of every branch; the compiler must not recognise the comparison.
static __always_inline uint32_t step_if_not_above(uint32_t row, uint32_t pc, uint32_t step) {
	uint64_t difference = (uint64_t)row - pc - 1;
	asm volatile("" : "+r"(difference));
	return (uint32_t)(difference >> 63) * step;
}

// An index masked below a power of two, visibly to the verifier: the compiler would drop a mask it
// knows to be redundant.
static __always_inline uint32_t below(uint32_t index, uint32_t count) {
	asm volatile("" : "+r"(index));
	return index & (count - 1);
}

// Finds the row for an address in that mapping's file. Returns 0 if found.
__attribute__((noinline)) int find_row(uint64_t address, uint32_t which) {
	struct walk *walk = walk_of(which);
	if (!walk)
		return 1;
	uint32_t file = walk->file;
	struct unwind_size *size = bpf_map_lookup_elem(&unwind_sizes, &file);
	void *pages = bpf_map_lookup_elem(&unwind_files, &file);
	if (!size || !pages) {
		walk->unknown |= file != NO_FILE; // it has a table, which is not loaded yet
		return 1;
	}
	uint32_t pc = address - walk->bias, index;
	struct unwind_page *page;
	walk->low = 0;
	walk->high = size->index_pages;
	for (int step = 0; step < 6 && walk->low + 1 < walk->high; step++) {
		index = (walk->low + walk->high) / 2;
		page = bpf_map_lookup_elem(pages, &index);
		if (!page)
			return 1;
		if (page->starts[0] <= pc)
			walk->low = index;
		else
			walk->high = index;
	}
	index = walk->low;
	page = bpf_map_lookup_elem(pages, &index);
	if (!page)
		return 1;
	uint32_t at = 0;
	for (uint32_t step = UNWIND_PAGE_STARTS / 2; step; step /= 2)
		at += step_if_not_above(page->starts[below(at + step, UNWIND_PAGE_STARTS)], pc, step);
	index = size->index_pages + index * UNWIND_PAGE_STARTS + at;
	page = bpf_map_lookup_elem(pages, &index);
	if (!page)
		return 1;
	at = 0;
	for (uint32_t step = UNWIND_PAGE_ROWS / 2; step; step /= 2)
		at += step_if_not_above(page->rows[below(at + step, UNWIND_PAGE_ROWS)].pc, pc, step);
	walk->row = page->rows[below(at, UNWIND_PAGE_ROWS)];
	return walk->row.pc > pc;
}

// Finds the row that says how to unwind from an address, into walk->row. False if there is none.
static __always_inline bool row_for(struct walk *walk, uint32_t which, uint64_t pc) {
	bool same = pc >= walk->start && pc < walk->end; // as for the previous frame
	if (!same && find_mapping(pc, which)) {
		walk->unknown = 1;
		return false;
	}
	struct memory *memory = bpf_map_lookup_elem(&memories, &which);
	if (!memory || walk->file == NO_FILE)
		return false;
	uint32_t file = walk->file, offset = pc - walk->bias;
	struct remembered *place = &memory->rows[(offset ^ offset >> 11 ^ file * 31) & (REMEMBERED_ROWS - 1)];
	if (place->pc == offset && place->file == file) {
		walk->row = place->row;
		return true;
	}
	if (find_row(pc, which))
		return false;
	struct kernel_row found = walk->row;
	if (row_rule(&found) == ROW_NONE)
		return false;
	*place = (struct remembered){.file = file, .pc = offset, .row = walk->row};
	return true;
}

// ---- walking ----

// Reads the stack in pieces, into the space reserved for a copy of it: stack memory that the thread
// has not touched for a while is not cached, and many lines are fetched together.
static __always_inline bool read_user(void *context, uint64_t address, uint64_t *value) {
	enum { WINDOW = 1024 };
	struct walk *walk = context;
	uint64_t offset = address - walk->window;
	if (offset >= walk->window_room || address & 7) {
		walk->window_room = 0;
		if (address & 7 || bpf_probe_read_user(walk->copy, WINDOW, (void *)address))
			return bpf_probe_read_user(value, sizeof(*value), (void *)address) == 0;
		walk->window = address;
		walk->window_room = WINDOW - 7;
		offset = 0;
	}
	*value = *(uint64_t *)(walk->copy + (offset & (WINDOW - 8)));
	return true;
}

// Without a table, follow the frame pointer, if the code keeps one. 0 marks the outermost function,
// but only in code that keeps frame pointers.
static __always_inline enum row_result step_by_frame(struct walk *walk, struct row_registers *registers,
						     bool kept) {
	uint64_t frame, pc;
	if (!row_fetch_frame(registers, read_user, walk))
		return ROW_BROKEN;
	if (!registers->frame && kept)
		return ROW_FINISHED;
	if (registers->frame < registers->stack || registers->frame & 7 ||
	    !read_user(walk, registers->frame, &frame) || !read_user(walk, registers->frame + 8, &pc))
		return ROW_BROKEN;
	*registers = (struct row_registers){.pc = pc, .stack = registers->frame + 16, .frame = frame};
	return pc ? ROW_STEPPED : ROW_FINISHED;
}

// Steps to the caller; returns enum row_result. The first frame is where the thread is; the others
// are return addresses, just after the call. (A signal can come anywhere.)
__attribute__((noinline)) int step_up(uint32_t depth, uint32_t which) {
	struct walk *walk = walk_of(which);
	if (!walk)
		return ROW_BROKEN;
	struct row_registers registers = walk->registers;
	uint64_t pc = registers.pc - (depth && !walk->exact ? 1 : 0);
	walk->exact = 0;
	enum row_result result = ROW_BROKEN;
	bool by_table = call_graph != CALL_GRAPH_FP && row_for(walk, which, pc);
	if (!by_table && call_graph == CALL_GRAPH_DWARF) {
		walk->unknown = 1;
	} else if (!by_table) {
		bool kept = call_graph == CALL_GRAPH_FP || walk->sample.head.flags & SAMPLE_STACK_GUESSED;
		result = step_by_frame(walk, &registers, kept);
		if (result == ROW_STEPPED && call_graph == CALL_GRAPH_AUTO)
			walk->sample.head.flags |= SAMPLE_STACK_GUESSED;
	} else {
		struct kernel_row row = walk->row;
		walk->exact = row_rule(&row) == ROW_SIGNAL;
		result = row_step(&row, &registers, read_user, walk);
	}
	walk->registers = registers;
	return result;
}

// Whether it is in execve(), which takes its old stack away at some point.
static __always_inline bool is_in_execve(struct task_struct *task) {
#ifdef __TARGET_ARCH_x86
	enum { EXECVE = 59, EXECVEAT = 322 };
	struct pt_regs___kernel *saved = (void *)bpf_task_pt_regs(task);
	uint64_t call = BPF_CORE_READ(saved, orig_ax);
	return call == EXECVE || call == EXECVEAT;
#else
	return false;
#endif
}

// Whether a walk ended close to that: in startup code of a C library that has no unwind information.
static __always_inline bool is_at_beginning(const struct walk *walk, struct task_struct *task) {
	enum { STARTUP_CODE = 512 };
	return top_of_stack(task) - walk->registers.stack <= STARTUP_CODE;
}

// Looks again at a walk that ended before the outermost function.
static __always_inline void look_at_end(struct walk *walk, struct task_struct *task, bool in_kernel) {
	volatile uint16_t *frame_count = &walk->sample.user_frames;
	if (walk->sample.head.flags & (SAMPLE_STACK_COMPLETE | SAMPLE_STACK_CUT))
		return;
	if (in_kernel && is_in_execve(task)) {
		*frame_count = 0;
		walk->unknown = 0;
	} else if (!walk->unknown && is_at_beginning(walk, task)) {
		walk->sample.head.flags |= SAMPLE_STACK_COMPLETE;
	}
}

// Walks one frame; returns 1 if it was the last. The frame count is stored to memory: in a register
// it would be a known number, and the verifier would check all that follows once for every depth at
// which a stack can end.
static __always_inline long walk_frame(struct walk *walk, uint32_t which, uint32_t kernel_frames,
				       uint32_t frames) {
	volatile uint16_t *frame_count = &walk->sample.user_frames;
	uint32_t outer = (frames - SAMPLE_INNER_FRAMES) & (SAMPLE_OUTER_FRAMES - 1);
	uint32_t place = frames < SAMPLE_INNER_FRAMES ? frames : SAMPLE_INNER_FRAMES + outer;
	walk->addresses[(kernel_frames + place) & (SAMPLE_ADDRESSES - 1)] = walk->registers.pc;
	int result = step_up(frames, which);
	*frame_count = frames + 1;
	if (result == ROW_FINISHED)
		walk->sample.head.flags |= SAMPLE_STACK_COMPLETE;
	return result != ROW_STEPPED;
}

struct walking {
	uint32_t which, kernel_frames;
	bool over;
};

static long walk_turn(uint32_t frames, struct walking *walking) {
	struct walk *walk = walk_of(walking->which);
	walking->over = !walk || walk_frame(walk, walking->which, walking->kernel_frames, frames);
	return walking->over;
}

// The verifier checks a bpf_loop() body once, but every iteration of a plain loop, which takes ten
// milliseconds.
static __always_inline void walk_user_stack(struct walk *walk, uint32_t which, uint32_t kernel_frames) {
	if (has_loop) {
		struct walking walking = {.which = which, .kernel_frames = kernel_frames};
		bpf_loop(SAMPLE_DEEPEST, walk_turn, &walking, 0);
		if (walking.over)
			return;
	} else {
		for (uint32_t frames = 0; frames < SAMPLE_USER_FRAMES; frames++)
			if (walk_frame(walk, which, kernel_frames, frames))
				return;
	}
	walk->sample.head.flags |= SAMPLE_STACK_CUT;
}

// Walks one frame up from the allocator; true if it was the last.
static __always_inline bool walk_caller(struct walk *walk, uint32_t which, uint32_t frames) {
	enum { HASH_FACTOR = 0x9e3779b1 };
	uint64_t address = walk->registers.pc;
	walk->addresses[frames & (SAMPLE_ADDRESSES - 1)] = address;
	walk->hash = (walk->hash ^ address) * HASH_FACTOR;
	walk->hash ^= walk->hash >> 29;
	int result = step_up(1, which);
	if (result == ROW_FINISHED)
		walk->sample.head.flags |= SAMPLE_STACK_COMPLETE;
	return result != ROW_STEPPED;
}

// Kernels before 6.8 reject a loop whose body falls through into its start; the compiler may
// arrange it that way if it knows the values of the first iteration.
__attribute__((noinline)) int walk_callers(uint64_t pc, uint64_t stack, uint64_t frame, uint32_t which) {
	struct walk *walk = walk_of(which);
	uint32_t frames = 0, pid = bpf_get_current_pid_tgid() >> 32;
	if (!walk)
		return 0;
	uint32_t *space = bpf_map_lookup_elem(&space_ids, &pid);
	walk->space = space ? *space : 0;
	walk->start = walk->end = walk->hash = 0;
	walk->unknown = walk->exact = 0;
	walk->window_room = 0;
	walk->sample.head.flags = 0;
	walk->registers = (struct row_registers){.pc = pc, .stack = stack, .frame = frame};
	asm volatile("" ::: "memory");
	for (; frames < SAMPLE_USER_FRAMES; frames++)
		if (walk_caller(walk, which, frames)) {
			if (walk->unknown)
				ask_for_a_look();
			return frames + 1;
		}
	walk->sample.head.flags |= SAMPLE_STACK_CUT;
	return frames;
}

// Outside x86, code usually keeps frame pointers, and the kernel follows them.
static __always_inline uint32_t follow_frame_pointers(void *context, struct walk *walk,
						      uint32_t kernel_frames) {
#ifdef __TARGET_ARCH_x86
	return 0;
#else
	long bytes = bpf_get_stack(context, walk->addresses + (kernel_frames & 127), SAMPLE_MOST_FRAMES * 8,
				   BPF_F_USER_STACK);
	walk->sample.head.flags |= bytes > 0 ? SAMPLE_STACK_COMPLETE | SAMPLE_STACK_GUESSED : 0;
	return bytes > 0 ? (bytes / 8) & 127 : 0;
#endif
}

// Records the current task's stack, from its position in user code, in the session's ring.
static __always_inline void record_stack(void *context, uint32_t which, uint32_t slot,
					 const struct row_registers *begin, uint32_t period, uint32_t flags,
					 bool in_kernel) {
	enum { WAKE_EVERY = 1 << 16 };
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t index = slot - 1, pid = task->tgid;
	struct walk *walk = walk_of(which);
	struct slot *session = slot_get(slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!walk || !session || !session->recording || !ring)
		return;
	uint64_t now = boot_time();
	uint32_t *space = bpf_map_lookup_elem(&space_ids, &pid);
	walk->space = space ? *space : 0;
	walk->start = walk->end = 0;
	walk->unknown = walk->exact = 0;
	walk->window_room = 0;
	walk->sample = (struct record_sample){.head = {.kind = RECORD_SAMPLE, .flags = flags},
					      .tid = task->pid,
					      .pid = pid,
					      .period = period};
	long bytes = in_kernel ? bpf_get_stack(context, walk->addresses, SAMPLE_MOST_FRAMES * 8, 0) : 0;
	uint32_t kernel_frames = bytes > 0 ? (bytes / 8) & 127 : 0;
	if (begin->pc) {
		walk->registers = *begin;
		walk_user_stack(walk, which, kernel_frames);
		look_at_end(walk, task, in_kernel);
	} else {
		walk->sample.user_frames = follow_frame_pointers(context, walk, kernel_frames);
	}
	walk->sample.kernel_frames = kernel_frames;
	uint32_t user_frames = *(volatile uint16_t *)&walk->sample.user_frames;
	if (user_frames > SAMPLE_USER_FRAMES)
		user_frames = SAMPLE_USER_FRAMES;
	uint32_t size = sizeof(walk->sample) + (kernel_frames + user_frames) * 8;
	// Copies are large, so they may fill only half of the ring; the reader wakes at a quarter.
	uint64_t waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	if (walk->unknown) {
		if (waiting < 2ull * session->wakeup_bytes && memory_is_owners(task, slot))
			size = add_copy(walk, begin, top_of_stack(task));
		ask_for_a_look();
	}
	if (begin->pc)
		python_frames(slot, now, which);
	walk->sample.head.size = size;
	walk->batch = (struct batch){.base = now, .cpu = bpf_get_smp_processor_id(), .size = size};
	size += sizeof(walk->batch);
	// Wake once per WAKE_EVERY bytes, not for every record past the threshold.
	bool wake = waiting >= session->wakeup_bytes && (waiting & (WAKE_EVERY - 1)) < size;
	if (!put_into_ring(ring, walk, size, wake))
		count_loss(slot, SOURCE_SAMPLE, 1);
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *context) {
	__sync_fetch_and_add(&samples_delivered, 1);
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = task->pid ? slot_of(task) : NO_SLOT;
	if (slot == NO_SLOT)
		return 0;
	struct row_registers begin = user_registers(context, task);
	uint64_t period = context->sample_period;
	record_stack(context, WALK_OF_SAMPLE, slot, &begin, period < 0xffffffff ? period : 0xffffffff,
		     sample_cycles ? SAMPLE_CYCLES : 0, was_in_kernel(context));
	return 0;
}

// A thread that gives up the CPU to wait. The reader learns how long from the switch that brings it
// back. A stop for a debugger is not a wait: we stop the test's threads ourselves when its time is over.
SEC("tp_btf/sched_switch")
int on_blocked(uint64_t *context) {
	enum { TRACED = 0x08, TASK_DEAD = 0x80, IS_DEAD = 0x30 | TASK_DEAD };
	struct task_struct *task = (void *)context[1];
	uint32_t state = switch_has_state ? (uint32_t)context[3] : task->__state;
	bool preempted = context[0] & 1;
	if (preempted || !state || state & (IS_DEAD | TRACED) || !task->pid || task->flags & IS_KERNEL_THREAD)
		return 0;
	uint32_t slot = slot_of(task);
	if (slot == NO_SLOT)
		return 0;
	struct row_registers begin = saved_registers(task);
	record_stack(context, WALK_OF_SWITCH, slot, &begin, SAMPLE_WAIT_BEGINS, SAMPLE_BLOCKED, true);
	return 0;
}

static __always_inline void record_long_wait(void *context, struct cpu_state *cpu, struct task_struct *task,
					     uint32_t slot) {
	uint32_t index = slot - 1;
	struct walk *walk = walk_of(WALK_OF_SWITCH);
	struct slot *session = slot_get(slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!walk || !session || !session->recording || !ring)
		return;
	walk->sample = (struct record_sample){.head = {.kind = RECORD_SAMPLE, .flags = SAMPLE_BLOCKED},
					      .tid = task->pid,
					      .pid = task->tgid,
					      .period = SAMPLE_WAIT_ENDS};
	walk->addresses[0] = cpu->late_waited;
	walk->addresses[1] = cpu->late_ready;
	// Without the frame of this program: what the kernel calls it depends on what is loaded when it is
	// named.
	enum { SKIP_PROGRAM = 1 };
	long bytes = bpf_get_stack(context, walk->addresses + SAMPLE_WAIT_WORDS, SAMPLE_MOST_FRAMES * 8,
				   SKIP_PROGRAM);
	uint32_t kernel_frames = (bytes > 0 ? (bytes / 8) & 127 : 0) + SAMPLE_WAIT_WORDS;
	walk->sample.kernel_frames = kernel_frames;
	uint32_t size = sizeof(walk->sample) + kernel_frames * 8;
	struct row_registers begin = saved_registers(task);
	// Copies are large, so they may fill only half of the ring.
	if (begin.pc && memory_is_owners(task, slot) &&
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) < 2ull * session->wakeup_bytes) {
		size = add_copy(walk, &begin, top_of_stack(task));
		if (!last_look)
			ask_for_a_look();
	}
	python_frames(slot, cpu->late_time, WALK_OF_SWITCH);
	walk->sample.head.size = size;
	walk->batch = (struct batch){.base = cpu->late_time, .cpu = bpf_get_smp_processor_id(), .size = size};
	if (!put_into_ring(ring, walk, size + sizeof(walk->batch), false))
		count_loss(slot, SOURCE_SAMPLE, 1);
}

// A thread has come back from a long wait: waits.h says how this interrupt gets here. Its stack is the one
// with which it waited, below the interrupt.
SEC("raw_tp/irq_work_entry")
int on_long_wait(void *context) {
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu();
	if (!cpu || cpu->late != known_task(cpu, task))
		return 0;
	cpu->late = 0;
	uint32_t slot = slot_of_current(cpu, task);
	if (slot != NO_SLOT)
		record_long_wait(context, cpu, task, slot);
	return 0;
}

// ---- stacks at events ----

// One program per event, separate from the one that records the event itself: without stacks
// nothing of this is loaded or verified.

const volatile uint64_t stacked_calls[8] = {};  // one bit per system call
const volatile uint32_t stacked_operations = 0; // block devices: one bit each for READ, WRITE, FLUSH
const volatile bool stacked_threads = false;    // for new threads, not only new processes

struct bio___stacked {
	uint32_t bi_opf;
} KERNEL_TYPE;

// An event may interrupt the walk for another event.
static __noinline int stack_at(void *context, uint32_t event, const struct row_registers *begin) {
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = task->pid ? slot_of_current(this_cpu(), task) : NO_SLOT;
	if (slot == NO_SLOT)
		return 0;
	uint32_t which = WALK_OF_EVENT;
	struct walk *walk = walk_of(which);
	while (walk && __sync_fetch_and_add(&walk->busy, 1)) {
		__sync_fetch_and_add(&walk->busy, -1);
		walk = ++which < WALK_OF_EVENT + WALKS_OF_EVENT ? walk_of(which) : 0;
	}
	if (!walk) {
		count_loss(slot, SOURCE_SAMPLE, 1);
		return 0;
	}
	record_stack(context, which, slot, begin, event, SAMPLE_EVENT, true);
	__sync_fetch_and_add(&walk->busy, -1);
	return 0;
}

static __always_inline int stack_here(void *context, uint32_t event) {
	struct row_registers begin = saved_registers(bpf_get_current_task_btf());
	return stack_at(context, event, &begin);
}

static __always_inline int stack_at_fault(struct bpf_perf_event_data *context, uint32_t event) {
	struct row_registers begin = user_registers(context, bpf_get_current_task_btf());
	return stack_at(context, event, &begin);
}

SEC("perf_event")
int stack_at_minor_fault(struct bpf_perf_event_data *context) {
	return stack_at_fault(context, POINT_FAULT_MINOR);
}

SEC("perf_event")
int stack_at_major_fault(struct bpf_perf_event_data *context) {
	return stack_at_fault(context, POINT_FAULT_MAJOR);
}

SEC("raw_tp/sys_enter")
int stack_at_sys_enter(uint64_t *context) {
	uint64_t id = context[1];
	if (id >= 512 || !(stacked_calls[id / 64 & 7] >> (id & 63) & 1))
		return 0;
	return stack_here(context, POINT_SYS_ENTER | id << STACK_CALL_SHIFT);
}

SEC("raw_tp/block_bio_queue")
int stack_at_bio_queue(uint64_t *context) {
	enum { OPERATIONS = 0xff, FLUSH = 1 << 2, PREFLUSH = 1 << 18 };
	uint32_t flags = BPF_CORE_READ((struct bio___stacked *)context[0], bi_opf);
	uint32_t wanted = 1u << (flags & OPERATIONS & 31) | (flags & PREFLUSH ? FLUSH : 0);
	return wanted & stacked_operations ? stack_here(context, POINT_BIO_QUEUE) : 0;
}

SEC("raw_tp/task_newtask")
int stack_at_newtask(uint64_t *context) {
	enum { CLONE_THREAD = 0x10000 };
	bool thread = context[1] & CLONE_THREAD;
	return !thread || stacked_threads ? stack_here(context, STACK_AT_NEWTASK) : 0;
}

#define STACK_AT(program, tracepoint, event)                                                                 \
	SEC("raw_tp/" tracepoint) int program(uint64_t *context) {                                           \
		return stack_here(context, event);                                                           \
	}

STACK_AT(stack_at_sys_exit, "sys_exit", POINT_SYS_EXIT)
STACK_AT(stack_at_waking, "sched_waking", STACK_AT_WAKING)
STACK_AT(stack_at_softirq, "softirq_entry", STACK_AT_SOFTIRQ)
STACK_AT(stack_at_softirq_raise, "softirq_raise", POINT_SOFTIRQ_RAISE)
STACK_AT(stack_at_ipi_cpu, "ipi_send_cpu", POINT_IPI_CPU)
STACK_AT(stack_at_ipi_mask, "ipi_send_cpumask", POINT_IPI_MASK)
STACK_AT(stack_at_ipi_raise, "ipi_raise", POINT_IPI_RAISE)
STACK_AT(stack_at_work_queue, "workqueue_queue_work", POINT_WORK_QUEUE)
STACK_AT(stack_at_hrtimer_start, "hrtimer_start", POINT_HRTIMER_START)
STACK_AT(stack_at_timer_start, "timer_start", POINT_TIMER_START)
STACK_AT(stack_at_lock_begin, "contention_begin", POINT_LOCK_BEGIN)
STACK_AT(stack_at_bio_split, "block_split", POINT_BIO_SPLIT)
STACK_AT(stack_at_kmalloc, "kmalloc", POINT_KMALLOC)
STACK_AT(stack_at_cache_alloc, "kmem_cache_alloc", POINT_CACHE_ALLOC)
STACK_AT(stack_at_kfree, "kfree", POINT_KFREE)
STACK_AT(stack_at_cache_free, "kmem_cache_free", POINT_CACHE_FREE)
STACK_AT(stack_at_kvm_exit, "kvm_exit", POINT_KVM_EXIT)

// ---- address spaces ----

SEC("tp_btf/task_newtask")
int sample_newtask(uint64_t *context) {
	struct task_struct *child = (void *)context[0];
	uint32_t pid = bpf_get_current_task_btf()->tgid, new = child->tgid;
	uint32_t *space = pid == new ? 0 : bpf_map_lookup_elem(&space_ids, &pid);
	if (space)
		bpf_map_update_elem(&space_ids, &new, space, BPF_ANY);
	struct python_process *python = pid == new ? 0 : bpf_map_lookup_elem(&pythons, &pid);
	if (python)
		bpf_map_update_elem(&pythons, &new, python, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int sample_exec(uint64_t *context) {
	struct task_struct *task = (void *)context[0];
	if (slot_of(task) != NO_SLOT)
		ask_for_a_look();
	return 0;
}
