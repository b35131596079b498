// How many overflows of an event became samples, on all CPUs and for all tasks.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sample_delivery {
	uint64_t expected;  // from the event's count; 0 if unknown, as with a frequency
	uint64_t delivered; // as samples
	uint64_t throttled; // times the kernel suspended them until its next tick
};

// True if clearly too few arrived: some emulated and virtual PMUs report overflows late or never.
// False if they were throttled: that explains the gap, and the kernel's counts are unreliable
// afterwards.
bool sample_delivery_falls_short(const struct sample_delivery *delivery);
