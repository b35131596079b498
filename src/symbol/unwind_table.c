// Turns .eh_frame and .debug_frame into rows. With libdw, every frame of every sample costs a run
// of the CIE's and FDE's instructions and some allocations (perf, which uses it: 10,900 samples a
// second). Here a file's functions are listed when it is first needed, the rows of a function are
// built when its first address is looked up, and a sample costs a search. What a row cannot express
// (other saved registers than the frame pointer, most DWARF expressions) is left out: x86-64 and
// arm64 compilers do not need it to find the caller.
#include "symbol/unwind.h"

#include "base/array.h"
#include "base/cursor.h"
#include "symbol/cfa_operations.h"

#include <string.h>

enum {
	REGISTER_X86_FIRST = 5,
	REGISTER_X86_FRAME = 6,
	REGISTER_X86_STACK = 7,
	REGISTER_X86_RETURN = 16,
	REGISTER_ARM_FRAME = 29,
	REGISTER_ARM_RETURN = 30,
	MOST_ROWS = 1 << 24,
	MOST_REMEMBERED = 16,
};

struct function {
	uint64_t begin;
	uint32_t size, entry; // offset of its FDE in the section
	uint32_t first_row;   // index + 1; 0 if not built yet
	uint32_t row_count : 30, debug : 1, after_gap : 1;
};

// In .debug_frame, entries refer to their CIE differently, and sizes may rarely have 64 bits.
struct section {
	const uint8_t *bytes; // belong to the file, which must outlive the table
	size_t size;
	uint64_t address;
	bool debug;
};

// What many functions share.
struct cie {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_register;
	uint8_t encoding; // encoding of the functions' addresses
	bool augmented, signal;
	struct cursor instructions;
};

struct machine {
	struct unwind_row row;
	bool cfa_unknown;
};

struct unwind_table {
	struct section sections[2];    // .eh_frame, .debug_frame
	const struct section *section; // the section being read
	struct cie cie;
	const uint8_t *cie_at;            // the CIE in `cie`, or NULL
	ARRAY(struct function) functions; // sorted by address
	ARRAY(struct unwind_row) rows;    // the rows of one function are consecutive
};

// ---- numbers ----

static uint64_t take_uleb(struct cursor *in) {
	return cursor_varint(in);
}

// Offsets are multiples of a factor; overflows are caught where the result is used.
static int64_t scaled(uint64_t value, const struct cie *cie) {
	return (int64_t)(value * (uint64_t)cie->data_factor);
}

// The value of an encoded pointer; `relative` is false for sizes.
static uint64_t take_encoded(const struct unwind_table *table, struct cursor *in, uint8_t encoding,
			     bool relative) {
	enum {
		ABSOLUTE = 0,
		ULEB = 1,
		U2 = 2,
		U4 = 3,
		U8 = 4,
		SLEB = 9,
		S2 = 10,
		S4 = 11,
		S8 = 12,
		PC_RELATIVE = 0x10
	};
	uint64_t here = table->section->address + (uint64_t)(in->at - table->section->bytes), value;
	switch (encoding & 0x0f) {
	case ABSOLUTE:
	case U8:
	case S8:
		value = cursor_u64(in);
		break;
	case ULEB:
		value = take_uleb(in);
		break;
	case SLEB:
		value = (uint64_t)cursor_signed_varint(in);
		break;
	case U2:
		value = cursor_u16(in);
		break;
	case S2:
		value = (uint64_t)(int16_t)cursor_u16(in);
		break;
	case U4:
		value = cursor_u32(in);
		break;
	case S4:
		value = (uint64_t)(int32_t)cursor_u32(in);
		break;
	default:
		in->failed = true;
		return 0;
	}
	if (relative && (encoding & 0x70) == PC_RELATIVE)
		value += here;
	else if (relative && (encoding & 0x70) != 0)
		in->failed = true;
	return value;
}

// ---- instructions ----

static int16_t in_words(struct cursor *in, int64_t offset) {
	if (offset % 8 || offset / 8 < INT16_MIN || offset / 8 > INT16_MAX) {
		in->failed = true;
		return 0;
	}
	return (int16_t)(offset / 8);
}

