/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The frames of Python's interpreter, for the stack of the current thread at `time`; python.bpf.c. `which`
// as for walks.
#pragma once

#include "capture/bpf/emit.h"
#include "format/python_layout.h"

enum { PYTHON_PROCESSES = 4096 };

struct pythons {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PYTHON_PROCESSES);
	__type(key, uint32_t); // process
	__type(value, struct python_process);
};
extern struct pythons pythons SEC(".maps");

int python_frames(uint32_t slot, uint64_t time, uint32_t which);
