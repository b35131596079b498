// Waits together with what ended them.
#pragma once

#include "event/event.h"
#include "event/tables.h"

// A sink that adds to the stack of each wait, as pushed by blocked.h: the frame FRAME_WOKEN_BY, then the
// stack of the wakeup from its innermost function to its outermost one, then the name of the task that woke
// it, or of the kind of interrupt. The stack of the wakeup is the sample of the event sched_waking next to
// it, if there is one. All other events go by. It does not finish or destroy `next`.
#define FRAME_WOKEN_BY "--"
struct sink *off_wake_new(struct tables *tables, struct sink *next);
