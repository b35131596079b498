/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Long waits. When a task begins to wait, it is not known for how long, and most waits are far too short
// to pay for a stack. When it gets the CPU back, the wait is known and its stack is still there, but at the
// switch the CPU does not see the memory of the new task yet. So the switch only asks for an interrupt of
// its own CPU: a wakeup of a ring sends one. It arrives as soon as interrupts are enabled again, which
// is at the end of the switch, inside the task that waited. on_long_wait() in sample.bpf.c takes the stack
// there. A short wait costs a few loads and stores.
#pragma once

#include "capture/bpf/emit.h"

enum {
#ifdef TRACELET_COLLECTOR
	WAITS = 65536, // for all sessions
#else
	WAITS = 8192, // a power of two: by the lowest bits of the thread's id
#endif
	TID_BITS = 22,  // the kernel's largest id has as many
	UNIT_BITS = 10, // times are kept in units of 1024 ns, so that they fit beside the id
	FIRM_PART = 16, // uninterruptible waits matter from this part of the limit on
};
// In `since`: the wait is uninterruptible, above all for a disk; not a parent's after vfork(). Each takes a
// while by itself, and a test may have thousands of them.
#define WAIT_IS_FIRM (1ull << 63)

struct wait {
	uint64_t since; // the task's id, and above it when it left the CPU; 0 if it does not wait
	uint64_t woken; // 0 if not yet
};

struct waits {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WAITS);
	__type(key, uint32_t);
	__type(value, struct wait);
};
extern struct waits waits SEC(".maps");

// The wakeup of a ring is one at a time, so that two CPUs need two of them.
enum { NUDGES = 4 };

struct nudge {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
};
extern struct nudge nudge_0 SEC(".maps"), nudge_1 SEC(".maps"), nudge_2 SEC(".maps"), nudge_3 SEC(".maps");

// A switch, in words without branches: the verifier would check the rest of on_switch() once for each way
// through them, so this is a function of its own.
struct wait_switch {
	uint64_t next; // known_task() of the task that comes
	uint64_t now;
	uint32_t prev_tid, next_tid;
	uint32_t prev_slot, next_slot;
	uint32_t prev_state, prev_flags, preempted, prev_io_wait;
};
int switch_waits(const struct wait_switch *switched);
// The task is woken. The flags of what the waker, which runs, writes to: only if the wait was long.
int wait_is_over(uint32_t tid, uint32_t slot, uint64_t now);
