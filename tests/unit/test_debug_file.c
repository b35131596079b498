// Stripped copies of this program, and where their symbols are found.
#include "aside.h"

#include "base/memory.h"
#include "symbol/debug_file.h"
#include "symbol/elf.h"
#include "symbol/elf_unwind.h"
#include "symbol/section.h"

#include <dlfcn.h>
#include <link.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int function_with_a_name(int value);
int function_with_a_name(int value) {
	volatile int other = value;
	return other + 1;
}

static uint64_t address; // address of the function in the file

PRINTF_LIKE(1, 2) static void shell(const char *format, ...) {
	va_list arguments;
	char command[4096] = "exec 2>/dev/null; ";
	size_t used = strlen(command);
	va_start(arguments, format);
	vsnprintf(command + used, sizeof(command) - used, format, arguments);
	va_end(arguments);
	assert_int_equal(0, system(command));
}

// `program` with symbols, `program.debug` with only symbols, and `stripped`, which does not refer
// to it.
static int make_files(void **state) {
	struct link_map *map;
	Dl_info info;
	assert_int_not_equal(0, dladdr1((void *)function_with_a_name, &info, (void **)&map, RTLD_DL_LINKMAP));
	address = (uint64_t)(uintptr_t)function_with_a_name - map->l_addr;
	assert_int_equal(0, folder_setup(state));
	char self[4096] = {0};
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_int_equal(0, chdir(aside_folder));
	shell("objcopy -R .note.gnu.build-id '%s' program", self);
	shell("objcopy --only-keep-debug program program.debug && strip -o stripped program");
	setenv("HOME", aside_folder, 1);
	setenv("DEBUGINFOD_CACHE_PATH", "/nowhere", 1);
	return 0;
}

static const char *name_in(const char *path, struct elf_object **object) {
	*object = elf_open(path, "");
	assert_non_null(*object);
	struct elf_symbol *symbol = elf_symbol_at(*object, address + 1);
	return symbol ? symbol->name : "";
}

static void assert_name(const char *name, const char *path) {
	struct elf_object *object;
	assert_string_equal(name, name_in(path, &object));
	elf_close(object);
}

static void test_a_stripped_file_has_no_names(void **state) {
	assert_name("", "./stripped");
	assert_name("function_with_a_name", "./program");
}

static void test_a_debug_file_is_beside_or_below(void **state) {
	shell("objcopy --add-gnu-debuglink=program.debug stripped linked");
	assert_name("function_with_a_name", "./linked");
	shell("mkdir -p .debug && mv program.debug .debug/");
	assert_name("function_with_a_name", "./linked");
	shell("ln -s linked a_link && mkdir away && ln -s ../linked away/linked");
	assert_name("function_with_a_name", "./a_link");
	assert_name("function_with_a_name", "away/linked");
	shell("mv .debug/program.debug .");
}

static void test_a_debug_file_of_the_system(void **state) {
	char path[200];
	snprintf(path, sizeof(path), "/usr/lib/debug%s", aside_folder);
	if (access("/usr/lib", W_OK))
		skip();
	shell("objcopy --add-gnu-debuglink=program.debug stripped linked2");
	shell("mkdir -p %s && mv program.debug %s/", path, path);
	struct elf_object *object;
	bool found = *name_in("./linked2", &object);
	elf_close(object);
	shell("mv %s/program.debug . && rmdir -p --ignore-fail-on-non-empty %s", path, path);
	assert_true(found);
}

static void test_a_debug_file_with_another_checksum_is_another_file(void **state) {
	shell("mkdir other && objcopy --add-gnu-debuglink=program.debug stripped other/linked");
	shell("cp program.debug other && printf x >>other/program.debug");
	assert_name("", "other/linked");
	shell("rm other/program.debug && mkfifo other/program.debug"); // must not wait for a writer
	assert_name("", "other/linked");
	shell("rm other/program.debug && mkdir other/program.debug");
	assert_name("", "other/linked");
}

static void test_links_that_lead_out_or_have_no_end_are_refused(void **state) {
	shell("printf '../folder/file\\0\\0abcd' >link && objcopy --add-section .gnu_debuglink=link stripped "
	      "bad1");
	shell("printf 'without an end' >link && objcopy --add-section .gnu_debuglink=link stripped bad2");
	shell("printf 'ab\\0' >link && objcopy --add-section .gnu_debuglink=link stripped bad3");
	assert_name("", "./bad1");
	assert_name("", "./bad2");
	assert_name("", "./bad3");
}

