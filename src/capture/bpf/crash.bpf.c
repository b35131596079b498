/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// A process that dies of a fault or an abort: who, why and where. The process
// will be gone before anyone could look at it, and it must not be held up. So
// what an unwinder needs is copied here: registers, the top of the stack, and the
// list of modules that the dynamic linker keeps in the process for debuggers
// (auxiliary vector → program headers → DT_DEBUG → struct r_debug → link_map).
// Whatever of it cannot be read is left out.
//
// All this must cost nothing at the start of tracelet, when it is loaded. Each
// kernel type that is named costs a search through all of them: siginfo and
// sigaction are taken as user space knows them, the attachment is by name. The
// verifier goes through every turn of a plain loop: loops are bpf_loop()'s, and
// before Linux 5.17, which has none, the unwinder knows the program itself only.
// Where the auxiliary vector has its entries, the loader looks up: it is the same
// for every process.
#include "capture/bpf/emit.h"

enum { SIGILL = 4, SIGTRAP = 5, SIGABRT = 6, SIGBUS = 7, SIGFPE = 8, SIGSEGV = 11, SIGSYS = 31 };
enum { AT_PHDR = 3, AT_BASE = 7, AT_ENTRY = 9, AT_EXECFN = 31 };
enum { PT_DYNAMIC = 2, PT_PHDR = 6, DT_DEBUG = 21 };
enum { MOST_HEADERS = 32, MOST_DYNAMIC = 64 };

// Words of struct pt_regs, which user space relies on to be as they are.
#ifdef __TARGET_ARCH_arm64
enum { REGISTERS = 34, REGISTER_STACK = 31, REGISTER_INSTRUCTION = 32 };
#else
enum { REGISTERS = 21, REGISTER_INSTRUCTION = 16, REGISTER_STACK = 19 };
#endif

const volatile bool has_loop; // bpf_loop(): Linux 5.17
const volatile uint32_t auxiliary_headers, auxiliary_name, auxiliary_base, auxiliary_entry;

struct signal_info {
	int32_t signal, error, code, unused;
	uint64_t address; // or who sent it
};

struct program_header {
	uint32_t type, flags;
	uint64_t offset, address, physical, file_size, memory_size, align;
};

struct pair {
	uint64_t key, value;
};

struct link_map {
	uint64_t bias, name, dynamic, next;
};

static __always_inline bool is_crash(uint64_t signal) {
	return signal < 32 && (1u << signal & (1u << SIGILL | 1u << SIGTRAP | 1u << SIGABRT | 1u << SIGBUS |
					       1u << SIGFPE | 1u << SIGSEGV | 1u << SIGSYS));
}

// The value of an entry of the process's auxiliary vector, 0 if it is not where it should be.
static __always_inline uint64_t auxiliary(struct mm_struct *memory, uint32_t index, uint64_t key) {
	const unsigned long *vector = (void *)memory + bpf_core_field_offset(struct mm_struct, saved_auxv);
	struct pair pair;
	return bpf_probe_read_kernel(&pair, sizeof(pair), vector + 2 * index) || pair.key != key ? 0
												 : pair.value;
}

// What is passed from turn to turn of the loops below; a turn returns 1 to end the loop.
struct search {
	struct record_crash *record;
	uint64_t headers, bias, dynamic, next;
};

static long try_header(uint32_t i, struct search *search) {
	struct program_header header;
	if (bpf_probe_read_user(&header, sizeof(header), (void *)(search->headers + i * sizeof(header))))
		return 1;
	if (header.type == PT_PHDR) // comes before PT_DYNAMIC, always
		search->bias = search->headers - header.address;
	if (header.type == PT_DYNAMIC)
		search->dynamic = search->bias + header.address;
	return header.type == PT_DYNAMIC;
}

static long try_dynamic(uint32_t i, struct search *search) {
	struct pair entry;
	if (bpf_probe_read_user(&entry, sizeof(entry), (void *)(search->dynamic + i * sizeof(entry))) ||
	    !entry.key)
		return 1;
	if (entry.key == DT_DEBUG)
		bpf_probe_read_user(&search->next, sizeof(search->next),
				    (void *)(entry.value + 8)); // r_debug.r_map
	return entry.key == DT_DEBUG;
}

