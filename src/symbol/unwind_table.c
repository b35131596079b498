// .eh_frame is a list of entries: common ones (CIE), and one for each function
// (FDE) that refers to a common one and tells, as a little program, how the rules
// change along the function's code. The program is run once here and each state
// becomes a row.
//
// elfutils has a reader of these (libdw), which answers for one address at a time
// in about 1.5 microseconds and keeps what it has read as trees; a table for the
// kernel needs all rows of a file at once, in order: libc's 35,000 take 3 ms here.
#include "symbol/unwind_table.h"
#include "base/cursor.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

// ---- the sections ----

struct section {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
};

static struct section find_section(Elf *elf, const char *wanted) {
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return (struct section){0};
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		const char *name;
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
		    !(name = elf_strptr(elf, names, header.sh_name)) || strcmp(name, wanted) != 0)
			continue;
		Elf_Data *data = elf_rawdata(section, NULL);
		if (data && data->d_buf)
			return (struct section){.bytes = data->d_buf, .size = data->d_size, .address = header.sh_addr};
	}
	return (struct section){0};
}

static int read_segments(struct unwind_table *table, Elf *elf) {
	size_t count;
	if (elf_getphdrnum(elf, &count))
		return -ENOEXEC;
	table->base = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		table->base = MIN(table->base, header.p_vaddr & ~(uint64_t)0xfff);
		if (header.p_flags & PF_X)
			array_push(&table->segments, (struct unwind_segment){
				.offset = header.p_offset, .size = header.p_filesz, .address = header.p_vaddr});
	}
	return table->segments.count ? 0 : -ENOEXEC;
}

// ---- common entries ----

enum {
	ENCODING_OMITTED = 0xff,
	ENCODING_RELATIVE = 0x10, // to where it stands
	REGISTER_FRAME = 6,
	REGISTER_STACK = 7,
	REGISTER_RETURN = 16,
};

struct common {
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t encoding;
	bool signal, augmented;
	struct cursor program;
};

static uint64_t read_uleb(struct cursor *in) {
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = cursor_u8(in);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80) || in->failed)
			return value;
	}
}

