// pprof's profile.proto. Each distinct stack is a sample; each address with the functions that are inlined
// there is a location with their lines, each name with its module a function; the task is a label, so that
// pprof can filter by it. Addresses are those in the process. Not compressed: pprof accepts both.
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
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
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
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
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

enum { MOST_INLINED = 64 };

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
	struct map locations;  // frames, innermost first, to id
	struct map functions;  // name and module to id
	struct map mappings;   // module to id
	struct buffer out;
	uint64_t first, last; // times of samples; 0 if there are none with a time
	uint64_t clock, wall; // the trace's clock and the wall clock, read together; 0 if unknown
};

static void begin_heap(struct pprof *pprof) {
	for (size_t i = 1; i < ARRAY_SIZE(heap_values); i++)
		sample_tree_init(&pprof->heap[i], pprof->profile.tables,
				 &(struct sample_options){.event = heap_metrics[heap_values[i].metric].name,
							  .places = true});
	pprof->has_heap = true;
}

static void take_time(struct pprof *pprof, const struct event *event) {
	if (event->kind == EVENT_CLOCK && !pprof->wall) {
		pprof->clock = event->time;
		pprof->wall = event->clock.wall;
	}
	if (event->kind != EVENT_SAMPLE || !event->time)
		return;
	pprof->first = pprof->first ? MIN(pprof->first, event->time) : event->time;
	pprof->last = MAX(pprof->last, event->time);
}

