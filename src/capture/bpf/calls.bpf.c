/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// System calls and page faults: programs as in points.bpf.c.
#include "capture/bpf/point.h"

#include <linux/bpf_perf_event.h>

struct pt_regs___x86 {
	uint64_t di, si, dx, r10, orig_ax;
} KERNEL_TYPE;

struct pt_regs___arm64_calls {
	uint64_t regs[31];
	int32_t syscallno;
} KERNEL_TYPE;

// ---- system calls ----

enum { KVM_CREATE_VM = 0xae01, KVM_CREATE_VCPU = 0xae41 };

const volatile uint64_t wanted_calls[8] = {};                                         // one bit per call
const volatile uint64_t memory_calls[8] = {}, file_calls[8] = {}, lock_calls[8] = {}; // for the collector
const volatile uint32_t call_of_ioctl = 0; // checked for KVM's requests; 0 to skip the check
const volatile uint32_t call_source = SOURCE_SYSTEM_CALL;

const volatile uint64_t path_calls[2][8] = {}; // those whose first or second argument is a path

static __always_inline bool is_in(const volatile uint64_t *calls, uint64_t id) {
	return id < 512 && calls[id / 64 & 7] >> (id & 63) & 1;
}

static __always_inline bool is_wanted(uint64_t id) {
	return is_in(wanted_calls, id);
}

// The source for which the session wants this call, which some session wants.
static __always_inline uint32_t source_of_call(uint32_t slot, uint64_t id) {
#ifdef TRACELET_COLLECTOR
	struct slot *session = slot_get(slot);
	uint64_t sources = session ? session->sources : 0;
	return sources >> SOURCE_SYSTEM_CALL & 1                         ? SOURCE_SYSTEM_CALL
	       : sources >> SOURCE_MEMORY & 1 && is_in(memory_calls, id) ? SOURCE_MEMORY
	       : sources >> SOURCE_FILE & 1 && is_in(file_calls, id)     ? SOURCE_FILE
	       : sources >> SOURCE_LOCK & 1 && is_in(lock_calls, id)     ? SOURCE_LOCK
									 : RECORD_SOURCE_COUNT;
#else
	return call_source;
#endif
}

static __always_inline bool has_path(int argument, uint64_t id) {
	return id < 512 && path_calls[argument][id / 64 & 7] >> (id & 63) & 1;
}

// A call with its path, in the ring directly. False if the path is empty or cannot be read.
static __always_inline bool emit_with_path(const union any_record *call, uint32_t slot, uint64_t address) {
	uint32_t index = slot_index(slot);
	struct slot *session = slot_get(slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!session || !session->recording || !ring || !memory_is_owners(bpf_get_current_task_btf(), slot))
		return false;
	struct batch *batch = bpf_ringbuf_reserve(
		ring, sizeof(*batch) + sizeof(struct record_point) + CALL_PATH_SIZE, 0);
	if (!batch)
		return false;
	struct record_point *record = (void *)(batch + 1);
	__builtin_memset(record + 1, 0, CALL_PATH_SIZE); // a ring hands out old bytes
	long length = bpf_probe_read_user_str(record + 1, CALL_PATH_SIZE, (void *)address);
	if (length < 2) {
		bpf_ringbuf_discard(batch, BPF_RB_NO_WAKEUP);
		return false;
	}
	uint32_t size = (sizeof(*record) + (length & 2 * CALL_PATH_SIZE - 1) + 7) & ~7u;
	*batch = (struct batch){.base = boot_time(), .cpu = bpf_get_smp_processor_id(), .size = size};
	*record = call->point;
	record->head.delta = 0;
	record->head.size = size;
	bpf_ringbuf_submit(batch, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline int kvm_ioctl(uint32_t slot, uint64_t command, uint64_t argument) {
	if (command != KVM_CREATE_VM && command != KVM_CREATE_VCPU)
		return 0;
	union any_record record = begin(command == KVM_CREATE_VM ? POINT_KVM_CREATE_VM
								 : POINT_KVM_CREATE_VCPU);
	record.point.values[0] = argument;
	return end(&record, slot, POINT_KVM_CREATE_VM);
}

SEC("tp_btf/sys_enter")
int on_sys_enter(uint64_t *context) {
	uint64_t id = context[1];
	bool wanted = is_wanted(id), ioctl = call_of_ioctl && id == call_of_ioctl;
	if (!wanted && !ioctl)
		return 0;
	uint32_t slot = slot_here();
	uint32_t source = slot != NO_SLOT ? source_of_call(slot, id) : RECORD_SOURCE_COUNT;
	if (source == RECORD_SOURCE_COUNT)
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
	if (!wanted || (has_path(0, id) && emit_with_path(&record, slot, record.point.values[0])) ||
	    (has_path(1, id) && emit_with_path(&record, slot, record.point.values[1])))
		return 0;
	return emit(&record, slot, boot_time(), size_of(POINT_SYS_ENTER), source);
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
	uint32_t source = slot != NO_SLOT ? source_of_call(slot, id) : RECORD_SOURCE_COUNT;
	if (source == RECORD_SOURCE_COUNT)
		return 0;
	union any_record record = begin(POINT_SYS_EXIT);
	record.point.small = id;
	record.point.values[0] = context[1];
	return emit(&record, slot, boot_time(), size_of(POINT_SYS_EXIT), source);
}

// ---- page faults: perf's software events, which distinguish minor from major ----

static __always_inline int on_fault(struct bpf_perf_event_data *context, enum point_number point) {
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = slot_of_current(this_cpu(), task);
	if (slot == NO_SLOT || (point == POINT_FAULT_MINOR && wants_hard_faults(slot)))
		return 0;
	uint64_t now = boot_time(), address = visible_address(context->addr, slot);
	uint64_t code = visible_address(PT_REGS_IP(&context->regs), slot);
	struct lane *lane;
	struct record_point *room = lane_room(&lane, slot, now, size_of(point), SOURCE_FAULT);
	if (room) {
		room->head.kind = RECORD_POINT;
		room->head.flags = 0;
		room->tid = task->pid;
		room->point = point;
		room->small = 0;
		room->values[0] = address;
		room->values[1] = code;
		lane_leave(lane, true);
		return 0;
	}
	union any_record record = begin(point);
	record.point.values[0] = address;
	record.point.values[1] = code;
	return emit(&record, slot, now, size_of(point), SOURCE_FAULT);
}

SEC("perf_event")
int on_minor_fault(struct bpf_perf_event_data *context) {
	return on_fault(context, POINT_FAULT_MINOR);
}

SEC("perf_event")
int on_major_fault(struct bpf_perf_event_data *context) {
	return on_fault(context, POINT_FAULT_MAJOR);
}
