// Memory shared by the collector and its programs (many_sessions.h).
//
// A task's storage holds a *handle*: the number of the session's slot and the slot's generation. A slot is
// reused for later sessions, but a test's daemon can outlive its session: it still has the old handle, which
// no longer fits.
#pragma once

#include "capture/bpf/lane.h"

enum {
	SLOTS_MOST = 1024,
	SLOT_BITS = 12, // of a handle; the rest is the generation
	SLOT_MASK = (1 << SLOT_BITS) - 1,
};

enum {
	SLOT_ANY_USER = 1,    // its owner may trace every process: root
	SLOT_ALL_NAMES = 2,   // other users' tasks are shown with their names
	SLOT_HARD_FAULTS = 4, // of page faults only the major ones are recorded
	SLOT_OFF_CPU = 8,     // a stack is taken whenever a task leaves its CPU to wait
};

struct session_slot {
	struct slot slot;
	uint32_t handle; // 0 if it is free
	uint32_t flags;
	uint32_t uid, gid;      // only tasks with these ids, and
	uint64_t capabilities;  // with none but these, are recorded
	uint64_t long_wait;     // take the stack of a wait of at least so many nanoseconds; 0 for none
	uint64_t sample_period; // nanoseconds between its samples on a CPU; 0 for none
	uint64_t left;          // tasks that left the session because they changed their user
};

// The storage of a task.
struct membership {
	uint32_t handle; // NO_SLOT: the task left its session for good
	uint32_t unused;
	uint64_t seen; // address of the credentials that were found to be the owner's; 0 if none yet
};
