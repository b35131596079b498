/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// How long tasks wait; waits.h describes it.
#include "capture/bpf/waits.h"

struct waits waits SEC(".maps");
struct nudge nudge_0 SEC(".maps"), nudge_1 SEC(".maps"), nudge_2 SEC(".maps"), nudge_3 SEC(".maps");

#ifndef TRACELET_COLLECTOR
const volatile uint64_t long_wait = 0;
#endif

static __always_inline struct wait *wait_of(uint32_t tid) {
	uint32_t index = tid & (WAITS - 1);
	return bpf_map_lookup_elem(&waits, &index);
}

static __always_inline uint64_t wait_length(uint64_t since, uint64_t now) {
	const uint64_t times = ~WAIT_IS_FIRM >> TID_BITS;
	return (((now >> UNIT_BITS) - (since >> TID_BITS)) & times) << UNIT_BITS;
}

// A stop for a debugger is not a wait.
static __always_inline void wait_begins(const struct wait_switch *switched) {
	enum {
		UNINTERRUPTIBLE = 0x02,
		TRACED = 0x08,
		DEAD = 0x80,
		WAKE_KILL = 0x100,
		IS_KERNEL_THREAD = 0x00200000
	};
	struct wait *wait = wait_of(switched->prev_tid);
	if (!wait || switched->prev_slot == NO_SLOT || switched->preempted || !switched->prev_state ||
	    switched->prev_state & (TRACED | DEAD) || switched->prev_flags & IS_KERNEL_THREAD ||
	    !long_wait_of(switched->prev_slot))
		return;
	wait->since = (switched->now >> UNIT_BITS << TID_BITS & ~WAIT_IS_FIRM) | switched->prev_tid;
	bool killable = switched->prev_state & WAKE_KILL && !switched->prev_io_wait;
	if (switched->prev_state & UNINTERRUPTIBLE && !killable)
		wait->since |= WAIT_IS_FIRM;
	wait->woken = 0;
}

static __always_inline long nudge(void *ring) {
	uint64_t nothing = 0;
	return bpf_ringbuf_output(ring, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

static __always_inline long interrupt_this_cpu(void) {
	switch (bpf_get_smp_processor_id() & (NUDGES - 1)) {
	case 0:
		return nudge(&nudge_0);
	case 1:
		return nudge(&nudge_1);
	case 2:
		return nudge(&nudge_2);
	default:
		return nudge(&nudge_3);
	}
}

// A stack takes ten microseconds of the test's time, and more of the loader's. So a session takes this many
// at once on a CPU, and then one in each period: all waits of one thread that does nothing else, and of many
// threads a part. Waits that are much longer than they have to be are counted apart, so that many short ones
// do not displace them.
static __always_inline bool is_worth_it(uint32_t slot, bool much_longer, uint64_t now) {
	enum { PERIOD = 1000 * 1000, LONGER_PERIOD = 4 * PERIOD, MOST_AT_ONCE = 64 };
	uint32_t place = lane_place(slot);
	struct lane *lane = lane_at(&place, slot);
	if (!lane)
		return false;
	uint64_t *until = much_longer ? &lane->late_until[1] : &lane->late_until[0];
	uint64_t period = much_longer ? LONGER_PERIOD : PERIOD;
	uint64_t earliest = now - period * MOST_AT_ONCE;
	if (*until < earliest)
		*until = earliest;
	if (*until + period > now)
		return false;
	*until += period;
	return true;
}

// The task gets the CPU. It may have been preempted and not have waited, or another task with the same
// lowest bits has taken its place here: then the length of its wait is unknown.
static __always_inline void wait_ends(const struct wait_switch *switched) {
	enum { MUCH_LONGER = 16 };
	uint64_t now = switched->now;
	struct wait *wait = wait_of(switched->next_tid);
	uint64_t since = wait ? wait->since : 0;
	if (!since || (since & ((1 << TID_BITS) - 1)) != switched->next_tid || switched->next_slot == NO_SLOT)
		return;
	wait->since = 0;
	uint64_t away = wait_length(since, now);
	uint64_t limit = long_wait_of(switched->next_slot);
	uint64_t enough = since & WAIT_IS_FIRM ? limit / FIRM_PART : limit;
	struct cpu_state *cpu = this_cpu();
	if (!limit || away < enough || !cpu ||
	    !is_worth_it(switched->next_slot, away / MUCH_LONGER >= limit, now))
		return;
	uint64_t ready = wait->woken && wait->woken < now ? now - wait->woken : 0;
	ready = ready < away ? ready : away;
	cpu->late = switched->next;
	cpu->late_time = now;
	cpu->late_waited = away - ready;
	cpu->late_ready = ready;
	if (interrupt_this_cpu())
		count_loss(switched->next_slot, SOURCE_SAMPLE, 1);
}

__attribute__((noinline)) int switch_waits(const struct wait_switch *switched) {
	if (!switched)
		return 0;
	wait_ends(switched);
	wait_begins(switched);
	return 0;
}

// ---- what the waker writes to ----

struct inode {
	unsigned short i_mode;
} KERNEL_TYPE;

struct file {
	struct inode *f_inode;
} KERNEL_TYPE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL_TYPE;

struct files_struct {
	struct fdtable *fdt;
} KERNEL_TYPE;

// System calls that write to their first argument.
static __always_inline bool is_write(uint64_t call) {
#ifdef __TARGET_ARCH_x86
	enum { WRITE = 1, WRITEV = 20, SENDFILE = 40, SENDTO = 44, SENDMSG = 46, SENDMMSG = 307 };
	return call == WRITE || call == WRITEV || call == SENDFILE || call == SENDTO || call == SENDMSG ||
	       call == SENDMMSG;
#else
	return false; // long waits are recorded only on x86-64
#endif
}

// A task that polls does not say for which descriptor. So its waker is asked, which is inside the system call
// that wrote.
static __always_inline int written_by_current(void) {
	enum { FIRST_ARGUMENT = 14, CALL = 15, REGISTERS = 16 }; // words of struct pt_regs, as in user space
	enum { KIND = 0170000, PIPE = 0010000, SOCKET = 0140000 };
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t registers[REGISTERS] = {};
	bpf_probe_read_kernel(registers, sizeof(registers), (void *)bpf_task_pt_regs(task));
	uint32_t descriptor = registers[FIRST_ARGUMENT];
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	if (!is_write(registers[CALL]) || descriptor >= BPF_CORE_READ(table, max_fds))
		return 0;
	struct file *file = NULL;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + descriptor);
	uint32_t kind = BPF_CORE_READ(file, f_inode, i_mode) & KIND;
	return kind == PIPE ? WAKING_PIPE : kind == SOCKET ? WAKING_SOCKET : 0;
}

// The first wakeup counts.
__attribute__((noinline)) int wait_is_over(uint32_t tid, uint32_t slot, uint64_t now) {
	struct wait *wait = wait_of(tid);
	if (!wait || wait->woken)
		return 0;
	wait->woken = now;
	uint64_t since = wait->since, limit = long_wait_of(slot);
	if ((since & ((1 << TID_BITS) - 1)) != tid || !limit || wait_length(since, now) < limit)
		return 0;
	return written_by_current();
}
