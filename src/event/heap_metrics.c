#include "event/heap_metrics.h"

#include <string.h>

const struct heap_metric heap_metrics[HEAP_METRIC_COUNT] = {
	[HEAP_ALLOCATED] = {"allocated", "Heap: allocated in total", "allocated in total", HEAP_BYTES},
	[HEAP_ALLOCATED_BLOCKS] = {"blocks", "Heap: blocks allocated", "allocated in total", HEAP_BLOCKS},
	[HEAP_PEAK] = {"peak", "Heap: at its peak", "at the peak", HEAP_BYTES},
	[HEAP_PEAK_BLOCKS] = {"peak-blocks", "Heap: blocks at its peak", "at the peak", HEAP_BLOCKS},
	[HEAP_LEAKED] = {"leaked", "Heap: at the end", "at the end", HEAP_BYTES},
	[HEAP_LEAKED_BLOCKS] = {"leaked-blocks", "Heap: blocks at the end", "at the end", HEAP_BLOCKS},
	[HEAP_MOST] = {"most", "Heap: peak of each place", "at each place's own peak", HEAP_BYTES},
	[HEAP_MOST_BLOCKS] = {"most-blocks", "Heap: peak blocks of each place", "at each place's own peak",
			      HEAP_BLOCKS},
	[HEAP_LIFETIME] = {"lifetime", "Heap: total lifetime of blocks", "of total lifetime", HEAP_TIME},
	[HEAP_READ] = {"read", "Heap: read", "read", HEAP_BYTES},
	[HEAP_WRITTEN] = {"written", "Heap: written", "written", HEAP_BYTES},
};

const struct heap_metric *heap_metric_find(const char *name) {
	for (size_t i = 0; i < HEAP_METRIC_COUNT; i++)
		if (strcmp(heap_metrics[i].name, name) == 0)
			return &heap_metrics[i];
	return NULL;
}

const char *const heap_unit_names[HEAP_UNIT_COUNT] = {
	[HEAP_BYTES] = "bytes", [HEAP_BLOCKS] = "blocks", [HEAP_TIME] = "µs"};
const char *const heap_unit_keys[HEAP_UNIT_COUNT] = {
	[HEAP_BYTES] = "heap_unit", [HEAP_BLOCKS] = "heap_block_unit", [HEAP_TIME] = "heap_time_unit"};
