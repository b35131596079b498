// pprof's profile.proto. Each distinct stack is a sample, each name with its module a location and
// a function; the task is a label, so that pprof can filter by it. Not compressed: pprof accepts
// both.
#include "base/text.h"
#include "event/sample_tree.h"
#include "write/writer.h"

#include <string.h>

// Field numbers of profile.proto.
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_COMMENT = 13,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STRING = 2,
	MAPPING_ID = 1,
	MAPPING_FILENAME = 5,
	MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
	PROFILE_DEFAULT_TYPE = 14,
};

// The values of a heap profile, as in Go's profiles; the first is in the profile itself.
static const struct {
	const char *type, *unit;
	enum heap_metric_id metric;
} heap_values[] = {
	{"alloc_space", "bytes", HEAP_ALLOCATED}, {"alloc_objects", "count", HEAP_ALLOCATED_BLOCKS},
	{"inuse_space", "bytes", HEAP_LEAKED},    {"inuse_objects", "count", HEAP_LEAKED_BLOCKS},
	{"peak_space", "bytes", HEAP_PEAK},       {"peak_objects", "count", HEAP_PEAK_BLOCKS},
};

struct pprof {
	struct sink sink;
	struct sample_tree profile;
	struct sample_tree heap[ARRAY_SIZE(heap_values)]; // trees for the other values, with the same nodes
	bool has_heap;
	struct output *output;
	struct strings *texts; // pprof's own table of strings
	struct map locations;  // name and module to id
	struct map functions;  // the same
	struct map mappings;   // module to id
	struct buffer out;
};

static void begin_heap(struct pprof *pprof) {
	for (size_t i = 1; i < ARRAY_SIZE(heap_values); i++)
		sample_tree_init(&pprof->heap[i], pprof->profile.tables,
				 &(struct sample_options){.event = heap_metrics[heap_values[i].metric].name});
	pprof->has_heap = true;
}

static int pprof_push(struct sink *sink, const struct event *event) {
	struct pprof *pprof = CONTAINER_OF(sink, struct pprof, sink);
	if (event->kind == EVENT_SAMPLE && event->sample.flags & SAMPLE_METRIC) {
		if (!pprof->has_heap)
			begin_heap(pprof);
		for (size_t i = 1; i < ARRAY_SIZE(heap_values); i++)
			sink_push(&pprof->heap[i].sink, event);
	}
	return sink_push(&pprof->profile.sink, event);
}

// A node's value for a metric; every site is in all of the trees, or has no value.
static uint64_t heap_value(const struct pprof *pprof, size_t value, uint32_t node) {
	const struct sample_tree *profile = value ? &pprof->heap[value] : &pprof->profile;
	return profile->nodes.count == pprof->profile.nodes.count ? sample_node(profile, node)->self : 0;
}

static uint32_t text(struct pprof *pprof, const char *value) {
	return strings_add(pprof->texts, value);
}

static uint64_t mapping_id(struct pprof *pprof, uint32_t module) {
	if (!module)
		return 0;
	uint64_t *id = map_put(&pprof->mappings, module);
	if (!*id) {
		*id = pprof->mappings.count;
		size_t message = proto_begin(&pprof->out, PROFILE_MAPPING);
		proto_uint(&pprof->out, MAPPING_ID, *id);
		proto_uint(&pprof->out, MAPPING_FILENAME,
			   text(pprof, strings_get(pprof->profile.tables->strings, module)));
		proto_uint(&pprof->out, MAPPING_HAS_FUNCTIONS, 1);
		proto_end(&pprof->out, message);
	}
	return *id;
}

static uint64_t function_id(struct pprof *pprof, uint32_t name, uint32_t module) {
	const struct frame *source = sample_tree_source(&pprof->profile, name, module);
	// If nothing distinguishes them, all modules share one function.
	uint64_t *id = map_put(&pprof->functions, (uint64_t)name << 32 | (source ? module : 0));
	if (!*id) {
		*id = pprof->functions.count;
		uint32_t string = text(pprof, strings_get(pprof->profile.tables->strings, name));
		size_t message = proto_begin(&pprof->out, PROFILE_FUNCTION);
		proto_uint(&pprof->out, FUNCTION_ID, *id);
		proto_uint(&pprof->out, FUNCTION_NAME, string);
		proto_uint(&pprof->out, FUNCTION_SYSTEM_NAME, string);
		if (source)
			proto_uint(&pprof->out, FUNCTION_FILENAME,
				   text(pprof, strings_get(pprof->profile.tables->strings, source->file)));
		if (source && source->line)
			proto_uint(&pprof->out, FUNCTION_START_LINE, source->line);
		proto_end(&pprof->out, message);
	}
	return *id;
}

static uint64_t location_id(struct pprof *pprof, const struct sample_node *node) {
	uint64_t function = function_id(pprof, node->name, node->module),
		 mapping = mapping_id(pprof, node->module);
	uint64_t *id = map_put(&pprof->locations, (uint64_t)node->name << 32 | node->module);
	if (!*id) {
		*id = pprof->locations.count;
		size_t message = proto_begin(&pprof->out, PROFILE_LOCATION);
		proto_uint(&pprof->out, LOCATION_ID, *id);
		if (mapping)
			proto_uint(&pprof->out, LOCATION_MAPPING_ID, mapping);
		size_t line = proto_begin(&pprof->out, LOCATION_LINE);
		proto_uint(&pprof->out, LINE_FUNCTION_ID, function);
		const struct frame *source = sample_tree_source(&pprof->profile, node->name, node->module);
		if (source && source->line) // this is the line that pprof shows
			proto_uint(&pprof->out, LINE_LINE, source->line);
		proto_end(&pprof->out, line);
		proto_end(&pprof->out, message);
	}
	return *id;
}

