/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The frames of Python's interpreter. A thread of Python has a list of them, each with the address of its
// code and its position there. They are read while the thread stands still, and so are the names of code that
// is met for the first time: later it may be gone. The reader puts them in place of the interpreter's C
// functions (event/locate.c). Everything is the process's own memory and can have any value: what does not
// fit ends the list, and the reader leaves the C functions as they are if the two do not agree.
#include "capture/bpf/python.h"
#include "capture/bpf/walk.h"

extern const volatile bool has_loop;

struct pythons pythons SEC(".maps");

// Code that the reader knows. Two that share a place take it from each other.
struct known_code {
	uint64_t code;
	uint64_t hash; // of what it consists of: another one may come to lie where it lay
	uint64_t pid;
};

enum { KNOWN_CODES = 8192 }; // a power of two

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KNOWN_CODES);
	__type(key, uint32_t);
	__type(value, struct known_code);
} codes_known SEC(".maps");

enum { FRAME_ROOM = 128, CODE_ROOM = 144 };

struct python_walk {
	struct batch batch;
	struct record_script script;
	uint64_t words[SCRIPT_MOST_FRAMES];
	struct batch code_batch;
	struct record_code code;
	// the rest is private
	struct python_process process;
	uint64_t frame;                 // the next one; 0 if none
	uint64_t time, id;              // id: pthread_self()
	uint64_t thread;                // state of the thread; 0 if not found
	uint8_t memory[FRAME_ROOM * 2]; // of a frame; any offset below FRAME_ROOM can be read
	uint8_t object[256 * 2];        // of its code
	uint32_t count, slot, pid;
	uint32_t broken;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_COUNT);
	__type(key, uint32_t);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

