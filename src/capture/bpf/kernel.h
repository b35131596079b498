/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The few kernel types the programs look into. Only fields that are read are
// declared; CO-RE finds them in the running kernel.
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "capture/bpf/lane.h"

#define KERNEL_TYPE __attribute__((preserve_access_index))

typedef _Bool bool;
enum { false = 0, true = 1 };

struct thread_info {
	uint32_t cpu;
} KERNEL_TYPE;

struct mm_struct {
	unsigned long arg_start, arg_end;
	unsigned long saved_auxv[1];
} KERNEL_TYPE;

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
} KERNEL_TYPE;

struct task_struct {
	struct thread_info thread_info;
	unsigned int cpu; // before 5.16, on x86; then it is in thread_info
	unsigned int __state, flags;
	int exit_state, exit_code;
	int prio, normal_prio;
	int pid, tgid;
	struct task_struct *real_parent;
	struct mm_struct *mm;
	struct signal_struct *signal;
	char comm[RECORD_NAME_SIZE];
} KERNEL_TYPE;

struct linux_binprm {
	const char *filename;
} KERNEL_TYPE;

struct irqaction {
	const char *name;
} KERNEL_TYPE;
