// What a heap profile knows about each place that allocates. A place is one sample per
// metric, whose event is the metric's name.
#pragma once

#include <stddef.h>

enum heap_unit { HEAP_BYTES, HEAP_BLOCKS, HEAP_TIME, HEAP_UNIT_COUNT };

enum heap_metric_id {
	HEAP_ALLOCATED,
	HEAP_ALLOCATED_BLOCKS,
	HEAP_PEAK,
	HEAP_PEAK_BLOCKS,
	HEAP_LEAKED,
	HEAP_LEAKED_BLOCKS,
	HEAP_MOST,
	HEAP_MOST_BLOCKS,
	HEAP_LIFETIME,
	HEAP_READ,
	HEAP_WRITTEN,
	HEAP_METRIC_COUNT
};

struct heap_metric {
	const char *name;  // for --metric
	const char *title; // of pictures
	const char *words; // "BYTES ..."
	enum heap_unit unit;
};

extern const struct heap_metric heap_metrics[HEAP_METRIC_COUNT];
const struct heap_metric *heap_metric_find(const char *name); // or NULL

// Facts of a profile whose units have other names.
extern const char *const heap_unit_names[HEAP_UNIT_COUNT]; // "bytes", "blocks", "µs"
extern const char *const heap_unit_keys[HEAP_UNIT_COUNT];  // of EVENT_META
