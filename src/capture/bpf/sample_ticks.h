// The perf events, one per CPU, at whose overflow on_sample() runs: by time or by a count.
#pragma once

#include "base/array.h"
#include "capture/bpf/sampling.h"

struct bpf_link;
struct perf_event_mmap_page;

// Events sampled by overflow; the links own them.
struct overflows {
	int fd;
	struct perf_event_mmap_page *ring; // reports throttling; NULL if unavailable
};

struct sample_ticks {
	ARRAY(struct bpf_link *) links;
	ARRAY(struct overflows) overflows; // one per CPU
	uint64_t period;                   // of the event; 0 if sampling by time
	struct sample_delivery delivery;   // known at the end
};

bool sample_ticks_have_cycles(void); // on every CPU; few virtual machines do

// 0 or -errno. End it even after a failure; ending twice is fine.
int sample_ticks_begin(struct sample_ticks *ticks, const struct tracelet *programs,
		       const struct sampling_options *options);
void sample_ticks_end(struct sample_ticks *ticks, const struct tracelet *programs);
