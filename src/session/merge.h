// Traces of several machines as one: that of a host and those of its guests.
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/map.h"
#include "guest/clock.h"

struct merge_result {
	size_t guests;
	uint64_t bound;     // of the error of guests' times, in nanoseconds
	bool by_wall_clock; // some guest's trace does not know its host's clock: by wall clocks then
	uint64_t size;      // of the output
};

// The first input is the host's trace, all others are of guests: they get a machine_id, and the
// host's time. 0 or -errno; a failure has been said in one line, and no output is left.
int merge(const char *const *inputs, size_t count, const char *output, struct merge_result *result);

// ---- merge_packet.c ----

// What has to be known to put a guest's packets into the host's trace.
struct merge_machine {
	uint32_t id;
	struct guest_clock clock;
	struct map default_clocks; // of the guest's sequences
};

// Rewrites a packet of a guest (without tag and length) behind what is in `out`. `time` becomes the
// packet's own in the host's time, if it has one. -EINVAL: it is malformed; -ENOTSUP: it is compressed;
// -EEXIST: it is of a merged trace already.
int merge_packet(struct merge_machine *machine, struct cursor packet, struct buffer *out, uint64_t *time);