// Adds a build id as gcc would write it.
static void add_build_id(const char *from, const char *to) {
	shell("printf '\\004\\0\\0\\0\\024\\0\\0\\0\\003\\0\\0\\0GNU\\00001234567890123456789' >note &&"
	      "objcopy --add-section .note.gnu.build-id=note --set-section-flags "
	      ".note.gnu.build-id=alloc,readonly %s %s",
	      from, to);
}

static void test_what_debuginfod_has_fetched(void **state) {
	static const char id[] = "3031323334353637383930313233343536373839";
	char cache[200];
	add_build_id("stripped", "with_id");
	add_build_id("program", "program_with_id");
	snprintf(cache, sizeof(cache), "%s/cache", aside_folder);
	shell("mkdir -p cache/%s && cp program_with_id cache/%s/debuginfo", id, id);
	assert_name("", "./with_id");
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	assert_name("function_with_a_name", "./with_id");
	shell(": >cache/%s/debuginfo", id); // the cache says that there is none
	assert_name("", "./with_id");
	shell("cp program cache/%s/debuginfo", id); // not what its name says
	assert_name("", "./with_id");
	// A file that is missing here is in the cache.
	shell("cp program_with_id cache/%s/executable", id);
	struct elf_object *object = elf_open("/no/such/file", id);
	assert_non_null(object);
	assert_non_null(elf_symbol_at(object, address));
	elf_close(object);
	assert_null(elf_open("/no/such/file", "../../../../../../../../../../etc"));
	unsetenv("DEBUGINFOD_CACHE_PATH");
	shell("mkdir -p .cache && rm cache/%s/executable && cp program_with_id cache/%s/debuginfo", id, id);
	shell("mv cache .cache/debuginfod_client");
	assert_name("function_with_a_name", "./with_id");
	setenv("DEBUGINFOD_CACHE_PATH", "/nowhere", 1);
}

static void write_compressed(const char *path, const void *bytes, size_t size) {
	size_t room = lzma_stream_buffer_bound(size), used = 0;
	CLEANUP_FREE uint8_t *out = memory_alloc(room);
	assert_int_equal(LZMA_OK,
			 lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, bytes, size, out, &used, room));
	put_file(path, out, used);
}

static void test_symbols_that_are_compressed_inside(void **state) {
	struct input symbols;
	shell("objcopy --only-keep-debug program symbols && strip --strip-debug -o symbols symbols");
	assert_int_equal(0, input_open(&symbols, "symbols"));
	write_compressed("symbols.xz", symbols.data, symbols.size);
	input_close(&symbols);
	shell("objcopy --add-section .gnu_debugdata=symbols.xz stripped mini");
	assert_name("function_with_a_name", "./mini");
	shell("head -c 1000 symbols.xz >cut.xz && objcopy --add-section .gnu_debugdata=cut.xz stripped "
	      "mini_cut");
	assert_name("", "./mini_cut");
	shell("printf 'not compressed' >not.xz && objcopy --add-section .gnu_debugdata=not.xz stripped "
	      "mini_not");
	assert_name("", "./mini_not");
}

// Symbols that a library exports are not listed twice.
static void test_symbols_inside_add_to_those_of_the_dynamic_linker(void **state) {
	struct input symbols;
	shell("printf '__attribute__((noinline)) static int hidden(int a) { return a * 3; }"
	      "int exported(int a) { return hidden(a) + 1; }' >library.c");
	shell("gcc -shared -fPIC -O0 -o library.so library.c && strip -o library library.so");
	shell("objcopy -S --keep-symbol=hidden library.so some");
	assert_int_equal(0, input_open(&symbols, "some"));
	write_compressed("some.xz", symbols.data, symbols.size);
	input_close(&symbols);
	shell("objcopy --add-section .gnu_debugdata=some.xz library library_mini");
	struct elf_object *object = elf_open("./library_mini", "");
	unsigned hidden = 0, exported = 0;
	for (size_t i = 0; i < object->symbol_count; i++) {
		hidden += strcmp(object->symbols[i].name, "hidden") == 0;
		exported += strcmp(object->symbols[i].name, "exported") == 0;
	}
	assert_int_equal(1, hidden);
	assert_int_equal(1, exported);
	elf_close(object);
}

static void test_a_bomb_is_not_inflated(void **state) {
	enum { SIZE = 65 << 20 };
	CLEANUP_FREE void *zeros = memory_alloc(SIZE);
	write_compressed("bomb.xz", zeros, SIZE);
	shell("objcopy --add-section .gnu_debugdata=bomb.xz stripped bomb");
	assert_name("", "./bomb");
	write_compressed("small.xz", zeros, 1000); // not an ELF file
	shell("objcopy --add-section .gnu_debugdata=small.xz stripped small");
	assert_name("", "./small");
}

