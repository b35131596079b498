/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Events that are a number and a few values (event/points.h), one short program for each.
//
// What a test starts often ends elsewhere: a timer fires while its CPU is idle, a worker runs the
// work, a disk answers into somebody's interrupt. So who has started a thing is kept with its
// address until it is over.
#include "capture/bpf/emit.h"

#include <linux/bpf_perf_event.h>

// ---- the kernel's types ----

struct pt_regs___x86 {
	uint64_t di, si, dx, r10, orig_ax;
} KERNEL_TYPE;

struct pt_regs___arm64_calls {
	uint64_t regs[31];
	int32_t syscallno;
} KERNEL_TYPE;

struct gendisk {
	int major, first_minor;
} KERNEL_TYPE;

struct request_queue {
	struct gendisk *disk;
} KERNEL_TYPE;

struct request {
	struct request_queue *q;
	uint32_t cmd_flags;
	uint32_t __data_len;
	uint64_t __sector;
} KERNEL_TYPE;

struct block_device {
	uint32_t bd_dev;
} KERNEL_TYPE;

struct bvec_iter {
	uint64_t bi_sector;
	unsigned int bi_size;
} KERNEL_TYPE;

struct bio {
	struct block_device *bi_bdev;
	uint32_t bi_opf;
	struct bvec_iter bi_iter;
} KERNEL_TYPE;

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

// ---- who has started what ----

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, uint64_t);
	__type(value, uint32_t);
} owners SEC(".maps");

static __always_inline void own(void *thing, uint32_t slot) {
	uint64_t key = (uint64_t)thing;
	if (system_slot == NO_SLOT)
		bpf_map_update_elem(&owners, &key, &slot, BPF_ANY);
}

static __always_inline uint32_t owner_of(void *thing) {
	uint64_t key = (uint64_t)thing;
	if (system_slot != NO_SLOT)
		return system_slot;
	uint32_t *slot = bpf_map_lookup_elem(&owners, &key);
	return slot ? *slot : NO_SLOT;
}

static __always_inline uint32_t disown(void *thing) {
	uint64_t key = (uint64_t)thing;
	uint32_t slot = owner_of(thing);
	if (slot != NO_SLOT && system_slot == NO_SLOT)
		bpf_map_delete_elem(&owners, &key);
	return slot;
}

// ---- records ----

static __always_inline uint32_t slot_here(void) {
	return slot_of_current(this_cpu(), bpf_get_current_task_btf());
}

// An argument as it is: some kernels give no pointers away that are to a function, or to const void.
static __always_inline uint64_t argument(uint64_t *context, int place) {
	uint64_t value = 0;
	bpf_probe_read_kernel(&value, sizeof(value), &context[place]);
	return value;
}

static __always_inline union any_record begin(enum point_number point) {
	struct task_struct *task = bpf_get_current_task_btf();
	union any_record record = {};
	record.point.head.kind = RECORD_POINT;
	record.point.tid = task->pid;
	record.point.point = point;
	return record;
}

static __always_inline int end(union any_record *record, uint32_t slot, uint32_t values, uint32_t source) {
	return emit(record, slot, boot_time(), sizeof(struct record_point) - (POINT_VALUES - values) * 8,
		    source);
}

// ---- system calls ----

enum { KVM_CREATE_VM = 0xae01, KVM_CREATE_VCPU = 0xae41 };

const volatile uint64_t wanted_calls[8] = {}; // a bit for each
const volatile uint32_t call_of_ioctl = 0;    // to be looked at for KVM's; 0: not
const volatile uint32_t call_source = RECORD_SOURCE_SYSTEM_CALL;

static __always_inline bool is_wanted(uint64_t id) {
	return id < 512 && wanted_calls[id / 64 & 7] >> (id & 63) & 1;
}

static __always_inline int kvm_ioctl(uint32_t slot, uint64_t command, uint64_t argument) {
	if (command != KVM_CREATE_VM && command != KVM_CREATE_VCPU)
		return 0;
	union any_record record = begin(command == KVM_CREATE_VM ? POINT_KVM_CREATE_VM
								 : POINT_KVM_CREATE_VCPU);
	record.point.values[0] = argument;
	return end(&record, slot, 1, RECORD_SOURCE_KVM);
}

