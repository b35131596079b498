// Compressed debug information, inflated by us, gives the same results as uncompressed.
#include "aside.h"

#include "base/memory.h"
#include "symbol/inflated.h"
#include "symbol/inlined.h"
#include "symbol/section.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static void shell(const char *command) {
	assert_int_equal(0, system(command));
}

// `plain`, and `packed`, which is the same file compressed.
static int make_files(void **state) {
	assert_int_equal(0, folder_setup(state));
	assert_int_equal(0, chdir(aside_folder));
	shell("printf 'volatile int sum; static inline __attribute__((always_inline)) void inner(int a) { "
	      "sum += a; }"
	      "\\n__attribute__((noinline)) void outer(int a) { inner(a); }"
	      "\\nint main(int c, char **v) { outer(c); return sum; }' >program.c");
	shell("gcc -O1 -g -gdwarf-5 -gz=none -Wl,--build-id=none -o plain program.c");
	shell("objcopy --compress-debug-sections=zlib plain packed");
	setenv("HOME", aside_folder, 1);
	return 0;
}

static const uint8_t *content(Elf *elf, const char *name, size_t *size) {
	GElf_Shdr header;
	Elf_Data *data = elf_rawdata(section_by_name(elf, name, &header), NULL);
	assert_non_null(data);
	assert_false(header.sh_flags & SHF_COMPRESSED);
	*size = data->d_size;
	return data->d_buf;
}

static void test_what_is_wanted_is_inflated(void **state) {
	static const char *const names[] = {".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"};
	struct elf_object *plain = elf_open("./plain", ""), *packed = elf_open("./packed", "");
	struct inflated inflated = inflated_open(packed->handles[0]);
	assert_non_null(inflated.elf);
	elf_close(packed); // nothing of it is needed any longer
	size_t sizes[2];
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const uint8_t *ours = content(inflated.elf, names[i], &sizes[0]);
		const uint8_t *wanted = content(plain->handles[0], names[i], &sizes[1]);
		assert_true(sizes[0] > 8);
		assert_int_equal(sizes[0], sizes[1]);
		assert_memory_equal(ours, wanted, sizes[0]);
	}
	GElf_Shdr text;
	section_by_name(inflated.elf, ".text", &text);
	assert_int_equal(text.sh_type, SHT_NOBITS);
	inflated_close(&inflated);
	elf_close(plain);
}

static bool is_inflated(const char *path) {
	struct elf_object *object = elf_open(path, "");
	assert_non_null(object);
	struct inflated inflated = inflated_open(object->handles[0]);
	bool is = inflated.elf;
	inflated_close(&inflated);
	elf_close(object);
	return is;
}

static void test_other_files_are_left_to_libdw(void **state) {
	assert_true(is_inflated("./packed"));
	assert_false(is_inflated("./plain"));
	shell("printf 'other\\0' >link && objcopy --add-section .gnu_debugaltlink=link packed linked");
	assert_false(is_inflated("./linked")); // belongs to a second file
	shell("strip -o bare packed");
	assert_false(is_inflated("./bare"));
	shell("gcc -O1 -g -gz=zlib -c program.c -o program.o");
	assert_false(is_inflated("./program.o")); // has relocations
}

// The functions inlined at the function's first address, and their declarations.
static void told(const char *path, char *text, size_t size) {
	struct elf_object *object = elf_open(path, "");
	assert_non_null(object);
	struct inlined_table *table = inlined_table_new(object);
	const char *names[4] = {0};
	struct source found[4] = {0};
	*text = 0;
	for (size_t i = 0; table && i < object->symbol_count; i++) {
		const struct elf_symbol *symbol = &object->symbols[i];
		for (uint64_t at = 0; at < symbol->size && strcmp(symbol->name, "outer") == 0; at++) {
			if (!inlined_at(table, symbol->address + at, names, ARRAY_SIZE(names)))
				continue;
			size_t count = declarations_at(table, symbol->address + at, found, ARRAY_SIZE(found));
			snprintf(text, size, "%s in %zu, lines %u and %u", names[0], count, found[0].line,
				 found[1].line);
		}
	}
	inlined_table_free(table);
	elf_close(object);
}

static void test_inlined_functions_are_the_same(void **state) {
	static const char *const paths[] = {"./plain", "./packed", "./unlisted"};
	char text[256];
	// Not every compiler writes that list.
	shell("objcopy -R .debug_aranges packed unlisted");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		told(paths[i], text, sizeof(text));
		assert_string_equal(text, "inner in 2, lines 1 and 2");
	}
}

static void test_damage_is_survived(void **state) {
	static const uint64_t sizes[] = {0, 1, UINT32_MAX, UINT64_MAX / 2};
	struct elf_object *object = elf_open("./packed", "");
	GElf_Shdr header;
	char text[256];
	section_by_name(object->handles[0], ".debug_info", &header);
	elf_close(object);
	shell("cp packed changed");
	int file = open("changed", O_RDWR | O_CLOEXEC);
	off_t size_at = (off_t)(header.sh_offset + offsetof(Elf64_Chdr, ch_size));
	uint64_t size;
	assert_int_equal(pread(file, &size, sizeof(size), size_at), sizeof(size));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(pwrite(file, &sizes[i], sizeof(size), size_at), sizeof(size));
		assert_false(is_inflated("./changed"));
		told("./changed", text, sizeof(text));
	}
	assert_int_equal(pwrite(file, &size, sizeof(size), size_at), sizeof(size));
	assert_true(is_inflated("./changed"));
	for (off_t at = 0; at < (off_t)header.sh_size; at++) {
		uint8_t byte, other;
		assert_int_equal(pread(file, &byte, 1, (off_t)header.sh_offset + at), 1);
		other = byte ^ (uint8_t)(1u << at % 8);
		assert_int_equal(pwrite(file, &other, 1, (off_t)header.sh_offset + at), 1);
		told("./changed", text, sizeof(text));
		assert_int_equal(pwrite(file, &byte, 1, (off_t)header.sh_offset + at), 1);
	}
	close(file);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_wanted_is_inflated),
		cmocka_unit_test(test_other_files_are_left_to_libdw),
		cmocka_unit_test(test_inlined_functions_are_the_same),
		cmocka_unit_test(test_damage_is_survived),
	};
	return cmocka_run_group_tests(tests, make_files, folder_teardown);
}
