/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Events that are a number and a few values (event/points.h), one short program for each. System calls and
// page faults are in calls.bpf.c, disks in block.bpf.c.
#include "capture/bpf/point.h"

#include <linux/bpf_perf_event.h>

// ---- the kernel's types ----

struct timerqueue_node {
	int64_t expires;
} KERNEL_TYPE;

struct hrtimer {
	struct timerqueue_node node;
	void *function;
} KERNEL_TYPE;

struct timer_list {
	unsigned long expires;
	void *function;
} KERNEL_TYPE;

struct work_struct {
	void *func;
} KERNEL_TYPE;

struct cpumask {
	unsigned long bits[1];
} KERNEL_TYPE;

struct net_device {
	char name[16];
} KERNEL_TYPE;

struct sk_buff {
	struct net_device *dev;
	unsigned int len;
} KERNEL_TYPE;

struct sock_common {
	uint32_t skc_daddr, skc_rcv_saddr;
	uint16_t skc_dport, skc_num;
	unsigned short skc_family;
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
	uint16_t sk_protocol;
} KERNEL_TYPE;

// ---- timers: those that the test started, and those that interrupt it ----

static __always_inline int timer_start(void *timer, void *function, uint64_t expires,
				       enum point_number point) {
	struct cpu_state *cpu = this_cpu();
	// A timer that restarts itself keeps its owner, whichever task it interrupted. Any other
	// may be a new timer at the same address, say on the stack of a sleeping thread.
	bool goes_on = cpu && cpu->fired == (uint64_t)timer &&
		       cpu->fired_in == (uint64_t)bpf_get_current_task_btf();
	uint32_t slot = goes_on ? owner_of(timer) : slot_here();
	if (slot == NO_SLOT) {
		disown(timer); // another task owns it now
		return 0;
	}
	own(timer, slot);
	union any_record record = begin(point);
	record.point.values[0] = visible_address((uint64_t)timer, slot);
	record.point.values[1] = visible_address((uint64_t)function, slot);
	record.point.values[2] = expires;
	return end(&record, slot, point);
}

static __always_inline int timer_fires(void *timer, void *function, enum point_number point) {
	struct cpu_state *cpu = this_cpu();
	uint32_t slot = owner_of(timer);
	if (cpu) {
		cpu->fired = (uint64_t)timer;
		cpu->fired_in = (uint64_t)bpf_get_current_task_btf();
	}
	if (slot == NO_SLOT)
		slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.values[0] = visible_address((uint64_t)timer, slot);
	record.point.values[1] = visible_address((uint64_t)function, slot);
	return end(&record, slot, point);
}

SEC("tp_btf/hrtimer_start")
int on_hrtimer_start(uint64_t *context) {
	struct hrtimer *timer = (void *)context[0];
	return timer_start(timer, timer->function, timer->node.expires, POINT_HRTIMER_START);
}

SEC("tp_btf/hrtimer_expire_entry")
int on_hrtimer_entry(uint64_t *context) {
	struct hrtimer *timer = (void *)context[0];
	return timer_fires(timer, timer->function, POINT_HRTIMER_ENTRY);
}

SEC("tp_btf/hrtimer_expire_exit")
int on_hrtimer_exit(uint64_t *context) {
	return timer_fires((void *)context[0], 0, POINT_HRTIMER_EXIT);
}

SEC("tp_btf/timer_start")
int on_timer_list_start(uint64_t *context) {
	struct timer_list *timer = (void *)context[0];
	return timer_start(timer, timer->function, timer->expires, POINT_TIMER_START);
}

SEC("tp_btf/timer_expire_entry")
int on_timer_list_entry(uint64_t *context) {
	struct timer_list *timer = (void *)context[0];
	return timer_fires(timer, timer->function, POINT_TIMER_ENTRY);
}

SEC("tp_btf/timer_expire_exit")
int on_timer_list_exit(uint64_t *context) {
	return timer_fires((void *)context[0], 0, POINT_TIMER_EXIT);
}

// ---- work queues ----

static __always_inline int on_work(struct work_struct *work, uint32_t slot, enum point_number point) {
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.values[0] = visible_address((uint64_t)work, slot);
	record.point.values[1] = visible_address((uint64_t)work->func, slot);
	return end(&record, slot, point);
}

SEC("tp_btf/workqueue_queue_work")
int on_work_queue(uint64_t *context) {
	struct work_struct *work = (void *)context[2];
	uint32_t slot = slot_here();
	if (slot != NO_SLOT)
		own(work, slot);
	return on_work(work, slot, POINT_WORK_QUEUE);
}

