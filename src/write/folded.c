#include "write/folded.h"
#include "base/text.h"

#include <inttypes.h>

struct folded {
	struct sink sink;
	struct sample_tree profile;
	struct output *output;
};

// The line grows and shrinks with the walk: `ends` holds the end of the name at each depth.
static int write_lines(struct sample_tree *profile, struct output *output) {
	struct buffer line = {0};
	ARRAY(size_t) ends = {0};
	struct sample_walk *walk = sample_walk_new(profile);
	struct sample_step step;
	int error = 0;
	while (!error && sample_walk_next(walk, &step)) {
		const struct sample_node *node = sample_node(profile, step.node);
		line.size = step.depth > 1 ? ends.items[step.depth - 2] : 0;
		buffer_append(&line, ";", step.depth > 1);
		text_plain(&line, strings_get(profile->tables->strings, node->name),
			   strings_length(profile->tables->strings, node->name));
		ends.count = step.depth - 1;
		array_push(&ends, line.size);
		if (step.self && node->self) {
			buffer_printf(&line, " %" PRIu64 "\n", node->self);
			error = output_write(output, line.data, line.size);
		}
	}
	sample_walk_free(walk);
	array_free(&ends);
	buffer_free(&line);
	return error;
}

static int folded_push(struct sink *sink, const struct event *event) {
	return sink_push(&CONTAINER_OF(sink, struct folded, sink)->profile.sink, event);
}

static int folded_finish(struct sink *sink) {
	struct folded *folded = CONTAINER_OF(sink, struct folded, sink);
	sample_tree_finish(&folded->profile);
	return write_lines(&folded->profile, folded->output);
}

static void folded_destroy(struct sink *sink) {
	struct folded *folded = CONTAINER_OF(sink, struct folded, sink);
	sample_tree_free(&folded->profile);
	free(folded);
}

struct sink *folded_open(struct output *output, struct tables *tables, const struct sample_options *options) {
	struct folded *folded = memory_alloc(sizeof(*folded));
	folded->sink = (struct sink){.push = folded_push, .finish = folded_finish, .destroy = folded_destroy};
	folded->output = output;
	sample_tree_init(&folded->profile, tables, options);
	return &folded->sink;
}

static struct sink *open_default(struct output *output, struct tables *tables) {
	return folded_open(output, tables, &(struct sample_options){0});
}

const struct writer folded_writer = {
	.name = "folded",
	.extension = "folded",
	.description = "folded stacks, one line each, for flame graphs",
	.open = open_default,
};
