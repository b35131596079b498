// What the sizes of a profile's system collectors mean on Linux, and how often it samples. Sizes of other
// collectors are for event providers, which exist only on Windows; the buffers of built-in profiles are for
// WPR.
#pragma once

#include "profile/plan.h"

struct plan_sizes {
	uint64_t buffer_size; // bytes between kernel and tracer; 0 if not given
	uint64_t ring_size;   // of a flight recorder; 0 if not given
	uint64_t max_size;    // at which recording stops; 0 for no limit
};

// Whether only the newest events are kept: in memory, as with WPR, or in a circular file.
bool plan_is_flight(const struct plan *plan);

// `memory` is the size of the machine's memory. `flight` is plan_is_flight() unless a setting overrides it.
struct plan_sizes plan_sizes(const struct plan *plan, bool flight, uint64_t memory);

// Samples per second; 0 for none. Not from the file, as WPR has one frequency for the whole machine.
unsigned plan_sample_frequency(const struct plan *plan);

// As text, empty if the profile gives no sizes; and as JSON.
void plan_sizes_show(const struct plan *plan, struct buffer *text);
struct json;
void plan_sizes_json(const struct plan *plan, struct json *json);
