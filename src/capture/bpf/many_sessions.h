/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The programs of the collector: many sessions, of users who trust neither each other nor their own
// tests. A task's storage holds the handle of its session (session_slot.h).
//
// A session records only tasks that are its owner's: the same ids, no more capabilities, the
// collector's user namespace. That is checked whenever a task's credentials are not those that were
// checked last, which is one comparison of addresses. An exec always brings new ones, before its
// event, so a set-user-id program leaves its session before anything about it is recorded. The
// objective credentials count: those that the kernel works with may be another's for a moment.
#pragma once

#include "capture/bpf/kernel.h"
#include "capture/bpf/session_slot.h"

struct task_slots {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct membership);
};

struct slots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct session_slot);
};

struct lanes_of_slot { // by CPU
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(struct lane));
};

// By slot. The memory is only there for slots that were needed at the same time.
struct lanes {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(values, struct lanes_of_slot);
};

enum { KNOWN_TASKS = 16 };

// Per-CPU state of the programs.
struct cpu_state {
	uint64_t current;            // address of the task that the last switch brought in
	uint64_t seen;               // its credentials at that time
	uint32_t slot;               // its session
	uint32_t follower;           // the session for which the next switch here is recorded
	uint32_t outside;            // a task outside all sessions runs here; `queues` says so, too
	uint32_t hardirqs, softirqs; // nesting depth right now
	uint32_t softirq;            // the number of the last softirq that began here
	uint64_t fired, fired_in;    // addresses of the last expired timer and of the task it interrupted
	uint64_t late;               // known_task() of the task that is back from a long wait (waits.h), or 0
	uint64_t late_time;          // when it came back
	uint64_t late_waited, late_ready; // before that, in nanoseconds
	uint64_t generation;              // the task_generation that the entries below are valid for
	uint64_t known[KNOWN_TASKS]; // recently seen tasks; written where no interrupt can come in between
	uint64_t known_seen[KNOWN_TASKS];  // their credentials,
	uint32_t known_slots[KNOWN_TASKS]; // sessions
	int known_ids[KNOWN_TASKS];        // and ids: a new task may reuse an old one's address
};

extern struct task_slots task_slots SEC(".maps");
extern struct slots slots SEC(".maps");
extern struct lanes lanes SEC(".maps");

extern uint64_t task_generation;      // changes when a task joins or leaves a session, and when one ends
extern volatile uint64_t boot_offset; // CLOCK_BOOTTIME minus CLOCK_MONOTONIC; a suspend changes it
extern uint64_t own_namespace;        // address of the collector's user namespace
enum { system_slot = NO_SLOT };       // no session records every task

extern volatile uint32_t waits_wanted; // sessions that want the stacks of long waits

#define SESSION_VARIABLES                                                                                    \
	volatile uint64_t boot_offset = 0;                                                                   \
	volatile uint32_t waits_wanted = 0;                                                                  \
	uint64_t own_namespace = 0;

// In kernel.h are only the members that all programs use.
struct cred___owner {
	kuid_t uid, suid, euid, fsuid;
	kuid_t gid, sgid, egid, fsgid;
	struct capability_set cap_permitted;
	void *user_ns;
} KERNEL_TYPE;

struct task_struct___owner {
	const struct cred *real_cred;
} KERNEL_TYPE;

int emit(union any_record *record, uint32_t slot, uint64_t now, uint32_t size, uint32_t source);

// ---- slots ----

static __always_inline uint32_t slot_index(uint32_t slot) {
	return (slot & SLOT_MASK) - 1;
}

// NULL if that session has ended.
static __always_inline struct session_slot *session_at(const uint32_t *index, uint32_t slot) {
	struct session_slot *session = bpf_map_lookup_elem(&slots, index);
	return session && *(volatile uint32_t *)&session->handle == slot ? session : 0;
}

static __always_inline struct session_slot *session_get(uint32_t slot) {
	uint32_t index = slot_index(slot);
	return session_at(&index, slot);
}

static __always_inline struct slot *slot_at(const uint32_t *index, uint32_t slot) {
	struct session_slot *session = session_at(index, slot);
	return session ? &session->slot : 0;
}

static __always_inline struct slot *slot_get(uint32_t slot) {
	struct session_slot *session = session_get(slot);
	return session ? &session->slot : 0;
}

static __always_inline bool waits_are_recorded(void) {
	return waits_wanted;
}

static __always_inline uint64_t long_wait_of(uint32_t slot) {
	struct session_slot *session = slot != NO_SLOT ? session_get(slot) : 0;
	return session ? session->long_wait : 0;
}

// The session's lane on this CPU.
static __always_inline uint32_t lane_place(uint32_t slot) {
	return bpf_get_smp_processor_id();
}

