// Samples from folded stacks, as text in sight of the test.
#pragma once

#include "read/reader.h"
#include "write/profile.h"

static inline int read_folded_text(const char *text, struct tables *tables, struct sink *sink) {
	struct stream input;
	stream_of_memory(&input, text, strlen(text));
	int error = folded_reader.read(&input, "text", tables, sink);
	stream_close(&input);
	return error;
}

struct sample_profile {
	struct tables tables;
	struct profile profile;
};

static inline void sample_profile_init(struct sample_profile *sample, const char *text) {
	sample->tables = tables_new();
	profile_init(&sample->profile, &sample->tables, &(struct profile_options){0});
	assert_int_equal(0, read_folded_text(text, &sample->tables, &sample->profile.sink));
	profile_finish(&sample->profile);
}

static inline void sample_profile_free(struct sample_profile *sample) {
	profile_free(&sample->profile);
	tables_free(&sample->tables);
}
