// What our programs cost, by the kernel's own statistics of their runs.
#pragma once

#include "capture/capture.h"

struct bpf_object;

struct statistics {
	int fd;                     // they are on while it is open
	int timer;                  // when the next turn is due
	uint64_t since, due;        // times of the last turn and of the next
	uint64_t on_time, off_time; // after the first turn
	uint64_t first_time;        // how long that was
	uint64_t first_ns;          // told in the first turn, which is exact
	uint64_t on_ns;             // and in the others
	uint64_t on_begin;          // what they said when the present turn began
	unsigned turns;
	bool available;
};

void statistics_open(struct statistics *statistics); // switches them on
void statistics_close(struct statistics *statistics);

// The first turn begins. The descriptor of an epoll is ready from now on when a turn is due, too.
void statistics_start(struct statistics *statistics, int epoll);
void statistics_turn(struct statistics *statistics, struct bpf_object *programs); // if one is due
void statistics_total(struct statistics *statistics, struct bpf_object *programs,
		      struct capture_totals *totals);
void statistics_say(struct bpf_object *programs); // of each program, with --verbose
