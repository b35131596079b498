// Whether the overflows of an event have become samples, on all CPUs and for whoever ran there.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sample_delivery {
	uint64_t expected;  // by what was counted; 0: not known, as with a frequency
	uint64_t delivered; // as samples
	uint64_t throttled; // times that the kernel held them back until its next tick
};

// Clearly fewer than there should be: some emulated and virtual PMUs tell of overflows late or never.
// Not if they were throttled, which explains it, and after which the kernel's clocks count wrongly.
bool sample_delivery_falls_short(const struct sample_delivery *delivery);
