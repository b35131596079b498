// Merges traces from several machines into one: a host's and its guests'.
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/map.h"
#include "format/clock.h"

struct merge_result {
	size_t guests;
	uint64_t bound;     // largest error of guests' times, in nanoseconds
	bool by_wall_clock; // some guest's trace does not know its host's clock, so wall clocks were compared
	uint64_t size;      // size of the output
};

// The first input is the host's trace, all others are guests': those get a machine_id and the
// host's time. Returns 0, or -errno with the error logged and no output left behind.
int merge(const char *const *inputs, size_t count, const char *output, struct merge_result *result);

// ---- merge_packet.c ----

// What is needed to put a guest's packets into the host's trace.
struct merge_machine {
	uint32_t id;
	struct guest_clock clock;
	struct map default_clocks; // by sequence of the guest
};

// Rewrites a guest's packet (without tag and length) and appends it to `out`. `time` becomes the
// packet's time on the host's clock, if it has one. -EINVAL: it is malformed; -ENOTSUP: it is
// compressed; -EEXIST: it is from an already merged trace.
int merge_packet(struct merge_machine *machine, struct cursor packet, struct buffer *out, uint64_t *time);
