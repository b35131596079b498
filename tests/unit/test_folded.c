#include "unit.h"

#include "sample_profile.h"

#include <stdio.h>
#include <string.h>

static uint32_t node_of(const struct sample_tree *profile, const char *path) {
	uint32_t node = SAMPLE_ROOT;
	char copy[256], *save = NULL;
	snprintf(copy, sizeof(copy), "%s", path);
	for (char *name = strtok_r(copy, ";", &save); name; name = strtok_r(NULL, ";", &save)) {
		uint32_t child = sample_node(profile, node)->first_child;
		while (child &&
		       strcmp(strings_get(profile->tables->strings, sample_node(profile, child)->name),
			      name) != 0)
			child = sample_node(profile, child)->next_sibling;
		assert_int_not_equal(0, child);
		node = child;
	}
	return node;
}

static void assert_weights(const struct sample_tree *profile, const char *path, uint64_t self,
			   uint64_t total) {
	const struct sample_node *node = sample_node(profile, node_of(profile, path));
	assert_int_equal(self, node->self);
	assert_int_equal(total, node->total);
}

static void test_lines_add_up_in_a_tree(void **state) {
	struct sample_profile sample;
	sample_profile_init(&sample, "a;b;c 1\na;b 2\na;bc 4\na;b;c 8\n");
	assert_weights(&sample.profile, "a", 0, 15);
	assert_weights(&sample.profile, "a;b", 2, 11);
	assert_weights(&sample.profile, "a;b;c", 9, 9);
	assert_weights(&sample.profile, "a;bc", 4, 4);
	sample_profile_free(&sample);
}

// Lines share a prefix; a longer name is a different one.
static void test_a_common_beginning_ends_at_a_semicolon(void **state) {
	struct sample_profile sample;
	sample_profile_init(&sample,
			    "abcdefgh;abcdefgh 1\nabcdefgh;abcdefghi 2\nabcdefgh 4\nabcdefghi;x 8\n");
	assert_weights(&sample.profile, "abcdefgh", 4, 7);
	assert_weights(&sample.profile, "abcdefgh;abcdefghi", 2, 2);
	assert_weights(&sample.profile, "abcdefghi;x", 8, 8);
	sample_profile_free(&sample);
}

static void test_two_numbers_on_every_line_are_a_comparison(void **state) {
	struct sample_profile sample;
	sample_profile_init(&sample, "a;b 1 10\na;c 2 20\n");
	const struct sample_node *node = sample_node(&sample.profile, node_of(&sample.profile, "a;c"));
	assert_int_equal(20, node->self);
	assert_int_equal(2, node->base_self);
	sample_profile_free(&sample);
}

static void test_a_number_at_the_end_of_a_name_is_part_of_it(void **state) {
	struct sample_profile sample;
	sample_profile_init(&sample, "a;thread 1 10\na;b 2\n");
	assert_weights(&sample.profile, "a;thread 1", 10, 10);
	sample_profile_free(&sample);
}

static void test_suffixes_mark_the_kind(void **state) {
	struct sample_profile sample;
	sample_profile_init(&sample, "a;b_[k] 1\n");
	assert_int_equal(FRAME_KERNEL,
			 sample_node(&sample.profile, node_of(&sample.profile, "a;b_[k]"))->kind);
	sample_profile_free(&sample);
}

static void test_lines_without_a_number_are_left_out(void **state) {
	struct sample_profile sample;
	sample_profile_init(&sample, "a;b\n# 1\n\na;c 2\nlast;line 4");
	assert_int_equal(6, sample.profile.weight);
	sample_profile_free(&sample);
}

static void test_the_format_is_recognised_by_content(void **state) {
	static const struct {
		const char *text, *reader;
	} cases[] = {
		{"a;b 1\na;c 2\n", "folded"},
		{"java 12688 [002] 6544038.708352: cpu-clock: \n\tffffffff f ([kernel.kallsyms])\n",
		 "perf-script"},
		{"# ========\n# captured on: today\n", "perf-script"},
		{"   dd  1 [001]  12.3:  7 cycles:  ffffffff81000000 f ([kernel.kallsyms])\n", "perf-script"},
		{"PERFILE2", "perf-data"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stream input;
		stream_of_memory(&input, cases[i].text, strlen(cases[i].text));
		const struct reader *reader = reader_by_content(&input);
		assert_non_null(reader);
		assert_string_equal(cases[i].reader, reader->name);
		stream_close(&input);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_add_up_in_a_tree),
		cmocka_unit_test(test_a_common_beginning_ends_at_a_semicolon),
		cmocka_unit_test(test_two_numbers_on_every_line_are_a_comparison),
		cmocka_unit_test(test_a_number_at_the_end_of_a_name_is_part_of_it),
		cmocka_unit_test(test_suffixes_mark_the_kind),
		cmocka_unit_test(test_lines_without_a_number_are_left_out),
		cmocka_unit_test(test_the_format_is_recognised_by_content),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
