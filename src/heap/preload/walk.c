// Finds the callers of an allocation: walks the thread's own stack with rows made from .eh_frame,
// so that programs need no frame pointers. This is on the path of every allocation; two caches in
// each thread make it cheap:
//
// - the row and the frame of each address seen before;
// - the chain of frames of the last walk, outermost first, with the stack slots from which each
//   return address and frame pointer was read. Once a frame equals one in the chain, the rest is
//   equal too if these slots still hold the same values: one comparison for each frame, and the
//   node of the tree is known.
#include "heap/preload/heap.h"

#include "symbol/unwind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { DEEPEST = 512, CODES = 1 << 10, NODES = 1 << 11, STACKS = 8, REGISTER_FRAME = 6, REGISTER_STACK = 7 };

struct code {
	uint64_t address;
	struct unwind_row row;
	uint32_t frame, generation;
	bool known, has_row;
};

struct link {
	uint64_t pc, sp, fp; // of the frame
	// Where its caller's pc and fp were read; fp's is NULL if it is unchanged.
	const uint64_t *return_slot, *frame_slot;
	uint32_t frame, node;
	bool needs_fp; // its fp is needed to find a caller; otherwise it may be anything
};

struct heap_thread {
	uint64_t stack_begin, stack_end; // the readable range
	struct {
		uint64_t begin, end;
	} stacks[STACKS]; // further stacks, for threads that switch between several
	unsigned next_stack;
	uint32_t generation;
	unsigned depth;
	struct link chain[DEEPEST];     // outermost first
	struct link fresh[DEEPEST + 1]; // the current walk, innermost first
	struct code codes[CODES];
	struct {
		uint64_t key; // parent and frame, + 1
		uint32_t node;
	} nodes[NODES];
};

struct heap_thread *heap_thread_new(void) {
	return heap_pages(sizeof(struct heap_thread));
}

void heap_thread_free(struct heap_thread *thread) {
	heap_pages_free(thread, sizeof(*thread));
}

void heap_thread_forget(struct heap_thread *thread) {
	memset(thread, 0, sizeof(*thread));
}

// What was learnt stays: learning may be interrupted for good, and an entry becomes valid only once
// it is complete.
void heap_thread_recover(struct heap_thread *thread) {
	thread->depth = 0;
	thread->stack_begin = thread->stack_end = 0;
}

// ---- the stack's bounds ----