static void write_sample(struct pprof *pprof, uint32_t node) {
	const struct sample_tree *profile = &pprof->profile;
	struct buffer ids = {0}, value = {0};
	uint32_t task = 0;
	for (uint32_t at = node; at != SAMPLE_ROOT; at = sample_node(profile, at)->parent) {
		if (sample_node(profile, at)->kind == SAMPLE_TASK)
			task = sample_node(profile, at)->name;
		else
			buffer_varint(&ids, location_id(pprof, sample_node(profile, at)));
	}
	if (sample_tree_is_weighted(profile))
		buffer_varint(&value, sample_node(profile, node)->self_samples);
	for (size_t i = 0; i < (pprof->has_heap ? ARRAY_SIZE(heap_values) : 1); i++)
		buffer_varint(&value, heap_value(pprof, i, node));
	size_t message = proto_begin(&pprof->out, PROFILE_SAMPLE);
	proto_bytes(&pprof->out, SAMPLE_LOCATION_ID, ids.data, ids.size);
	proto_bytes(&pprof->out, SAMPLE_VALUE, value.data, value.size);
	if (task) {
		size_t label = proto_begin(&pprof->out, SAMPLE_LABEL);
		proto_uint(&pprof->out, LABEL_KEY, text(pprof, "comm"));
		proto_uint(&pprof->out, LABEL_STRING,
			   text(pprof, strings_get(profile->tables->strings, task)));
		proto_end(&pprof->out, label);
	}
	proto_end(&pprof->out, message);
	buffer_free(&ids);
	buffer_free(&value);
}

static void write_type(struct pprof *pprof, const char *name, const char *unit) {
	size_t type = proto_begin(&pprof->out, PROFILE_SAMPLE_TYPE);
	proto_uint(&pprof->out, VALUE_TYPE_TYPE, text(pprof, name));
	proto_uint(&pprof->out, VALUE_TYPE_UNIT, text(pprof, unit));
	proto_end(&pprof->out, type);
}

static void write_types(struct pprof *pprof) {
	const char *event = sample_tree_event_name(&pprof->profile);
	if (!pprof->has_heap) {
		bool weighted = sample_tree_is_weighted(&pprof->profile);
		if (weighted)
			write_type(pprof, "samples", "count");
		write_type(pprof, *event ? event : "samples",
			   sample_tree_in_nanoseconds(&pprof->profile) ? "nanoseconds" : "count");
		if (weighted) // which of the two pprof shows at first
			proto_uint(&pprof->out, PROFILE_DEFAULT_TYPE,
				   text(pprof, *event ? event : "samples"));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(heap_values); i++)
		write_type(pprof, heap_values[i].type, heap_values[i].unit);
	proto_uint(&pprof->out, PROFILE_DEFAULT_TYPE, text(pprof, heap_values[0].type));
}

// Protobuf strings must be UTF-8.
static void write_texts(struct pprof *pprof) {
	struct buffer clean = {0};
	for (uint32_t i = 0; i < pprof->texts->texts.count; i++) {
		clean.size = 0;
		text_utf8(&clean, strings_get(pprof->texts, i), strings_length(pprof->texts, i));
		proto_bytes(&pprof->out, PROFILE_STRING_TABLE, clean.data, clean.size);
	}
	buffer_free(&clean);
}

static int pprof_finish(struct sink *sink) {
	struct pprof *pprof = CONTAINER_OF(sink, struct pprof, sink);
	struct sample_tree *profile = &pprof->profile;
	sample_tree_finish(profile);
	write_types(pprof);
	for (uint32_t i = 1; i < profile->nodes.count && !pprof->output->error; i++) {
		if (sample_node(profile, i)->self || (pprof->has_heap && heap_value(pprof, 1, i)))
			write_sample(pprof, i);
		output_take(pprof->output, &pprof->out);
	}
	write_texts(pprof);
	return output_take(pprof->output, &pprof->out);
}

static void pprof_destroy(struct sink *sink) {
	struct pprof *pprof = CONTAINER_OF(sink, struct pprof, sink);
	sample_tree_free(&pprof->profile);
	for (size_t i = 1; pprof->has_heap && i < ARRAY_SIZE(heap_values); i++)
		sample_tree_free(&pprof->heap[i]);
	strings_free(pprof->texts);
	map_free(&pprof->locations);
	map_free(&pprof->functions);
	map_free(&pprof->mappings);
	buffer_free(&pprof->out);
	free(pprof);
}

static struct sink *pprof_open(struct output *output, struct tables *tables) {
	struct pprof *pprof = memory_alloc(sizeof(*pprof));
	pprof->sink = (struct sink){.push = pprof_push, .finish = pprof_finish, .destroy = pprof_destroy};
	pprof->output = output;
	tables->details = true;
	pprof->texts = strings_new();
	sample_tree_init(&pprof->profile, tables, &(struct sample_options){0});
	return &pprof->sink;
}

const struct writer pprof_writer = {
	.name = "pprof",
	.extension = "pprof",
	.description = "for pprof, profile.proto",
	.binary = true,
	.open = pprof_open,
};
