// What a sink has written, as text.
#pragma once

#include "aside.h"

#include "event/event.h"

// The file `name` in the test's folder; the caller frees it.
static inline char *written_text(const char *name) {
	struct input input;
	assert_int_equal(input_open(&input, in_folder(name)), 0);
	char *text = memory_format("%.*s", (int)input.size, (const char *)input.data);
	input_close(&input);
	return text;
}

// Pushes all events, finishes and frees the sink; returns what was written, which the caller frees.
static inline char *write_all(struct sink *sink, struct output *output, const struct event *events,
			      size_t count) {
	assert_non_null(sink);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sink_push(sink, &events[i]), 0);
	assert_int_equal(sink_finish(sink), 0);
	sink_destroy(sink);
	assert_int_equal(output_commit(output), 0);
	return written_text("written");
}
