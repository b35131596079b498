// Chooses and attaches the programs that take stacks at events (at the end of sample.bpf.c).
#pragma once

#include "capture/bpf/points.h"

// Call before loading. `events`: names from event/event_stacks.h, separated by blanks, or NULL. A
// name may be restricted after a colon: block_bio_queue:read, task_newtask:process.
void event_stacks_choose(struct tracelet *programs, const char *events);

// Call while attaching; returns 0 or -errno.
int event_stacks_attach(struct tracelet *programs, struct point_links *links);