static void set_cfa(struct machine *machine, struct cursor *in, uint64_t number, int64_t offset) {
	if (number > UINT8_MAX || offset < INT32_MIN || offset > INT32_MAX) {
		in->failed = true;
		return;
	}
	machine->row.cfa = CFA_REGISTER;
	machine->row.cfa_register = (uint8_t)number;
	machine->row.cfa_offset = (int32_t)offset;
}

static bool is_frame_register(const struct cie *cie, uint64_t number) {
	return number ==
	       (cie->return_register == REGISTER_ARM_RETURN ? REGISTER_ARM_FRAME : REGISTER_X86_FRAME);
}

static void set_saved(const struct unwind_table *table, struct machine *machine, struct cursor *in,
		      uint64_t number, int64_t offset) {
	if (number == table->cie.return_register) {
		machine->row.return_offset = in_words(in, offset);
		machine->row.registers |= UNWIND_RETURN_SAVED;
		machine->row.registers &= (uint8_t)~UNWIND_RETURN_IN_FIRST;
	} else if (is_frame_register(&table->cie, number)) {
		machine->row.frame_offset = in_words(in, offset);
		machine->row.registers |= UNWIND_FRAME_SAVED;
		machine->row.registers &= (uint8_t)~UNWIND_FRAME_IN_FRAME;
	}
}

static void set_return_in_first(struct machine *machine) {
	machine->row.registers &= (uint8_t)~UNWIND_RETURN_SAVED;
	machine->row.registers |= UNWIND_RETURN_IN_FIRST;
}

static void set_restored(const struct unwind_table *table, struct machine *machine,
			 const struct machine *initial, uint64_t number) {
	if (number == table->cie.return_register) {
		machine->row.registers &= (uint8_t) ~(UNWIND_RETURN_SAVED | UNWIND_RETURN_IN_FIRST |
						      UNWIND_OUTERMOST);
		machine->row.registers |= initial->row.registers & (UNWIND_RETURN_SAVED | UNWIND_OUTERMOST);
		machine->row.return_offset = initial->row.return_offset;
	} else if (is_frame_register(&table->cie, number)) {
		machine->row.registers &= (uint8_t) ~(UNWIND_FRAME_SAVED | UNWIND_FRAME_IN_FRAME);
	}
}

// Handles the few expressions that compilers and linkers write.
static void set_cfa_expression(const struct unwind_table *table, struct machine *machine,
			       struct cursor expression) {
	enum { BREG0 = 0x70, DEREF = 0x06, LITERAL0 = 0x30, BREG16 = 0x80, AND = 0x1a, GE = 0x2a };
	struct cursor in = expression;
	uint8_t operation = cursor_u8(&in);
	int64_t offset = cursor_signed_varint(&in);
	machine->row.cfa = CFA_NONE;
	if (in.failed || operation < BREG0 || operation > BREG0 + 31)
		return;
	uint8_t next = cursor_left(&in) ? cursor_u8(&in) : 0;
	if (table->cie.signal && table->cie.return_register == REGISTER_X86_RETURN) {
		machine->row.cfa = CFA_SIGNAL;
	} else if (next == DEREF && cursor_left(&in) == 0 && offset >= INT32_MIN && offset <= INT32_MAX) {
		machine->row.cfa = CFA_DEREFERENCE;
		machine->row.cfa_register = operation - BREG0;
		machine->row.cfa_offset = (int32_t)offset;
	} else if (operation == BREG0 + REGISTER_X86_STACK && offset == 8 && next == BREG16) {
		cursor_signed_varint(&in);
		uint8_t mask = cursor_u8(&in), and = cursor_u8(&in), bound = cursor_u8(&in);
		if (mask == LITERAL0 + 15 && and == AND && bound >= LITERAL0 && bound < LITERAL0 + 16 &&
		    !in.failed) {
			machine->row.cfa = CFA_PLT;
			machine->row.cfa_offset = bound - LITERAL0;
		}
	}
}

