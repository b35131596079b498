// pprof's profile.proto. Each distinct stack is a sample, each name with its module
// a location and a function; the task is a label, as pprof's filters want it. Not
// compressed: pprof takes it either way.
#include "write/profile.h"
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
};

struct pprof {
	struct sink sink;
	struct profile profile;
	struct output *output;
	struct strings *texts; // pprof's own table of strings
	struct map locations;  // name and module to id
	struct map functions;  // the same
	struct map mappings;   // module to id
	struct buffer out;
};

static int pprof_push(struct sink *sink, const struct event *event) {
	return sink_push(&CONTAINER_OF(sink, struct pprof, sink)->profile.sink, event);
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
	const struct frame *source = profile_source(&pprof->profile, name, module);
	// Where nothing tells them apart, one function is in all modules.
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

static uint64_t location_id(struct pprof *pprof, const struct profile_node *node) {
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
		const struct frame *source = profile_source(&pprof->profile, node->name, node->module);
		if (source && source->line) // pprof shows this one
			proto_uint(&pprof->out, LINE_LINE, source->line);
		proto_end(&pprof->out, line);
		proto_end(&pprof->out, message);
	}
	return *id;
}

static void write_sample(struct pprof *pprof, uint32_t node) {
	const struct profile *profile = &pprof->profile;
	struct buffer ids = {0}, value = {0};
	uint32_t task = 0;
	for (uint32_t at = node; at != PROFILE_ROOT; at = profile_node(profile, at)->parent) {
		if (profile_node(profile, at)->kind == PROFILE_TASK)
			task = profile_node(profile, at)->name;
		else
			buffer_varint(&ids, location_id(pprof, profile_node(profile, at)));
	}
	buffer_varint(&value, profile_node(profile, node)->self);
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

static int pprof_finish(struct sink *sink) {
	struct pprof *pprof = CONTAINER_OF(sink, struct pprof, sink);
	struct profile *profile = &pprof->profile;
	profile_finish(profile);
	const char *event = profile_event_name(profile);
	size_t type = proto_begin(&pprof->out, PROFILE_SAMPLE_TYPE);
	proto_uint(&pprof->out, VALUE_TYPE_TYPE, text(pprof, *event ? event : "samples"));
	proto_uint(&pprof->out, VALUE_TYPE_UNIT,
		   text(pprof, profile_in_nanoseconds(profile) ? "nanoseconds" : "count"));
	proto_end(&pprof->out, type);
	for (uint32_t i = 1; i < profile->nodes.count && !pprof->output->error; i++) {
		if (profile_node(profile, i)->self)
			write_sample(pprof, i);
		output_take(pprof->output, &pprof->out);
	}
	for (uint32_t i = 0; i < pprof->texts->texts.count; i++)
		proto_string(&pprof->out, PROFILE_STRING_TABLE, strings_get(pprof->texts, i));
	return output_take(pprof->output, &pprof->out);
}

static void pprof_destroy(struct sink *sink) {
	struct pprof *pprof = CONTAINER_OF(sink, struct pprof, sink);
	profile_free(&pprof->profile);
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
	profile_init(&pprof->profile, tables, &(struct profile_options){0});
	return &pprof->sink;
}

const struct writer pprof_writer = {
	.name = "pprof",
	.extension = "pprof",
	.description = "for pprof, profile.proto",
	.binary = true,
	.open = pprof_open,
};
