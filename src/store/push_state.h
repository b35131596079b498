// What of a manifest is in which store already: the file pushed.jsonl.
#pragma once

#include "base/buffer.h"

struct push_state {
	int fd; // holds the lock
	char *to, *objects;
	uint64_t offset; // in the manifest
	uint64_t check;  // siphash13() of the bytes before it
};

// Waits for another push of this folder. 0 or -errno.
int push_state_open(struct push_state *state, const char *folder, const char *to, const char *objects);
void push_state_close(struct push_state *state);

// How many bytes of this manifest are pushed; 0 if it is not the manifest that it was.
uint64_t push_state_begin(const struct push_state *state, int manifest);
// All bytes before `offset` are pushed now.
int push_state_advance(struct push_state *state, int manifest, uint64_t offset);
