// The tree in the order of sorted lines. In a sorted list of whole stacks "a" comes
// before "a b;c", and that before "a;c": a node's own line sorts as its name, its
// children sort as its name and a semicolon. So both are items of one list.
#include "event/sample_tree.h"

#include <string.h>

struct item {
	const char *name;
	uint32_t size;
	uint32_t node;
	bool self;
};

struct level {
	size_t next, end; // in items
};

struct sample_walk {
	const struct sample_tree *profile;
	ARRAY(struct item) items; // of all open levels, one behind the other
	ARRAY(struct level) levels;
};

static int compare_items(const void *left, const void *right) {
	const struct item *a = left, *b = right;
	uint32_t common = MIN(a->size, b->size);
	int order = memcmp(a->name, b->name, common);
	if (order)
		return order;
	// The byte after the shorter one: nothing, or the semicolon.
	int next_a = a->size > common ? (uint8_t)a->name[common] : a->self ? -1 : ';';
	int next_b = b->size > common ? (uint8_t)b->name[common] : b->self ? -1 : ';';
	return next_a - next_b;
}

static void open_level(struct sample_walk *walk, uint32_t node) {
	const struct sample_tree *profile = walk->profile;
	size_t begin = walk->items.count;
	for (uint32_t child = sample_node(profile, node)->first_child; child;
	     child = sample_node(profile, child)->next_sibling) {
		const struct sample_node *entry = sample_node(profile, child);
		struct item item = {.name = strings_get(profile->tables->strings, entry->name),
				    .size = strings_length(profile->tables->strings, entry->name),
				    .node = child};
		if (entry->first_child)
			array_push(&walk->items, item);
		item.self = true;
		if (entry->self || entry->base_self)
			array_push(&walk->items, item);
	}
	if (walk->items.count > begin + 1)
		qsort(walk->items.items + begin, walk->items.count - begin, sizeof(struct item),
		      compare_items);
	array_push(&walk->levels, (struct level){begin, walk->items.count});
}

struct sample_walk *sample_walk_new(const struct sample_tree *profile) {
	struct sample_walk *walk = memory_alloc(sizeof(*walk));
	walk->profile = profile;
	open_level(walk, SAMPLE_ROOT);
	return walk;
}

bool sample_walk_next(struct sample_walk *walk, struct sample_step *step) {
	while (walk->levels.count) {
		struct level *level = &walk->levels.items[walk->levels.count - 1];
		if (level->next == level->end) {
			walk->levels.count--;
			walk->items.count = walk->levels.count
						    ? walk->levels.items[walk->levels.count - 1].end
						    : 0;
			continue;
		}
		struct item item = walk->items.items[level->next++];
		*step = (struct sample_step){
			.node = item.node, .depth = (uint32_t)walk->levels.count, .self = item.self};
		if (!item.self)
			open_level(walk, item.node);
		return true;
	}
	return false;
}

void sample_walk_free(struct sample_walk *walk) {
	array_free(&walk->items);
	array_free(&walk->levels);
	free(walk);
}
