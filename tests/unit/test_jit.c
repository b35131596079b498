// Names of code that was generated at run time.
#include "unit.h"

#include "base/buffer.h"
#include "event/spaces.h"
#include "event/tables.h"
#include "symbol/jit.h"

static void assert_symbol(const char *name, struct elf_object *object, uint64_t address) {
	struct elf_symbol *symbol = elf_symbol_at(object, address);
	if (!name) {
		assert_null(symbol);
		return;
	}
	assert_non_null(symbol);
	assert_string_equal(name, symbol->name);
}

static void test_names_of_files(void **state) {
	assert_true(jit_is_file("/tmp/perf-12.map"));
	assert_true(jit_is_file("/home/me/jit-12.dump"));
	assert_false(jit_is_file("/tmp/perf-.map"));
	assert_false(jit_is_file("/tmp/perf-12.map.gz"));
	assert_false(jit_is_file("/other/perf-12.map"));
	assert_false(jit_is_file("/tmp/jit-12.dumps"));
	assert_false(jit_is_file("jit-12.dump"));
}

static void test_lines(void **state) {
	static const char text[] = "7f0000001000 40 first function\n"
				   "not a line\n"
				   "7f0000002000 10 \n"
				   "7f0000001000 20 the later one\n"
				   "11111111111111111 10 too long a number\n"
				   "0x00007f0000005000 0x0000000000000020 of the JVM\n"
				   "7f0000003000 8 without an end";
	struct elf_object *object = jit_parse(text, strlen(text));
	assert_true(object->absolute);
	assert_int_equal(3, object->symbol_count);
	assert_symbol("of the JVM", object, 0x7f000000501f);
	assert_symbol("the later one", object, 0x7f000000101f);
	assert_symbol(NULL, object, 0x7f0000001020);
	assert_symbol(NULL, object, 0x7f0000002000);
	assert_symbol("without an end", object, 0x7f0000003007);
	elf_close(object);
	object = jit_parse("", 0);
	assert_symbol(NULL, object, 0);
	elf_close(object);
}

// ---- dumps ----

static void put(struct buffer *out, uint64_t value, size_t size) {
	buffer_append(out, &value, size);
}

static void put_header(struct buffer *out) {
	put(out, 0x4a695444, 4);
	put(out, 1, 4);
	put(out, 40, 4);
	put(out, 62, 4); // x86-64
	put(out, 0, 4);
	put(out, 12, 4); // pid
	put(out, 0, 8);
	put(out, 0, 8);
}

static void put_record(struct buffer *out, uint32_t id, size_t body) {
	put(out, id, 4);
	put(out, 16 + body, 4);
	put(out, 0, 8);
	put(out, 12, 4);
	put(out, 12, 4);
}

static void put_load(struct buffer *out, uint64_t address, uint64_t size, const char *name) {
	put_record(out, 0, 40 + strlen(name) + 1 + size);
	put(out, address, 8);
	put(out, address, 8);
	put(out, size, 8);
	put(out, 1, 8);
	buffer_append(out, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		put(out, 0x90, 1);
}

static void put_move(struct buffer *out, uint64_t from, uint64_t to, uint64_t size) {
	put_record(out, 1, 48);
	put(out, to, 8);
	put(out, from, 8);
	put(out, to, 8);
	put(out, size, 8);
	put(out, 1, 8);
}

static void test_a_dump(void **state) {
	struct buffer dump = {0};
	put_header(&dump);
	put_load(&dump, 0x1000, 32, "one");
	put_load(&dump, 0x2000, 16, "two");
	put_record(&dump, 2, 8); // a kind that we do not use
	put_load(&dump, 0x2000, 24, "three");
	put_move(&dump, 0x1000, 0x5000, 32);
	size_t whole = dump.size;
	put_load(&dump, 0x3000, 8, "cut off");
	struct elf_object *object = jit_parse(dump.data, dump.size);
	assert_symbol("one", object, 0x1000);
	assert_symbol("one", object, 0x501f);
	assert_symbol("three", object, 0x2017);
	assert_symbol("cut off", object, 0x3000);
	elf_close(object);
	for (size_t size = 0; size < dump.size;
	     size++) { // wherever it ends, everything before the end is found
		object = jit_parse(dump.data, size);
		assert_symbol(size < whole ? NULL : "one", object, 0x5000);
		assert_symbol(NULL, object, 0x3000);
		elf_close(object);
	}
	buffer_free(&dump);
}

// ---- which file is used ----

static struct event mapping(struct strings *strings, uint32_t pid, uint64_t start, const char *file) {
	return (struct event){
		.kind = EVENT_MAPPING,
		.pid = pid,
		.mapping = {.start = start, .size = 0x1000, .file = strings_add(strings, file)}};
}

static const char *module_at(struct spaces *spaces, struct strings *strings, uint32_t pid, uint64_t address,
			     uint32_t kind) {
	struct space *space = space_of(spaces, pid);
	const struct space_map *map = space_find(space, address);
	assert_non_null(map);
	struct frame frame = space_frame(space, map, address);
	assert_int_equal(kind, frame.kind);
	assert_int_equal(kind == FRAME_JIT ? address : address - map->begin, frame.position);
	return strings_get(strings, frame.module);
}

static void test_memory_without_a_file(void **state) {
	struct strings *strings = strings_new();
	struct spaces spaces = {0};
	struct event events[] = {mapping(strings, 7, 0x1000, "/usr/bin/node"),
				 mapping(strings, 7, 0x8000, "//anon"),
				 mapping(strings, 7, 0xa000, "/tmp/perf-7.map")}; // as from a flight recorder
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		spaces_learn(&spaces, strings, &events[i]);
	assert_string_equal("/usr/bin/node", module_at(&spaces, strings, 7, 0x1010, FRAME_USER));
	assert_string_equal("/tmp/perf-7.map", module_at(&spaces, strings, 7, 0x8010, FRAME_JIT));
	assert_string_equal("/tmp/perf-7.map", module_at(&spaces, strings, 7, 0xa010, FRAME_JIT));
	// A child has its parent's code, under the parent's id.
	struct event fork = {.kind = EVENT_FORK, .pid = 7, .fork = {.child_pid = 8}};
	spaces_learn(&spaces, strings, &fork);
	assert_string_equal("/tmp/perf-7.map", module_at(&spaces, strings, 8, 0x8010, FRAME_JIT));
	// A dump contains more than the map.
	struct event dump = mapping(strings, 7, 0x4000, "/home/me/jit-7.dump");
	spaces_learn(&spaces, strings, &dump);
	assert_string_equal("/home/me/jit-7.dump", module_at(&spaces, strings, 7, 0x8010, FRAME_JIT));
	assert_string_equal("/tmp/perf-7.map", module_at(&spaces, strings, 8, 0x8010, FRAME_JIT));
	spaces_free(&spaces);
	strings_free(strings);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_files),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_a_dump),
		cmocka_unit_test(test_memory_without_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
