// Builds a table from an .eh_frame or .debug_frame section and walks a stack with it: the first
// part of the input is the stack, as long as its first two bytes say; their highest bit selects the
// section.
#include "fuzz.h"

#include "base/cursor.h"
#include "event/stacks.h"
#include "symbol/unwind.h"

enum { ADDRESS = 0x1000 };

static bool find(void *context, uint64_t address, struct frame *frame) {
	return address < UINT64_C(1) << 40;
}

static const struct unwind_row *take(void *context, uint64_t pc, bool *stop) {
	unsigned *left = ((void **)context)[1];
	*stop = --*left == 0;
	static struct unwind_row row;
	struct unwind_table *table = ((void **)context)[0];
	return table && unwind_row_at(table, pc, &row) ? &row : NULL;
}

// Rows must be sorted, each at its own address.
static void take_row(void *context, const struct unwind_row *row) {
	uint64_t *next = context;
	if (row->pc < *next)
		abort();
	*next = (uint64_t)row->pc + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct cursor in = cursor_of(bytes, size);
	uint16_t first = cursor_u16(&in);
	struct cursor stack = cursor_slice(&in, MIN(first & INT16_MAX, cursor_left(&in)));
	bool debug = first > INT16_MAX;
	struct unwind_table *table = debug ? unwind_table_of_both(NULL, 0, 0, in.at, cursor_left(&in))
					   : unwind_table_new(in.at, cursor_left(&in), ADDRESS);
	if (table)
		unwind_table_each_row(table, take_row, &(uint64_t){0});
	for (int machine = MACHINE_X86_64; machine <= MACHINE_ARM64; machine++) {
		unsigned left = 200;
		void *context[] = {table, &left};
		struct user_state state = {.machine = machine,
					   .valid = ~UINT64_C(0),
					   .stack = stack.at,
					   .stack_size = cursor_left(&stack),
					   .find = find,
					   .context = NULL};
		for (size_t i = 0; i < ARRAY_SIZE(state.registers); i++)
			state.registers[i] = ADDRESS + i * 8;
		unwind_stack(&state, take, context);
	}
	unwind_table_free(table);
	return 0;
}

// A function at 0x1100: push and pop of the frame pointer.
void fuzz_seeds(void) {
	static const uint8_t section[] = {
		16, 0,    0, 0,                                              // a stack of 16 bytes
		0,  0,    0, 0,    0,  0,  0,    0, 0,    0,   0,   0, 0, 0, //
		20, 0,    0, 0,    0,  0,  0,    0, 1,    'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 12,   7,
		8,  0x90, 1, 0,    0,  24, 0,    0, 0,    28,  0,   0, 0, 0xe0, 0,  0, 0,    0x20, 0,
		0,  0,    0, 0x41, 14, 16, 0x86, 2, 0x4f, 12,  7,   8, 0, 0,    0,  0, 0,    0,
	};
	static const uint8_t debug_section[] =
		{
			16,   0x80, 0,    0,  0,    0,    0,    0,    0,    0, 0, 0, 0, 0,
			0,    0,    0,    0, // a stack again
			20,   0,    0,    0,  0xff, 0xff, 0xff, 0xff, 4,    0, 8, 0, 1, 0x78,
			16,   12,   7,    8, // its CIE
			0x90, 1,    0,    0,  0,    0,    28,   0,    0,    0, 0, 0, 0, 0,
			0,    0x11, 0,    0,  0,    0,    0,    0,    0x20, 0, 0, 0, 0, 0,
			0,    0,    0x41, 14, 16,   0x86, 2,    0x4f, 12,   7, 8, 0,
		};
	struct buffer other = {0};
	buffer_append(&other, debug_section, sizeof(debug_section));
	fuzz_seed("debug_frame", &other);
	struct buffer seed = {0};
	buffer_append(&seed, section, sizeof(section));
	fuzz_seed("function", &seed);
}
