// speedscope's file format: https://www.speedscope.app/file-format-schema.json. One
// sampled profile, each distinct stack once, with its weight.
#include "base/json.h"
#include "event/sample_tree.h"
#include "write/writer.h"

#include <string.h>

struct speedscope {
	struct sink sink;
	struct sample_tree profile;
	struct output *output;
};

static int speedscope_push(struct sink *sink, const struct event *event) {
	return sink_push(&CONTAINER_OF(sink, struct speedscope, sink)->profile.sink, event);
}

// Numbers for names, in order of first use.
struct frames {
	struct map numbers; // name to number + 1
	struct buffer text;
	struct json json;
};

static void number_frames(struct frames *frames, const struct sample_tree *profile) {
	struct strings *strings = profile->tables->strings;
	json_array(&frames->json, "frames");
	for (size_t i = 1; i < profile->nodes.count; i++) {
		const struct sample_node *node = &profile->nodes.items[i];
		uint64_t *number = map_put(&frames->numbers, node->name);
		if (*number)
			continue;
		*number = frames->numbers.count;
		json_object(&frames->json, NULL);
		json_text(&frames->json, "name", strings_get(strings, node->name),
			  strings_length(strings, node->name));
		const struct frame *source = sample_tree_source(profile, node->name, node->module);
		if (source || node->module)
			json_string(&frames->json, "file",
				    strings_get(strings, source ? source->file : node->module));
		if (source && source->line)
			json_uint(&frames->json, "line", source->line);
		json_close_object(&frames->json);
	}
	json_close_array(&frames->json);
}

static void append_samples(struct frames *frames, const struct sample_tree *profile) {
	ARRAY(uint32_t) path = {0};
	json_array(&frames->json, "samples");
	for (size_t i = 1; i < profile->nodes.count; i++) {
		if (!profile->nodes.items[i].self)
			continue;
		path.count = 0;
		for (uint32_t at = (uint32_t)i; at != SAMPLE_ROOT; at = sample_node(profile, at)->parent)
			array_push(&path, sample_node(profile, at)->name);
		json_array(&frames->json, NULL);
		while (path.count)
			json_uint(&frames->json, NULL,
				  *map_get(&frames->numbers, path.items[--path.count]) - 1);
		json_close_array(&frames->json);
	}
	json_close_array(&frames->json);
	array_free(&path);
}

static void append_weights(struct json *json, const struct sample_tree *profile, bool counts) {
	json_array(json, "weights");
	for (size_t i = 1; i < profile->nodes.count; i++) {
		const struct sample_node *node = &profile->nodes.items[i];
		if (node->self)
			json_uint(json, NULL, counts ? node->self_samples : node->self);
	}
	json_close_array(json);
}

// One of the two ways to see it: with the weights of samples, or their number.
static void append_profile(struct frames *frames, const struct sample_tree *profile, bool counts) {
	struct json *json = &frames->json;
	const char *event = sample_tree_event_name(profile);
	const struct sample_node *root = sample_node(profile, SAMPLE_ROOT);
	json_object(json, NULL);
	json_string(json, "type", "sampled");
	json_string(json, "name", counts || !*event ? "samples" : event);
	json_string(json, "unit",
		    counts                                ? "none"
		    : sample_tree_in_nanoseconds(profile) ? "nanoseconds"
		    : sample_tree_in_bytes(profile)       ? "bytes"
							  : "none");
	json_uint(json, "startValue", 0);
	json_uint(json, "endValue", counts ? root->samples : root->total);
	append_samples(frames, profile);
	append_weights(json, profile, counts);
	json_close_object(json);
}

static int speedscope_finish(struct sink *sink) {
	struct speedscope *speedscope = CONTAINER_OF(sink, struct speedscope, sink);
	struct sample_tree *profile = &speedscope->profile;
	sample_tree_finish(profile);
	struct frames frames = {0};
	frames.json = json_into(&frames.text);
	struct json *json = &frames.json;
	json_object(json, NULL);
	json_string(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_string(json, "exporter", "tracelet " TRACELET_VERSION);
	json_object(json, "shared");
	number_frames(&frames, profile);
	json_close_object(json);
	json_array(json, "profiles");
	append_profile(&frames, profile, false);
	if (sample_tree_is_weighted(profile))
		append_profile(&frames, profile, true);
	json_close_array(json);
	json_close_object(json);
	buffer_append(&frames.text, "\n", 1);
	output_take(speedscope->output, &frames.text);
	buffer_free(&frames.text);
	map_free(&frames.numbers);
	return speedscope->output->error;
}

static void speedscope_destroy(struct sink *sink) {
	struct speedscope *speedscope = CONTAINER_OF(sink, struct speedscope, sink);
	sample_tree_free(&speedscope->profile);
	free(speedscope);
}

static struct sink *speedscope_open(struct output *output, struct tables *tables) {
	struct speedscope *speedscope = memory_alloc(sizeof(*speedscope));
	speedscope->sink = (struct sink){
		.push = speedscope_push, .finish = speedscope_finish, .destroy = speedscope_destroy};
	speedscope->output = output;
	tables->details = true;
	sample_tree_init(&speedscope->profile, tables, &(struct sample_options){0});
	return &speedscope->sink;
}

const struct writer speedscope_writer = {
	.name = "speedscope",
	.extension = "speedscope.json",
	.description = "for speedscope.app",
	.open = speedscope_open,
};