static int pprof_push(struct sink *sink, const struct event *event) {
	struct pprof *pprof = CONTAINER_OF(sink, struct pprof, sink);
	take_time(pprof, event);
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

static uint64_t mapping_id(struct pprof *pprof, uint32_t module, uint32_t build_id) {
	if (!module)
		return 0;
	uint64_t *id = map_put(&pprof->mappings, (uint64_t)build_id << 32 | module);
	if (!*id) {
		*id = pprof->mappings.count;
		size_t message = proto_begin(&pprof->out, PROFILE_MAPPING);
		proto_uint(&pprof->out, MAPPING_ID, *id);
		proto_uint(&pprof->out, MAPPING_FILENAME,
			   text(pprof, strings_get(pprof->profile.tables->strings, module)));
		const char *build = strings_get(pprof->profile.tables->strings, build_id);
		if (*build && strspn(build, "0123456789abcdef") == strlen(build))
			proto_uint(&pprof->out, MAPPING_BUILD_ID, text(pprof, build));
		proto_uint(&pprof->out, MAPPING_HAS_FUNCTIONS, 1);
		proto_end(&pprof->out, message);
	}
	return *id;
}

// pprof marks inlined functions itself.
static uint32_t function_name(struct pprof *pprof, const char *name, const struct frame *frame) {
	static const char inlined[] = "_[i]";
	size_t size = strlen(name), mark = sizeof(inlined) - 1;
	if (frame && frame->kind == FRAME_INLINED && size > mark && strcmp(name + size - mark, inlined) == 0)
		size -= mark;
	return strings_add_bytes(pprof->texts, name, size);
}

static uint64_t function_id(struct pprof *pprof, uint32_t name, uint32_t module, const struct frame *frame) {
	const struct frame *source = sample_tree_source(&pprof->profile, name, module);
	uint32_t file = source ? source->file : frame ? frame->at_file : 0;
	// If nothing distinguishes them, all modules share one function.
	uint64_t *id = map_put(&pprof->functions, (uint64_t)name << 32 | (file ? module : 0));
	if (!*id) {
		*id = pprof->functions.count;
		uint32_t string = function_name(pprof, strings_get(pprof->profile.tables->strings, name),
						frame);
		size_t message = proto_begin(&pprof->out, PROFILE_FUNCTION);
		proto_uint(&pprof->out, FUNCTION_ID, *id);
		proto_uint(&pprof->out, FUNCTION_NAME, string);
		proto_uint(&pprof->out, FUNCTION_SYSTEM_NAME, string);
		if (file)
			proto_uint(&pprof->out, FUNCTION_FILENAME,
				   text(pprof, strings_get(pprof->profile.tables->strings, file)));
		if (source && source->line)
			proto_uint(&pprof->out, FUNCTION_START_LINE, source->line);
		proto_end(&pprof->out, message);
	}
	return *id;
}

// The line of the code, if it is in the function's own file; else where the function begins.
static uint32_t line_of(const struct pprof *pprof, const struct sample_node *node,
			const struct frame *frame) {
	const struct frame *source = sample_tree_source(&pprof->profile, node->name, node->module);
	bool own = frame && frame->at_line && (!source || source->file == frame->at_file);
	return own ? frame->at_line : source ? source->line : 0;
}

// The location of a node and of the callers into which it is inlined; *outermost is the last one of them.
static uint64_t location_id(struct pprof *pprof, uint32_t node, uint32_t *outermost) {
	const struct sample_tree *profile = &pprof->profile;
	uint64_t key = 0, functions[MOST_INLINED];
	uint32_t lines[MOST_INLINED], at = node;
	size_t count = 0;
	const struct frame *frame;
	for (;; at = sample_node(profile, at)->parent) {
		const struct sample_node *inner = sample_node(profile, at);
		frame = sample_tree_frame(profile, at);
		key = hash_u64(key ^ profile->node_frames.items[at]);
		functions[count] = function_id(pprof, inner->name, inner->module, frame);
		lines[count++] = line_of(pprof, inner, frame);
		const struct frame *caller = sample_tree_frame(profile, inner->parent);
		if (inner->kind != FRAME_INLINED || !caller || caller->address != frame->address ||
		    count == MOST_INLINED)
			break;
	}
	*outermost = at;
	uint64_t mapping = mapping_id(pprof, frame->module, frame->build_id);
	uint64_t *id = map_put(&pprof->locations, key);
	if (!*id) {
		*id = pprof->locations.count;
		size_t message = proto_begin(&pprof->out, PROFILE_LOCATION);
		proto_uint(&pprof->out, LOCATION_ID, *id);
		if (mapping)
			proto_uint(&pprof->out, LOCATION_MAPPING_ID, mapping);
		if (frame->address)
			proto_uint(&pprof->out, LOCATION_ADDRESS, frame->address);
		for (size_t i = 0; i < count; i++) {
			size_t line = proto_begin(&pprof->out, LOCATION_LINE);
			proto_uint(&pprof->out, LINE_FUNCTION_ID, functions[i]);
			if (lines[i])
				proto_uint(&pprof->out, LINE_LINE, lines[i]);
			proto_end(&pprof->out, line);
		}
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
			buffer_varint(&ids, location_id(pprof, at, &at));
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

static const char *unit_of(const struct sample_tree *profile) {
	return sample_tree_in_nanoseconds(profile) ? "nanoseconds" : "count";
}

static void write_type(struct pprof *pprof, uint32_t field, const char *name, const char *unit) {
	size_t type = proto_begin(&pprof->out, field);
	proto_uint(&pprof->out, VALUE_TYPE_TYPE, text(pprof, name));
	proto_uint(&pprof->out, VALUE_TYPE_UNIT, text(pprof, unit));
	proto_end(&pprof->out, type);
}

static void write_types(struct pprof *pprof) {
	const char *event = sample_tree_event_name(&pprof->profile);
	if (!pprof->has_heap) {
		bool weighted = sample_tree_is_weighted(&pprof->profile);
		if (weighted)
			write_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
		write_type(pprof, PROFILE_SAMPLE_TYPE, *event ? event : "samples", unit_of(&pprof->profile));
		if (weighted) // which of the two pprof shows at first
			proto_uint(&pprof->out, PROFILE_DEFAULT_TYPE,
				   text(pprof, *event ? event : "samples"));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(heap_values); i++)
		write_type(pprof, PROFILE_SAMPLE_TYPE, heap_values[i].type, heap_values[i].unit);
	proto_uint(&pprof->out, PROFILE_DEFAULT_TYPE, text(pprof, heap_values[0].type));
}

// The first mapping is the program, which pprof names: the one that ran longest, apart from the kernel.
static void write_program(struct pprof *pprof) {
	const struct sample_tree *profile = &pprof->profile;
	struct map weights = {0};
	const struct frame *program = NULL;
	uint64_t most = 0;
	for (uint32_t i = 1; i < profile->nodes.count; i++) {
		const struct frame *frame = sample_tree_frame(profile, i);
		if (!frame || frame->kind == FRAME_KERNEL || !frame->module)
			continue;
		uint64_t *weight = map_put(&weights, frame->module);
		*weight += sample_node(profile, i)->self;
		if (*weight > most) {
			most = *weight;
			program = frame;
		}
	}
	map_free(&weights);
	if (program)
		mapping_id(pprof, program->module, program->build_id);
}

static void write_times(struct pprof *pprof) {
	const struct sample_tree *profile = &pprof->profile;
	if (pprof->first && pprof->wall)
		proto_uint(&pprof->out, PROFILE_TIME_NANOS, pprof->wall + (pprof->first - pprof->clock));
	if (pprof->last > pprof->first)
		proto_uint(&pprof->out, PROFILE_DURATION_NANOS, pprof->last - pprof->first);
	if (pprof->has_heap || !sample_tree_is_weighted(profile) || !profile->samples)
		return;
	const char *event = sample_tree_event_name(profile);
	write_type(pprof, PROFILE_PERIOD_TYPE, *event ? event : "samples", unit_of(profile));
	proto_uint(&pprof->out, PROFILE_PERIOD, profile->weight / profile->samples);
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
	write_times(pprof);
	write_program(pprof);
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
	sample_tree_init(&pprof->profile, tables, &(struct sample_options){.places = true});
	return &pprof->sink;
}

const struct writer pprof_writer = {
	.name = "pprof",
	.extension = "pprof",
	.description = "for pprof, profile.proto",
	.binary = true,
	.open = pprof_open,
};