// ---- unwinding ----

static uint64_t address_of(struct elf_object *object, const char *name, uint64_t *size) {
	for (size_t i = 0; i < object->symbol_count; i++)
		if (strcmp(object->symbols[i].name, name) == 0) {
			*size = object->symbols[i].size;
			return object->symbols[i].address;
		}
	return 0;
}

// Compares the rows of `function` from the complete file with those from another.
static void assert_same_rows(const char *path, bool expected) {
	struct elf_object *whole = elf_open("./framed", ""), *code = elf_open_code(path);
	struct unwind_table *wanted = elf_unwind_table(whole), *table = elf_unwind_table(code);
	uint64_t size = 0, begin = address_of(whole, "function", &size);
	unsigned rules = 0;
	assert_non_null(wanted);
	assert_true(size > 8);
	for (uint64_t pc = begin; pc < begin + size; pc++) {
		struct unwind_row row = {0}, other = {0};
		assert_true(unwind_row_at(wanted, pc, &row));
		assert_int_equal(expected, table && unwind_row_at(table, pc, &other));
		if (expected)
			assert_memory_equal(&row, &other, sizeof(row));
		rules |= 1u << (row.cfa_offset / 8 & 31);
	}
	assert_true(rules & (rules - 1)); // it does push a register
	unwind_table_free(wanted);
	unwind_table_free(table);
	elf_close(whole);
	elf_close(code);
}

static void test_debug_frame_where_there_is_no_eh_frame(void **state) {
	shell("printf 'int other(int *);"
	      "__attribute__((noinline)) int function(int a) { int b[40]; return other(b) + b[a]; }"
	      "int other(int *a) { return *a = 1; } int main(int c, char **v) { return function(c); }' "
	      ">framed.c");
	shell("gcc -O1 -g -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer "
	      "-o framed framed.c");
	shell("objcopy -R .eh_frame -R .eh_frame_hdr framed alone");
	assert_same_rows("./framed", true);
	assert_same_rows("./alone", true);
	shell("strip -o bare framed");
	assert_same_rows("./bare", false);
	shell("objcopy --compress-debug-sections=zlib framed framed_zlib");
	assert_same_rows("./framed_zlib", true);
	shell("objcopy --only-keep-debug framed framed.debug && objcopy --add-gnu-debuglink=framed.debug "
	      "bare "
	      "bare_linked");
	assert_same_rows("./bare_linked", true);
	shell("rm framed.debug");
	assert_same_rows("./bare_linked", false);
}

// Its first bytes claim a size: 0x7fffffffffffffff here.
static void test_a_compressed_section_that_is_too_large_is_left_alone(void **state) {
	shell("printf '\\001\\0\\0\\0\\0\\0\\0\\0\\377\\377\\377\\377\\377\\377\\377\\177"
	      "\\001\\0\\0\\0\\0\\0\\0\\0' >huge && head -c 3000 /dev/zero >>huge");
	shell("objcopy -R .debug_frame --add-section .debug_frame=huge framed framed_huge");
	// objcopy cannot set the flag SHF_COMPRESSED.
	struct elf_object *object = elf_open_code("./framed_huge");
	GElf_Shdr header;
	Elf_Scn *section = section_by_name(object->handles[0], ".debug_frame", &header);
	size_t size;
	header.sh_flags |= SHF_COMPRESSED;
	assert_true(gelf_update_shdr(section, &header));
	assert_null(section_content(object->handles[0], ".debug_frame", 256 << 20, &size));
	elf_close(object);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stripped_file_has_no_names),
		cmocka_unit_test(test_a_debug_file_is_beside_or_below),
		cmocka_unit_test(test_a_debug_file_of_the_system),
		cmocka_unit_test(test_a_debug_file_with_another_checksum_is_another_file),
		cmocka_unit_test(test_links_that_lead_out_or_have_no_end_are_refused),
		cmocka_unit_test(test_what_debuginfod_has_fetched),
		cmocka_unit_test(test_symbols_that_are_compressed_inside),
		cmocka_unit_test(test_symbols_inside_add_to_those_of_the_dynamic_linker),
		cmocka_unit_test(test_a_bomb_is_not_inflated),
		cmocka_unit_test(test_debug_frame_where_there_is_no_eh_frame),
		cmocka_unit_test(test_a_compressed_section_that_is_too_large_is_left_alone),
	};
	return cmocka_run_group_tests(tests, make_files, folder_teardown);
}
