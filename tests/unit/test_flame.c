#include "unit.h"

#include "sample_profile.h"
#include "write/flame/flame.h"

#include <string.h>

static const struct flame_box *box_of(const struct flame_layout *layout, const struct sample_tree *profile,
				      const char *name) {
	for (size_t i = 0; i < layout->boxes.count; i++) {
		uint32_t node = layout->boxes.items[i].node;
		if (node != FLAME_SMALL && node != SAMPLE_ROOT &&
		    strcmp(strings_get(profile->tables->strings, sample_node(profile, node)->name), name) ==
			    0)
			return &layout->boxes.items[i];
	}
	return NULL;
}

static void test_children_lie_side_by_side_inside_their_parent(void **state) {
	struct sample_profile sample;
	struct flame_layout layout = {0};
	sample_profile_init(&sample, "a;b 10\na;c 30\na 5\nz 55\n");
	flame_layout(&layout, &sample.profile, 0);
	const struct flame_box *a = box_of(&layout, &sample.profile, "a"),
			       *b = box_of(&layout, &sample.profile, "b"),
			       *c = box_of(&layout, &sample.profile, "c"),
			       *z = box_of(&layout, &sample.profile, "z");
	assert_int_equal(0, a->begin);
	assert_int_equal(45, a->total);
	assert_int_equal(5, b->begin); // after a's own weight
	assert_int_equal(b->begin + b->total, c->begin);
	assert_int_equal(a->begin + a->total, c->begin + c->total);
	assert_int_equal(45, z->begin);
	assert_int_equal(2, layout.depth);
	array_free(&layout.boxes);
	sample_profile_free(&sample);
}

static void test_what_is_too_narrow_is_put_together(void **state) {
	struct sample_profile sample;
	struct flame_layout layout = {0};
	sample_profile_init(&sample, "a;b 1\na;c 1\na;d 1\na;e 97\n");
	flame_layout(&layout, &sample.profile, 0.02);
	assert_null(box_of(&layout, &sample.profile, "b"));
	const struct flame_box *last = &layout.boxes.items[layout.boxes.count - 1];
	assert_int_equal(FLAME_SMALL, last->node);
	assert_int_equal(3, last->total);
	assert_int_equal(97, last->begin);
	array_free(&layout.boxes);
	sample_profile_free(&sample);
}

static void test_reversing_twice_gives_the_same_weights(void **state) {
	struct sample_profile sample;
	struct sample_tree once, twice;
	sample_profile_init(&sample, "a;b;c 1\na;b 2\nd;c 4\n");
	sample_tree_init(&once, &sample.tables, &(struct sample_options){0});
	sample_tree_init(&twice, &sample.tables, &(struct sample_options){0});
	flame_reverse(&sample.profile, &once);
	flame_reverse(&once, &twice);
	assert_int_equal(7, sample_node(&once, SAMPLE_ROOT)->total);
	struct flame_layout layout = {0}, again = {0};
	flame_layout(&layout, &sample.profile, 0);
	flame_layout(&again, &twice, 0);
	assert_int_equal(layout.boxes.count, again.boxes.count);
	for (size_t i = 0; i < layout.boxes.count; i++)
		assert_int_equal(layout.boxes.items[i].total, again.boxes.items[i].total);
	const struct flame_layout *both[] = {&layout, &again};
	for (size_t i = 0; i < 2; i++)
		free(both[i]->boxes.items);
	sample_tree_free(&once);
	sample_tree_free(&twice);
	sample_profile_free(&sample);
}

static void test_a_name_has_one_colour(void **state) {
	struct sample_profile sample;
	sample_profile_init(&sample, "a;f 1\nb;f 1\nb;g 1\n");
	struct flame_colours colours = {.theme = "hot", .profile = &sample.profile};
	char first[24] = "", other[24] = "";
	for (uint32_t i = 1; i < sample.profile.nodes.count; i++) {
		const char *name = strings_get(sample.tables.strings, sample_node(&sample.profile, i)->name);
		char colour[24];
		flame_colour(&colours, i, colour);
		if (*name == 'f' && *first)
			assert_string_equal(first, colour);
		memcpy(*name == 'f' ? first : other, colour, sizeof(colour));
	}
	assert_string_not_equal(first, other);
	sample_profile_free(&sample);
}

static void test_other_tools_names_of_themes_are_known(void **state) {
	assert_string_equal("kind", flame_theme_name("java"));
	assert_string_equal("hot", flame_theme_name("hot"));
	assert_null(flame_theme_name("pink"));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_children_lie_side_by_side_inside_their_parent),
		cmocka_unit_test(test_what_is_too_narrow_is_put_together),
		cmocka_unit_test(test_reversing_twice_gives_the_same_weights),
		cmocka_unit_test(test_a_name_has_one_colour),
		cmocka_unit_test(test_other_tools_names_of_themes_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
