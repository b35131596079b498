// The clocks of host and guest: their offset, and a bound on its error.
//
// The host sends its time, and the guest answers with its own. However long the trip took, the guest read
// its clock between sending and arrival: half the round trip is a hard bound, so the shortest one is kept.
// Both clocks are CLOCK_BOOTTIME, the clock of traces. They are measured at the start and at the end, since
// no two clocks run at the same speed.
#pragma once

#include "base/buffer.h"

struct clock_offset {
	int64_t offset_ns; // host = guest + this
	uint64_t bound_ns; // the largest possible error
	uint64_t guest_ns; // the guest's time at the measurement; 0 if not measured
};

struct guest_clock {
	struct clock_offset first, last; // one of them may be missing
};

// Adds a round trip: `sent` and `arrived` by the host's clock, `in` and `out` by the guest's. Kept if better.
void clock_offset_take(struct clock_offset *offset, uint64_t sent, uint64_t in, uint64_t out,
		       uint64_t arrived);

// The host's time for a guest's: interpolated between the measurements, or by the nearer one outside.
uint64_t guest_clock_to_host(const struct guest_clock *clock, uint64_t guest_ns);
uint64_t guest_clock_bound(const struct guest_clock *clock); // the larger of the two

// As a fact of a trace (EVENT_META): GUEST_CLOCK_KEY, "GUEST_NS OFFSET_NS BOUND_NS", with the second
// measurement after a comma.
#define GUEST_CLOCK_KEY   "guest-clock"
#define GUEST_ADDRESS_KEY "guest"
#define PARTIAL_KEY       "partial" // the trace is incomplete: "N of M bytes arrived"
void guest_clock_format(const struct guest_clock *clock, struct buffer *text);
bool guest_clock_parse(const char *text, struct guest_clock *clock);

// A Perfetto packet with facts (pairs of key and value), to be appended to a complete trace.
void clock_facts_packet(struct buffer *packet, const char *const *pairs, size_t count);