SEC("tp_btf/sys_enter")
int on_sys_enter(uint64_t *context) {
	uint64_t id = context[1];
	bool wanted = is_wanted(id), ioctl = call_of_ioctl && id == call_of_ioctl;
	if (!wanted && !ioctl)
		return 0;
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_SYS_ENTER);
	record.point.small = id;
#ifdef __TARGET_ARCH_arm64
	struct pt_regs___arm64_calls *registers = (void *)context[0];
	for (int i = 0; i < POINT_VALUES; i++)
		record.point.values[i] = registers->regs[i];
#else
	struct pt_regs___x86 *registers = (void *)context[0];
	record.point.values[0] = registers->di;
	record.point.values[1] = registers->si;
	record.point.values[2] = registers->dx;
	record.point.values[3] = registers->r10;
#endif
	if (ioctl)
		kvm_ioctl(slot, (uint32_t)record.point.values[1], record.point.values[2]);
	return wanted ? end(&record, slot, 4, call_source) : 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(uint64_t *context) {
#ifdef __TARGET_ARCH_arm64
	uint64_t id = (uint32_t)((struct pt_regs___arm64_calls *)context[0])->syscallno;
#else
	uint64_t id = ((struct pt_regs___x86 *)context[0])->orig_ax;
#endif
	if (!is_wanted(id))
		return 0;
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_SYS_EXIT);
	record.point.small = id;
	record.point.values[0] = context[1];
	return end(&record, slot, 1, call_source);
}

// ---- page faults: perf's software events, which know the minor from the major ones ----

static __always_inline int on_fault(struct bpf_perf_event_data *context, enum point_number point) {
	enum { SIZE = sizeof(struct record_point) - (POINT_VALUES - 2) * 8 };
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = slot_of_current(this_cpu(), task);
	if (slot == NO_SLOT)
		return 0;
	uint64_t now = boot_time();
	struct lane *lane;
	struct record_point *room = lane_room(&lane, slot, now, SIZE, RECORD_SOURCE_FAULT);
	if (room) {
		room->head.kind = RECORD_POINT;
		room->head.flags = 0;
		room->tid = task->pid;
		room->point = point;
		room->small = 0;
		room->values[0] = context->addr;
		room->values[1] = PT_REGS_IP(&context->regs);
		lane_leave(lane, true);
		return 0;
	}
	union any_record record = begin(point);
	record.point.values[0] = context->addr;
	record.point.values[1] = PT_REGS_IP(&context->regs);
	return emit(&record, slot, now, SIZE, RECORD_SOURCE_FAULT);
}

SEC("perf_event")
int on_minor_fault(struct bpf_perf_event_data *context) {
	return on_fault(context, POINT_FAULT_MINOR);
}

SEC("perf_event")
int on_major_fault(struct bpf_perf_event_data *context) {
	return on_fault(context, POINT_FAULT_MAJOR);
}

// ---- block devices ----

// What is done, in the letters that the kernel prints.
static __always_inline uint64_t letters_of(uint32_t flags) {
	enum { SYNC = 1 << 11, META = 1 << 12, FUA = 1 << 17, PREFLUSH = 1 << 18, AHEAD = 1 << 19 };
	uint32_t operation = flags & 0xff;
	uint64_t text = 0;
	int at = 0;
	if (flags & PREFLUSH)
		text |= (uint64_t)'F' << 8 * at++;
	text |= (uint64_t)(operation == 0   ? 'R'
			   : operation == 1 ? 'W'
			   : operation == 2 ? 'F'
			   : operation == 3 ? 'D'
					    : 'N')
		<< 8 * at++;
	if (flags & FUA)
		text |= (uint64_t)'F' << 8 * at++;
	if (flags & AHEAD)
		text |= (uint64_t)'A' << 8 * at++;
	if (flags & SYNC)
		text |= (uint64_t)'S' << 8 * at++;
	if (flags & META)
		text |= (uint64_t)'M' << 8 * at++;
	return text;
}

static __always_inline int on_block(struct request *request, uint32_t slot, enum point_number point,
				    uint32_t bytes) {
	union any_record record = begin(point);
	struct gendisk *disk = request->q->disk;
	uint32_t operation = request->cmd_flags & 0xff;
	record.point.values[0] = (uint64_t)disk->major << 20 | disk->first_minor;
	record.point.values[1] = operation == 2 ? 0 : request->__sector; // a flush is of no sector
	record.point.values[2] = bytes;
	record.point.values[3] = letters_of(request->cmd_flags);
	return end(&record, slot, 4, RECORD_SOURCE_BLOCK);
}

