// `tracelet store push`: the manifest of a folder, as far as it has not been pushed yet, to a store.
//
// The file pushed.jsonl in the folder has one line for each step: up to which byte of the manifest everything
// is in which store. It is the lock as well: one push at a time. A line that is torn or lost costs a
// repetition and nothing else.
#pragma once

#include "store/batch.h"

#define PUSH_STATE "pushed.jsonl"

struct push {
	const char *folder;  // with a manifest.jsonl
	const char *to;      // address of the store
	const char *objects; // place for objects; NULL for rows only
	bool untrusted;      // no session from here may become part of a baseline
	bool again;          // from the beginning of the manifest
	size_t batch;        // sessions that are sent at a time; 0 for a good number
	unsigned patience;   // seconds
};

// 0 or -errno, reported. The counts are of what was pushed, also on failure; `left` is the number of bytes of
// the manifest that were not.
int push_folder(const struct push *push, struct batch_counts *counts, uint64_t *left);