SEC("tp_btf/workqueue_execute_start")
int on_work_start(uint64_t *context) {
	struct work_struct *work = (void *)context[0];
	return on_work(work, owner_of(work), POINT_WORK_START);
}

// The work may have been freed by now: only its address counts.
SEC("tp_btf/workqueue_execute_end")
int on_work_end(uint64_t *context) {
	uint32_t slot = disown((void *)context[0]);
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_WORK_END);
	record.point.values[0] = visible_address(context[0], slot);
	return end(&record, slot, POINT_WORK_END);
}

// ---- interrupts between CPUs ----

SEC("tp_btf/ipi_send_cpu")
int on_ipi_cpu(uint64_t *context) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_IPI_CPU);
	record.point.small = context[0];
	record.point.values[0] = visible_address(context[1], slot);
	record.point.values[1] = visible_address(context[2], slot);
	return end(&record, slot, POINT_IPI_CPU);
}

SEC("tp_btf/ipi_send_cpumask")
int on_ipi_mask(uint64_t *context) {
	struct cpumask *mask = (void *)context[0];
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_IPI_MASK);
	record.point.values[0] = mask->bits[0];
	record.point.values[1] = visible_address(context[1], slot);
	record.point.values[2] = visible_address(context[2], slot);
	return end(&record, slot, POINT_IPI_MASK);
}

// On arm64, before the two above existed.
SEC("tp_btf/ipi_raise")
int on_ipi_raise(uint64_t *context) {
	struct cpumask *mask = (void *)context[0];
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_IPI_RAISE);
	record.point.values[0] = mask->bits[0];
	bpf_probe_read_kernel_str(&record.point.values[1], 16, (void *)context[1]);
	return end(&record, slot, POINT_IPI_RAISE);
}

// ---- network ----

// A connection that the test made may change state while other tasks run.
SEC("tp_btf/inet_sock_set_state")
int on_socket_state(uint64_t *context) {
	enum { CLOSED = 7 };
	struct sock *socket = (void *)context[0];
	struct sock_common *common = &socket->__sk_common;
	uint32_t slot = slot_here();
	if (slot == NO_SLOT || may_be_others(this_cpu(), slot))
		slot = owner_of(socket);
	else
		own(socket, slot);
	if (slot == NO_SLOT)
		return 0;
	if (context[2] == CLOSED)
		disown(socket);
	union any_record record = begin(POINT_SOCKET_STATE);
	record.point.small = (context[1] & 0xff) | (context[2] & 0xff) << 8;
	record.point.values[0] = visible_address((uint64_t)socket, slot);
	record.point.values[1] = common->skc_num | (uint64_t)__builtin_bswap16(common->skc_dport) << 16 |
				 (uint64_t)common->skc_family << 32 | (uint64_t)socket->sk_protocol << 48;
	record.point.values[2] = common->skc_rcv_saddr | (uint64_t)common->skc_daddr << 32;
	return end(&record, slot, POINT_SOCKET_STATE);
}

static __always_inline int on_packet(struct sk_buff *packet, struct net_device *device, uint64_t result,
				     uint32_t length, enum point_number point) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT || may_be_others(this_cpu(), slot))
		return 0;
	union any_record record = begin(point);
	record.point.values[0] = length | result << 32;
	bpf_probe_read_kernel(&record.point.values[1], 16, device->name);
	record.point.values[3] = visible_address((uint64_t)packet, slot);
	return end(&record, slot, point);
}

SEC("tp_btf/net_dev_xmit")
int on_packet_sent(uint64_t *context) {
	return on_packet((void *)context[0], (void *)context[2], (uint32_t)context[1], context[3],
			 POINT_PACKET_SENT);
}

SEC("tp_btf/netif_receive_skb")
int on_packet_received(uint64_t *context) {
	struct sk_buff *packet = (void *)context[0];
	return on_packet(packet, packet->dev, 0, packet->len, POINT_PACKET_RECEIVED);
}

// ---- priorities and CPUs of threads ----

static __always_inline uint32_t cpu_of(struct task_struct *task) {
	return bpf_core_field_exists(task->cpu) ? task->cpu : task->thread_info.cpu;
}

