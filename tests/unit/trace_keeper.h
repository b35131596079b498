// Keeps the Perfetto reader's events, which must come in order.
#pragma once

#include "keeper.h"

static inline int keep_in_order(struct sink *sink, const struct event *event) {
	struct keeper *keeper = CONTAINER_OF(sink, struct keeper, sink);
	if (event->kind == EVENT_WATERMARK)
		return 0;
	if (event->kind >= EVENT_TASK) {
		assert_true(event->time >= keeper->time);
		keeper->time = event->time;
	}
	keep(keeper, event);
	return 0;
}

static inline void read_trace(struct keeper *keeper, const struct buffer *trace) {
	struct stream input;
	stream_of_memory(&input, trace->data, trace->size);
	keeper_read(keeper, &input, &perfetto_reader, keep_in_order);
}
