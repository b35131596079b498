#include "event/stacks.h"

#include <string.h>

// Frames are hashed and compared as bytes.
_Static_assert(sizeof(struct frame) == 32, "a frame has no padding");

struct stacks *stacks_new(void) {
	struct stacks *stacks = memory_alloc(sizeof(*stacks));
	array_push(&stacks->stacks, (struct stack){0});
	return stacks;
}

void stacks_free(struct stacks *stacks) {
	if (!stacks)
		return;
	array_free(&stacks->frames);
	array_free(&stacks->stacks);
	map_free(&stacks->frame_ids);
	map_free(&stacks->stack_ids);
	free(stacks);
}

uint32_t stacks_add_frame(struct stacks *stacks, const struct frame *frame) {
	uint64_t hash = hash_bytes(frame, sizeof(*frame));
	uint64_t *found;
	for (; (found = map_get(&stacks->frame_ids, hash)); hash++)
		if (memcmp(&stacks->frames.items[*found], frame, sizeof(*frame)) == 0)
			return (uint32_t)*found;
	uint32_t id = (uint32_t)stacks->frames.count;
	array_push(&stacks->frames, *frame);
	*map_put(&stacks->frame_ids, hash) = id;
	return id;
}

uint32_t stacks_add(struct stacks *stacks, uint32_t caller, uint32_t frame) {
	uint64_t *id = map_put(&stacks->stack_ids, (uint64_t)caller << 32 | frame);
	if (!*id) {
		*id = stacks->stacks.count;
		array_push(&stacks->stacks, (struct stack){.frame = frame, .caller = caller});
	}
	return (uint32_t)*id;
}

const struct frame *stacks_frame(const struct stacks *stacks, uint32_t frame) {
	return frame < stacks->frames.count ? &stacks->frames.items[frame] : NULL;
}

const struct stack *stacks_get(const struct stacks *stacks, uint32_t stack) {
	return stack && stack < stacks->stacks.count ? &stacks->stacks.items[stack] : NULL;
}
