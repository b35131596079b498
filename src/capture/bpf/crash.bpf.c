/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// A process that dies of a fault or an abort: which one, why and where. It will be gone before user
// space could look at it, and it must not be delayed. So everything an unwinder needs is copied
// here: registers, the top of the stack, and the module list that the dynamic linker keeps for
// debuggers (auxiliary vector → program headers → DT_DEBUG → struct r_debug → link_map). Anything
// unreadable is left out.
//
// Loading this must not slow down the start of tracelet. Each kernel type a program names costs a
// search through all of them, so siginfo and sigaction are declared as user space knows them, and
// the program attaches by name. The verifier walks every iteration of a plain loop, so loops use
// bpf_loop(); before Linux 5.17, which lacks it, the unwinder knows only the program itself. The
// loader looks up where the entries of the auxiliary vector are: it is the same for every process.
#include "capture/bpf/modules.h"

enum { SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGBUS = 7, SIGFPE = 8, SIGSEGV = 11, SIGSYS = 31 };

// Word indexes in struct pt_regs, whose layout is user-space ABI.
#ifdef __TARGET_ARCH_arm64
enum { REGISTERS = 34, REGISTER_STACK = 31, REGISTER_INSTRUCTION = 32 };
#else
enum { REGISTERS = 21, REGISTER_INSTRUCTION = 16, REGISTER_STACK = 19 };
#endif

#ifdef TRACELET_COLLECTOR
struct nothings nothings SEC(".maps");
#endif

const volatile bool has_loop; // bpf_loop(): Linux 5.17
const volatile uint32_t auxiliary_headers, auxiliary_name, auxiliary_base, auxiliary_entry;
const volatile uint64_t linker_debug;

struct signal_info {
	int32_t signal, error, code, unused;
	uint64_t address; // or the sender
};

static __always_inline bool is_crash(uint64_t signal) {
	return signal < 32 && (1u << signal & (1u << SIGILL | 1u << SIGTRAP | 1u << SIGABRT | 1u << SIGBUS |
					       1u << SIGFPE | 1u << SIGSEGV | 1u << SIGSYS));
}

// After a stack overflow the pointer is below the stack, by as much as the last frame needs.
static __always_inline uint64_t find_stack(uint64_t base) {
	enum { MOST_MISSING = 16 };
	for (uint32_t i = 0; i < MOST_MISSING; i++) {
		uint64_t word, at = base + i * CRASH_STACK_PIECE;
		if (!bpf_probe_read_user(&word, sizeof(word), (void *)at))
			return at;
	}
	return base;
}

static __always_inline void read_stack(struct record_crash *record, uint8_t *stack, uint64_t pointer) {
	// 128: the red zone that code may use below the stack pointer.
	uint64_t base = find_stack((pointer - 128) & -(uint64_t)CRASH_STACK_PIECE);
	uint32_t size = 0;
	for (; size < CRASH_STACK_SIZE; size += CRASH_STACK_PIECE)
		if (bpf_probe_read_user(stack + size, CRASH_STACK_PIECE, (void *)(base + size)))
			break;
	record->stack_base = base;
	record->stack_size = size;
}

static __always_inline bool emit_crash(void *ring, const struct slot *session, uint64_t *context) {
	enum { ROOM = sizeof(struct batch) + sizeof(struct record_crash) + CRASH_STACK_SIZE };
	struct task_struct *task = bpf_get_current_task_btf();
	struct signal_info info = {};
	struct batch *batch = bpf_ringbuf_reserve(ring, ROOM, 0);
	if (!batch)
		return false;
	struct record_crash *record = (void *)(batch + 1);
	if (!clear_record(record)) {
		bpf_ringbuf_discard(batch, BPF_RB_NO_WAKEUP);
		return false;
	}
	record->tid = task->pid;
	record->pid = task->tgid;
	record->signal = context[0];
	bpf_probe_read_kernel(&info, sizeof(info), (void *)context[1]);
	record->code = info.code;
	record->address = info.address;
	record->module_count = 0;
	bpf_probe_read_kernel(record->registers, REGISTERS * 8, (void *)bpf_task_pt_regs(task));
	record->instruction = record->registers[REGISTER_INSTRUCTION];
	bpf_probe_read_kernel(record->name, sizeof(record->name), &task->comm);
	// A plain pointer: type tracking would cost the verifier five milliseconds.
	struct mm_struct *memory = BPF_CORE_READ(task, mm);
	record->interpreter = auxiliary(memory, auxiliary_base, AT_BASE);
	record->entry = auxiliary(memory, auxiliary_entry, AT_ENTRY);
	bpf_probe_read_user_str(record->program, CRASH_PROGRAM_SIZE,
				(void *)auxiliary(memory, auxiliary_name, AT_EXECFN));
	if (has_loop)
		read_modules(record, find_modules(memory));
	read_stack(record, (void *)(record + 1), record->registers[REGISTER_STACK]);
	uint32_t size = sizeof(*record) + record->stack_size;
	*batch = (struct batch){.base = boot_time(), .cpu = bpf_get_smp_processor_id(), .size = size};
	record->head = (struct record){.kind = RECORD_CRASH, .size = size};
	bool wake = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= session->wakeup_bytes;
	bpf_ringbuf_submit(batch, wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return true;
}

// A signal without a handler was dequeued: the process is about to die.
SEC("raw_tp/signal_deliver")
int on_signal(uint64_t *context) {
	if (!is_crash(context[0]))
		return 0;
	uint64_t handler = 0;
	bpf_probe_read_kernel(&handler, sizeof(handler), (void *)context[2]); // first member of sigaction
	if (handler)
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t slot = slot_of(task);
	if (slot == NO_SLOT || !memory_is_owners(task, slot))
		return 0;
	uint32_t index = slot_index(slot);
	struct slot *session = slot_get(slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!session || !session->recording || !ring)
		return 0;
	if (!emit_crash(ring, session, context))
		count_loss(slot, SOURCE_PROCESS, 1);
	return 0;
}