static __always_inline uint64_t read_word(uint64_t address) {
	uint64_t value = 0;
	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

// ---- code ----

static __always_inline uint64_t word_of(struct python_walk *walk, uint32_t offset) {
	return *(uint64_t *)(walk->object + (offset & 255));
}

// Reads the characters of a string. Returns their number; 0 if it is not one that can be read.
static __always_inline uint32_t read_text(const struct python_layout *layout, uint64_t text, uint8_t *out,
					  uint32_t room, uint8_t *width) {
	enum { LENGTH = 16, STATE = 32, KIND_SHIFT = 2, KINDS = 7, COMPACT = 1 << 5, ASCII = 1 << 6 };
	uint64_t length = read_word(text + LENGTH);
	uint32_t state = read_word(text + STATE), kind = state >> KIND_SHIFT & KINDS;
	if (!(state & COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return 0;
	uint64_t size = length * kind, from = text + (state & ASCII ? layout->ascii : layout->text);
	if (length > room || size > room)
		size = room;
	asm volatile("" : "+r"(size));
	if (!size || size > room || bpf_probe_read_user(out, size, (void *)from))
		return 0;
	*width = kind;
	return size / kind;
}

// Sends what the reader has to know about the code in walk->object. False if it cannot be read or sent.
static __always_inline bool send_code(struct python_walk *walk, uint64_t code) {
	enum { BYTES_SIZE = 16, BYTES = 32 };
	const struct python_layout *layout = &walk->process.layout;
	struct record_code *record = &walk->code;
	uint64_t lines = word_of(walk, layout->lines), lines_size = read_word(lines + BYTES_SIZE);
	uint32_t slot = walk->slot - 1;
	void *ring = bpf_map_lookup_elem(&rings, &slot);
	if (!ring)
		return false;
	record->code = code;
	record->pid = walk->pid;
	record->first_line = word_of(walk, layout->first_line);
	record->line_table = layout->line_table;
	record->name_size = read_text(layout, word_of(walk, layout->name), record->name, CODE_NAME_ROOM,
				      &record->name_width);
	record->file_size = read_text(layout, word_of(walk, layout->file), record->file, CODE_FILE_ROOM,
				      &record->file_width);
	if (!record->name_size || !record->file_size)
		return false;
	if (lines_size > CODE_LINES_ROOM)
		lines_size = CODE_LINES_ROOM;
	asm volatile("" : "+r"(lines_size));
	if (lines_size > CODE_LINES_ROOM ||
	    bpf_probe_read_user(record->lines, lines_size, (void *)(lines + BYTES)))
		lines_size = 0;
	record->lines_size = lines_size;
	uint32_t size = __builtin_offsetof(struct record_code, lines) + ((lines_size + 7) & ~7u);
	record->head = (struct record){.kind = RECORD_CODE, .size = size};
	walk->code_batch = (struct batch){
		.base = walk->time - 2, .cpu = bpf_get_smp_processor_id(), .size = size};
	size += sizeof(struct batch);
	return size <= sizeof(struct batch) + sizeof(struct record_code) &&
	       !bpf_ringbuf_output(ring, &walk->code_batch, size, BPF_RB_NO_WAKEUP);
}

// Whether this is code, and the reader knows it now.
static __always_inline bool is_known(struct python_walk *walk, uint64_t code) {
	enum { TYPE = 8, HASH_FACTOR = 0x9e3779b1 };
	const struct python_layout *layout = &walk->process.layout;
	if (!code || code & ~SCRIPT_CODE || bpf_probe_read_user(walk->object, CODE_ROOM, (void *)code) ||
	    word_of(walk, TYPE) != walk->process.code_type)
		return false;
	uint64_t hash = (uint32_t)word_of(walk, layout->first_line);
	hash = hash * HASH_FACTOR ^ word_of(walk, layout->name);
	hash = hash * HASH_FACTOR ^ word_of(walk, layout->file);
	hash = hash * HASH_FACTOR ^ word_of(walk, layout->lines);
	uint32_t place = (code >> 4 ^ code >> 17 ^ walk->pid * 31) & (KNOWN_CODES - 1);
	struct known_code *known = bpf_map_lookup_elem(&codes_known, &place);
	if (!known)
		return false;
	if (known->code == code && known->hash == hash && known->pid == walk->pid)
		return true;
	if (!send_code(walk, code))
		return false;
	*known = (struct known_code){.code = code, .hash = hash, .pid = walk->pid};
	return true;
}

// ---- frames ----

static __always_inline uint64_t position_of(const struct python_walk *walk, uint64_t code) {
	const struct python_layout *layout = &walk->process.layout;
	uint64_t value = *(uint64_t *)(walk->memory + (layout->position & (FRAME_ROOM - 1)));
	uint64_t number = layout->positions == PYTHON_POINTER  ? (value - code - layout->instructions) / 2
			  : layout->positions == PYTHON_NUMBER ? (uint32_t)value
							       : (uint32_t)value / 2;
	return number < SCRIPT_NO_POSITION ? number : SCRIPT_NO_POSITION;
}

// Takes one frame; true if it was the last.
static __always_inline bool take_frame(struct python_walk *walk) {
	enum { SHIM = 3 };
	const struct python_layout *layout = &walk->process.layout;
	uint32_t size = layout->frame_size, count = walk->count;
	asm volatile("" : "+r"(size));
	if (size > FRAME_ROOM || bpf_probe_read_user(walk->memory, size, (void *)walk->frame)) {
		walk->broken = 1;
		return true;
	}
	uint64_t code = *(uint64_t *)(walk->memory + (layout->code & (FRAME_ROOM - 1)));
	uint8_t entry = walk->memory[layout->entry & (FRAME_ROOM - 1)];
	bool shim = layout->entries == PYTHON_ENTRY_SHIM && entry == SHIM;
	uint64_t word = SCRIPT_ENTRY;
	if (!shim) {
		if (!is_known(walk, code)) {
			walk->broken = 1;
			return true;
		}
		bool first = layout->entries == PYTHON_ENTRY_ALWAYS ||
			     (layout->entries == PYTHON_ENTRY_FLAG && entry);
		word = position_of(walk, code) << SCRIPT_POSITION_SHIFT | (first ? SCRIPT_ENTRY : 0) | code;
	}
	walk->words[count & (SCRIPT_MOST_FRAMES - 1)] = word;
	walk->count = count + 1;
	walk->frame = *(uint64_t *)(walk->memory + (layout->previous & (FRAME_ROOM - 1)));
	return !walk->frame;
}

static long frame_turn(uint32_t turn, uint32_t *which) {
	struct python_walk *walk = bpf_map_lookup_elem(&python_walks, which);
	return !walk || take_frame(walk);
}

// ---- threads ----

static long thread_turn(uint32_t turn, uint32_t *which) {
	struct python_walk *walk = bpf_map_lookup_elem(&python_walks, which);
	if (!walk || !walk->thread || read_word(walk->thread + walk->process.layout.id) == walk->id)
		return 1;
	walk->thread = read_word(walk->thread + walk->process.layout.next);
	return 0;
}

// Finds the state of the current thread, and its innermost frame.
static __always_inline bool find_frames(struct python_walk *walk, uint32_t *which) {
	enum { MOST_THREADS = 128 };
	const struct python_layout *layout = &walk->process.layout;
	uint64_t interpreter = read_word(walk->process.runtime + layout->main);
	walk->thread = interpreter ? read_word(interpreter + layout->threads) : 0;
	bpf_loop(MOST_THREADS, thread_turn, which, 0);
	if (!walk->thread || read_word(walk->thread + layout->id) != walk->id)
		return false;
	walk->frame = read_word(walk->thread + layout->frame);
	if (layout->indirect && walk->frame)
		walk->frame = read_word(walk->frame + layout->inner);
	return walk->frame;
}

__attribute__((noinline)) int python_frames(uint32_t slot, uint64_t time, uint32_t which) {
#ifdef __TARGET_ARCH_x86
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t pid = task->tgid, place = slot - 1;
	if (!has_loop) // and there is no other way to follow a list
		return 0;
	struct python_process *process = bpf_map_lookup_elem(&pythons, &pid);
	struct python_walk *walk = bpf_map_lookup_elem(&python_walks, &which);
	void *ring = bpf_map_lookup_elem(&rings, &place);
	if (!process || !walk || !ring || !memory_is_owners(task, slot))
		return 0;
	walk->process = *process;
	walk->time = time;
	walk->id = BPF_CORE_READ(task, thread.fsbase);
	walk->count = walk->broken = 0;
	walk->slot = slot;
	walk->pid = pid;
	if (!find_frames(walk, &which))
		return 0;
	bpf_loop(SCRIPT_MOST_FRAMES, frame_turn, &which, 0);
	uint32_t count = walk->count;
	if (walk->broken || !count || count > SCRIPT_MOST_FRAMES)
		return 0;
	uint32_t size = sizeof(walk->script) + count * 8;
	walk->script = (struct record_script){
		.head = {.kind = RECORD_SCRIPT, .size = size, .flags = walk->frame ? SCRIPT_CUT : 0},
		.tid = task->pid,
		.pid = pid};
	walk->batch = (struct batch){.base = time - 1, .cpu = bpf_get_smp_processor_id(), .size = size};
	bpf_ringbuf_output(ring, &walk->batch, sizeof(walk->batch) + size, BPF_RB_NO_WAKEUP);
#endif
	return 0;
}
