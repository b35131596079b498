#include "unit.h"

#include "analyse/functions.h"
#include "base/buffer.h"
#include "sample_profile.h"

#include <stdio.h>
#include <string.h>

static void assert_name(const char *expected, const char *symbol, const char *module, uint32_t kind,
			struct sample_options options, bool java) {
	struct tables tables = tables_new();
	struct frame frame = {.symbol = strings_add(tables.strings, symbol),
			      .module = strings_add(tables.strings, module),
			      .kind = kind,
			      .address = 0xabc};
	assert_string_equal(expected,
			    strings_get(tables.strings, sample_frame_name(&tables, &frame, &options, java)));
	tables_free(&tables);
}

static void test_names_are_tidied(void **state) {
	static const char *const cases[][2] = {
		{"main", "main"},
		{"f(int, char)", "f"},
		{"f(int) [clone .cold]", "f"},
		{"std::function<int (int, int)>::operator()(int) const",
		 "std::function<int (int, int)>::operator"},
		{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator"},
		{"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
		{"a::(anonymous namespace)::f", "a::(anonymous namespace)::f"},
		{"net/http.(*Client).Do", "net/http.(*Client).Do"},
		{"<fn(i32) -> u8 as core::ops::Fn<(i32,)>>::call",
		 "<fn(i32) -> u8 as core::ops::Fn<(i32,)>>::call"},
		{"std::operator<< <std::char_traits<char> >(std::ostream&)",
		 "std::operator<< <std::char_traits<char> >"},
		{"decltype(nullptr) f<int>(int)", "decltype(nullptr) f<int>"},
		{"x::operator->() const", "x::operator->"},
		{"a;b", "a:b"},
		{"RegExp:[&<>\"']", "RegExp:[&<>]"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_name(cases[i][1], cases[i][0], "/bin/a", FRAME_USER, (struct sample_options){0},
			    false);
	assert_name("f(int)", "f(int)", "", FRAME_USER, (struct sample_options){.whole_names = true}, false);
}

static void test_what_has_no_name_is_named_after_its_module(void **state) {
	assert_name("[libc.so.6]", "", "/lib/libc.so.6", FRAME_USER, (struct sample_options){0}, false);
	assert_name("[unknown]", "", "", FRAME_USER, (struct sample_options){0}, false);
	assert_name("[libc.so.6 <abc>]", "", "/lib/libc.so.6", FRAME_USER,
		    (struct sample_options){.addresses = true}, false);
}

// A name from a file's symbols is a whole, even "operator()".
static void test_names_of_files(void **state) {
	static const char *const cases[][2] = {
		{"main::{lambda(int)#1}::operator()", "main::{lambda(int)#1}::operator()"},
		{"std::function<void (int)>::operator()", "std::function<void (int)>::operator()"},
		{"Foo::operator()<int>", "Foo::operator()<int>"},
		{"Foo::operator()(int) const", "Foo::operator()"},
		{"foo.Bar.baz(int)", "foo.Bar.baz"},
	};
	struct tables tables = tables_new();
	struct sample_options none = {0}, with_source = {.source = true, .kernel = true};
	struct frame frame = {.exact = NAME_OF_SYMBOL, .module = strings_add(tables.strings, "/lib/a.so")};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		frame.symbol = strings_add(tables.strings, cases[i][0]);
		assert_string_equal(
			cases[i][1],
			strings_get(tables.strings, sample_frame_name(&tables, &frame, &none, false)));
	}
	frame.file = strings_add(tables.strings, "/src/../a b;c.c");
	frame.line = 12;
	frame.kind = FRAME_INLINED;
	assert_string_equal(
		"foo.Bar.baz:a b:c.c:12_[i]",
		strings_get(tables.strings, sample_frame_name(&tables, &frame, &with_source, false)));
	// Without a name, the location is shown.
	frame = (struct frame){.exact = NAME_OF_SYMBOL, .module = frame.module, .position = 0x1130};
	assert_string_equal("[a.so+0x1130]",
			    strings_get(tables.strings, sample_frame_name(&tables, &frame, &none, false)));
	tables_free(&tables);
}

static void test_marks(void **state) {
	struct sample_options all = {.kernel = true, .jit = true};
	assert_name("f_[k]", "f", "[kernel.kallsyms]", FRAME_KERNEL, all, false);
	assert_name("f_[j]", "f", "/tmp/perf-1.map", FRAME_JIT, all, false);
	assert_name("f_[i]", "f", "/tmp/perf-1.map", FRAME_INLINED, (struct sample_options){0}, false);
	assert_name("f", "f", "", FRAME_INLINED, all, false);
	assert_name("f", "f", "/bin/a", FRAME_USER, all, false);
}

static void test_java_s_names_lose_their_letter(void **state) {
	assert_name("java/io/PrintStream:::print", "Ljava/io/PrintStream;::print(I)V", "/tmp/perf-1.map",
		    FRAME_JIT, (struct sample_options){0}, true);
	assert_name("LBusy:::main", "LBusy;::main", "/tmp/perf-1.map", FRAME_JIT, (struct sample_options){0},
		    true);
}

static int compare_lines(const void *left, const void *right) {
	return strcmp(*(char *const *)left, *(char *const *)right);
}

// The walk visits the stacks in the order in which sort(1) puts their lines.
static void test_the_walk_is_sorted_as_lines_are(void **state) {
	char *expected[] = {memory_string("a"),     memory_string("a b;c"), memory_string("a;c"),
			    memory_string("a;c d"), memory_string("a;c;d"), memory_string("ab"),
			    memory_string("b;a")};
	struct buffer text = {0}, got = {0};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		buffer_printf(&text, "%s 1\n", expected[(i * 3 + 2) % ARRAY_SIZE(expected)]);
	buffer_append(&text, "", 1);
	qsort(expected, ARRAY_SIZE(expected), sizeof(*expected), compare_lines);
	struct sample_profile sample;
	sample_profile_init(&sample, (char *)text.data);
	struct sample_walk *walk = sample_walk_new(&sample.profile);
	struct sample_step step;
	size_t count = 0;
	while (sample_walk_next(walk, &step)) {
		if (!step.self)
			continue;
		char line[64] = "";
		for (uint32_t at = step.node; at; at = sample_node(&sample.profile, at)->parent) {
			char longer[64];
			snprintf(longer, sizeof(longer), "%s%s%.30s",
				 strings_get(sample.tables.strings, sample_node(&sample.profile, at)->name),
				 *line ? ";" : "", line);
			memcpy(line, longer, sizeof(line));
		}
		assert_string_equal(expected[count++], line);
	}
	assert_int_equal(ARRAY_SIZE(expected), count);
	sample_walk_free(walk);
	sample_profile_free(&sample);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		free(expected[i]);
	buffer_free(&text);
	buffer_free(&got);
}

static void test_a_change_by_chance_has_a_small_z(void **state) {
	struct sample_profile sample;
	sample_profile_init(&sample, "a;same 500 510\na;grew 100 200\na;rest 400 290\n");
	struct function_table table = {0};
	sample_functions(&table, &sample.profile);
	sample_compare(&table, &sample.profile);
	for (size_t i = 0; i < table.rows.count; i++) {
		const char *name = strings_get(sample.tables.strings, table.rows.items[i].name);
		double z = table.rows.items[i].z;
		if (strcmp(name, "same") == 0)
			assert_true(z > -1.96 && z < 1.96);
		if (strcmp(name, "grew") == 0)
			assert_true(z > 3.3);
	}
	function_table_free(&table);
	sample_profile_free(&sample);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_tidied),
		cmocka_unit_test(test_what_has_no_name_is_named_after_its_module),
		cmocka_unit_test(test_names_of_files),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_java_s_names_lose_their_letter),
		cmocka_unit_test(test_the_walk_is_sorted_as_lines_are),
		cmocka_unit_test(test_a_change_by_chance_has_a_small_z),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