SEC("tp_btf/block_rq_issue")
int on_block_issue(uint64_t *context) {
	struct request *request = (void *)context[0];
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	own(request, slot);
	return on_block(request, slot, POINT_BLOCK_ISSUE, request->__data_len);
}

// A request may be completed in parts; what is left is still in its length here.
SEC("tp_btf/block_rq_complete")
int on_block_complete(uint64_t *context) {
	struct request *request = (void *)context[0];
	uint32_t bytes = context[2];
	uint32_t slot = owner_of(request);
	if (slot == NO_SLOT || bytes < request->__data_len)
		return 0;
	disown(request);
	return on_block(request, slot, POINT_BLOCK_COMPLETE, bytes);
}

// ---- timers: those that the test has started, and those that interrupt it ----

static __always_inline int timer_start(void *timer, void *function, uint64_t expires,
				       enum point_number point) {
	struct cpu_state *cpu = this_cpu();
	// One that goes on by itself, in whose time it may be, stays whose it was. Others may be new
	// ones in the same place, on the stack of a thread that sleeps.
	bool goes_on = cpu && cpu->fired == (uint64_t)timer &&
		       cpu->fired_in == (uint64_t)bpf_get_current_task_btf();
	uint32_t slot = goes_on ? owner_of(timer) : slot_here();
	if (slot == NO_SLOT) {
		disown(timer); // somebody else has it now
		return 0;
	}
	own(timer, slot);
	union any_record record = begin(point);
	record.point.values[0] = (uint64_t)timer;
	record.point.values[1] = (uint64_t)function;
	record.point.values[2] = expires;
	return end(&record, slot, 3, RECORD_SOURCE_TIMER);
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
	record.point.values[0] = (uint64_t)timer;
	record.point.values[1] = (uint64_t)function;
	return end(&record, slot, function ? 2 : 1, RECORD_SOURCE_TIMER);
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
	record.point.values[0] = (uint64_t)work;
	record.point.values[1] = (uint64_t)work->func;
	return end(&record, slot, 2, RECORD_SOURCE_WORK);
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

// The work may be gone by now: only its address counts.
SEC("tp_btf/workqueue_execute_end")
int on_work_end(uint64_t *context) {
	uint32_t slot = disown((void *)context[0]);
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_WORK_END);
	record.point.values[0] = context[0];
	return end(&record, slot, 1, RECORD_SOURCE_WORK);
}

// ---- interrupts between CPUs ----

SEC("tp_btf/ipi_send_cpu")
int on_ipi_cpu(uint64_t *context) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_IPI_CPU);
	record.point.small = context[0];
	record.point.values[0] = context[1];
	record.point.values[1] = context[2];
	return end(&record, slot, 2, RECORD_SOURCE_IPI);
}

SEC("tp_btf/ipi_send_cpumask")
int on_ipi_mask(uint64_t *context) {
	struct cpumask *mask = (void *)context[0];
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_IPI_MASK);
	record.point.values[0] = mask->bits[0];
	record.point.values[1] = context[1];
	record.point.values[2] = context[2];
	return end(&record, slot, 3, RECORD_SOURCE_IPI);
}

// On arm64, before those two came.
SEC("tp_btf/ipi_raise")
int on_ipi_raise(uint64_t *context) {
	struct cpumask *mask = (void *)context[0];
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_IPI_RAISE);
	record.point.values[0] = mask->bits[0];
	bpf_probe_read_kernel_str(&record.point.values[1], 16, (void *)context[1]);
	return end(&record, slot, 3, RECORD_SOURCE_IPI);
}

// ---- network ----

// A connection that the test has made goes on to change in other people's time.
SEC("tp_btf/inet_sock_set_state")
int on_socket_state(uint64_t *context) {
	enum { CLOSED = 7 };
	struct sock *socket = (void *)context[0];
	struct sock_common *common = &socket->__sk_common;
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		slot = owner_of(socket);
	else
		own(socket, slot);
	if (slot == NO_SLOT)
		return 0;
	if (context[2] == CLOSED)
		disown(socket);
	union any_record record = begin(POINT_SOCKET_STATE);
	record.point.small = (context[1] & 0xff) | (context[2] & 0xff) << 8;
	record.point.values[0] = (uint64_t)socket;
	record.point.values[1] = common->skc_num | (uint64_t)__builtin_bswap16(common->skc_dport) << 16 |
				 (uint64_t)common->skc_family << 32 | (uint64_t)socket->sk_protocol << 48;
	record.point.values[2] = common->skc_rcv_saddr | (uint64_t)common->skc_daddr << 32;
	return end(&record, slot, 3, RECORD_SOURCE_NETWORK);
}

