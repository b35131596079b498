// The perf events, one on each CPU, at whose overflow on_sample() runs: in time, or by what is counted.
#pragma once

#include "base/array.h"
#include "capture/bpf/sampling.h"

struct bpf_link;
struct perf_event_mmap_page;

// The events of samples by overflow; the links own them.
struct overflows {
	int fd;
	struct perf_event_mmap_page *ring; // where the kernel tells that it throttles; NULL: it cannot
};

struct sample_ticks {
	ARRAY(struct bpf_link *) links;
	ARRAY(struct overflows) overflows; // of each CPU's event
	uint64_t period;                   // of it; 0: samples are in time
	struct sample_delivery delivery;   // known at the end
};

bool sample_ticks_have_cycles(void); // on every CPU: few virtual machines have

// 0 or -errno. Ended also if it fails; more than once is fine.
int sample_ticks_begin(struct sample_ticks *ticks, const struct tracelet *programs,
		       const struct sampling_options *options);
void sample_ticks_end(struct sample_ticks *ticks, const struct tracelet *programs);
