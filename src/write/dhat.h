// Heap profiles in the format of Valgrind's DHAT, version 2, for its viewer.
#pragma once

#include "base/array.h"
#include "base/file.h"

struct dhat_point {
	uint64_t total_bytes, total_blocks;
	uint64_t life; // total lifetime of all its blocks
	uint64_t most_bytes, most_blocks;
	uint64_t peak_bytes, peak_blocks; // at the peak of the whole heap
	uint64_t end_bytes, end_blocks;
	uint64_t reached_bytes,
		reached_blocks;          // of these, what could still be reached; 0 if that is not known
	size_t first_frame, frame_count; // in `stacks`, innermost first
};

// Times are in microseconds.
struct dhat_profile {
	const char *command;
	uint32_t pid;
	uint64_t sample;    // average bytes between samples if the values are estimates; 0 if they are exact
	uint64_t end, peak; // since the start
	ARRAY(struct dhat_point) points; // no two with the same stack
	ARRAY(uint32_t) stacks;          // frames of the points: indexes into `frames`
	ARRAY(const char *) frames;      // "0xADDRESS: function (file:line)"
};

int dhat_write(struct output *output, const struct dhat_profile *profile);
int dhat_save(const char *path, const struct dhat_profile *profile, enum output_mode mode); // writes a file
