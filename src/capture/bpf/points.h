// Chooses and attaches the programs of points.bpf.c, calls.bpf.c and block.bpf.c, and sets their parameters.
#pragma once

#include "capture/capture.h"

struct tracelet; // the skeleton
struct bpf_link;
struct bpf_program;

// Links of events that libbpf does not attach by itself.
struct point_links {
	ARRAY(struct bpf_link *) list;
};

// Sets of system calls, a bit for each number.
struct call_sets {
	uint64_t memory[8], file[8], lock[8]; // of these sources
	uint64_t paths[2][8];                 // those whose first or second argument is a path
};
struct call_sets points_call_sets(void);

// Switches off what needs this program, which the kernel rejected, and returns its name; NULL if
// the program is not one of these, or nothing needs it.
const char *points_leave_out(const char *program, bool *sources);

// Call before loading.
void points_choose(struct tracelet *programs, const struct capture_options *options, uint32_t slot);

// Call while attaching; returns 0 or -errno.
int points_attach(struct tracelet *programs, struct point_links *links);

// Runs the program, if loaded, at every occurrence of one of perf's software events; 0 or -errno.
int points_attach_event(struct bpf_program *program, uint64_t event, struct point_links *links);
void points_detach(struct point_links *links);
