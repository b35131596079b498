// Two machines' clocks: how far the guest's is from the host's, and how well that is known.
//
// The host sends its time, the guest answers with its own. Whatever the way took, the guest's reading fell
// between sending and arrival: half the round trip is a hard bound, so the shortest one is kept. Both
// clocks are CLOCK_BOOTTIME, which is that of traces. Measured at the start and at the end, since no two
// clocks run at one speed.
#pragma once

#include "base/buffer.h"

struct clock_offset {
	int64_t offset_ns; // host = guest + this
	uint64_t bound_ns; // and it is wrong by at most this
	uint64_t guest_ns; // the guest's time when it was measured; 0: never
};

struct guest_clock {
	struct clock_offset first, last; // either may be all there is
};

// One round trip: sent and arrived by the host's clock, in and out by the guest's. Kept if it is better.
void clock_offset_take(struct clock_offset *offset, uint64_t sent, uint64_t in, uint64_t out,
		       uint64_t arrived);

// The host's time for a guest's: interpolated between the two, as the nearer one says outside of them.
uint64_t guest_clock_to_host(const struct guest_clock *clock, uint64_t guest_ns);
uint64_t guest_clock_bound(const struct guest_clock *clock); // the larger of the two

// As facts of a trace (EVENT_META): GUEST_CLOCK_KEY, "GUEST_NS OFFSET_NS BOUND_NS", the second measure
// behind a comma.
#define GUEST_CLOCK_KEY   "guest-clock"
#define GUEST_ADDRESS_KEY "guest"
#define PARTIAL_KEY       "partial" // the trace is not whole: "N of M bytes arrived"
void guest_clock_format(const struct guest_clock *clock, struct buffer *text);
bool guest_clock_parse(const char *text, struct guest_clock *clock);

// A packet of a Perfetto trace with facts, to be appended to a whole trace: pairs of key and value.
void clock_facts_packet(struct buffer *packet, const char *const *pairs, size_t count);
