/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Which files the current process has loaded, from its own memory: the list that the dynamic linker keeps for
// debuggers (auxiliary vector, program headers, DT_DEBUG, struct r_debug, link_map). Anything unreadable is
// left out. After fork() that includes the headers: pages of files are a child's own only once it has read
// them. Then the list is looked for in the dynamic linker, whose struct r_debug was written to and copied.
// The verifier walks every iteration of a plain loop, so loops use bpf_loop(); before Linux 5.17, which lacks
// it, only the program itself is known.
#pragma once

#include "capture/bpf/emit.h"

enum { AT_PHDR = 3, AT_BASE = 7, AT_ENTRY = 9, AT_EXECFN = 31 };
enum { PT_DYNAMIC = 2, PT_PHDR = 6, DT_DEBUG = 21 };
enum { MOST_HEADERS = 32, MOST_DYNAMIC = 64 };

extern const volatile bool has_loop; // bpf_loop(): Linux 5.17
extern const volatile uint32_t auxiliary_headers, auxiliary_name, auxiliary_base, auxiliary_entry;
extern const volatile uint64_t linker_debug; // offset of struct r_debug in the system's dynamic linker, or 0

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

#ifdef TRACELET_COLLECTOR
struct nothing {
	char bytes[sizeof(struct record_crash)];
};

// Always zero.
struct nothings {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct nothing);
};
extern struct nothings nothings SEC(".maps");
#endif

// A ring hands out old bytes, with addresses of the kernel among them, which no client may see. False if
// they cannot be overwritten.
static __always_inline bool clear_record(struct record_crash *record) {
#ifdef TRACELET_COLLECTOR
	uint32_t zero = 0;
	struct nothing *nothing = bpf_map_lookup_elem(&nothings, &zero);
	return nothing && !bpf_probe_read_kernel(record, sizeof(*record), nothing);
#else
	__builtin_memset(record->registers, 0, sizeof(record->registers));
	return true;
#endif
}

// The value of an entry of the process's auxiliary vector; 0 if it is not at this index.
static __always_inline uint64_t auxiliary(struct mm_struct *memory, uint32_t index, uint64_t key) {
	const unsigned long *vector = (void *)memory + bpf_core_field_offset(struct mm_struct, saved_auxv);
	struct pair pair;
	return bpf_probe_read_kernel(&pair, sizeof(pair), vector + 2 * index) || pair.key != key ? 0
												 : pair.value;
}

// State passed between iterations of the loops below; an iteration returns 1 to end its loop.
struct search {
	struct record_crash *record;
	uint64_t headers, bias, dynamic;
	uint64_t list; // where the address of the first module is
	uint64_t next;
	uint64_t hash; // of the modules so far
};

static long try_header(uint32_t i, struct search *search) {
	struct program_header header;
	if (bpf_probe_read_user(&header, sizeof(header), (void *)(search->headers + i * sizeof(header))))
		return 1;
	if (header.type == PT_PHDR) // always comes before PT_DYNAMIC
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
	if (entry.key == DT_DEBUG && entry.value)
		search->list = entry.value + 8; // r_debug.r_map
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

// The same from the dynamic linker, if it is the system's: its structure has its own address.
static __always_inline uint64_t list_of_linker(uint64_t base) {
	enum { MAP = 1, BASE = 4, WORDS = 5 }; // r_map, r_ldbase
	uint64_t debug[WORDS] = {}, at = base + linker_debug;
	bool found = base && linker_debug && !bpf_probe_read_user(debug, sizeof(debug), (void *)at);
	return found && debug[BASE] == base ? at + MAP * sizeof(uint64_t) : 0;
}

// Where the current process keeps the address of its first module; 0 if it has no list.
static __always_inline uint64_t find_modules(struct mm_struct *memory) {
	struct search search = {.headers = auxiliary(memory, auxiliary_headers, AT_PHDR)};
	bpf_loop(MOST_HEADERS, try_header, &search, 0);
	if (search.dynamic)
		bpf_loop(MOST_DYNAMIC, try_dynamic, &search, 0);
	return search.list ? search.list : list_of_linker(auxiliary(memory, auxiliary_base, AT_BASE));
}

static __always_inline uint64_t first_module(uint64_t list) {
	uint64_t first = 0;
	if (list)
		bpf_probe_read_user(&first, sizeof(first), (void *)list);
	return first;
}

static __always_inline void read_modules(struct record_crash *record, uint64_t list) {
	struct search search = {.record = record, .next = first_module(list)};
	if (search.next)
		bpf_loop(CRASH_MODULES, take_module, &search, 0);
}

static long count_module(uint32_t i, struct search *search) {
	struct link_map module;
	if (bpf_probe_read_user(&module, sizeof(module), (void *)search->next))
		return 1;
	search->hash = (search->hash ^ module.bias ^ search->next) * 0x9e3779b97f4a7c15ull;
	search->next = module.next;
	return 0;
}

// A number that changes when modules are loaded or unloaded.
static __always_inline uint64_t hash_modules(uint64_t list) {
	struct search search = {.next = first_module(list)};
	if (search.next)
		bpf_loop(CRASH_MODULES, count_module, &search, 0);
	return search.hash;
}
