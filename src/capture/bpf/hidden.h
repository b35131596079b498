// The kernel hides its location in memory from users. In a recording for a user (--user), kernel
// addresses are moved to where the kernel would be without randomisation, and other pointers are
// replaced by numbers that distinguish them just as well.
#pragma once

#include "base/buffer.h"
#include "format/spool_format.h"

struct hidden {
	struct buffer batch; // scratch
	uint64_t slide;      // how far the kernel was moved; 0 if nothing is hidden
	uint64_t secret;
};

void hidden_begin(struct hidden *hidden);
// The batch to write: the given one, or one that is valid until the next call.
const struct batch *hidden_batch(struct hidden *hidden, const struct batch *batch);
void hidden_free(struct hidden *hidden);
