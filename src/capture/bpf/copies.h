// Copied stacks on their way from the ring to the spool. The kernel hands them over with
// room for addresses that nobody needs; in the spool they are packed, to a fifth of that.
#pragma once

#include "base/buffer.h"
#include "event/record.h"

struct copies {
	struct buffer batch; // scratch
	void *compressor;    // ZSTD_CCtx
};

// The batch as it is to be written: it itself, or one that lives until the next call.
const struct batch *copies_pack(struct copies *copies, const struct batch *batch);
void copies_free(struct copies *copies);
