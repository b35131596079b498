#include "base/siphash.h"

#include "base/cursor.h"

// The four words of the state, as the paper by Aumasson and Bernstein has them.
struct state {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotate(uint64_t value, unsigned bits) {
	return value << bits | value >> (64 - bits);
}

static void turn(struct state *state) {
	state->v0 += state->v1;
	state->v2 += state->v3;
	state->v1 = rotate(state->v1, 13) ^ state->v0;
	state->v3 = rotate(state->v3, 16) ^ state->v2;
	state->v0 = rotate(state->v0, 32) + state->v3;
	state->v2 += state->v1;
	state->v3 = rotate(state->v3, 21) ^ state->v0;
	state->v1 = rotate(state->v1, 17) ^ state->v2;
	state->v2 = rotate(state->v2, 32);
}

static void take(struct state *state, uint64_t word) {
	state->v3 ^= word;
	turn(state);
	state->v0 ^= word;
}

uint64_t siphash13(const void *bytes, size_t size) {
	struct state state = {0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573};
	struct cursor input = cursor_of(bytes, size);
	while (cursor_left(&input) >= sizeof(uint64_t))
		take(&state, cursor_u64(&input));
	uint64_t last = 0;
	cursor_copy(&input, &last, cursor_left(&input));
	take(&state, last | (uint64_t)size << 56);
	state.v2 ^= 0xff;
	for (int i = 0; i < 3; i++)
		turn(&state);
	return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}
