// Stacks of arm64, possibly with signed return addresses, walked on any machine.
#include "aside.h"

#include "base/memory.h"
#include "symbol/elf.h"
#include "symbol/elf_unwind.h"

#include <string.h>

enum { FP = 29, LR = 30, SP = 31, PC = 32 };
#define SIGNATURE UINT64_C(0x2e5c000000000000)

// ---- rows by hand ----

struct seen {
	uint64_t pcs[8];
	size_t count;
	struct unwind_table *table; // NULL for the rows below
};

static bool found(void *context, uint64_t address, struct frame *frame) {
	return address < 0x4000;
}

// 0x1000: a leaf, its return address still in the link register. 0x2000: has a frame of 32 bytes.
// 0x3000: the outermost.
static const struct unwind_row *take(void *context, uint64_t pc, bool *stop) {
	static const struct unwind_row leaf = {.cfa = CFA_REGISTER, .cfa_register = SP, .cfa_offset = 16};
	static const struct unwind_row framed = {.cfa = CFA_REGISTER,
						 .cfa_register = SP,
						 .cfa_offset = 32,
						 .return_offset = -3,
						 .frame_offset = -4,
						 .registers = UNWIND_RETURN_SAVED | UNWIND_FRAME_SAVED};
	static const struct unwind_row last = {.registers = UNWIND_OUTERMOST};
	static struct unwind_row row;
	struct seen *seen = context;
	seen->pcs[seen->count++] = pc;
	*stop = seen->count == ARRAY_SIZE(seen->pcs);
	if (seen->table)
		return unwind_row_at(seen->table, pc, &row) ? &row : NULL;
	return pc < 0x2000 ? &leaf : pc < 0x3000 ? &framed : pc < 0x4000 ? &last : NULL;
}

static struct user_state state_of(const uint64_t *stack, size_t size, uint64_t pc, uint64_t lr) {
	struct user_state user = {.machine = MACHINE_ARM64,
				  .valid = (UINT64_C(1) << 33) - 1,
				  .stack = (const uint8_t *)stack,
				  .stack_size = size,
				  .find = found};
	user.registers[SP] = 0x7000;
	user.registers[FP] = 0x7010;
	user.registers[PC] = pc;
	user.registers[LR] = lr;
	return user;
}

static void test_signatures_of_return_addresses_are_taken_off(void **state) {
	// The leaf's 16 bytes; then the frame's: x29, x30 and its own.
	uint64_t stack[] = {1, 2, 0x7030, SIGNATURE | 0x3004, 3, 4};
	struct seen seen = {0};
	struct user_state user = state_of(stack, sizeof(stack), 0x1008, SIGNATURE | 0x2010);
	assert_true(unwind_stack(&user, take, &seen));
	assert_int_equal(3, seen.count);
	assert_int_equal(0x1008, seen.pcs[0]);
	assert_int_equal(0x200f, seen.pcs[1]); // the call
	assert_int_equal(0x3003, seen.pcs[2]);
}

static void test_frame_pointers_lead_to_signed_addresses_too(void **state) {
	uint64_t stack[] = {1, 2, 0, SIGNATURE | 0x3004, 3, 4};
	struct seen seen = {0};
	struct user_state user = state_of(stack, sizeof(stack), 0x8000, 0); // no rows there
	assert_true(unwind_stack(&user, take, &seen));
	assert_int_equal(2, seen.count);
	assert_int_equal(0x3003, seen.pcs[1]);
}

static void test_a_caller_s_caller_is_not_in_the_link_register(void **state) {
	uint64_t stack[] = {1, 2, 0x7030, 0x1004, 3, 4};
	struct seen seen = {0};
	// From a function with a frame to one that has not saved its return address: that one
	// cannot have made a call.
	struct user_state user = state_of(stack, sizeof(stack), 0x2008, 0x3004);
	user.registers[SP] = 0x7010;
	user.stack = (const uint8_t *)(stack + 2);
	user.stack_size = sizeof(stack) - 16;
	assert_false(unwind_stack(&user, take, &seen));
	assert_int_equal(2, seen.count);
}

// ---- a real file ----

static uint64_t symbol_address(const struct elf_object *object, const char *name) {
	for (size_t i = 0; i < object->symbol_count; i++)
		if (strcmp(object->symbols[i].name, name) == 0)
			return object->symbols[i].address;
	fail_msg("no %s", name);
	return 0;
}

// Where a function's rules change: addresses after its start.
static size_t places(struct unwind_table *table, uint64_t begin, int32_t offset, uint64_t *first) {
	size_t count = 0;
	struct unwind_row row;
	for (uint64_t pc = begin; pc < begin + 64 && unwind_row_at(table, pc, &row); pc += 4)
		if (row.cfa_offset == offset && count++ == 0)
			*first = pc;
	return count;
}

// paciasp emits DW_CFA_AARCH64_negate_ra_state, which a row does not need.
static void assert_walked(const char *options) {
	CLEANUP_FREE char *command = memory_format(
		"cd %s && aarch64-linux-gnu-gcc -O1 -nostdlib -static -ffreestanding -fno-inline "
		"-fno-optimize-sibling-calls -mbranch-protection=standard %s program.c -o program 2>err",
		aside_folder, options);
	static const char program[] = "int leaf(int *a) { return *a; }\n"
				      "int middle(int a) { int b[4]; b[1] = a; return leaf(b) + 1; }\n"
				      "void _start(void) { middle(3); for (;;); }\n";
	put_file(in_folder("program.c"), program, sizeof(program) - 1);
	assert_int_equal(0, system(command));
	struct elf_object *object = elf_open(in_folder("program"), "");
	assert_non_null(object);
	struct unwind_table *table = elf_unwind_table(object);
	assert_non_null(table);
	struct unwind_row row;
	uint64_t leaf = symbol_address(object, "leaf"), middle = symbol_address(object, "middle"), pc = 0;
	assert_true(unwind_row_at(table, middle, &row));
	assert_int_equal(SP, row.cfa_register);
	assert_int_equal(0, row.cfa_offset);
	assert_false(row.registers & UNWIND_RETURN_SAVED);
	// Its frame: x29, x30 and b[], 32 bytes.
	assert_true(places(table, middle, 32, &pc) > 2);
	assert_true(unwind_row_at(table, pc, &row));
	assert_int_equal(UNWIND_RETURN_SAVED | UNWIND_FRAME_SAVED, row.registers);
	assert_int_equal(-4, row.frame_offset);
	assert_int_equal(-3, row.return_offset);
	uint64_t stack[] = {0x7020, SIGNATURE | 0x3004, 1, 2, 0, 0};
	struct seen seen = {.table = table};
	struct user_state user = state_of(stack, sizeof(stack), leaf, SIGNATURE | (pc + 8));
	unwind_stack(&user, take, &seen);
	assert_true(seen.count >= 3);
	assert_int_equal(pc + 7, seen.pcs[1]);
	assert_int_equal(0x3003, seen.pcs[2]);
	unwind_table_free(table);
	elf_close(object);
}

static void test_a_program_of_arm64(void **state) {
	if (system("aarch64-linux-gnu-gcc --version >/dev/null 2>&1"))
		skip();
	assert_walked("-fasynchronous-unwind-tables");
	assert_walked("-g -fno-asynchronous-unwind-tables -fno-unwind-tables"); // .debug_frame
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures_of_return_addresses_are_taken_off),
		cmocka_unit_test(test_frame_pointers_lead_to_signed_addresses_too),
		cmocka_unit_test(test_a_caller_s_caller_is_not_in_the_link_register),
		IN_FOLDER(test_a_program_of_arm64),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