// The priority that a thread inherits from one that waits for it.
SEC("tp_btf/sched_pi_setprio")
int on_priority(uint64_t *context) {
	struct task_struct *task = (void *)context[0], *waiter = (void *)context[1];
	uint32_t slot = slot_of(task);
	if (slot == NO_SLOT)
		return 0;
	uint32_t priority = task->normal_prio;
	if (waiter && (uint32_t)waiter->prio < priority)
		priority = waiter->prio;
	union any_record record = begin(POINT_PRIORITY);
	record.point.values[0] = task->pid;
	record.point.values[1] = (uint32_t)task->prio | (uint64_t)priority << 32;
	return end(&record, slot, POINT_PRIORITY);
}

SEC("tp_btf/sched_migrate_task")
int on_migration(uint64_t *context) {
	struct task_struct *task = (void *)context[0];
	uint32_t slot = slot_of(task);
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_MIGRATION);
	record.point.values[0] = (uint32_t)task->pid | (uint64_t)(uint32_t)task->prio << 32;
	record.point.values[1] = cpu_of(task) | (uint64_t)(uint32_t)context[1] << 32;
	return end(&record, slot, POINT_MIGRATION);
}

// ---- timer interrupts and raised softirqs, while a thread of the test runs ----

static __always_inline int on_number(uint64_t number, enum point_number point) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.small = number;
	return end(&record, slot, point);
}

SEC("tp_btf/local_timer_entry")
int on_clock_entry(uint64_t *context) {
	return on_number(context[0], POINT_CLOCK_ENTRY);
}

SEC("tp_btf/local_timer_exit")
int on_clock_exit(uint64_t *context) {
	return on_number(context[0], POINT_CLOCK_EXIT);
}

SEC("tp_btf/softirq_raise")
int on_softirq_raise(uint64_t *context) {
	return on_number(context[0], POINT_SOFTIRQ_RAISE);
}

// The receiving end of IPIs on x86: those that interrupt the test's threads.
#define INTERRUPTED(program, tracepoint, point)                                                              \
	SEC("tp_btf/" tracepoint) int program(uint64_t *context) {                                           \
		return on_number(context[0], point);                                                         \
	}

INTERRUPTED(on_reschedule_entry, "reschedule_entry", POINT_RESCHEDULE_ENTRY)
INTERRUPTED(on_reschedule_exit, "reschedule_exit", POINT_RESCHEDULE_EXIT)
INTERRUPTED(on_call_function_entry, "call_function_entry", POINT_CALL_ENTRY)
INTERRUPTED(on_call_function_exit, "call_function_exit", POINT_CALL_EXIT)
INTERRUPTED(on_call_function_single_entry, "call_function_single_entry", POINT_CALL_SINGLE_ENTRY)
INTERRUPTED(on_call_function_single_exit, "call_function_single_exit", POINT_CALL_SINGLE_EXIT)

static __always_inline int on_pair(uint64_t first, uint64_t second, uint64_t small, enum point_number point) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.small = small;
	record.point.values[0] = visible_address(first, slot);
	record.point.values[1] = second;
	return end(&record, slot, point);
}

static __always_inline int on_tasklet(uint64_t *context, enum point_number point) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.values[0] = visible_address(context[0], slot);
	record.point.values[1] = visible_address(context[1], slot);
	return end(&record, slot, point);
}

SEC("tp_btf/tasklet_entry")
int on_tasklet_entry(uint64_t *context) {
	return on_tasklet(context, POINT_TASKLET_ENTRY);
}

SEC("tp_btf/tasklet_exit")
int on_tasklet_exit(uint64_t *context) {
	return on_tasklet(context, POINT_TASKLET_EXIT);
}

// ---- contended kernel locks ----

SEC("tp_btf/contention_begin")
int on_lock_begin(uint64_t *context) {
	return on_pair(context[0], 0, context[1], POINT_LOCK_BEGIN);
}

SEC("tp_btf/contention_end")
int on_lock_end(uint64_t *context) {
	return on_pair(context[0], (int64_t)(int32_t)context[1], 0, POINT_LOCK_END);
}

#ifndef TRACELET_COLLECTOR // which may not read tracefs, and has no session for what is nobody's

// ---- events whose fields are read at the offsets tracefs gives: their arguments differ between
// kernels, or their values are computed only for the event ----

const volatile uint32_t rss_offsets[4] = {};     // mm_id, curr, member, size
const volatile uint32_t kmalloc_offsets[5] = {}; // call_site, ptr, bytes_req, bytes_alloc, gfp_flags
const volatile uint32_t cache_offsets[5] = {};   // the same for kmem_cache_alloc