static __always_inline struct lane *lane_at(const uint32_t *place, uint32_t slot) {
	uint32_t index = slot_index(slot);
	void *mine = bpf_map_lookup_elem(&lanes, &index);
	return mine ? bpf_map_lookup_elem(mine, place) : 0;
}

// Once more where it is used: in longer programs the verifier loses what it knew about the number.
static __always_inline bool is_source(uint32_t *source) {
	asm volatile("" : "+r"(*source));
	return *source < RECORD_SOURCE_COUNT;
}

static __always_inline struct cpu_state *this_cpu(void);

// ---- whose task it is ----

// The quickest way, for what runs at every switch. But whenever the verifier comes by such a load of a
// pointer, it looks through all names of the kernel's types: once for each path through a program, that took
// as long as all else of loading them.
static __always_inline uint64_t credentials_quickly(struct task_struct *task) {
	return (uint64_t)((struct task_struct___owner *)task)->real_cred;
}

static __always_inline uint64_t credentials(struct task_struct *task) {
	uint64_t address = 0;
	bpf_core_read(&address, sizeof(address), &((struct task_struct___owner *)task)->real_cred);
	return address;
}

static __always_inline bool is_owners(const struct cred___owner *cred, const struct session_slot *session) {
	uint32_t uid = session->uid, gid = session->gid;
	uint64_t capabilities = 0;
	bpf_core_read(&capabilities, sizeof(capabilities), &cred->cap_permitted);
	return BPF_CORE_READ(cred, uid.val) == uid && BPF_CORE_READ(cred, euid.val) == uid &&
	       BPF_CORE_READ(cred, suid.val) == uid && BPF_CORE_READ(cred, fsuid.val) == uid &&
	       BPF_CORE_READ(cred, gid.val) == gid && BPF_CORE_READ(cred, egid.val) == gid &&
	       BPF_CORE_READ(cred, sgid.val) == gid && BPF_CORE_READ(cred, fsgid.val) == gid &&
	       !(capabilities & ~session->capabilities) &&
	       (uint64_t)BPF_CORE_READ(cred, user_ns) == own_namespace;
}

// The task leaves its session for good; so do its later children. One record says why its events end.
static __attribute__((noinline)) int leave_for_good(struct task_struct *task, struct membership *mine,
						    struct session_slot *session) {
	uint32_t slot = mine->handle;
	union any_record record = {};
	record.rename = (struct record_rename){.head = {.kind = RECORD_RENAME},
					       .tid = task->pid,
					       .pid = task->tgid,
					       .name = RECORD_NAME_OTHER_USER};
	mine->handle = NO_SLOT;
	emit(&record, slot, bpf_ktime_get_ns() + boot_offset, sizeof(record.rename), SOURCE_PROCESS);
	__sync_fetch_and_add(&session->left, 1);
	__sync_fetch_and_add(&task_generation, 1);
	struct cpu_state *cpu = this_cpu();
	if (cpu && cpu->current == (uint64_t)task) {
		cpu->slot = NO_SLOT;
		cpu->follower = slot; // the next switch ends its last slice
	}
	return 0;
}

// The task has other credentials than before: is it still its owner's?
static __attribute__((noinline)) uint32_t look_again(struct task_struct *task, struct membership *mine,
						     struct session_slot *session) {
	uint64_t seen = credentials(task);
	if (!(session->flags & SLOT_ANY_USER) && !is_owners((void *)seen, session)) {
		leave_for_good(task, mine, session);
		return NO_SLOT;
	}
	mine->seen = seen;
	return mine->handle;
}

// The session that records what this task does, or NO_SLOT.
static __always_inline uint32_t slot_of(struct task_struct *task) {
	struct membership *mine = bpf_task_storage_get(&task_slots, task, 0, 0);
	uint32_t slot = mine ? mine->handle : NO_SLOT;
	struct session_slot *session = slot != NO_SLOT ? session_get(slot) : 0;
	if (!mine || !session)
		return NO_SLOT;
	return mine->seen == credentials(task) ? slot : look_again(task, mine, session);
}

// ---- tasks seen recently ----

// A number unique to the task. The only arithmetic the verifier allows on two addresses is their
// difference.
static __always_inline uint64_t known_task(struct cpu_state *cpu, struct task_struct *task) {
	return (uint64_t)task - (uint64_t)cpu;
}

static __always_inline uint32_t known_place(uint64_t task) {
	return (task >> 6 ^ task >> 12) & (KNOWN_TASKS - 1);
}

static __always_inline uint32_t known_slot(struct cpu_state *cpu, struct task_struct *task, bool *known) {
	uint64_t number = known_task(cpu, task);
	uint32_t place = known_place(number);
	*known = cpu->known[place] == number && cpu->known_ids[place] == task->pid &&
		 cpu->known_seen[place] == credentials_quickly(task) &&
		 cpu->generation == *(volatile uint64_t *)&task_generation;
	return cpu->known_slots[place];
}