// Handles "the frame pointer is saved where the frame pointer points to", used with a realigned
// stack.
static void set_saved_expression(const struct unwind_table *table, struct machine *machine, uint64_t number,
				 struct cursor expression) {
	enum { BREG0 = 0x70 };
	if (!is_frame_register(&table->cie, number))
		return;
	uint8_t operation = cursor_u8(&expression);
	int64_t offset = cursor_signed_varint(&expression);
	if (operation == BREG0 + REGISTER_X86_FRAME && offset == 0) {
		machine->row.registers |= UNWIND_FRAME_IN_FRAME;
		machine->row.registers &= (uint8_t)~UNWIND_FRAME_SAVED;
	}
}

static struct cursor take_block(struct cursor *in) {
	uint64_t size = take_uleb(in);
	if (size > cursor_left(in))
		in->failed = true;
	return cursor_slice(in, in->failed ? 0 : (size_t)size);
}

struct run {
	struct unwind_table *table;
	struct machine machine, initial, remembered[MOST_REMEMBERED];
	size_t remembered_count, first_row;
	uint64_t pc, begin;
	bool emit;
	struct unwind_row *only; // where to put the row for one address, if no others are wanted
	uint64_t only_pc;
	bool only_found;
};

static bool same_rule(const struct unwind_row *a, const struct unwind_row *b) {
	return a->cfa == b->cfa && a->cfa_offset == b->cfa_offset && a->return_offset == b->return_offset &&
	       a->frame_offset == b->frame_offset && a->registers == b->registers &&
	       a->cfa_register == b->cfa_register;
}

// Adds a row to the current function; the last one at an address counts.
static void add_row(struct run *run, const struct unwind_row *row) {
	struct unwind_table *table = run->table;
	uint64_t pc = run->pc - run->begin;
	if (run->only) {
		if (pc <= run->only_pc) {
			*run->only = *row;
			run->only_found = true;
		}
		return;
	}
	struct unwind_row *last = table->rows.count > run->first_row
					  ? &table->rows.items[table->rows.count - 1]
					  : NULL;
	if (pc > UINT32_MAX || table->rows.count >= MOST_ROWS || (last && last->pc > pc))
		return;
	if (last && last->pc == pc)
		table->rows.count--;
	else if (last && same_rule(last, row))
		return;
	array_push(&table->rows, *row);
	table->rows.items[table->rows.count - 1].pc = (uint32_t)pc;
}

static void emit_row(struct run *run) {
	if (run->emit)
		add_row(run, &run->machine.row);
}

static void advance(struct run *run, uint64_t delta) {
	emit_row(run);
	run->pc += delta * run->table->cie.code_factor;
}

static void run_cfa(struct run *run, struct cursor *in, uint8_t operation) {
	const struct cie *cie = &run->table->cie;
	struct machine *machine = &run->machine;
	uint64_t number;
	switch (operation) {
	case CFA_DEF_CFA:
		number = take_uleb(in);
		set_cfa(machine, in, number, (int64_t)take_uleb(in));
		break;
	case CFA_DEF_CFA_SF:
		number = take_uleb(in);
		set_cfa(machine, in, number, scaled((uint64_t)cursor_signed_varint(in), cie));
		break;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(machine, in, take_uleb(in), machine->row.cfa_offset);
		break;
	case CFA_DEF_CFA_OFFSET:
		set_cfa(machine, in, machine->row.cfa_register, (int64_t)take_uleb(in));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa(machine, in, machine->row.cfa_register,
			scaled((uint64_t)cursor_signed_varint(in), cie));
		break;
	default:
		set_cfa_expression(run->table, machine, take_block(in));
		break;
	}
}

static void run_rule(struct run *run, struct cursor *in, uint8_t operation) {
	struct unwind_table *table = run->table;
	struct machine *machine = &run->machine;
	uint64_t number = take_uleb(in);
	switch (operation) {
	case CFA_OFFSET_EXTENDED:
		set_saved(table, machine, in, number, scaled(take_uleb(in), &table->cie));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_saved(table, machine, in, number,
			  scaled((uint64_t)cursor_signed_varint(in), &table->cie));
		break;
	case CFA_RESTORE_EXTENDED:
	case CFA_SAME_VALUE:
		set_restored(table, machine, &run->initial, number);
		break;
	case CFA_UNDEFINED:
		if (number == table->cie.return_register)
			machine->row.registers |= UNWIND_OUTERMOST;
		break;
	case CFA_EXPRESSION:
		set_saved_expression(table, machine, number, take_block(in));
		break;
	case CFA_VAL_EXPRESSION:
		take_block(in);
		break;
	case CFA_VAL_OFFSET_SF:
		cursor_signed_varint(in);
		break;
	case CFA_REGISTER_RULE:
		if (take_uleb(in) == REGISTER_X86_FIRST && number == REGISTER_X86_RETURN)
			set_return_in_first(machine);
		break;
	default: // the value is an offset
		take_uleb(in);
		break;
	}
}

