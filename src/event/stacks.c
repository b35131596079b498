#include "event/stacks.h"

#include <string.h>

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
	free(stacks->slots);
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

static uint32_t *find_slot(const struct stacks *stacks, uint32_t caller, uint32_t frame) {
	size_t mask = stacks->slot_count - 1;
	size_t at = hash_u64((uint64_t)caller << 32 | frame) & mask;
	for (; stacks->slots[at]; at = (at + 1) & mask) {
		const struct stack *stack = &stacks->stacks.items[stacks->slots[at]];
		if (stack->caller == caller && stack->frame == frame)
			break;
	}
	return &stacks->slots[at];
}

static void grow_slots(struct stacks *stacks) {
	free(stacks->slots);
	stacks->slot_count = stacks->slot_count ? stacks->slot_count * 2 : 1024;
	stacks->slots = memory_alloc(stacks->slot_count * sizeof(*stacks->slots));
	for (uint32_t id = 1; id < stacks->stacks.count; id++) {
		const struct stack *stack = &stacks->stacks.items[id];
		*find_slot(stacks, stack->caller, stack->frame) = id;
	}
}

uint32_t stacks_add(struct stacks *stacks, uint32_t caller, uint32_t frame) {
	if (stacks->stacks.count * 2 >= stacks->slot_count)
		grow_slots(stacks);
	uint32_t *id = find_slot(stacks, caller, frame);
	if (!*id) {
		*id = (uint32_t)stacks->stacks.count;
		array_push(&stacks->stacks, (struct stack){.frame = frame, .caller = caller});
	}
	return *id;
}

const struct frame *stacks_frame(const struct stacks *stacks, uint32_t frame) {
	return &stacks->frames.items[frame];
}

const struct stack *stacks_get(const struct stacks *stacks, uint32_t stack) {
	return stack && stack < stacks->stacks.count ? &stacks->stacks.items[stack] : NULL;
}
