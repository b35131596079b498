// An address in a program with known lines: what the namer returns for it.
#include "aside.h"

#include "symbol/elf_unwind.h"
#include "symbol/namer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void shell(const char *command) {
	assert_int_equal(0, system(command));
}

// A label marks the address of the innermost code: local symbols without a type are not functions.
static int make_files(void **state) {
	assert_int_equal(0, folder_setup(state));
	assert_int_equal(0, chdir(aside_folder));
	shell("cat >program.c <<'END'\n"
	      "volatile int sum;\n"                                               // 1
	      "static inline __attribute__((always_inline)) void inner(int a)\n"  // 2
	      "{\n"                                                               // 3
	      "	__asm__ volatile(\"mark: nop\");\n"                               // 4
	      "}\n"                                                               // 5
	      "static inline __attribute__((always_inline)) void middle(int a)\n" // 6
	      "{\n"                                                               // 7
	      "	sum += a;\n"                                                      // 8
	      "	inner(a);\n"                                                      // 9
	      "}\n"                                                               // 10
	      "__attribute__((noinline)) void outer(int) __asm__(\"_Z5outeri\");\n"
	      "void outer(int a)\n" // 12
	      "{\n"
	      "	sum--;\n"
	      "	middle(a);\n" // 15
	      "	sum++;\n"
	      "}\n"
	      "int main(int c, char **v) { outer(c); return sum; }\n"
	      "END");
	shell("gcc -O2 -g -o program program.c && nm program | awk '$3 == \"mark\" { print $1 }' >mark");
	shell("gcc -O2 -o bare program.c && nm bare | awk '$3 == \"mark\" { print $1 }' >bare_mark && "
	      "nm bare | awk '$3 == \"_Z5outeri\" { print $1 }' >bare_begin && strip bare");
	setenv("HOME", aside_folder, 1);
	return 0;
}

static uint64_t address_in(const char *path) {
	unsigned long long address = 0;
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llx", &address), 1);
	fclose(file);
	return address;
}

static struct elf_object *open_here(struct namer *namer, const char *name) {
	return namer_open(namer, in_folder(name), "", -1);
}

static void assert_source(const struct source *source, uint32_t line) {
	assert_non_null(source->file);
	assert_non_null(strstr(source->file, "/program.c"));
	assert_int_equal(source->line, line);
}

static void test_inlined_functions_come_first_and_each_has_its_line(void **state) {
	static const struct {
		const char *name;
		enum frame_kind kind;
		uint32_t line, declared;
	} expected[] = {{"inner", FRAME_INLINED, 4, 2},
			{"middle", FRAME_INLINED, 9, 6},
			{"outer", FRAME_USER, 15, 12}};
	struct named found[MOST_NAMED];
	struct namer *namer = namer_new();
	struct elf_object *object = open_here(namer, "program");
	uint64_t address = address_in("mark");
	assert_int_equal(namer_describe(namer, object, address, found), ARRAY_SIZE(expected));
	namer_declarations(object, address, found, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_string_equal(found[i].name, expected[i].name);
		assert_int_equal(found[i].kind, expected[i].kind);
		assert_source(&found[i].at, expected[i].line);
		assert_source(&found[i].declared, expected[i].declared);
	}
	assert_non_null(found[2].symbol);
	namer_free(namer);
}

static void test_without_what_is_inlined(void **state) {
	struct named found[MOST_NAMED];
	struct namer *namer = namer_new();
	struct elf_object *object = open_here(namer, "program");
	uint64_t address = address_in("mark");
	assert_int_equal(namer_functions(namer, object, address, false, found), 1);
	assert_string_equal(found[0].name, "outer");
	namer_declarations(object, address, found, 1);
	assert_source(&found[0].declared, 12);
	namer_free(namer);
}

static void test_a_function_without_a_name_is_where_it_begins(void **state) {
	struct named found[MOST_NAMED];
	struct namer *namer = namer_new();
	struct elf_object *object = open_here(namer, "bare");
	assert_int_equal(namer_describe(namer, object, address_in("bare_mark"), found), 1);
	assert_null(found[0].name);
	assert_null(found[0].at.file);
	CLEANUP_FREE char *text = named_text(&found[0], "/lib/bare");
	CLEANUP_FREE char *expected = frame_place("/lib/bare", address_in("bare_begin"));
	assert_string_equal(text, expected);
	namer_free(namer);
}

// Of a file with many questions all rows are taken at once: they are the same as those of single questions.
static void test_rows_taken_at_once_are_those_of_questions(void **state) {
	char path[4096] = "";
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	struct namer *namer = namer_new();
	struct elf_object *asked = namer_open(namer, path, "", -1), *object = elf_open(path, "");
	assert_non_null(asked);
	assert_non_null(object);
	struct unwind_table *table = elf_unwind_of(object);
	assert_non_null(table);
	struct code_range last = unwind_table_function(table, unwind_table_functions(table) - 1);
	unsigned known = 0, unknown = 0;
	for (uint64_t address = unwind_table_base(table) - 64; address < last.end + 64; address += 3) {
		struct unwind_row expected, row;
		bool found = unwind_row_at(table, address, &expected);
		assert_int_equal(found, namer_row(asked, address, &row));
		known += found;
		unknown += !found;
		if (!found)
			continue;
		assert_int_equal(expected.cfa, row.cfa);
		assert_int_equal(expected.cfa_offset, row.cfa_offset);
		assert_int_equal(expected.cfa_register, row.cfa_register);
		assert_int_equal(expected.registers, row.registers);
		assert_int_equal(expected.return_offset, row.return_offset);
		assert_int_equal(expected.frame_offset, row.frame_offset);
	}
	assert_true(known > 1000 && unknown > 10);
	unwind_table_free(table);
	elf_close(object);
	namer_free(namer);
}

static void test_a_file_that_is_not_there(void **state) {
	struct named found[MOST_NAMED];
	struct namer *namer = namer_new();
	assert_null(open_here(namer, "missing"));
	assert_int_equal(namer_describe(namer, NULL, 0x1234, found), 1);
	CLEANUP_FREE char *text = named_text(&found[0], "/lib/missing.so");
	assert_string_equal(text, "[missing.so+0x1234]");
	namer_free(namer);
}

static void test_spelling(void **state) {
	CLEANUP_FREE char *mangled = name_spelled("_ZN5Shelf3putIcEEvT_");
	CLEANUP_FREE char *versioned = name_spelled("free@GLIBC_2.2.5");
	assert_string_equal(mangled, "Shelf::put<char>");
	assert_string_equal(versioned, "free");
	assert_null(name_spelled("main"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inlined_functions_come_first_and_each_has_its_line),
		cmocka_unit_test(test_without_what_is_inlined),
		cmocka_unit_test(test_a_function_without_a_name_is_where_it_begins),
		cmocka_unit_test(test_rows_taken_at_once_are_those_of_questions),
		cmocka_unit_test(test_a_file_that_is_not_there),
		cmocka_unit_test(test_spelling),
	};
	return cmocka_run_group_tests(tests, make_files, folder_teardown);
}
