// The programs of points.bpf.c: which of them are loaded, and what they have to be told.
#pragma once

#include "capture/capture.h"

struct tracelet; // the skeleton
struct bpf_link;
struct bpf_program;

// Links of the events that libbpf does not attach by itself.
struct point_links {
	ARRAY(struct bpf_link *) list;
};

// Switches off what needs this program, which the kernel has refused, and says what that is; NULL: it is none
// of these, or nothing needs it.
const char *points_leave_out(const char *program, bool *sources);

// Before the object is loaded.
void points_choose(struct tracelet *programs, const struct capture_options *options, uint32_t slot);

// When it is attached; 0 or -errno.
int points_attach(struct tracelet *programs, struct point_links *links);

// A program, if it is loaded, at each time that one of perf's software events happens; 0 or -errno.
int points_attach_event(struct bpf_program *program, uint64_t event, struct point_links *links);
void points_detach(struct point_links *links);
