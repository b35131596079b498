/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The collector's stacks: of long waits, and samples. They are copied, and walked by the client, which reads
// the files; the collector knows nothing of code. The client needs to know what is loaded where, too: so the
// first stack of a process comes after a list of its modules, and so does the next one after the list has
// changed.
//
// Only what its owner could look at with a debugger is copied: memory_is_owners(), at this moment. The
// addresses of the kernel go to the collector, which gives its clients names instead (collector/samples.c).
#include "capture/bpf/copy.h"
#include "capture/bpf/modules.h"

const volatile bool sample_cycles = false; // the CPU clock: its interrupt is no NMI
extern const volatile bool switch_has_state;

struct walks walks SEC(".maps");

// ---- modules ----

// The processes whose modules the clients know. Two that share a place take it from each other.
struct known_modules {
	uint64_t memory; // address of the process's memory descriptor
	uint64_t list;   // where it keeps the address of its first module
	uint64_t hash;   // of its modules
	uint64_t time;   // since when they are known
	uint32_t slot;
	uint32_t unused;
};

enum { KNOWN_MODULES = 4096 }; // a power of two

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KNOWN_MODULES);
	__type(key, uint32_t);
	__type(value, struct known_modules);
} modules_known SEC(".maps");

static __always_inline struct known_modules *known_of(uint32_t pid, uint32_t slot) {
	uint32_t place = (pid ^ slot * 31) & (KNOWN_MODULES - 1);
	return bpf_map_lookup_elem(&modules_known, &place);
}

// Where the current process has its list; from before, if that is known.
static __always_inline uint64_t list_of(const struct known_modules *known, struct mm_struct *memory,
					uint32_t slot) {
	bool same = known->memory == (uint64_t)memory && known->slot == slot && known->list;
	return same ? known->list : find_modules(memory);
}

static __always_inline bool emit_modules(void *ring, struct task_struct *task, struct mm_struct *memory,
					 uint64_t list, uint64_t time) {
	enum { ROOM = sizeof(struct batch) + sizeof(struct record_crash) };
	struct batch *batch = bpf_ringbuf_reserve(ring, ROOM, 0);
	if (!batch)
		return false;
	struct record_crash *record = (void *)(batch + 1);
	if (!clear_record(record)) {
		bpf_ringbuf_discard(batch, BPF_RB_NO_WAKEUP);
		return false;
	}
	record->tid = task->pid;
	record->pid = task->tgid;
	record->interpreter = auxiliary(memory, auxiliary_base, AT_BASE);
	record->entry = auxiliary(memory, auxiliary_entry, AT_ENTRY);
	bpf_probe_read_user_str(record->program, CRASH_PROGRAM_SIZE,
				(void *)auxiliary(memory, auxiliary_name, AT_EXECFN));
	if (list)
		read_modules(record, list);
	uint32_t size = __builtin_offsetof(struct record_crash, modules) +
			record->module_count * sizeof(struct crash_module);
	*batch = (struct batch){.base = time, .cpu = bpf_get_smp_processor_id(), .size = size};
	record->head = (struct record){.kind = RECORD_MODULES, .size = size};
	bpf_ringbuf_submit(batch, BPF_RB_NO_WAKEUP);
	return true;
}

// Sends the modules of the current process, unless the client has known them at this time.
static __noinline int tell_modules(uint32_t slot, uint64_t time) {
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *memory = BPF_CORE_READ(task, mm);
	uint32_t index = slot_index(slot);
	struct known_modules *known = known_of(task->tgid, slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!known || !ring || !has_loop)
		return 0;
	uint64_t list = list_of(known, memory, slot), hash = hash_modules(list);
	bool same = known->memory == (uint64_t)memory && known->slot == slot && known->list == list;
	if (same && known->time && known->time <= time && known->hash == hash)
		return 0;
	if (!emit_modules(ring, task, memory, list, time))
		return 1;
	*known = (struct known_modules){
		.memory = (uint64_t)memory, .list = list, .hash = hash, .time = time, .slot = slot};
	return 0;
}

// A new process has a list like its parent's, but cannot find it: the pages that lead there are its own only
// once it has read them.
SEC("tp_btf/task_newtask")
int stacks_newtask(uint64_t *context) {
	struct task_struct *child = (void *)context[0], *parent = bpf_get_current_task_btf();
	uint32_t pid = child->tgid, slot = slot_of_current(this_cpu(), parent);
	struct session_slot *session = slot != NO_SLOT ? session_get(slot) : 0;
	bool stacks = session &&
		      (session->long_wait || session->sample_period || session->flags & SLOT_OFF_CPU);
	if (!stacks || pid == parent->tgid || !has_loop)
		return 0;
	struct mm_struct *memory = BPF_CORE_READ(parent, mm), *copy = BPF_CORE_READ(child, mm);
	struct known_modules *known = known_of(parent->tgid, slot), *new = known_of(pid, slot);
	uint64_t list = known && memory_is_owners(parent, slot) ? list_of(known, memory, slot) : 0;
	if (new &&list)
		*new = (struct known_modules){.memory = (uint64_t)copy, .list = list, .slot = slot};
	return 0;
}

// ---- stacks ----

