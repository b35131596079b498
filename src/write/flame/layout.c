#include "write/flame/flame.h"

#include <string.h>

enum { DEEPEST = 2000 }; // more than browsers can draw well or people read

struct child {
	uint32_t node;
	const char *name;
};

struct open_node {
	uint64_t begin;   // position of the next child
	size_t next, end; // range of its children in `children`
	uint64_t small;
};

struct layouter {
	const struct sample_tree *profile;
	struct flame_layout *layout;
	double least;
	ARRAY(struct child) children; // for all open nodes
	ARRAY(struct open_node) open;
};

static int compare_names(const void *left, const void *right) {
	return strcmp(((const struct child *)left)->name, ((const struct child *)right)->name);
}

// Adds a node and opens it for its children.
static void enter(struct layouter *layouter, uint32_t node, uint64_t begin) {
	const struct sample_tree *profile = layouter->profile;
	const struct sample_node *entry = sample_node(profile, node);
	uint32_t depth = (uint32_t)layouter->open.count;
	array_push(&layouter->layout->boxes, (struct flame_box){node, depth, begin, entry->total});
	layouter->layout->depth = MAX(layouter->layout->depth, depth);
	size_t first = layouter->children.count;
	uint64_t small = 0, kept = 0;
	for (uint32_t child = entry->first_child; child; child = sample_node(profile, child)->next_sibling) {
		const struct sample_node *below = sample_node(profile, child);
		if ((double)below->total < layouter->least || !below->total) {
			small += below->total;
			continue;
		}
		if (depth + 1 == DEEPEST) {
			layouter->layout->cut = true;
			continue;
		}
		kept += below->total;
		array_push(&layouter->children,
			   (struct child){child, strings_get(profile->tables->strings, below->name)});
	}
	if (layouter->children.count > first + 1)
		qsort(layouter->children.items + first, layouter->children.count - first,
		      sizeof(struct child), compare_names);
	if (!small || (double)small < layouter->least || depth + 1 == DEEPEST)
		small = 0;
	array_push(&layouter->open, (struct open_node){.begin = begin + entry->total - kept - small,
						       .next = first,
						       .end = layouter->children.count,
						       .small = small});
}

void flame_layout(struct flame_layout *layout, const struct sample_tree *profile, double least_share) {
	struct layouter layouter = {.profile = profile, .layout = layout};
	layouter.least = least_share * (double)sample_node(profile, SAMPLE_ROOT)->total;
	enter(&layouter, SAMPLE_ROOT, 0);
	while (layouter.open.count) {
		struct open_node *open = &layouter.open.items[layouter.open.count - 1];
		if (open->next < open->end) {
			uint32_t node = layouter.children.items[open->next++].node;
			uint64_t begin = open->begin;
			open->begin += sample_node(profile, node)->total;
			enter(&layouter, node, begin);
			continue;
		}
		if (open->small)
			array_push(&layout->boxes,
				   (struct flame_box){FLAME_SMALL, (uint32_t)layouter.open.count, open->begin,
						      open->small});
		layouter.open.count--;
		layouter.children.count = layouter.open.count
						  ? layouter.open.items[layouter.open.count - 1].end
						  : 0;
	}
	array_free(&layouter.children);
	array_free(&layouter.open);
}

void flame_reverse(const struct sample_tree *from, struct sample_tree *into) {
	for (uint32_t i = 1; i < from->nodes.count; i++) {
		const struct sample_node *leaf = sample_node(from, i);
		if (!leaf->self && !leaf->base_self)
			continue;
		uint32_t node = SAMPLE_ROOT;
		for (uint32_t caller = i; caller != SAMPLE_ROOT; caller = sample_node(from, caller)->parent) {
			node = sample_tree_child(into, node, sample_node(from, caller)->name);
			sample_node(into, node)->kind = sample_node(from, caller)->kind;
			sample_node(into, node)->module = sample_node(from, caller)->module;
		}
		sample_node(into, node)->self += leaf->self;
		sample_node(into, node)->base_self += leaf->base_self;
	}
	into->weight = from->weight;
	into->base_weight = from->base_weight;
	sample_tree_finish(into);
}
