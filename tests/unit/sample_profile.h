// Samples from folded stacks, written out in the test.
#pragma once

#include "event/sample_tree.h"
#include "read/reader.h"

static inline int read_folded_text(const char *text, struct tables *tables, struct sink *sink) {
	struct stream input;
	stream_of_memory(&input, text, strlen(text));
	int error = folded_reader.read(&input, "text", tables, sink);
	stream_close(&input);
	return error;
}

struct sample_profile {
	struct tables tables;
	struct sample_tree profile;
};

static inline void sample_profile_init(struct sample_profile *sample, const char *text) {
	sample->tables = tables_new();
	sample_tree_init(&sample->profile, &sample->tables, &(struct sample_options){0});
	assert_int_equal(0, read_folded_text(text, &sample->tables, &sample->profile.sink));
	sample_tree_finish(&sample->profile);
}

static inline void sample_profile_free(struct sample_profile *sample) {
	sample_tree_free(&sample->profile);
	tables_free(&sample->tables);
}
