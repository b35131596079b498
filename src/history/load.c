#include "history/load.h"

#include <math.h>

static const char *const metrics[LOAD_METRICS] = {
	[LOAD_WALL] = "wall_ns", [LOAD_CPU] = "cpu_ns", [LOAD_READY] = "ready_ns"};
const struct history_wish load_wish = {.metrics = metrics, .metric_count = LOAD_METRICS};

bool load_explains(const struct load_times *before, const struct load_times *after) {
	double wall = after->wall - before->wall, ready = after->ready - before->ready;
	if (!(before->wall > 0 && after->wall > 0 && before->cpu > 0 && after->cpu > 0))
		return false;
	double grown = log(after->wall / before->wall), computed = log(after->cpu / before->cpu);
	return (wall > 0) == (ready > 0) && fabs(ready) >= fabs(wall) / 2 &&
	       (wall > 0 ? computed < grown / 2 : computed > grown / 2);
}
