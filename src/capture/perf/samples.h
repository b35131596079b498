// Samples of the test's user code by perf events, for users who may not load BPF programs. The kernel copies
// the top of the stack, to be unwound when the trace is made; where it cannot be, it follows frame pointers.
#pragma once

#include "base/cursor.h"
#include "capture/copies.h"
#include "capture/capture.h"

#include <linux/perf_event.h>

struct perf_samples {
	enum { PERF_SAMPLES_NONE, PERF_SAMPLES_CHAINS, PERF_SAMPLES_COPIES } how;
	uint32_t period; // nanoseconds of CPU time
	struct copies copies;
	struct buffer batch; // scratch
};

void perf_samples_choose(struct perf_samples *samples, const struct capture_options *options);
void perf_samples_free(struct perf_samples *samples);

// Makes an event that only reports switches and processes take samples and report mappings, too.
void perf_samples_ask(const struct perf_samples *samples, struct perf_event_attr *attribute);

// The body of a PERF_RECORD_SAMPLE of such an event.
void perf_samples_take(struct perf_samples *samples, struct spool *spool, uint32_t cpu, struct cursor in);

// Code that is mapped: by a PERF_RECORD_MMAP2; an exec, which unmaps all; a process that is there already.
void perf_samples_mapping(struct spool *spool, uint16_t misc, struct cursor in, uint64_t time);
void perf_samples_exec(struct spool *spool, uint32_t pid, uint64_t time);
void perf_samples_process(struct spool *spool, pid_t pid);
