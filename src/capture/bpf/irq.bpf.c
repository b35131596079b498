/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Hard interrupts and softirqs that took time from a session's task; and, for wakeups, whether a
// CPU is inside one. (On many kernels programs cannot read the preempt count.) Timers that fire in
// their interrupt have no handler of their own, so they are watched just for that.
#include "capture/bpf/emit.h"

const volatile bool irq_recorded = true; // if false, only track whether a CPU is inside one

static __always_inline void enter(uint32_t *depth) {
	*depth += 1;
}

// An interrupt already in progress when we attached shows only its exit.
static __always_inline void leave(uint32_t *depth) {
	if (*depth)
		*depth -= 1;
}

SEC("tp_btf/irq_handler_entry")
int on_irq_entry(uint64_t *context) {
	struct cpu_state *cpu = this_cpu();
	if (cpu)
		enter(&cpu->hardirqs);
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = irq_recorded ? slot_of_current(cpu, task) : NO_SLOT;
	if (slot == NO_SLOT)
		return 0;
	struct irqaction *action = (void *)context[1];
	union any_record record = {};
	record.irq = (struct record_irq){
		.head = {.kind = RECORD_IRQ_ENTRY}, .tid = task->pid, .number = context[0]};
	bpf_probe_read_kernel_str(record.irq_named.name, RECORD_NAME_SIZE, BPF_CORE_READ(action, name));
	return EMIT(&record, slot, irq_named, SOURCE_IRQ);
}

SEC("tp_btf/irq_handler_exit")
int on_irq_exit(uint64_t *context) {
	struct cpu_state *cpu = this_cpu();
	if (cpu)
		leave(&cpu->hardirqs);
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = irq_recorded ? slot_of_current(cpu, task) : NO_SLOT;
	if (slot == NO_SLOT)
		return 0;
	union any_record record = {};
	record.irq_exit = (struct record_irq_exit){
		.base = {.head = {.kind = RECORD_IRQ_EXIT}, .tid = task->pid, .number = context[0]},
		.result = context[2],
	};
	return EMIT(&record, slot, irq_exit, SOURCE_IRQ);
}

static __always_inline int on_softirq(uint64_t *context, struct cpu_state *cpu, uint8_t kind) {
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = irq_recorded ? slot_of_current(cpu, task) : NO_SLOT;
	if (slot == NO_SLOT)
		return 0;
	union any_record record = {};
	record.irq = (struct record_irq){.head = {.kind = kind}, .tid = task->pid, .number = context[0]};
	return EMIT(&record, slot, irq, SOURCE_IRQ);
}

SEC("tp_btf/softirq_entry")
int on_softirq_entry(uint64_t *context) {
	struct cpu_state *cpu = this_cpu();
	if (cpu) {
		enter(&cpu->softirqs);
		cpu->softirq = context[0];
	}
	return on_softirq(context, cpu, RECORD_SOFTIRQ_ENTRY);
}

SEC("tp_btf/softirq_exit")
int on_softirq_exit(uint64_t *context) {
	struct cpu_state *cpu = this_cpu();
	if (cpu)
		leave(&cpu->softirqs);
	return on_softirq(context, cpu, RECORD_SOFTIRQ_EXIT);
}

SEC("tp_btf/hrtimer_expire_entry")
int on_timer_entry(uint64_t *context) {
	struct cpu_state *cpu = this_cpu();
	if (cpu)
		enter(&cpu->hardirqs);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int on_timer_exit(uint64_t *context) {
	struct cpu_state *cpu = this_cpu();
	if (cpu)
		leave(&cpu->hardirqs);
	return 0;
}
