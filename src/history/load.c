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

static int ascending(const void *a, const void *b) {
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

void load_sort_tests(uint64_t *tests, size_t *count) {
	size_t kept = 0;
	if (*count)
		qsort(tests, *count, sizeof(*tests), ascending);
	for (size_t i = 0; i < *count; i++)
		if (!kept || tests[i] != tests[kept - 1])
			tests[kept++] = tests[i];
	*count = kept;
}
