// A sink that tells how long a task waited: a sample that was taken when its task
// left the CPU (SAMPLE_WAITS) is held until a switch brings that task back, and
// passed on then with the time in between as its weight. Wants events in order.
#pragma once

#include "event/event.h"

struct sink *blocked_new(struct tables *tables, struct sink *next); // takes over `next`