static long take_module(uint32_t i, struct search *search) {
	struct link_map module;
	if (i >= CRASH_MODULES || bpf_probe_read_user(&module, sizeof(module), (void *)search->next))
		return 1;
	struct crash_module *to = &search->record->modules[i];
	to->bias = module.bias;
	bpf_probe_read_user_str(to->name, CRASH_MODULE_NAME, (void *)module.name);
	search->record->module_count = i + 1;
	search->next = module.next;
	return 0;
}

static __always_inline void read_modules(struct record_crash *record, uint64_t headers) {
	if (!has_loop)
		return;
	struct search search = {.record = record, .headers = headers};
	bpf_loop(MOST_HEADERS, try_header, &search, 0);
	if (search.dynamic)
		bpf_loop(MOST_DYNAMIC, try_dynamic, &search, 0);
	if (search.next)
		bpf_loop(CRASH_MODULES, take_module, &search, 0);
}

static __always_inline void read_stack(struct record_crash *record, uint8_t *stack, uint64_t pointer) {
	uint64_t base = (pointer - 128) & -(uint64_t)CRASH_STACK_PIECE; // some code uses 128 bytes beyond
	uint32_t size = 0;
	for (; size < CRASH_STACK_SIZE; size += CRASH_STACK_PIECE)
		if (bpf_probe_read_user(stack + size, CRASH_STACK_PIECE, (void *)(base + size)))
			break;
	record->stack_base = base;
	record->stack_size = size;
}

static __always_inline bool emit_crash(void *ring, uint64_t *context) {
	enum { ROOM = sizeof(struct batch) + sizeof(struct record_crash) + CRASH_STACK_SIZE };
	struct task_struct *task = bpf_get_current_task_btf();
	struct signal_info info = {};
	struct batch *batch = bpf_ringbuf_reserve(ring, ROOM, 0);
	if (!batch)
		return false;
	struct record_crash *record = (void *)(batch + 1);
	__builtin_memset(record->registers, 0, sizeof(record->registers));
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
	// As a plain pointer: to know more of it would take the verifier five milliseconds.
	struct mm_struct *memory = BPF_CORE_READ(task, mm);
	record->interpreter = auxiliary(memory, auxiliary_base, AT_BASE);
	record->entry = auxiliary(memory, auxiliary_entry, AT_ENTRY);
	bpf_probe_read_user_str(record->program, CRASH_PROGRAM_SIZE,
				(void *)auxiliary(memory, auxiliary_name, AT_EXECFN));
	read_modules(record, auxiliary(memory, auxiliary_headers, AT_PHDR));
	read_stack(record, (void *)(record + 1), record->registers[REGISTER_STACK]);
	uint32_t size = sizeof(*record) + record->stack_size;
	*batch = (struct batch){.base = boot_time(), .cpu = bpf_get_smp_processor_id(), .size = size};
	record->head = (struct record){.kind = RECORD_CRASH, .size = size};
	bpf_ringbuf_submit(batch, BPF_RB_NO_WAKEUP);
	return true;
}

// Where a signal has been taken from the queue, with no handler: the end of the process.
SEC("raw_tp/signal_deliver")
int on_signal(uint64_t *context) {
	if (!is_crash(context[0]))
		return 0;
	uint64_t handler = 0;
	bpf_probe_read_kernel(&handler, sizeof(handler), (void *)context[2]); // sigaction's first member
	if (handler)
		return 0;
	uint32_t slot = slot_of(bpf_get_current_task_btf());
	if (slot == NO_SLOT)
		return 0;
	uint32_t index = slot - 1;
	struct slot *session = slot_get(slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!session || !session->recording || !ring)
		return 0;
	if (!emit_crash(ring, context))
		count_loss(slot, RECORD_SOURCE_PROCESS, 1);
	return 0;
}
