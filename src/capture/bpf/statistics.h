// What our programs cost, from the kernel's run-time statistics.
#pragma once

#include "capture/capture.h"

struct bpf_object;

struct statistics {
	int fd;            // keeps them on while open; -1 if off
	uint64_t begun;    // start time
	uint64_t time;     // how long they were on; 0 if still on
	uint64_t measured; // nanoseconds spent in our programs meanwhile
	uint64_t recorded; // bytes recorded meanwhile
	bool available;
};

void statistics_open(struct statistics *statistics); // turns them on, where that is safe
void statistics_close(struct statistics *statistics);
void statistics_start(struct statistics *statistics); // recording starts

// `recorded`: bytes of events so far. Turns the statistics off once they have seen enough.
void statistics_turn(struct statistics *statistics, struct bpf_object *programs, uint64_t recorded);
void statistics_total(struct statistics *statistics, struct bpf_object *programs, uint64_t recorded,
		      struct capture_totals *totals);
void statistics_say(struct bpf_object *programs); // each program's, with --verbose
