#include "unit.h"

#include "base/memory.h"
#include "event/tables.h"
#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/kernel.h"
#include "symbol/symbolizer.h"
#include "symbol/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static void test_names_of_each_language(void **state) {
	static const char *const cases[][2] = {
		{"_ZN3foo3barEi", "foo::bar"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"},
		{"_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_"
		 "EEDpOT_",
		 "std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>"},
		{"_Z3fooIiEvT_", "foo<int>"},
		{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},
		{"_ZN3FooclIiEEvT_", "Foo::operator()<int>"},
		{"_ZNKSt8functionIFviEEclEi", "std::function<void (int)>::operator()"},
		{"_ZN3FoolsERSo", "Foo::operator<<"},
		{"_ZN3FooptEv", "Foo::operator->"},
		{"_ZN3FooixEi", "Foo::operator[]"},
		{"_ZN3FoocviEv", "Foo::operator int"},
		{"_Znwm", "operator new"},
		{"_ZN3FooC1Ev", "Foo::Foo"},
		{"_ZN3FooD0Ev", "Foo::~Foo"},
		{"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo"},
		{"_ZThn16_N3Foo3barEv", "non-virtual thunk to Foo::bar()"},
		{"__Z3foov", "foo"}, // from a Mac
		{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
		{"_ZN4core3fmt5write17h0123456789abcdefE.llvm.987", "core::fmt::write"},
		{"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
		 "std::rt::lang_start::{{closure}}"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		 "3bar17h930b740aa94f1d3"
		 "aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"_RNvMNtCs1234_7mycrate3modNtB2_4Type6method", "<mycrate::mod::Type>::method"},
		{"_RNvXCs1234_7mycrateNtB2_4TypeNtB2_5Trait3run", "<mycrate::Type as mycrate::Trait>::run"},
		{"_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>"},
		{"_RINvNtC3std3mem8align_ofjdE.llvm.123", "std::mem::align_of::<usize, f64>"},
		{"_RNCNvC4bear4main0", "bear::main::{closure#0}"},
		{"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_"
		 "4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
		 "<core::slice::Iter<u8> as "
		 "core::iter::iterator::Iterator>::rposition::<core::slice::memchr::memrchr::{closure#1}>::{"
		 "closure#0}"},
		{"_D3std5stdio7writelnFZv", "std.stdio.writeln()"},
		{"_D3foo3Bar3bazMFiZv", "foo.Bar.baz(int)"},
		{"_D1fFB2iiB2QgQiZv", "f(Tuple!(int, int), Tuple!(Tuple!(int, int), Tuple!(int, int)))"},
		{"_Dmain", "D main"},
		{"_ZN3foo3barEi.cold", "foo::bar"},
		{"_ZN3foo3barEi.part.0.constprop.0", "foo::bar"},
		{"_ZN3foo3barEi.constprop.0.isra.0.cold", "foo::bar"},
		{"_ZN3foo3barEi.llvm.1234567890", "foo::bar"},
		{"_ZN3foo3barEi.lto_priv.0", "foo::bar"},
		{"_ZN3foo3barEi._omp_fn.0", "foo::bar"},
		{"_ZN3foo3barEi@@VERS_1", "foo::bar"},
		{"_ZN3foo3barEi@plt", "foo::bar"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *name = demangle(cases[i][0]);
		assert_non_null(name);
		assert_string_equal(cases[i][1], name);
		free(name);
	}
}

static void test_other_names_are_left_alone(void **state) {
	static const char *const names[] = {
		"main", "_start",           "_Z", "_R", "__libc_start_main", "_ZThis is not one",
		"",     "main.constprop.0", "_D", "_Dx"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_null(demangle(names[i]));
}

static void test_a_name_without_end_is_refused(void **state) {
	char *name = memory_alloc(100001);
	memset(name, 'N', 100000);
	memcpy(name, "_Z", 2);
	assert_null(demangle(name));
	free(name);
}

// Each part expands to two of the previous one: 2^40 of them.
static void test_a_name_that_grows_without_end_is_refused(void **state) {
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct {
		char text[1024];
		size_t size;
	} cplus = {0}, d = {0};
	cplus.size = (size_t)snprintf(cplus.text, sizeof(cplus.text), "_Z1fI4pairIiiE");
	for (int i = 1; i < 35; i++)
		cplus.size += (size_t)snprintf(cplus.text + cplus.size, sizeof(cplus.text) - cplus.size,
					       "S0_IS%c_S%c_E", digits[i], digits[i]);
	snprintf(cplus.text + cplus.size, sizeof(cplus.text) - cplus.size, "EvT_");
	assert_null(demangle(cplus.text));
	d.size = (size_t)snprintf(d.text, sizeof(d.text), "_D1fFB2iiB2QgQi");
	for (int i = 0; i < 40; i++)
		d.size += (size_t)snprintf(d.text + d.size, sizeof(d.text) - d.size, "B2QiQk");
	snprintf(d.text + d.size, sizeof(d.text) - d.size, "Zv");
	assert_null(demangle(d.text));
	// Rust: each reference is an offset in base 62.
	assert_null(demangle(
		"_RINvC1a1fTjjETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_ETBX_BX_ETB15_B15_"
		"ETB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b_B2b_ETB2l_B2l_ETB2v_B2v_"
		"ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_ETB39_B39_EE"));
}

__attribute__((noinline)) int function_with_a_name(int value);
int function_with_a_name(int value) {
	volatile int other = value;
	return other + 1;
}

// The address in the file: without the load address.
static uint64_t address_in_file(void *function) {
	struct link_map *map;
	Dl_info info;
	assert_int_not_equal(0, dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
	return (uint64_t)(uintptr_t)function - map->l_addr;
}

static void test_this_program_s_own_symbols(void **state) {
	struct elf_object *object = elf_open("/proc/self/exe", "");
	assert_non_null(object);
	uint64_t address = address_in_file((void *)function_with_a_name);
	struct elf_symbol *symbol = elf_symbol_at(object, address + 1);
	assert_non_null(symbol);
	assert_string_equal("function_with_a_name", symbol->name);
	elf_close(object);
}

static void test_another_build_id_is_another_file(void **state) {
	assert_null(elf_open("/proc/self/exe", "00112233445566778899aabbccddeeff00112233"));
	assert_null(elf_open("/no/such/file", ""));
}

struct whole_table {
	uint64_t address;
	size_t count;
	struct unwind_row last, found; // found: at the address
};

static void take_row(void *context, const struct unwind_row *row) {
	struct whole_table *whole = context;
	if (whole->count++)
		assert_true(whole->last.pc < row->pc);
	whole->last = *row;
	if (row->pc <= whole->address)
		whole->found = *row;
}

static void test_this_program_s_own_unwind_table(void **state) {
	struct elf_object *object = elf_open("/proc/self/exe", "");
	struct unwind_table *table = unwind_table_new(object->eh_frame, object->eh_frame_size,
						      object->eh_frame_address);
	assert_non_null(table);
	assert_true(unwind_table_functions(table) > 10);
	uint64_t address = address_in_file((void *)function_with_a_name);
	struct unwind_row row;
	assert_true(unwind_row_at(table, address, &row)); // at its first instruction nothing has been pushed
	assert_int_equal(CFA_REGISTER, row.cfa);
#ifdef __x86_64__
	assert_int_equal(7, row.cfa_register);
	assert_int_equal(8, row.cfa_offset);
	assert_int_equal(-1, row.return_offset);
#endif
	assert_false(unwind_row_at(table, UINT64_MAX, &row));
	// The whole table agrees, and is sorted.
	struct whole_table whole = {.address = address - unwind_table_base(table)};
	unwind_table_each_row(table, take_row, &whole);
	assert_true(whole.count > unwind_table_functions(table));
	assert_int_equal(row.cfa_offset, whole.found.cfa_offset);
	assert_int_equal(row.registers, whole.found.registers);
	unwind_table_free(table);
	elf_close(object);
}

// ---- .debug_frame by hand ----

struct bytes {
	uint8_t data[256];
	size_t size;
};

static void put(struct bytes *out, uint64_t value, size_t size) {
	memcpy(out->data + out->size, &value, size);
	out->size += size;
}

// A CIE of x86-64 and a function of 32 bytes at 0x1100, which pushes the frame pointer with its first byte.
static struct bytes debug_frame(bool wide, uint8_t version, uint8_t address_size) {
	struct bytes out = {0};
	size_t field = wide ? 8 : 4;
	if (wide)
		put(&out, UINT32_MAX, 4);
	put(&out, field + 16, field);
	put(&out, UINT64_MAX, field);
	put(&out, version, 2); // no augmentation
	if (version == 4)
		put(&out, address_size, 2);
	static const uint8_t rules[] = {1, 0x78, 16, 12, 7, 8, 0x90, 1};
	memcpy(out.data + out.size, rules, sizeof(rules));
	out.size = (wide ? 12 : 4) + field + 16; // the rest does nothing
	if (wide)
		put(&out, UINT32_MAX, 4);
	put(&out, field + 24, field);
	put(&out, 0, field); // the CIE is at the section's beginning
	put(&out, 0x1100, 8);
	put(&out, 32, 8);
	static const uint8_t code[8] = {0x41, 14, 16, 0x86, 2};
	memcpy(out.data + out.size, code, sizeof(code));
	out.size += sizeof(code);
	return out;
}

static void test_debug_frame_in_its_forms(void **state) {
	for (int wide = 0; wide < 2; wide++)
		for (uint8_t version = 1; version <= 4; version += version == 1 ? 2 : 1) {
			struct bytes section = debug_frame(wide, version, 8);
			struct unwind_table *table = unwind_table_of_both(NULL, 0, 0, section.data,
									  section.size);
			struct unwind_row row;
			assert_non_null(table);
			assert_int_equal(1, unwind_table_functions(table));
			assert_true(unwind_row_at(table, 0x1100, &row));
			assert_int_equal(8, row.cfa_offset);
			assert_true(unwind_row_at(table, 0x111f, &row));
			assert_int_equal(16, row.cfa_offset);
			assert_int_equal(-2, row.frame_offset);
			assert_int_equal(-1, row.return_offset);
			assert_false(unwind_row_at(table, 0x1120, &row));
			unwind_table_free(table);
			// Truncated anywhere, it has no such function.
			for (size_t size = 0; size + 1 < section.size; size += 3)
				assert_null(unwind_table_of_both(NULL, 0, 0, section.data, size));
		}
	struct bytes section = debug_frame(false, 4, 4); // addresses of 32 bits
	assert_null(unwind_table_of_both(NULL, 0, 0, section.data, section.size));
	section = debug_frame(false, 2, 8);
	assert_null(unwind_table_of_both(NULL, 0, 0, section.data, section.size));
}

// A function at 0x1110 in .eh_frame: the overlapping one in .debug_frame is ignored.
static void test_eh_frame_goes_first(void **state) {
	struct bytes debug = debug_frame(false, 3, 8), section = {0};
	static const uint8_t cie[] = {20, 0,    0,  0, 0,    0,  0, 0, 1,    'z', 'R', 0,
				      1,  0x78, 16, 1, 0x1b, 12, 7, 8, 0x90, 1,   0,   0};
	memcpy(section.data, cie, sizeof(cie));
	section.size = sizeof(cie);
	put(&section, 16, 4);
	put(&section, 28, 4);
	put(&section, 0x1110 - 0x2000 - section.size, 4);
	put(&section, 32, 4);
	put(&section, 0x100e00, 4); // no augmentation, a CFA 16 bytes above
	put(&section, 0, 4);        // the end
	for (uint64_t begin = 0x1100; begin <= 0x1130; begin += 0x30) {
		struct unwind_row row;
		memcpy(debug.data + 24 + 4 + 4, &begin, sizeof(begin));
		struct unwind_table *table = unwind_table_of_both(section.data, section.size, 0x2000,
								  debug.data, debug.size);
		assert_non_null(table);
		assert_int_equal(begin == 0x1100 ? 1 : 2, unwind_table_functions(table));
		assert_true(unwind_row_at(table, 0x1110, &row));
		assert_int_equal(16, row.cfa_offset);
		assert_int_equal(begin != 0x1100, unwind_row_at(table, 0x1130, &row));
		assert_int_equal(0x1110, unwind_table_base(table));
		unwind_table_free(table);
	}
}

#ifdef __x86_64__
// Entry by entry, without a table, each function's rows are the same.
static void test_a_row_without_a_table(void **state) {
	struct elf_object *object = elf_open("/proc/self/exe", "");
	const uint8_t *section = object->eh_frame;
	struct unwind_table *table = unwind_table_new(section, object->eh_frame_size,
						      object->eh_frame_address);
	size_t rows = 0;
	uint32_t head[2];
	for (size_t at = 0; at + 16 <= object->eh_frame_size; at += 4 + head[0]) {
		memcpy(head, section + at, sizeof(head));
		if (!head[0])
			break;
		if (!head[1])
			continue; // not a function
		int32_t offset;
		memcpy(&offset, section + at + 8, sizeof(offset));
		uint64_t begin = object->eh_frame_address + at + 8 + (uint64_t)(int64_t)offset;
		for (uint64_t pc = begin; pc < begin + 40; pc++) {
			struct unwind_row row = {0}, same = {0};
			if (!unwind_row_in_entry(section, object->eh_frame_size, object->eh_frame_address, at,
						 pc, &same))
				continue;
			assert_true(unwind_row_at(table, pc, &row));
			row.pc = same.pc = 0;
			assert_memory_equal(&row, &same, sizeof(row));
			rows++;
		}
	}
	assert_true(rows > 400);
	struct unwind_row row;
	assert_false(unwind_row_in_entry(section, object->eh_frame_size, object->eh_frame_address,
					 object->eh_frame_size + 1, 0, &row));
	unwind_table_free(table);
	elf_close(object);
}

// Two frames by hand: the inner one has pushed the frame pointer, the outer one is the outermost.
static const struct unwind_row *two_rows(void *context, uint64_t pc, bool *stop) {
	static const struct unwind_row inner = {.cfa = CFA_REGISTER,
						.cfa_register = 7,
						.cfa_offset = 16,
						.return_offset = -1,
						.frame_offset = -2,
						.registers = UNWIND_RETURN_SAVED | UNWIND_FRAME_SAVED};
	static const struct unwind_row outer = {
		.cfa = CFA_REGISTER, .cfa_register = 6, .cfa_offset = 16, .registers = UNWIND_OUTERMOST};
	uint64_t *seen = context;
	seen[++seen[0]] = pc;
	return pc < 0x2000 ? &inner : &outer;
}

static bool found(void *context, uint64_t address, struct frame *frame) {
	return true;
}

static void test_a_stack_is_walked_to_its_end(void **state) {
	uint64_t stack[] = {0x7000, 0x2005, 0, 0}, seen[8] = {0};
	struct user_state user = {.machine = MACHINE_X86_64,
				  .valid = ~UINT64_C(0),
				  .stack = (uint8_t *)stack,
				  .stack_size = sizeof(stack),
				  .find = found};
	user.registers[7] = 0x6ff0; // sp
	user.registers[8] = 0x1003; // ip
	assert_true(unwind_stack(&user, two_rows, seen));
	assert_int_equal(2, seen[0]);
	assert_int_equal(0x1003, seen[1]);
	assert_int_equal(0x2004, seen[2]); // the call, not its return address
	user.stack_size = 8;               // the return address was not copied
	seen[0] = 0;
	assert_false(unwind_stack(&user, two_rows, seen));
	assert_int_equal(1, seen[0]);
}

// As in vfork(), which takes its return address from the stack before its child writes over it.
static const struct unwind_row *return_in_first(void *context, uint64_t pc, bool *stop) {
	static const struct unwind_row vfork = {
		.cfa = CFA_REGISTER, .cfa_register = 7, .registers = UNWIND_RETURN_IN_FIRST};
	const struct unwind_row *row = two_rows(context, pc, stop);
	return pc < 0x1000 ? &vfork : row;
}

static void test_the_return_address_of_vfork_is_in_a_register(void **state) {
	uint64_t stack[] = {0x7000, 0x2005, 0, 0}, seen[8] = {0};
	struct user_state user = {.machine = MACHINE_X86_64,
				  .valid = ~UINT64_C(0),
				  .stack = (uint8_t *)stack,
				  .stack_size = sizeof(stack),
				  .find = found};
	user.registers[5] = 0x1003; // di
	user.registers[7] = 0x6ff0; // sp
	user.registers[8] = 0x0100; // ip
	assert_true(unwind_stack(&user, return_in_first, seen));
	assert_int_equal(3, seen[0]);
	assert_int_equal(0x1002, seen[2]); // the call
	assert_int_equal(0x2004, seen[3]);
	user.valid &= ~(UINT64_C(1) << 5);
	seen[0] = 0;
	assert_false(unwind_stack(&user, return_in_first, seen));
	assert_int_equal(1, seen[0]);
}

// The dynamic linker's _start() has no unwind information, and no caller.
static bool in_linker(void *context, uint64_t address, struct frame *frame) {
	*frame = *(const struct frame *)context;
	frame->position = address;
	return true;
}

static void test_a_program_s_entry_is_outermost(void **state) {
	static const char path[] = "/lib64/ld-linux-x86-64.so.2";
	struct elf_object *linker = elf_open(path, "");
	uint64_t address;
	if (!linker || !elf_address_of(linker, linker->entry, &address) || address != linker->entry)
		skip(); // or its addresses are not its positions
	struct tables tables = tables_new();
	struct symbolizer *symbolizer = symbolizer_new(false);
	struct frame frame = {.module = strings_add(tables.strings, path), .kind = FRAME_USER};
	uint64_t stack[4] = {0};
	struct user_state user = {.machine = MACHINE_X86_64,
				  .valid = ~UINT64_C(0),
				  .stack = (uint8_t *)stack,
				  .stack_size = sizeof(stack),
				  .find = in_linker,
				  .context = &frame};
	user.registers[7] = 0x6ff0;                // sp
	user.registers[8] = linker->entry + 3;     // ip
	user.registers[6] = user.registers[7] - 8; // a frame pointer leads nowhere
	uint32_t ids[4];
	bool complete = false;
	assert_int_equal(1, symbolizer->unwind(symbolizer, &tables, &user, ids, 4, &complete));
	assert_true(complete);
	symbolizer_free(symbolizer);
	tables_free(&tables);
	elf_close(linker);
}
#endif

static const char *kernel_name(const struct kernel_symbols *kernel, uint64_t address) {
	const struct elf_symbol *symbol = kernel_symbol_at(kernel, address);
	return symbol ? symbol->name : "";
}

// The kernel's own symbols are sorted; those of modules are not, and may be below or between them.
static void test_symbols_of_a_kernel(void **state) {
	static const char lines[] = "0000000000000000 D per_cpu\n"
				    "ffffffff81000000 T _text\n"
				    "ffffffff81000100 t one\n"
				    "ffffffff81000200 W two\n"
				    "ffffffff81000280 D a_variable\n"
				    "garbage\n"
				    "\n"
				    "ffffffff81000300 T \n"
				    "ffffffffc0002000 t later\t[module]\n"
				    "ffffffffc0001000 t earlier\t[module]\n"
				    "FFFFFFFF81000180 t between\t[bpf]\n"
				    "ffffffff80000000 t below\t[bpf]"; // truncated
	struct buffer text = {0};
	buffer_append(&text, lines, sizeof(lines) - 1);
	struct kernel_symbols *kernel = kernel_symbols_parse(&text);
	assert_non_null(kernel);
	assert_int_equal(kernel->count, 7);
	assert_true(kernel->text_address == 0xffffffff81000000);
	assert_string_equal(kernel_name(kernel, 0xffffffff7fffffff), "");
	assert_string_equal(kernel_name(kernel, 0xffffffff80000000), "below");
	assert_string_equal(kernel_name(kernel, 0xffffffff81000001), "_text");
	assert_string_equal(kernel_name(kernel, 0xffffffff8100017f), "one");
	assert_string_equal(kernel_name(kernel, 0xffffffff81000180), "between");
	assert_string_equal(kernel_name(kernel, 0xffffffff81000290), "two");
	assert_string_equal(kernel_name(kernel, 0xffffffffc0001fff), "earlier");
	assert_string_equal(kernel_name(kernel, UINT64_MAX), "later");
	kernel_symbols_close(kernel);
}

static void test_hidden_addresses_are_no_symbols(void **state) {
	static const char lines[] = "0000000000000000 T _text\n0000000000000000 t one\n";
	struct buffer text = {0};
	buffer_append(&text, lines, sizeof(lines) - 1);
	assert_null(kernel_symbols_parse(&text));
	assert_null(kernel_symbols_parse(&text)); // no text gives no symbols
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols_of_a_kernel),
		cmocka_unit_test(test_hidden_addresses_are_no_symbols),
		cmocka_unit_test(test_names_of_each_language),
		cmocka_unit_test(test_other_names_are_left_alone),
		cmocka_unit_test(test_a_name_without_end_is_refused),
		cmocka_unit_test(test_a_name_that_grows_without_end_is_refused),
		cmocka_unit_test(test_this_program_s_own_symbols),
		cmocka_unit_test(test_another_build_id_is_another_file),
		cmocka_unit_test(test_this_program_s_own_unwind_table),
		cmocka_unit_test(test_debug_frame_in_its_forms),
		cmocka_unit_test(test_eh_frame_goes_first),
#ifdef __x86_64__
		cmocka_unit_test(test_a_row_without_a_table),
		cmocka_unit_test(test_a_stack_is_walked_to_its_end),
		cmocka_unit_test(test_the_return_address_of_vfork_is_in_a_register),
		cmocka_unit_test(test_a_program_s_entry_is_outermost),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