// Adds a copy of the user stack, if the owner may have it and there is room: copies are large, so they may
// fill only half of the ring. Returns the size of the record.
static __always_inline uint32_t add_user_stack(struct walk *walk, struct task_struct *task, uint32_t slot,
					       const struct row_registers *begin, void *ring,
					       const struct slot *session, uint64_t time) {
	uint32_t size = sizeof(walk->sample) + walk->sample.kernel_frames * 8;
	if (!begin->pc || !memory_is_owners(task, slot) ||
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= 2ull * session->wakeup_bytes ||
	    tell_modules(slot, time))
		return size;
	return add_copy(walk, begin, top_of_stack(task));
}

static __always_inline void send_stack(struct walk *walk, void *ring, const struct slot *session,
				       uint32_t slot, uint32_t size, uint64_t time) {
	walk->sample.head.size = size;
	walk->batch = (struct batch){.base = time, .cpu = bpf_get_smp_processor_id(), .size = size};
	size += sizeof(walk->batch);
	// Stacks fill a ring within a few records.
	bool wake = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= session->wakeup_bytes;
	if (!put_into_ring(ring, walk, size, wake))
		count_loss(slot, SOURCE_SAMPLE, 1);
}

// A thread has come back from a long wait: waits.h says how this interrupt gets here. Its stack is the one
// with which it waited, below the interrupt.
static __always_inline void record_long_wait(void *context, struct cpu_state *cpu, struct task_struct *task,
					     uint32_t slot) {
	enum { SKIP_PROGRAM = 1 };
	uint32_t index = slot_index(slot);
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
	long bytes = bpf_get_stack(context, walk->addresses + SAMPLE_WAIT_WORDS, SAMPLE_MOST_FRAMES * 8,
				   SKIP_PROGRAM);
	walk->sample.kernel_frames = (bytes > 0 ? (bytes / 8) & 127 : 0) + SAMPLE_WAIT_WORDS;
	struct row_registers begin = saved_registers(task);
	uint32_t size = add_user_stack(walk, task, slot, &begin, ring, session, cpu->late_time);
	send_stack(walk, ring, session, slot, size, cpu->late_time);
}

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

// A thread that gives up the CPU to wait. The reader learns how long from the switch that brings it back. A
// stop for a debugger is not a wait.
SEC("tp_btf/sched_switch")
int on_blocked(uint64_t *context) {
	enum { TRACED = 0x08, IS_DEAD = 0x30 | 0x80 };
	struct task_struct *task = (void *)context[1];
	uint32_t state = switch_has_state ? (uint32_t)context[3] : task->__state;
	bool preempted = context[0] & 1;
	if (preempted || !state || state & (IS_DEAD | TRACED) || !task->pid || task->flags & IS_KERNEL_THREAD)
		return 0;
	uint32_t slot = slot_of(task), index = slot_index(slot);
	struct session_slot *owner = slot != NO_SLOT ? session_get(slot) : 0;
	struct walk *walk = walk_of(WALK_OF_SWITCH);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!owner || !(owner->flags & SLOT_OFF_CPU) || !owner->slot.recording || !walk || !ring)
		return 0;
	uint64_t now = boot_time();
	walk->sample = (struct record_sample){.head = {.kind = RECORD_SAMPLE, .flags = SAMPLE_BLOCKED},
					      .tid = task->pid,
					      .pid = task->tgid,
					      .period = SAMPLE_WAIT_BEGINS};
	long bytes = bpf_get_stack(context, walk->addresses, SAMPLE_MOST_FRAMES * 8, 0);
	walk->sample.kernel_frames = bytes > 0 ? (bytes / 8) & 127 : 0;
	struct row_registers begin = saved_registers(task);
	uint32_t size = add_user_stack(walk, task, slot, &begin, ring, &owner->slot, now);
	send_stack(walk, ring, &owner->slot, slot, size, now);
	return 0;
}

// ---- samples ----

// One event on each CPU ticks for all sessions, at the highest rate that one of them wants. False if this
// tick is none of this session's.
static __always_inline bool is_due(uint32_t slot, uint64_t period, uint64_t now) {
	uint32_t place = lane_place(slot);
	struct lane *lane = lane_at(&place, slot);
	if (!lane || now + period / 8 < lane->sample_due)
		return false;
	uint64_t due = lane->sample_due + period;
	lane->sample_due = due + period < now ? now + period : due;
	return true;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *context) {
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = task->pid ? slot_of(task) : NO_SLOT;
	struct session_slot *owner = slot != NO_SLOT ? session_get(slot) : 0;
	uint64_t now = boot_time();
	if (!owner || !owner->slot.recording || !owner->sample_period ||
	    !is_due(slot, owner->sample_period, now))
		return 0;
	uint32_t index = slot_index(slot);
	struct walk *walk = walk_of(WALK_OF_SAMPLE);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!walk || !ring)
		return 0;
	walk->sample = (struct record_sample){.head = {.kind = RECORD_SAMPLE},
					      .tid = task->pid,
					      .pid = task->tgid,
					      .period = owner->sample_period};
	long bytes = was_in_kernel(context)
			     ? bpf_get_stack(context, walk->addresses, SAMPLE_MOST_FRAMES * 8, 0)
			     : 0;
	walk->sample.kernel_frames = bytes > 0 ? (bytes / 8) & 127 : 0;
	struct row_registers begin = user_registers(context, task);
	uint32_t size = add_user_stack(walk, task, slot, &begin, ring, &owner->slot, now);
	send_stack(walk, ring, &owner->slot, slot, size, now);
	return 0;
}
