// speedscope's file format: https://www.speedscope.app/file-format-schema.json. First all samples together,
// each distinct stack once with its weight, and once with the number of its samples; then each thread's
// samples in the order of time, where the recording has times.
#include "base/json.h"
#include "event/sample_tree.h"
#include "write/writer.h"

#include <inttypes.h>
#include <string.h>

struct moment {
	uint32_t node;
	uint64_t weight;
};

struct thread {
	uint32_t tid, comm;
	ARRAY(struct moment) moments; // in the order of time; equal ones in a row are one
};

struct speedscope {
	struct sink sink;
	struct sample_tree profile;
	struct output *output;
	struct map thread_numbers; // tid to index + 1
	ARRAY(struct thread) threads;
};

static void forget_threads(struct speedscope *speedscope) {
	for (size_t i = 0; i < speedscope->threads.count; i++)
		array_free(&speedscope->threads.items[i].moments);
	speedscope->threads.count = 0;
	map_free(&speedscope->thread_numbers);
	speedscope->thread_numbers = (struct map){0};
}

static void take_moment(struct speedscope *speedscope, const struct event *event) {
	uint64_t *number = map_put(&speedscope->thread_numbers, event->tid);
	if (!*number) {
		array_push(&speedscope->threads, (struct thread){.tid = event->tid});
		*number = speedscope->threads.count;
	}
	struct thread *thread = &speedscope->threads.items[*number - 1];
	uint32_t node = speedscope->profile.last_node;
	if (event->sample.comm)
		thread->comm = event->sample.comm;
	if (thread->moments.count && thread->moments.items[thread->moments.count - 1].node == node)
		thread->moments.items[thread->moments.count - 1].weight += event->sample.weight;
	else
		array_push(&thread->moments, (struct moment){node, event->sample.weight});
}

static int speedscope_push(struct sink *sink, const struct event *event) {
	struct speedscope *speedscope = CONTAINER_OF(sink, struct speedscope, sink);
	struct sample_tree *profile = &speedscope->profile;
	uint64_t samples = profile->samples;
	profile->last_node = 0;
	int error = sink_push(&profile->sink, event);
	if (error || !profile->last_node || !event->time ||
	    event->sample.flags & (SAMPLE_NO_TASK | SAMPLE_METRIC | SAMPLE_BASELINE))
		return error;
	if (profile->samples != samples + 1) // another event counts, from here on
		forget_threads(speedscope);
	take_moment(speedscope, event);
	return 0;
}

// Numbers for names, in order of first use.
struct frames {
	struct map numbers; // name to number + 1
	struct buffer text;
	struct json json;
	ARRAY(uint32_t) path; // scratch
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

// The frames of a node, outermost first; those of a thread need no frame for their task.
static void append_path(struct frames *frames, const struct sample_tree *profile, uint32_t node, bool task) {
	frames->path.count = 0;
	for (uint32_t at = node; at != SAMPLE_ROOT; at = sample_node(profile, at)->parent)
		if (task || sample_node(profile, at)->kind != SAMPLE_TASK)
			array_push(&frames->path, sample_node(profile, at)->name);
	json_array(&frames->json, NULL);
	while (frames->path.count)
		json_uint(&frames->json, NULL,
			  *map_get(&frames->numbers, frames->path.items[--frames->path.count]) - 1);
	json_close_array(&frames->json);
}

static void append_samples(struct frames *frames, const struct sample_tree *profile) {
	json_array(&frames->json, "samples");
	for (size_t i = 1; i < profile->nodes.count; i++)
		if (profile->nodes.items[i].self)
			append_path(frames, profile, (uint32_t)i, true);
	json_close_array(&frames->json);
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

static const char *unit_of(const struct sample_tree *profile) {
	return sample_tree_in_nanoseconds(profile) ? "nanoseconds"
	       : sample_tree_in_bytes(profile)     ? "bytes"
						   : "none";
}

static void append_thread(struct frames *frames, const struct sample_tree *profile,
			  const struct thread *thread) {
	struct json *json = &frames->json;
	uint64_t total = 0;
	for (size_t i = 0; i < thread->moments.count; i++)
		total += thread->moments.items[i].weight;
	const char *comm = strings_get(profile->tables->strings, thread->comm);
	CLEANUP_FREE char *name = memory_format("%s %" PRIu32, *comm ? comm : "thread", thread->tid);
	json_object(json, NULL);
	json_string(json, "type", "sampled");
	json_string(json, "name", name);
	json_string(json, "unit", unit_of(profile));
	json_uint(json, "startValue", 0);
	json_uint(json, "endValue", total);
	json_array(json, "samples");
	for (size_t i = 0; i < thread->moments.count; i++)
		append_path(frames, profile, thread->moments.items[i].node, false);
	json_close_array(json);
	json_array(json, "weights");
	for (size_t i = 0; i < thread->moments.count; i++)
		json_uint(json, NULL, thread->moments.items[i].weight);
	json_close_array(json);
	json_close_object(json);
}

// One of the two ways to see it: with the weights of samples, or their number.
static void append_profile(struct frames *frames, const struct sample_tree *profile, bool counts) {
	struct json *json = &frames->json;
	const char *event = sample_tree_event_name(profile);
	const struct sample_node *root = sample_node(profile, SAMPLE_ROOT);
	json_object(json, NULL);
	json_string(json, "type", "sampled");
	json_string(json, "name", counts || !*event ? "samples" : event);
	json_string(json, "unit", counts ? "none" : unit_of(profile));
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
	for (size_t i = 0; i < speedscope->threads.count && !speedscope->output->error; i++) {
		append_thread(&frames, profile, &speedscope->threads.items[i]);
		output_take(speedscope->output, &frames.text);
	}
	json_close_array(json);
	json_close_object(json);
	buffer_append(&frames.text, "\n", 1);
	output_take(speedscope->output, &frames.text);
	buffer_free(&frames.text);
	map_free(&frames.numbers);
	array_free(&frames.path);
	return speedscope->output->error;
}

static void speedscope_destroy(struct sink *sink) {
	struct speedscope *speedscope = CONTAINER_OF(sink, struct speedscope, sink);
	sample_tree_free(&speedscope->profile);
	forget_threads(speedscope);
	array_free(&speedscope->threads);
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