static __always_inline int on_packet(struct sk_buff *packet, struct net_device *device, uint64_t result,
				     uint32_t length, enum point_number point) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.values[0] = length | result << 32;
	bpf_probe_read_kernel(&record.point.values[1], 16, device->name);
	record.point.values[3] = (uint64_t)packet;
	return end(&record, slot, 4, RECORD_SOURCE_NETWORK);
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

// ---- priorities and places of threads ----

static __always_inline uint32_t cpu_of(struct task_struct *task) {
	return bpf_core_field_exists(task->cpu) ? task->cpu : task->thread_info.cpu;
}

// What a thread inherits from one that waits for it.
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
	return end(&record, slot, 2, RECORD_SOURCE_PRIORITY);
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
	return end(&record, slot, 2, RECORD_SOURCE_MIGRATION);
}

// ---- the clock's interrupts, softirqs being raised: in the time of the test's threads ----

static __always_inline int on_number(uint64_t number, enum point_number point, uint32_t source) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.small = number;
	return end(&record, slot, 0, source);
}

SEC("tp_btf/local_timer_entry")
int on_clock_entry(uint64_t *context) {
	return on_number(context[0], POINT_CLOCK_ENTRY, RECORD_SOURCE_CLOCK);
}

SEC("tp_btf/local_timer_exit")
int on_clock_exit(uint64_t *context) {
	return on_number(context[0], POINT_CLOCK_EXIT, RECORD_SOURCE_CLOCK);
}

SEC("tp_btf/softirq_raise")
int on_softirq_raise(uint64_t *context) {
	return on_number(context[0], POINT_SOFTIRQ_RAISE, RECORD_SOURCE_SOFTIRQ_QUEUE);
}

// The other end of IPIs, on x86: what comes to the test's threads.
#define INTERRUPTED(program, tracepoint, point)                                                              \
	SEC("tp_btf/" tracepoint) int program(uint64_t *context) {                                           \
		return on_number(context[0], point, RECORD_SOURCE_IPI);                                      \
	}

INTERRUPTED(on_reschedule_entry, "reschedule_entry", POINT_RESCHEDULE_ENTRY)
INTERRUPTED(on_reschedule_exit, "reschedule_exit", POINT_RESCHEDULE_EXIT)
INTERRUPTED(on_call_function_entry, "call_function_entry", POINT_CALL_ENTRY)
INTERRUPTED(on_call_function_exit, "call_function_exit", POINT_CALL_EXIT)
INTERRUPTED(on_call_function_single_entry, "call_function_single_entry", POINT_CALL_SINGLE_ENTRY)
INTERRUPTED(on_call_function_single_exit, "call_function_single_exit", POINT_CALL_SINGLE_EXIT)

static __always_inline int on_pair(uint64_t first, uint64_t second, uint64_t small, uint32_t values,
				   enum point_number point, uint32_t source) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.small = small;
	record.point.values[0] = first;
	record.point.values[1] = second;
	return end(&record, slot, values, source);
}

SEC("tp_btf/tasklet_entry")
int on_tasklet_entry(uint64_t *context) {
	return on_pair(context[0], context[1], 0, 2, POINT_TASKLET_ENTRY, RECORD_SOURCE_SOFTIRQ_QUEUE);
}

SEC("tp_btf/tasklet_exit")
int on_tasklet_exit(uint64_t *context) {
	return on_pair(context[0], context[1], 0, 2, POINT_TASKLET_EXIT, RECORD_SOURCE_SOFTIRQ_QUEUE);
}

// ---- locks of the kernel that somebody has to wait for ----

SEC("tp_btf/contention_begin")
int on_lock_begin(uint64_t *context) {
	return on_pair(context[0], 0, context[1], 1, POINT_LOCK_BEGIN, RECORD_SOURCE_LOCK);
}