// Parses one line of /proc/thread-self/maps (/proc/self has none once the first thread has ended):
// does it contain `address`?
static bool in_line(const char *line, uint64_t address, uint64_t *begin, uint64_t *end) {
	uint64_t numbers[2] = {0};
	for (int i = 0; i < 2; i++, line++)
		for (; *line && *line != '-' && *line != ' '; line++)
			numbers[i] = numbers[i] << 4 |
				     (uint64_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
	*begin = numbers[0];
	*end = numbers[1];
	return address >= *begin && address < *end && *line == 'r';
}

// Reads the file in pieces; lines are truncated to what fits.
static bool find_mapping(uint64_t address, uint64_t *begin, uint64_t *end) {
	char piece[1024], line[64];
	size_t length = 0;
	bool found = false;
	ssize_t got;
	struct heap_quiet quiet;
	heap_quiet_begin(&quiet); // otherwise the file might stay open
	int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
	while (!found && fd >= 0 && (got = read(fd, piece, sizeof(piece))) > 0)
		for (ssize_t i = 0; i < got && !found; i++) {
			if (piece[i] != '\n') {
				if (length < sizeof(line) - 1)
					line[length++] = piece[i];
				continue;
			}
			line[length] = 0;
			length = 0;
			found = in_line(line, address, begin, end);
		}
	if (fd >= 0)
		close(fd);
	heap_quiet_end(&quiet);
	return found;
}

// Takes so long that a program with a busy timer might never finish it if an interruption discarded
// the result.
HEAP_COLD static bool learn_stack(struct heap_thread *thread, uint64_t sp) {
	enum { GROWTH = 4 << 20 };
	int error = errno;
	uint64_t begin, end, first = getauxval(AT_RANDOM);
	struct heap_quiet quiet;
	heap_quiet_begin(&quiet);
	bool found = find_mapping(sp, &begin, &end);
	if (found) {
		// The first thread's stack grows downwards; the kernel keeps data at its upper end.
		if (first >= begin && first < end)
			begin -= GROWTH;
		unsigned slot = thread->next_stack++ % STACKS;
		thread->stack_begin = thread->stacks[slot].begin = begin;
		thread->stack_end = thread->stacks[slot].end = end;
	}
	heap_quiet_end(&quiet);
	errno = error;
	return found;
}

static bool know_stack(struct heap_thread *thread, uint64_t sp) {
	if (sp >= thread->stack_begin && sp < thread->stack_end)
		return true;
	for (unsigned i = 0; i < STACKS; i++)
		if (sp >= thread->stacks[i].begin && sp < thread->stacks[i].end) {
			thread->stack_begin = thread->stacks[i].begin;
			thread->stack_end = thread->stacks[i].end;
			return true;
		}
	return learn_stack(thread, sp);
}

bool heap_same_stack(const struct heap_thread *thread, uint64_t one, uint64_t other) {
	uint64_t begin, end;
	for (unsigned i = 0; thread && i < STACKS; i++)
		if (one >= thread->stacks[i].begin && one < thread->stacks[i].end)
			return other >= thread->stacks[i].begin && other < thread->stacks[i].end;
	int error = errno;
	bool found = find_mapping(one, &begin, &end);
	errno = error;
	return found && other >= begin && other < end;
}

static inline bool readable(const struct heap_thread *thread, uint64_t from, uint64_t address) {
	return address >= from && address % 8 == 0 && address < thread->stack_end &&
	       thread->stack_end - address >= 8;
}

// ---- rows ----

static int32_t number_at(const uint8_t *at) {
	int32_t number;
	memcpy(&number, at, sizeof(number));
	return number;
}

// .eh_frame_hdr: a table of functions sorted by address, with the offsets of their entries.
static const uint8_t *find_entry(const uint8_t *header, size_t size, uint64_t address) {
	enum { HEAD = 12, PC_RELATIVE_4 = 0x1b, UNSIGNED_4 = 0x03, HEADER_RELATIVE_4 = 0x3b };
	if (size < HEAD || header[0] != 1 || header[1] != PC_RELATIVE_4 || header[2] != UNSIGNED_4 ||
	    header[3] != HEADER_RELATIVE_4)
		return NULL;
	size_t low = 0, high = (uint32_t)number_at(header + 8);
	int64_t wanted = (int64_t)(address - (uint64_t)header);
	if (high > (size - HEAD) / 8)
		return NULL;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (number_at(header + HEAD + middle * 8) <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? header + number_at(header + HEAD + (low - 1) * 8 + 4) : NULL;
}

static bool find_row(const struct heap_module *module, uint64_t address, struct unwind_row *row) {
	if (!module->eh_header)
		return false;
	const uint8_t *header = (const uint8_t *)module->eh_header; // NOLINT: an address
	const uint8_t *entry = find_entry(header, module->eh_header_size, address);
	const uint8_t *section = header + 4 + number_at(header + 4);
	uint64_t begin = (uint64_t)section;
	if (!entry || entry < section || begin < module->begin || begin >= module->end)
		return false;
	return unwind_row_in_entry(section, module->end - begin, begin, (size_t)(entry - section), address,
				   row);
}

static void learn_code(struct code *code, uint64_t address) {
	int error = errno;
	struct heap_module module;
	uint32_t id = heap_module_of(address, &module);
	code->known = false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	code->address = address;
	code->generation = heap_generation;
	code->frame = heap_frame_of(address, id);
	code->has_row = id && find_row(&module, address, &code->row);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	code->known = true;
	errno = error;
}

static inline struct code *code_at(struct heap_thread *thread, uint64_t address) {
	struct code *code = &thread->codes[(address ^ address >> 10) % CODES];
	if (code->address != address || code->generation != thread->generation || !code->known)
		learn_code(code, address);
	return code;
}

// ---- steps ----

// Links are filled and copied field by field: a wider load would wait for the preceding stores.
static inline void set_place(struct link *link, uint64_t pc, uint64_t sp, uint64_t fp) {
	link->pc = pc;
	link->sp = sp;
	link->fp = fp;
	link->return_slot = link->frame_slot = NULL;
	link->needs_fp = false;
}

static inline void copy_link(struct link *to, const struct link *from) {
	set_place(to, from->pc, from->sp, from->fp);
	to->return_slot = from->return_slot;
	to->frame_slot = from->frame_slot;
	to->frame = from->frame;
	to->needs_fp = from->needs_fp;
}

enum step { STEP_END, STEP_CALLER, STEP_INTERRUPTED };

// The kernel's frame for a signal handler: its registers begin 40 bytes above the stack pointer.
static enum step step_signal(struct heap_thread *thread, struct link *at, struct link *caller) {
	const uint64_t *frame = (const uint64_t *)at->sp; // NOLINT: an address
	if (!readable(thread, at->sp, at->sp) || !readable(thread, at->sp, at->sp + 168))
		return STEP_END;
	set_place(caller, frame[21], frame[20], frame[15]);
	return know_stack(thread, caller->sp) ? STEP_INTERRUPTED : STEP_END;
}

static enum step step_frame_pointer(struct heap_thread *thread, struct link *at, struct link *caller) {
	struct heap_module module;
	const uint64_t *frame = (const uint64_t *)at->fp; // NOLINT: an address
	if (!readable(thread, at->sp, at->fp) || !readable(thread, at->sp, at->fp + 8) ||
	    !heap_module_of(frame[1] - 1, &module))
		return STEP_END;
	at->return_slot = frame + 1;
	at->frame_slot = frame;
	at->needs_fp = true;
	set_place(caller, frame[1], at->fp + 16, frame[0]);
	return STEP_CALLER;
}

static bool find_cfa(struct heap_thread *thread, const struct link *at, const struct unwind_row *row,
		     uint64_t *cfa) {
	if (row->cfa_register != REGISTER_STACK && row->cfa_register != REGISTER_FRAME)
		return false;
	uint64_t base = row->cfa_register == REGISTER_STACK ? at->sp : at->fp;
	*cfa = base + (uint64_t)(int64_t)row->cfa_offset;
	if (row->cfa == CFA_DEREFERENCE && readable(thread, at->sp, *cfa))
		*cfa = *(const uint64_t *)*cfa; // NOLINT: an address
	else if (row->cfa != CFA_REGISTER)
		return false;
	return *cfa > at->sp && *cfa <= thread->stack_end;
}

static enum step step(struct heap_thread *thread, const struct code *code, struct link *at,
		      struct link *caller) {
	const struct unwind_row *row = &code->row;
	uint64_t cfa;
	if (!code->has_row)
		return step_frame_pointer(thread, at, caller);
	at->needs_fp = row->cfa_register == REGISTER_FRAME || row->registers & UNWIND_FRAME_IN_FRAME;
	if (row->registers & UNWIND_OUTERMOST)
		return STEP_END;
	if (row->cfa == CFA_SIGNAL)
		return step_signal(thread, at, caller);
	if (!(row->registers & UNWIND_RETURN_SAVED) || !find_cfa(thread, at, row, &cfa))
		return STEP_END;
	uint64_t slot = cfa + (uint64_t)(row->return_offset * 8), frame_slot = 0;
	if (row->registers & UNWIND_FRAME_SAVED)
		frame_slot = cfa + (uint64_t)(row->frame_offset * 8);
	else if (row->registers & UNWIND_FRAME_IN_FRAME)
		frame_slot = at->fp;
	if (!readable(thread, at->sp, slot) || (frame_slot && !readable(thread, at->sp, frame_slot)))
		return STEP_END;
	at->return_slot = (const uint64_t *)slot;      // NOLINT: an address
	at->frame_slot = (const uint64_t *)frame_slot; // NOLINT: the same
	set_place(caller, *at->return_slot, cfa, frame_slot ? *at->frame_slot : at->fp);
	return caller->pc ? STEP_CALLER : STEP_END;
}

// ---- the walk ----

// How much of the chain is still valid, given that the frame at `index` is: checks from there
// outwards. Returns the number of frames, from the outermost, that can be trusted.
static unsigned intact(const struct heap_thread *thread, unsigned index) {
	for (unsigned i = index; i > 0; i--) {
		const struct link *link = &thread->chain[i], *caller = link - 1;
		if (*link->return_slot != caller->pc ||
		    (link->frame_slot && caller->needs_fp && *link->frame_slot != caller->fp))
			return i;
	}
	return index + 1;
}

static uint32_t child_node(struct heap_thread *thread, uint32_t parent, uint32_t frame) {
	uint64_t key = ((uint64_t)parent << 32 | frame) + 1;
	size_t slot = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 40 & (NODES - 1);
	if (thread->nodes[slot].key != key) {
		int error = errno;
		thread->nodes[slot].key = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		thread->nodes[slot].node = heap_node_of(parent, frame);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		thread->nodes[slot].key = key;
		errno = error;
	}
	return thread->nodes[slot].node;
}

// Puts the new frames on top of what is left of the chain.
static uint32_t join(struct heap_thread *thread, unsigned kept, unsigned fresh) {
	uint32_t node = kept ? thread->chain[kept - 1].node : 0;
	for (unsigned i = fresh; i-- > 0; kept++) {
		node = child_node(thread, node, thread->fresh[i].frame);
		struct link *link = &thread->chain[kept];
		copy_link(link, &thread->fresh[i]);
		link->node = node;
		if (!link->frame_slot && kept) // it is passed on to the caller unchanged
			link->needs_fp |= link[-1].needs_fp;
	}
	thread->depth = kept;
	return node;
}

static inline bool same_place(const struct link *known, const struct link *at) {
	return known->sp == at->sp && known->pc == at->pc && (!known->needs_fp || known->fp == at->fp);
}

uint32_t heap_walk(struct heap_thread *thread, const struct heap_place *from) {
	struct link *at = thread->fresh;
	unsigned known = thread->depth, fresh = 0;
	enum step last = STEP_CALLER;
	bool interrupted = false;
	if (!know_stack(thread, from->sp))
		return 0;
	set_place(at, from->pc, from->sp, from->fp);
	if (thread->generation != __atomic_load_n(&heap_generation, __ATOMIC_ACQUIRE)) {
		thread->generation = heap_generation;
		known = 0;
	}
	for (; last != STEP_END && fresh < DEEPEST; fresh++, at++) {
		while (known && thread->chain[known - 1].sp < at->sp)
			known--;
		if (known && same_place(&thread->chain[known - 1], at)) {
			unsigned whole = intact(thread, known - 1);
			if (whole == known)
				break;
			known = whole; // frames further out may still match one of these
		}
		struct code *code = code_at(thread, at->pc - (last == STEP_CALLER));
		at->frame = code->frame;
		last = step(thread, code, at, at + 1);
		interrupted |= last == STEP_INTERRUPTED;
	}
	if (last == STEP_END || fresh == DEEPEST)
		known = 0;
	if (known + fresh > DEEPEST) { // keep the innermost frames
		memmove(thread->chain, thread->chain + (known + fresh - DEEPEST),
			(DEEPEST - fresh) * sizeof(*thread->chain));
		known = DEEPEST - fresh;
	}
	uint32_t node = join(thread, known, fresh);
	if (interrupted) // the interrupted code may use another stack, gone by the next walk
		thread->depth = 0;
	return heap_point_of(node);
}

// The C library and the dynamic linker, which run the program's end; and we.
static bool is_runtime(uint32_t frame) {
	static const char *const names[] = {"libc.so", "libc-", "ld-", "libtracelet-heap"};
	uint32_t module = heap_area->frames[frame].module;
	const char *path = module ? heap_area->modules[module - 1].path : "";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

// If a function of the program called exit(), its registers are somewhere below its frame: then all counts.
uint64_t heap_stack_in_use(struct heap_thread *thread, const struct heap_place *from) {
	thread->depth = 0;
	heap_walk(thread, from);
	bool returned = thread->depth > 1 && !is_runtime(thread->chain[0].frame);
	for (unsigned i = 1; i < thread->depth; i++)
		returned &= is_runtime(thread->chain[i].frame);
	return returned ? thread->chain[0].sp : from->sp;
}
