// Copied stacks on their way from the ring to the spool. The kernel hands them over with unused
// room for addresses; the spool gets them packed, to a fifth of the size.
#pragma once

#include "base/buffer.h"
#include "format/record.h"

struct copies {
	struct buffer batch; // scratch
	void *compressor;    // ZSTD_CCtx
};

// The batch to write: the given one, or one that is valid until the next call.
const struct batch *copies_pack(struct copies *copies, const struct batch *batch);
void copies_free(struct copies *copies);