SEC("tp_btf/contention_end")
int on_lock_end(uint64_t *context) {
	return on_pair(context[0], (int64_t)(int32_t)context[1], 0, 2, POINT_LOCK_END, RECORD_SOURCE_LOCK);
}

// ---- block I/O before it is made requests ----

static __always_inline int on_bio(struct bio *bio, uint64_t sectors, enum point_number point) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.values[0] = bio->bi_bdev->bd_dev;
	record.point.values[1] = bio->bi_iter.bi_sector;
	record.point.values[2] = sectors;
	record.point.values[3] = letters_of(bio->bi_opf);
	return end(&record, slot, 4, RECORD_SOURCE_BIO);
}

SEC("tp_btf/block_bio_queue")
int on_bio_queue(uint64_t *context) {
	struct bio *bio = (void *)context[0];
	return on_bio(bio, bio->bi_iter.bi_size >> 9, POINT_BIO_QUEUE);
}

SEC("tp_btf/block_split")
int on_bio_split(uint64_t *context) {
	return on_bio((void *)context[0], (uint32_t)context[1], POINT_BIO_SPLIT);
}

// ---- events whose fields are read where tracefs says they are: their arguments differ from kernel to
// kernel, or what they tell is worked out for the event only ----

static __always_inline uint64_t field_of(void *context, uint32_t offset, uint32_t size) {
	uint64_t value = 0;
	if (offset)
		bpf_probe_read_kernel(&value, size, context + offset);
	return value;
}

const volatile uint32_t rss_offsets[4] = {};     // mm_id, curr, member, size
const volatile uint32_t kmalloc_offsets[5] = {}; // call_site, ptr, bytes_req, bytes_alloc, gfp_flags
const volatile uint32_t cache_offsets[5] = {};   // the same of kmem_cache_alloc

// Of the thread's own memory. While a process is being made, or goes, it is nobody's, and Perfetto does
// not know where to show it.
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
	return end(&record, slot, 2, RECORD_SOURCE_RSS);
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
	return end(&record, slot, 4, RECORD_SOURCE_SLAB);
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
	return on_pair(context[0], argument(context, 1), 0, 2, POINT_KFREE, RECORD_SOURCE_SLAB);
}

SEC("tp_btf/kmem_cache_free")
int on_cache_free(uint64_t *context) {
	return on_pair(context[0], argument(context, 1), 0, 2, POINT_CACHE_FREE, RECORD_SOURCE_SLAB);
}

// ---- power: of CPUs, whoever uses them ----

const volatile uint32_t power_slot = NO_SLOT;

static __always_inline int on_power(uint64_t *context, enum point_number point) {
	union any_record record = begin(point);
	record.point.values[0] = (uint32_t)context[0] | context[1] << 32;
	return end(&record, power_slot, 1, RECORD_SOURCE_POWER);
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
	return end(&record, power_slot, 4, RECORD_SOURCE_POWER);
}

static __always_inline int on_hotplug(uint64_t *context, uint64_t value, enum point_number point) {
	union any_record record = begin(point);
	record.point.small = context[0];
	record.point.values[0] = value;
	record.point.values[1] = (uint32_t)context[2] | context[1] << 32;
	return end(&record, power_slot, 2, RECORD_SOURCE_POWER);
}

SEC("tp_btf/cpuhp_enter")
int on_hotplug_enter(uint64_t *context) {
	return on_hotplug(context, argument(context, 3), POINT_HOTPLUG_ENTER);
}

SEC("tp_btf/cpuhp_exit")
int on_hotplug_exit(uint64_t *context) {
	return on_hotplug(context, (int64_t)(int32_t)context[3], POINT_HOTPLUG_EXIT);
}

// ---- KVM: the reason of an exit is known to the event's text only, so its fields are read there ----

const volatile uint32_t kvm_offsets[5] = {}; // entry: vcpu_id, rip; exit: vcpu_id, reason, rip. 0: not there
const volatile uint32_t kvm_isa_offset = 0;

SEC("tp/kvm/kvm_entry")
int on_kvm_entry(void *context) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_KVM_ENTRY);
	record.point.small = field_of(context, kvm_offsets[0], 4);
	record.point.values[0] = field_of(context, kvm_offsets[1], 8);
	return end(&record, slot, 1, RECORD_SOURCE_KVM);
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
	return end(&record, slot, 2, RECORD_SOURCE_KVM);
}