// Only the thread's own memory. While a process is being created or torn down its memory belongs to
// no thread, and Perfetto cannot place it.
SEC("tp/kmem/rss_stat")
int on_rss(void *context) {
	uint32_t slot = slot_here();
	bool own_memory = field_of(context, rss_offsets[1], 4);
	if (slot == NO_SLOT || !own_memory)
		return 0;
	union any_record record = begin(POINT_RSS);
	record.point.small = 1 | field_of(context, rss_offsets[2], 4) << 1;
	record.point.values[0] = field_of(context, rss_offsets[3], 8);
	record.point.values[1] = field_of(context, rss_offsets[0], 4);
	return end(&record, slot, POINT_RSS);
}

static __always_inline int on_allocation(void *context, const volatile uint32_t *offsets,
					 enum point_number point) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.values[0] = field_of(context, offsets[0], 8);
	record.point.values[1] = field_of(context, offsets[1], 8);
	record.point.values[2] = field_of(context, offsets[2], 4) | field_of(context, offsets[3], 4) << 32;
	record.point.values[3] = field_of(context, offsets[4], 4);
	return end(&record, slot, point);
}

SEC("tp/kmem/kmalloc")
int on_kmalloc(void *context) {
	return on_allocation(context, kmalloc_offsets, POINT_KMALLOC);
}

SEC("tp/kmem/kmem_cache_alloc")
int on_cache_alloc(void *context) {
	return on_allocation(context, cache_offsets, POINT_CACHE_ALLOC);
}

SEC("tp_btf/kfree")
int on_kfree(uint64_t *context) {
	return on_pair(context[0], argument(context, 1), 0, POINT_KFREE);
}

SEC("tp_btf/kmem_cache_free")
int on_cache_free(uint64_t *context) {
	return on_pair(context[0], argument(context, 1), 0, POINT_CACHE_FREE);
}

// ---- power: CPUs, whatever runs on them ----

const volatile uint32_t power_slot = NO_SLOT;

static __always_inline int on_power(uint64_t *context, enum point_number point) {
	union any_record record = begin(point);
	record.point.values[0] = (uint32_t)context[0] | context[1] << 32;
	return end(&record, power_slot, point);
}

SEC("tp_btf/cpu_idle")
int on_cpu_idle(uint64_t *context) {
	return on_power(context, POINT_CPU_IDLE);
}

SEC("tp_btf/cpu_frequency")
int on_cpu_frequency(uint64_t *context) {
	return on_power(context, POINT_CPU_FREQUENCY);
}

SEC("tp_btf/suspend_resume")
int on_suspend(uint64_t *context) {
	union any_record record = begin(POINT_SUSPEND);
	record.point.values[0] = (uint32_t)context[1] | (context[2] & 1) << 32;
	bpf_probe_read_kernel_str(&record.point.values[1], 24, (void *)context[0]);
	return end(&record, power_slot, POINT_SUSPEND);
}

static __always_inline int on_hotplug(uint64_t *context, uint64_t value, enum point_number point) {
	union any_record record = begin(point);
	record.point.small = context[0];
	record.point.values[0] = value;
	record.point.values[1] = (uint32_t)context[2] | context[1] << 32;
	return end(&record, power_slot, point);
}

SEC("tp_btf/cpuhp_enter")
int on_hotplug_enter(uint64_t *context) {
	return on_hotplug(context, argument(context, 3), POINT_HOTPLUG_ENTER);
}

SEC("tp_btf/cpuhp_exit")
int on_hotplug_exit(uint64_t *context) {
	return on_hotplug(context, (int64_t)(int32_t)context[3], POINT_HOTPLUG_EXIT);
}

// ---- KVM: only the event's text has the exit reason, so its fields are read at tracefs offsets
// ----

const volatile uint32_t kvm_offsets[5] = {}; // entry: vcpu_id, rip; exit: vcpu_id, reason, rip. 0 if absent
const volatile uint32_t kvm_isa_offset = 0;

SEC("tp/kvm/kvm_entry")
int on_kvm_entry(void *context) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_KVM_ENTRY);
	record.point.small = field_of(context, kvm_offsets[0], 4);
	record.point.values[0] = field_of(context, kvm_offsets[1], 8);
	return end(&record, slot, POINT_KVM_ENTRY);
}

SEC("tp/kvm/kvm_exit")
int on_kvm_exit(void *context) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_KVM_EXIT);
	record.point.small = field_of(context, kvm_offsets[2], 4);
	record.point.values[0] = field_of(context, kvm_offsets[3], 4) | field_of(context, kvm_isa_offset, 4)
										<< 32;
	record.point.values[1] = field_of(context, kvm_offsets[4], 8);
	return end(&record, slot, POINT_KVM_EXIT);
}

#endif
