#include "event/stacks.h"

#include <inttypes.h>
#include <string.h>

// Frames are hashed and compared as bytes.
_Static_assert(sizeof(struct frame) == 56, "a frame has no padding");

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

// A slot has the id and half of the hash, so that other stacks are ruled out here.
static bool slot_ends(const struct stacks *stacks, size_t at, uint64_t hash, uint32_t caller,
		      uint32_t frame) {
	uint64_t slot = stacks->slots[at];
	if (!slot || slot >> 32 != hash >> 32)
		return !slot;
	const struct stack *stack = &stacks->stacks.items[(uint32_t)slot];
	return stack->caller == caller && stack->frame == frame;
}

// The first places to look at are near those of the callers that were made just before, which are
// in the cache; a caller with more callees than fit there has the rest all over the table.
static uint64_t *find_slot(const struct stacks *stacks, uint64_t hash, uint32_t caller, uint32_t frame) {
	enum { NEAR = 512, NEAR_PROBES = 16 };
	size_t mask = stacks->slot_count - 1;
	size_t at = caller * (size_t)2 + (hash >> 32) % NEAR;
	for (size_t i = 0; i < NEAR_PROBES; i++)
		if (slot_ends(stacks, (at + i) & mask, hash, caller, frame))
			return &stacks->slots[(at + i) & mask];
	at = hash & mask;
	while (!slot_ends(stacks, at, hash, caller, frame))
		at = (at + 1) & mask;
	return &stacks->slots[at];
}

static uint64_t hash_stack(uint32_t caller, uint32_t frame) {
	return hash_u64((uint64_t)caller << 32 | frame);
}

static uint64_t slot_of(uint64_t hash, uint32_t id) {
	return (hash >> 32) << 32 | id;
}

static void grow_slots(struct stacks *stacks) {
	free(stacks->slots);
	stacks->slot_count = stacks->slot_count ? stacks->slot_count * 4 : 4096;
	stacks->slots = memory_alloc(stacks->slot_count * sizeof(*stacks->slots));
	for (uint32_t id = 1; id < stacks->stacks.count; id++) {
		const struct stack *stack = &stacks->stacks.items[id];
		uint64_t hash = hash_stack(stack->caller, stack->frame);
		*find_slot(stacks, hash, stack->caller, stack->frame) = slot_of(hash, id);
	}
}

uint32_t stacks_add(struct stacks *stacks, uint32_t caller, uint32_t frame) {
	if (stacks->stacks.count * 2 >= stacks->slot_count)
		grow_slots(stacks);
	uint64_t hash = hash_stack(caller, frame);
	uint64_t *slot = find_slot(stacks, hash, caller, frame);
	if (!*slot) {
		*slot = slot_of(hash, (uint32_t)stacks->stacks.count);
		array_push(&stacks->stacks, (struct stack){.frame = frame, .caller = caller});
	}
	return (uint32_t)*slot;
}

uint32_t stacks_below(struct stacks *stacks, uint32_t frame, uint32_t stack) {
	ARRAY(uint32_t) frames = {0};
	for (const struct stack *at = stacks_get(stacks, stack); at; at = stacks_get(stacks, at->caller))
		array_push(&frames, at->frame);
	uint32_t made = stacks_add(stacks, 0, frame);
	for (size_t i = frames.count; i-- > 0;)
		made = stacks_add(stacks, made, frames.items[i]);
	array_free(&frames);
	return made;
}

const struct frame *stacks_frame(const struct stacks *stacks, uint32_t frame) {
	return frame < stacks->frames.count ? &stacks->frames.items[frame] : NULL;
}

char *frame_place(const char *module, uint64_t position) {
	const char *slash = strrchr(module, '/');
	return memory_format("[%s+0x%" PRIx64 "]", slash ? slash + 1 : module, position);
}

const struct stack *stacks_get(const struct stacks *stacks, uint32_t stack) {
	return stack && stack < stacks->stacks.count ? &stacks->stacks.items[stack] : NULL;
}