static void run_state(struct run *run, struct cursor *in, uint8_t operation) {
	if (operation == CFA_REMEMBER_STATE && run->remembered_count < MOST_REMEMBERED)
		run->remembered[run->remembered_count++] = run->machine;
	else if (operation == CFA_RESTORE_STATE && run->remembered_count)
		run->machine = run->remembered[--run->remembered_count];
	else
		in->failed = true;
}

static void run_one(struct run *run, struct cursor *in) {
	struct unwind_table *table = run->table;
	uint8_t byte = cursor_u8(in), low = byte & 0x3f;
	switch (byte & 0xc0) {
	case CFA_ADVANCE_LOC:
		advance(run, low);
		return;
	case CFA_OFFSET:
		set_saved(table, &run->machine, in, low, scaled(take_uleb(in), &table->cie));
		return;
	case CFA_RESTORE:
		set_restored(table, &run->machine, &run->initial, low);
		return;
	default:
		break;
	}
	switch (byte) {
	case CFA_NOP:
	case CFA_AARCH64_NEGATE_RA:
		break;
	case CFA_SET_LOC:
		emit_row(run);
		run->pc = take_encoded(table, in, table->cie.encoding, true);
		break;
	case CFA_ADVANCE_LOC1:
		advance(run, cursor_u8(in));
		break;
	case CFA_ADVANCE_LOC2:
		advance(run, cursor_u16(in));
		break;
	case CFA_ADVANCE_LOC4:
		advance(run, cursor_u32(in));
		break;
	case CFA_REMEMBER_STATE:
	case CFA_RESTORE_STATE:
		run_state(run, in, byte);
		break;
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
	case CFA_DEF_CFA_EXPRESSION:
		run_cfa(run, in, byte);
		break;
	case CFA_GNU_ARGS_SIZE:
		take_uleb(in);
		break;
	default:
		if (byte <= CFA_VAL_EXPRESSION)
			run_rule(run, in, byte);
		else
			in->failed = true;
		break;
	}
}

static bool run_all(struct run *run, struct cursor in) {
	while (cursor_left(&in) && !in.failed)
		run_one(run, &in);
	return !in.failed;
}

// ---- entries ----

