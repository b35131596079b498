// Heap profiles in the format of valgrind's DHAT, version 2, as its viewer reads it.
#pragma once

#include "base/array.h"
#include "base/file.h"

struct dhat_point {
	uint64_t total_bytes, total_blocks;
	uint64_t life; // of all its blocks together
	uint64_t most_bytes, most_blocks;
	uint64_t peak_bytes, peak_blocks; // when the whole was at its peak
	uint64_t end_bytes, end_blocks;
	size_t first_frame, frame_count; // in `stacks`, innermost first
};

// Times are in microseconds.
struct dhat_profile {
	const char *command;
	uint32_t pid;
	uint64_t sample;                 // bytes between samples that all is estimated from; 0: all is exact
	uint64_t end, peak;              // since the beginning
	ARRAY(struct dhat_point) points; // no two with the same stack
	ARRAY(uint32_t) stacks;          // frames of points: indexes of `frames`
	ARRAY(const char *) frames;      // "0xADDRESS: function (file:line)"
};

int dhat_write(struct output *output, const struct dhat_profile *profile);
int dhat_save(const char *path, const struct dhat_profile *profile, enum output_mode mode); // as a file
