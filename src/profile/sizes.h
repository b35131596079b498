// What the sizes of a profile's system collectors come to on Linux, and how often it samples there. Sizes of
// other collectors are about event providers, which are Windows only, and the buffers of built-in profiles
// are for WPR.
#pragma once

#include "profile/plan.h"

struct plan_sizes {
	uint64_t buffer_size; // bytes between kernel and tracer, 0: the profile does not say
	uint64_t ring_size;   // that a flight recorder holds, 0: the same
	uint64_t max_size;    // of a recording that stops then, 0: it does not
};

// Whether only the newest is to be kept: in memory, as WPR does it, or in a circular file.
bool plan_is_flight(const struct plan *plan);

// `memory`: how much the machine has. `flight` is plan_is_flight() unless somebody has said otherwise.
struct plan_sizes plan_sizes(const struct plan *plan, bool flight, uint64_t memory);

// How many samples a second it wants; 0: none. No file says it, as WPR has one frequency for the machine.
unsigned plan_sample_frequency(const struct plan *plan);

// For people: nothing, if the profile says nothing; and for programs.
void plan_sizes_show(const struct plan *plan, struct buffer *text);
struct json;
void plan_sizes_json(const struct plan *plan, struct json *json);
