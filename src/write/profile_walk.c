// The tree in the order of sorted lines. In a sorted list of whole stacks "a" comes
// before "a b;c", and that before "a;c": a node's own line sorts as its name, its
// children sort as its name and a semicolon. So both are items of one list.
#include "write/profile.h"

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

struct profile_walk {
	const struct profile *profile;
	ARRAY(struct item) items; // of all open levels, one behind the other
	ARRAY(struct level) levels;
};

static int compare_items(const void *left, const void *right) {
	const struct item *a = left, *b = right;
	uint32_t common = MIN(a->size, b->size);
	int order = memcmp(a->name, b->name, common);
	if (order)
		return order;
	// The byte behind the shorter one: nothing, or the semicolon.
	int next_a = a->size > common ? (uint8_t)a->name[common] : a->self ? -1 : ';';
	int next_b = b->size > common ? (uint8_t)b->name[common] : b->self ? -1 : ';';
	return next_a - next_b;
}

static void open_level(struct profile_walk *walk, uint32_t node) {
	const struct profile *profile = walk->profile;
	size_t begin = walk->items.count;
	for (uint32_t child = profile_node(profile, node)->first_child; child;
	     child = profile_node(profile, child)->next_sibling) {
		const struct profile_node *entry = profile_node(profile, child);
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

struct profile_walk *profile_walk_new(const struct profile *profile) {
	struct profile_walk *walk = memory_alloc(sizeof(*walk));
	walk->profile = profile;
	open_level(walk, PROFILE_ROOT);
	return walk;
}

bool profile_walk_next(struct profile_walk *walk, struct profile_step *step) {
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
		*step = (struct profile_step){
			.node = item.node, .depth = (uint32_t)walk->levels.count, .self = item.self};
		if (!item.self)
			open_level(walk, item.node);
		return true;
	}
	return false;
}

void profile_walk_free(struct profile_walk *walk) {
	array_free(&walk->items);
	array_free(&walk->levels);
	free(walk);
}
