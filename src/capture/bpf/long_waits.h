// The stacks of waits that were long enough to matter: the loader's side of capture/bpf/waits.h.
#pragma once

#include "capture/capture.h"

struct tracelet; // the skeleton
struct ring_buffer;

// If this kernel cannot record them, they are removed from the options; otherwise stacks are added.
void long_waits_limit(struct capture_options *options);

void long_waits_choose(struct tracelet *programs, const struct capture_options *options); // before loading

// The rings that ask for interrupts: consume them from time to time, nothing else reads them. 0 or -errno.
int long_waits_rings(struct tracelet *programs, struct ring_buffer **rings);