// How many of the first `count` functions begin at or before an address.
static size_t functions_before(const struct unwind_table *table, size_t count, uint64_t address) {
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (table->functions.items[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool read_augmentation(struct unwind_table *table, struct cursor *in, const char *letters,
			      struct cie *cie) {
	if (*letters != 'z')
		return *letters == 0;
	cie->augmented = true;
	struct cursor data = take_block(in);
	for (const char *letter = letters + 1; *letter; letter++) {
		if (*letter == 'R')
			cie->encoding = cursor_u8(&data);
		else if (*letter == 'L')
			cursor_u8(&data);
		else if (*letter == 'P')
			take_encoded(table, &data, cursor_u8(&data) & 0x0f, false);
		else if (*letter == 'S')
			cie->signal = true;
		else if (*letter != 'B') // arm64: return addresses are signed with the other key
			return false;
	}
	return !data.failed;
}

// Takes the next entry without its length; sets `wide` if that has 64 bits.
static struct cursor take_entry(struct cursor *all, bool *wide) {
	uint64_t length = cursor_u32(all);
	*wide = length == UINT32_MAX;
	if (*wide)
		length = cursor_u64(all);
	if (length > cursor_left(all))
		all->failed = true;
	return cursor_slice(all, all->failed ? 0 : (size_t)length);
}

static struct cursor entry_at(const struct section *section, uint64_t offset, bool *wide) {
	size_t at = (size_t)MIN(offset, section->size);
	struct cursor all = cursor_of(section->bytes + at, section->size - at);
	return take_entry(&all, wide);
}

static bool is_cie(const struct section *section, struct cursor *in, bool wide) {
	if (!section->debug)
		return cursor_u32(in) == 0;
	return wide ? cursor_u64(in) == UINT64_MAX : cursor_u32(in) == UINT32_MAX;
}

// The offset of a function's CIE; SIZE_MAX if this is not a function.
static uint64_t take_cie_offset(const struct section *section, struct cursor *in, bool wide) {
	uint64_t here = (uint64_t)(in->at - section->bytes);
	uint64_t value = wide && section->debug ? cursor_u64(in) : cursor_u32(in);
	if (section->debug)
		return value == (wide ? UINT64_MAX : UINT32_MAX) ? SIZE_MAX : value;
	return !value || value > here ? SIZE_MAX : here - value;
}

static bool read_cie(struct unwind_table *table, uint64_t offset) {
	const struct section *section = table->section;
	bool wide;
	struct cursor in = entry_at(section, offset, &wide);
	const uint8_t *at = in.at;
	if (table->cie_at == at && !in.failed)
		return true;
	table->cie_at = NULL;
	if (in.failed || !is_cie(section, &in, wide))
		return false;
	struct cie cie = {0};
	uint8_t version = cursor_u8(&in);
	const char *letters = cursor_string(&in);
	if (!letters || (version != 1 && version != 3 && !(version == 4 && section->debug)))
		return false;
	if (version == 4 && (cursor_u8(&in) != 8 || cursor_u8(&in) != 0))
		return false; // addresses of another size, or in segments
	cie.code_factor = take_uleb(&in);
	cie.data_factor = cursor_signed_varint(&in);
	cie.return_register = version == 1 ? cursor_u8(&in) : take_uleb(&in);
	if (!read_augmentation(table, &in, letters, &cie) || in.failed)
		return false;
	cie.instructions = in;
	table->cie = cie;
	table->cie_at = at;
	return true;
}

// Reads the function of an entry, and its instructions. False if it is not a function.
static bool read_fde(struct unwind_table *table, const struct section *section, size_t offset,
		     struct function *function, struct cursor *instructions) {
	bool wide;
	struct cursor in = entry_at(section, offset, &wide);
	table->section = section;
	uint64_t cie = take_cie_offset(section, &in, wide);
	if (in.failed || cie >= section->size || !read_cie(table, cie))
		return false;
	function->begin = take_encoded(table, &in, table->cie.encoding, true);
	uint64_t size = take_encoded(table, &in, table->cie.encoding & 0x0f, false);
	function->size = (uint32_t)size;
	function->entry = (uint32_t)offset;
	function->debug = section->debug;
	if (table->cie.augmented)
		take_block(&in);
	*instructions = in;
	return !in.failed && function->begin && size && size <= UINT32_MAX &&
	       function->begin + size > function->begin;
}

static bool overlaps(const struct unwind_table *table, size_t count, const struct function *function) {
	size_t before = functions_before(table, count, function->begin + function->size - 1);
	const struct function *last = before ? &table->functions.items[before - 1] : NULL;
	return last && last->begin + last->size > function->begin;
}

// Functions already in the table, `known` of them, sorted, stay unchanged.
static void list_functions(struct unwind_table *table, const struct section *section) {
	size_t known = table->functions.count;
	struct cursor all = cursor_of(section->bytes, section->size);
	while (cursor_left(&all) >= 4 && !all.failed) {
		size_t offset = (size_t)(all.at - section->bytes);
		bool wide;
		struct cursor entry = take_entry(&all, &wide);
		if (offset > UINT32_MAX || (!cursor_left(&entry) && !section->debug))
			return; // the end, or an impossible size
		struct function function = {0};
		struct cursor instructions;
		if (!all.failed && read_fde(table, section, offset, &function, &instructions) &&
		    table->functions.count < MOST_ROWS && !overlaps(table, known, &function))
			array_push(&table->functions, function);
	}
}

// ---- the table ----

// Builds the rows of the entry at `offset`, one by one. False if it cannot be decoded.
static bool run_entry(struct run *run, bool debug, size_t offset) {
	struct function function;
	struct cursor instructions;
	if (!read_fde(run->table, &run->table->sections[debug], offset, &function, &instructions) ||
	    !run_all(run, run->table->cie.instructions))
		return false;
	run->initial = run->machine;
	run->remembered_count = 0;
	run->emit = true;
	if (!run_all(run, instructions))
		return false;
	emit_row(run);
	return true;
}

static void make_rows(struct unwind_table *table, struct function *function) {
	struct run run = {.table = table,
			  .pc = function->begin,
			  .begin = function->begin,
			  .first_row = table->rows.count};
	function->first_row = (uint32_t)table->rows.count + 1;
	if (!run_entry(&run, function->debug, function->entry)) // no rows are better than half of them
		table->rows.count = run.first_row;
	function->row_count = (uint32_t)(table->rows.count - run.first_row) & ((1u << 30) - 1);
}

static int compare_functions(const void *left, const void *right) {
	const struct function *a = left, *b = right;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void sort_functions(struct unwind_table *table) {
	// The linker leaves them almost sorted.
	bool sorted = true;
	for (size_t i = 1; i < table->functions.count && sorted; i++)
		sorted = table->functions.items[i - 1].begin <= table->functions.items[i].begin;
	if (!sorted)
		qsort(table->functions.items, table->functions.count, sizeof(struct function),
		      compare_functions);
}

// A function extends over a small gap after it. Usually nothing runs there, but the C library has no unwind
// information for the instructions after the system call that creates a thread, because both threads run
// them. The previous rules still hold for the creating thread.
static void close_gaps(struct unwind_table *table) {
	enum { SMALL_GAP = 24 };
	for (size_t i = 1; i < table->functions.count; i++) {
		struct function *function = &table->functions.items[i - 1];
		uint64_t gap = function[1].begin - function->begin - function->size;
		function[1].after_gap = gap > 0;
		if (gap <= SMALL_GAP && function->size <= UINT32_MAX - SMALL_GAP)
			function->size += (uint32_t)gap;
	}
}

struct unwind_table *unwind_table_of_both(const uint8_t *eh_frame, size_t size, uint64_t address,
					  const uint8_t *debug_frame, size_t debug_size) {
	struct unwind_table *table = memory_alloc(sizeof(*table));
	table->sections[0] = (struct section){eh_frame, size, address, false};
	table->sections[1] = (struct section){debug_frame, debug_size, 0, true};
	for (int i = 0; i < 2; i++) {
		if (table->sections[i].bytes)
			list_functions(table, &table->sections[i]);
		sort_functions(table);
	}
	close_gaps(table);
	if (table->functions.count)
		return table;
	unwind_table_free(table);
	return NULL;
}

struct unwind_table *unwind_table_new(const uint8_t *eh_frame, size_t size, uint64_t address) {
	return unwind_table_of_both(eh_frame, size, address, NULL, 0);
}

void unwind_table_free(struct unwind_table *table) {
	if (!table)
		return;
	array_free(&table->functions);
	array_free(&table->rows);
	free(table);
}

struct code_range unwind_table_function(const struct unwind_table *table, size_t index) {
	const struct function *function = &table->functions.items[index];
	return (struct code_range){function->begin, function->begin + function->size};
}

size_t unwind_table_functions(const struct unwind_table *table) {
	return table->functions.count;
}

static struct function *function_at(struct unwind_table *table, uint64_t address, struct code_range *range) {
	size_t low = functions_before(table, table->functions.count, address);
	struct function *function = low ? &table->functions.items[low - 1] : NULL;
	if (low < table->functions.count)
		range_to(range, table->functions.items[low].begin);
	if (function)
		range_narrow(range, address, function->begin, function->size);
	return function && address - function->begin < function->size ? function : NULL;
}

bool unwind_function_at(struct unwind_table *table, uint64_t address, uint64_t *begin) {
	const struct function *function = function_at(table, address, &CODE_RANGE_ALL);
	if (function)
		*begin = function->begin;
	return function;
}

// A call never returns to the beginning of a function, unless the function before it ends with the call. If
// there is a gap between the two, a program has made up this return address: makecontext() has the outermost
// function of a coroutine return to code that ends it. That code needs no stack of its own.
static bool is_made_up(const struct unwind_table *table, const struct function *function) {
	if (!function->after_gap || function->row_count != 1)
		return false; // damaged unwind information may give no rows at all
	const struct unwind_row *row = &table->rows.items[function->first_row - 1];
	return row->cfa == CFA_REGISTER && row->cfa_offset == 8 &&
	       !(row->registers & (UNWIND_OUTERMOST | UNWIND_FRAME_SAVED));
}

static const struct unwind_row outermost = {.cfa = CFA_REGISTER, .registers = UNWIND_OUTERMOST};

static bool returns_to_made_up(struct unwind_table *table, uint64_t address) {
	struct function *next = function_at(table, address + 1, &CODE_RANGE_ALL);
	if (!next || next->begin != address + 1 || !next->after_gap)
		return false;
	if (!next->first_row)
		make_rows(table, next);
	return is_made_up(table, next);
}

bool unwind_row_around(struct unwind_table *table, uint64_t address, struct unwind_row *found,
		       struct code_range *range) {
	struct function *function = function_at(table, address, range);
	if (returns_to_made_up(table, address)) {
		*range = (struct code_range){address, address + 1};
		*found = outermost;
		return true;
	}
	range_to(range, MAX(range->end - 1, address + 1)); // the last byte of a gap may be one of those
	if (!function)
		return false;
	if (!function->first_row)
		make_rows(table, function);
	if (!function->row_count)
		return false;
	const struct unwind_row *rows = &table->rows.items[function->first_row - 1];
	uint32_t pc = (uint32_t)(address - function->begin), low = 0, high = function->row_count;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (rows[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	range_from(range, function->begin + (low ? rows[low - 1].pc : 0));
	if (low < function->row_count)
		range_to(range, function->begin + rows[low].pc);
	if (!low || rows[low - 1].cfa == CFA_NONE)
		return false;
	*found = rows[low - 1];
	return true;
}

bool unwind_row_in_entry(const uint8_t *eh_frame, size_t size, uint64_t address, size_t entry, uint64_t pc,
			 struct unwind_row *row) {
	struct unwind_table table = {.sections = {{eh_frame, size, address, false}}};
	struct function function = {0};
	struct cursor instructions;
	if (entry > size || !read_fde(&table, table.sections, entry, &function, &instructions) ||
	    pc - function.begin >= function.size)
		return false;
	struct run run = {.table = &table,
			  .pc = function.begin,
			  .begin = function.begin,
			  .only = row,
			  .only_pc = pc - function.begin};
	return run_entry(&run, false, entry) && run.only_found && row->cfa != CFA_NONE;
}

// ---- the whole ----

// A row is passed on once the next one is known.
struct whole {
	unwind_take_row *take;
	void *context;
	struct unwind_row last;
	bool any;
};

// Functions may overlap: the later one starts where the earlier one ends.
static void add_to_whole(struct whole *whole, uint64_t pc, const struct unwind_row *row) {
	if (pc > UINT32_MAX || (whole->any && whole->last.pc > pc))
		return;
	if (whole->any && whole->last.pc < pc) {
		if (same_rule(&whole->last, row))
			return;
		whole->take(whole->context, &whole->last);
	}
	whole->last = *row;
	whole->last.pc = (uint32_t)pc;
	whole->any = true;
}

uint64_t unwind_table_base(const struct unwind_table *table) {
	return table->functions.items[0].begin;
}

void unwind_table_each_row(struct unwind_table *table, unwind_take_row *take, void *context) {
	static const struct unwind_row none = {.cfa = CFA_NONE};
	struct whole whole = {.take = take, .context = context};
	for (size_t i = 0; i < table->functions.count; i++) {
		struct function function = table->functions.items[i];
		uint64_t begin = function.begin - unwind_table_base(table);
		size_t known = table->rows.count;
		if (!function.first_row)
			make_rows(table, &function);
		if (begin && is_made_up(table, &function))
			add_to_whole(&whole, begin - 1, &outermost);
		for (uint32_t k = 0; k < function.row_count; k++) {
			const struct unwind_row *row = &table->rows.items[function.first_row - 1 + k];
			add_to_whole(&whole, begin + row->pc, row);
		}
		add_to_whole(&whole, begin + function.size, &none);
		table->rows.count = known; // these rows are only scratch: drop them
	}
	if (whole.any)
		take(context, &whole.last);
}