static int64_t read_sleb(struct cursor *in) {
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = cursor_u8(in);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !in->failed);
	if (shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

// An address as its encoding says; `place` is where it stands.
static uint64_t read_pointer(struct cursor *in, uint8_t encoding, uint64_t place) {
	uint64_t value;
	switch (encoding & 0x0f) {
	case 0x01:
		value = read_uleb(in);
		break;
	case 0x02:
		value = cursor_u16(in);
		break;
	case 0x03:
		value = cursor_u32(in);
		break;
	case 0x09:
		value = (uint64_t)read_sleb(in);
		break;
	case 0x0a:
		value = (uint64_t)(int64_t)(int16_t)cursor_u16(in);
		break;
	case 0x0b:
		value = (uint64_t)(int64_t)(int32_t)cursor_u32(in);
		break;
	default:
		value = cursor_u64(in);
	}
	return (encoding & 0x70) == ENCODING_RELATIVE ? value + place : value;
}

static bool read_common(const struct section *section, size_t offset, struct common *common) {
	struct cursor in = cursor_of(section->bytes, section->size);
	cursor_slice(&in, offset);
	uint64_t size = cursor_u32(&in);
	if (size == 0xffffffff)
		size = cursor_u64(&in);
	struct cursor entry = cursor_slice(&in, size);
	uint32_t id = cursor_u32(&entry);
	uint8_t version = cursor_u8(&entry);
	const char *augmentation = cursor_string(&entry);
	if (entry.failed || id != 0 || (version != 1 && version != 3))
		return false;
	*common = (struct common){.code_factor = read_uleb(&entry), .augmented = augmentation[0] == 'z'};
	common->data_factor = read_sleb(&entry);
	uint64_t return_register = version == 1 ? cursor_u8(&entry) : read_uleb(&entry);
	if (augmentation[0] && !common->augmented)
		return false; // before 1999
	if (common->augmented) {
		uint64_t length = read_uleb(&entry);
		struct cursor data = cursor_slice(&entry, length);
		for (const char *letter = augmentation + 1; *letter; letter++) {
			if (*letter == 'R') {
				common->encoding = cursor_u8(&data);
			} else if (*letter == 'P') {
				uint8_t encoding = cursor_u8(&data);
				read_pointer(&data, encoding, 0);
			} else if (*letter == 'L') {
				cursor_u8(&data);
			} else if (*letter == 'S') {
				common->signal = true;
			}
		}
	}
	common->program = entry;
	return !entry.failed && return_register == REGISTER_RETURN;
}

// ---- the programs ----

// Where the two registers are, as the program has said so far.
struct rules {
	uint8_t rule; // of the CFA
	int64_t cfa;
	int64_t frame; // bytes from the CFA; 0: unchanged
	bool no_caller;
};

struct machine {
	struct unwind_table *table;
	const struct common *common;
	struct rules now, initial;
	struct rules saved[16];
	size_t depth;
	uint64_t pc, end;
	bool failed;
};

static void push_row(struct unwind_table *table, uint64_t pc, struct unwind_row row) {
	row.pc = (uint32_t)(pc - table->base);
	if (table->rows.count) {
		struct unwind_row *last = &table->rows.items[table->rows.count - 1];
		if (last->pc == row.pc) { // the later word counts
			*last = row;
			return;
		}
		if (last->rule == row.rule && last->cfa == row.cfa && last->frame == row.frame)
			return;
	}
	array_push(&table->rows, row);
}

static void put_row(struct machine *machine) {
	const struct rules *now = &machine->now;
	struct unwind_row row = {.rule = now->rule, .cfa = (int16_t)now->cfa, .frame = (int8_t)(now->frame / 8)};
	if (machine->pc >= machine->end)
		return;
	if (machine->common->signal)
		row = (struct unwind_row){.rule = UNWIND_SIGNAL};
	else if (now->no_caller)
		row = (struct unwind_row){.rule = UNWIND_END};
	else if (row.cfa != now->cfa || row.frame * 8 != now->frame || now->rule == UNWIND_STRANGE) {
		row = (struct unwind_row){.rule = UNWIND_STRANGE};
		machine->table->strange++;
	}
	push_row(machine->table, machine->pc, row);
}

static void advance(struct machine *machine, uint64_t by) {
	put_row(machine);
	machine->pc += by * machine->common->code_factor;
}

static void set_cfa(struct machine *machine, uint64_t reg, int64_t offset) {
	machine->now.rule = reg == REGISTER_STACK ? UNWIND_STACK : reg == REGISTER_FRAME ? UNWIND_FRAME : UNWIND_STRANGE;
	machine->now.cfa = offset;
}

static void set_saved(struct machine *machine, uint64_t reg, int64_t offset) {
	if (reg == REGISTER_FRAME)
		machine->now.frame = offset;
}

// Two expressions are common: of procedure linkage tables, and of functions that align their stack.
static void set_cfa_expression(struct machine *machine, struct cursor block) {
	static const uint8_t plt_head[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a}, plt_tail[] = {0x2a, 0x33, 0x24, 0x22};
	enum { BREG_FRAME = 0x76, DEREF = 0x06, LIT0 = 0x30 };
	const uint8_t *bytes = block.at;
	size_t size = cursor_left(&block);
	machine->now.rule = UNWIND_STRANGE;
	if (size == 11 && memcmp(bytes, plt_head, 6) == 0 && memcmp(bytes + 7, plt_tail, 4) == 0) {
		machine->now.rule = UNWIND_PLT;
		machine->now.cfa = bytes[6] - LIT0;
	} else if (size >= 3 && bytes[0] == BREG_FRAME && bytes[size - 1] == DEREF) {
		cursor_u8(&block);
		machine->now.rule = UNWIND_ALIGNED;
		machine->now.cfa = read_sleb(&block);
		machine->now.frame = 0;
	}
}

static void restore(struct machine *machine, uint64_t reg) {
	if (reg == REGISTER_FRAME)
		machine->now.frame = machine->initial.frame;
	if (reg == REGISTER_RETURN)
		machine->now.no_caller = machine->initial.no_caller;
}

static struct cursor read_block(struct cursor *in) {
	uint64_t size = read_uleb(in);
	return cursor_slice(in, size);
}

enum { // DW_CFA_...
	SET_LOCATION = 0x01, ADVANCE_1, ADVANCE_2, ADVANCE_4, OFFSET_EXTENDED, RESTORE_EXTENDED, UNDEFINED, SAME_VALUE,
	REGISTER, REMEMBER, RESTORE_STATE, DEFINE_CFA, DEFINE_CFA_REGISTER, DEFINE_CFA_OFFSET, DEFINE_CFA_EXPRESSION,
	EXPRESSION, OFFSET_SIGNED, DEFINE_CFA_SIGNED, DEFINE_CFA_OFFSET_SIGNED, VALUE_OFFSET, VALUE_OFFSET_SIGNED,
	VALUE_EXPRESSION,
	ARGUMENTS_SIZE = 0x2e, OFFSET_NEGATIVE = 0x2f,
};

// The operations that say where a register is.
static bool run_register(struct machine *machine, uint8_t operation, struct cursor *in) {
	int64_t factor = machine->common->data_factor;
	uint64_t reg = read_uleb(in);
	switch (operation) {
	case OFFSET_EXTENDED:
		set_saved(machine, reg, (int64_t)read_uleb(in) * factor);
		return true;
	case OFFSET_SIGNED:
		set_saved(machine, reg, read_sleb(in) * factor);
		return true;
	case OFFSET_NEGATIVE:
		set_saved(machine, reg, -(int64_t)read_uleb(in) * factor);
		return true;
	case RESTORE_EXTENDED:
		restore(machine, reg);
		return true;
	case UNDEFINED:
		if (reg == REGISTER_RETURN)
			machine->now.no_caller = true;
		return true;
	case SAME_VALUE:
		set_saved(machine, reg, 0);
		return true;
	case REGISTER:
	case VALUE_OFFSET:
		read_uleb(in);
		return true;
	case VALUE_OFFSET_SIGNED:
		read_sleb(in);
		return true;
	case EXPRESSION: // of a frame that is aligned: known from its CFA
	case VALUE_EXPRESSION:
		read_block(in);
		return true;
	case DEFINE_CFA:
		set_cfa(machine, reg, (int64_t)read_uleb(in));
		return true;
	case DEFINE_CFA_SIGNED:
		set_cfa(machine, reg, read_sleb(in) * factor);
		return true;
	case DEFINE_CFA_REGISTER:
		set_cfa(machine, reg, machine->now.cfa);
		return true;
	}
	return false;
}

static bool run_operation(struct machine *machine, uint8_t operation, struct cursor *in, uint64_t place) {
	switch (operation) {
	case 0: // nothing
		return true;
	case SET_LOCATION:
		put_row(machine);
		machine->pc = read_pointer(in, machine->common->encoding, place);
		return true;
	case ADVANCE_1:
		advance(machine, cursor_u8(in));
		return true;
	case ADVANCE_2:
		advance(machine, cursor_u16(in));
		return true;
	case ADVANCE_4:
		advance(machine, cursor_u32(in));
		return true;
	case REMEMBER:
		if (machine->depth == ARRAY_SIZE(machine->saved))
			return false;
		machine->saved[machine->depth++] = machine->now;
		return true;
	case RESTORE_STATE:
		if (!machine->depth)
			return false;
		machine->now = machine->saved[--machine->depth];
		return true;
	case DEFINE_CFA_OFFSET:
		machine->now.cfa = (int64_t)read_uleb(in);
		return true;
	case DEFINE_CFA_OFFSET_SIGNED:
		machine->now.cfa = read_sleb(in) * machine->common->data_factor;
		return true;
	case DEFINE_CFA_EXPRESSION:
		set_cfa_expression(machine, read_block(in));
		return true;
	case ARGUMENTS_SIZE:
		read_uleb(in);
		return true;
	}
	return run_register(machine, operation, in);
}

static bool run_program(struct machine *machine, struct cursor in, const struct section *section) {
	while (cursor_left(&in) && !in.failed) {
		uint64_t place = section->address + (uint64_t)(in.at - section->bytes) + 1;
		uint8_t operation = cursor_u8(&in), low = operation & 0x3f;
		bool known = true;
		switch (operation >> 6) {
		case 1:
			advance(machine, low);
			break;
		case 2:
			set_saved(machine, low, (int64_t)read_uleb(&in) * machine->common->data_factor);
			break;
		case 3:
			restore(machine, low);
			break;
		default:
			known = run_operation(machine, operation, &in, place);
		}
		if (!known)
			return false;
	}
	return !in.failed;
}

// ---- functions ----

struct function {
	uint64_t begin, end;
	size_t common;     // offset of its common entry
	const uint8_t *at; // its program
	size_t size;
};

typedef ARRAY(struct function) function_array;

static int by_address(const void *a, const void *b) {
	const struct function *left = a, *right = b;
	return (left->begin > right->begin) - (left->begin < right->begin);
}

static void read_function(const struct section *section, struct cursor entry, size_t common_offset,
			  function_array *functions) {
	struct common common;
	if (!read_common(section, common_offset, &common))
		return;
	uint64_t place = section->address + (uint64_t)(entry.at - section->bytes);
	uint64_t begin = read_pointer(&entry, common.encoding, place);
	uint64_t size = read_pointer(&entry, common.encoding & 0x0f, 0);
	if (common.augmented)
		read_block(&entry);
	if (!entry.failed && size && begin + size > begin)
		array_push(functions, (struct function){.begin = begin, .end = begin + size, .common = common_offset,
							.at = entry.at, .size = cursor_left(&entry)});
}

static void list_functions(const struct section *section, function_array *functions) {
	struct cursor in = cursor_of(section->bytes, section->size);
	while (cursor_left(&in) >= 4 && !in.failed) {
		uint64_t size = cursor_u32(&in);
		if (size == 0)
			continue; // the end, or a gap that a linker left
		if (size == 0xffffffff)
			size = cursor_u64(&in);
		struct cursor entry = cursor_slice(&in, size);
		size_t place = (size_t)(entry.at - section->bytes);
		uint32_t id = cursor_u32(&entry);
		if (entry.failed)
			return;
		if (id != 0 && id <= place)
			read_function(section, entry, place - id, functions);
	}
}

static void compile(struct unwind_table *table, const struct section *section) {
	function_array functions = {0};
	list_functions(section, &functions);
	if (functions.count)
		qsort(functions.items, functions.count, sizeof(*functions.items), by_address);
	for (size_t i = 0; i < functions.count; i++) {
		const struct function *function = &functions.items[i];
		struct common common;
		if (function->begin < table->base || function->end - table->base > UINT32_MAX ||
		    !read_common(section, function->common, &common))
			continue;
		struct machine machine = {.table = table, .common = &common, .pc = function->begin, .end = function->end,
					  .now = {.rule = UNWIND_STRANGE}};
		struct machine initial = machine;
		initial.end = 0; // its rules go for all, and make no row
		bool good = run_program(&initial, common.program, section);
		machine.now = machine.initial = initial.now;
		good = good && run_program(&machine, cursor_of(function->at, function->size), section);
		if (good)
			put_row(&machine);
		else
			push_row(table, function->begin, (struct unwind_row){.rule = UNWIND_STRANGE});
		push_row(table, function->end, (struct unwind_row){.rule = UNWIND_NONE});
	}
	array_free(&functions);
}

int unwind_table_read(struct unwind_table *table, int fd) {
	*table = (struct unwind_table){0};
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	GElf_Ehdr header;
	int error = !elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ? -ENOEXEC : 0;
	if (!error)
		error = read_segments(table, elf);
	if (!error && header.e_machine == EM_X86_64) {
		struct section section = find_section(elf, ".eh_frame");
		if (section.size)
			compile(table, &section);
	}
	elf_end(elf);
	return error;
}

void unwind_table_free(struct unwind_table *table) {
	array_free(&table->rows);
	array_free(&table->segments);
}

const struct unwind_row *unwind_table_find(const struct unwind_table *table, uint64_t address) {
	uint64_t pc = address - table->base;
	size_t low = 0, high = table->rows.count;
	if (address < table->base)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (table->rows.items[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &table->rows.items[low - 1] : NULL;
}

bool unwind_table_address(const struct unwind_table *table, uint64_t offset, uint64_t *address) {
	for (size_t i = 0; i < table->segments.count; i++) {
		const struct unwind_segment *segment = &table->segments.items[i];
		uint64_t begin = segment->offset & ~(uint64_t)0xfff; // mappings begin with a page
		if (offset >= begin && offset < segment->offset + segment->size) {
			*address = segment->address - segment->offset + offset;
			return true;
		}
	}
	return false;
}
