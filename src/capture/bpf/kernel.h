/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The few kernel types that the programs read. Only the fields they use are declared; CO-RE locates
// them in the running kernel.
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "capture/bpf/lane.h"

#define KERNEL_TYPE __attribute__((preserve_access_index))

extern const volatile uint32_t cpu_count; // possible CPUs

typedef _Bool bool;
enum { false = 0, true = 1 };

struct thread_info {
	uint32_t cpu;
} KERNEL_TYPE;

struct mm_struct {
	unsigned long arg_start, arg_end, start_stack;
	unsigned long saved_auxv[1];
} KERNEL_TYPE;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
} KERNEL_TYPE;

typedef struct {
	unsigned int val;
} kuid_t;

struct capability_set {
	uint64_t val; // an array of two words before 6.3, with the same layout
};

struct user_namespace {
	int level; // 0 for the machine's own
} KERNEL_TYPE;

struct cred {
	kuid_t uid, euid, suid, fsuid, gid, egid, sgid, fsgid; // a kgid_t has the same layout
	struct capability_set cap_permitted;
	struct user_namespace *user_ns;
} KERNEL_TYPE;

struct thread_struct {
	unsigned long fsbase; // x86
} KERNEL_TYPE;

struct task_struct {
	struct thread_info thread_info;
	unsigned int cpu; // before 5.16, on x86; later in thread_info
	unsigned int __state, flags;
	int on_cpu;
	int exit_state, exit_code;
	int prio, normal_prio;
	int pid, tgid;
	unsigned in_iowait : 1;
	struct task_struct *real_parent;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct files_struct *files;
	const struct cred *cred;
	char comm[RECORD_NAME_SIZE];
	struct thread_struct thread;
} KERNEL_TYPE;

struct linux_binprm {
	const char *filename;
} KERNEL_TYPE;

struct irqaction {
	const char *name;
} KERNEL_TYPE;