static __always_inline void know(struct cpu_state *cpu, struct task_struct *task, uint32_t slot) {
	uint64_t number = known_task(cpu, task);
	uint32_t place = known_place(number);
	cpu->known[place] = number;
	cpu->known_seen[place] = credentials(task);
	cpu->known_slots[place] = slot;
	cpu->known_ids[place] = task->pid;
}

// The same, for the task running on this CPU; the last switch looked it up.
static __always_inline uint32_t slot_of_current(struct cpu_state *cpu, struct task_struct *task) {
	return cpu && cpu->current == (uint64_t)task && cpu->seen == credentials_quickly(task)
		       ? cpu->slot
		       : slot_of(task);
}

static __always_inline void set_current(struct cpu_state *cpu, struct task_struct *task, uint32_t slot) {
	cpu->current = (uint64_t)task;
	cpu->seen = credentials_quickly(task);
	cpu->slot = slot;
}

// ---- joining and leaving ----

// The task joins the session; false if there is no memory for it. Its credentials are checked at
// its first event.
static __always_inline bool join(struct task_struct *task, const uint32_t *slot) {
	struct membership mine = {.handle = *slot};
	return bpf_task_storage_get(&task_slots, task, &mine, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void forget(struct task_struct *task) {
	struct membership *mine = bpf_task_storage_get(&task_slots, task, 0, 0);
	if (mine)
		mine->handle = NO_SLOT;
}

// Until 6.17 a word; since then an array of bits.
struct mm_struct___word {
	unsigned long flags;
} KERNEL_TYPE;

struct mm_flags {
	unsigned long __mm_flags[1];
} KERNEL_TYPE;

struct mm_struct___bits {
	struct mm_flags flags;
} KERNEL_TYPE;

// May other processes of this user look into its memory? Not if its program may be executed but not
// read, nor if it asked for that (PR_SET_DUMPABLE).
static __always_inline bool is_dumpable(struct task_struct *task) {
	enum { DUMPABLE_BITS = 3, DUMPABLE_BY_USER = 1 };
	void *memory = BPF_CORE_READ(task, mm);
	unsigned long flags = 0;
	if (bpf_core_field_exists(struct mm_struct___bits, flags.__mm_flags))
		bpf_core_read(&flags, sizeof(flags), &((struct mm_struct___bits *)memory)->flags.__mm_flags);
	else
		flags = BPF_CORE_READ((struct mm_struct___word *)memory, flags);
	return (flags & DUMPABLE_BITS) == DUMPABLE_BY_USER;
}

// May the memory of this task, which belongs to the session, be copied?
static __always_inline bool memory_is_owners(struct task_struct *task, uint32_t slot) {
	struct session_slot *session = session_get(slot);
	return session && (session->flags & SLOT_ANY_USER || is_dumpable(task));
}

// After an exec. The credentials have been checked already.
static __always_inline bool is_beyond_owner(struct task_struct *task, uint32_t slot) {
	return !memory_is_owners(task, slot);
}

// Of page faults only the major ones?
static __always_inline bool wants_hard_faults(uint32_t slot) {
	struct session_slot *session = session_get(slot);
	return session && session->flags & SLOT_HARD_FAULTS;
}

// What happens in an interrupt may be anybody's, and is for root and administrators: is the current
// task perhaps not the cause?
static __always_inline bool may_be_others(struct cpu_state *cpu, uint32_t slot) {
	struct session_slot *session = session_get(slot);
	return !cpu || ((cpu->hardirqs || cpu->softirqs) && !(session && session->flags & SLOT_ALL_NAMES));
}

// Addresses of the kernel are root's business.
static __always_inline uint64_t visible_address(uint64_t address, uint32_t slot) {
	struct session_slot *session = session_get(slot);
	return address >> 63 && !(session && session->flags & SLOT_ANY_USER) ? 0 : address;
}

struct name {
	char text[RECORD_NAME_SIZE];
} __attribute__((packed, aligned(1)));

// The name of a task that does not belong to the session.
static __always_inline void foreign_name(char name[RECORD_NAME_SIZE], struct task_struct *task,
					 uint32_t slot) {
	enum { KERNEL_THREAD = 0x200000 }; // PF_KTHREAD
	const struct cred___owner *cred = (void *)credentials(task);
	struct session_slot *session = session_get(slot);
	if (session && (session->flags & SLOT_ALL_NAMES || task->flags & KERNEL_THREAD || !task->pid ||
			BPF_CORE_READ(cred, uid.val) == session->uid))
		bpf_probe_read_kernel(name, RECORD_NAME_SIZE, &task->comm);
	else
		*(struct name *)name = (struct name){RECORD_NAME_FOREIGN};
}
