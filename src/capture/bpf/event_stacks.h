// The programs that take stacks at events (sample.bpf.c, at its end): which of them are loaded.
#pragma once

#include "capture/bpf/points.h"

// Before the object is loaded; `events`: names as event/event_stacks.h knows them, a blank between, or NULL.
// Behind a colon there may be what kind of them: block_bio_queue:read, task_newtask:process.
void event_stacks_choose(struct tracelet *programs, const char *events);

// When it is attached; 0 or -errno.
int event_stacks_attach(struct tracelet *programs, struct point_links *links);
