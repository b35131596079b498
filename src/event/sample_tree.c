#include "event/sample_tree.h"

#include "base/buffer.h"
#include "base/log.h"

#include <inttypes.h>

// ---- the tree ----

static uint32_t add_node(struct sample_tree *profile, uint32_t parent, uint32_t name) {
	uint32_t node = (uint32_t)profile->nodes.count;
	uint32_t sibling = sample_node(profile, parent)->first_child;
	array_push(&profile->nodes,
		   (struct sample_node){.parent = parent, .name = name, .next_sibling = sibling});
	sample_node(profile, parent)->first_child = node;
	return node;
}

uint32_t sample_tree_child(struct sample_tree *profile, uint32_t parent, uint32_t name) {
	for (uint32_t i = 1; !profile->children_known && i < profile->nodes.count; i++) {
		const struct sample_node *node = sample_node(profile, i);
		*map_put(&profile->children, (uint64_t)node->parent << 32 | node->name) = i;
	}
	profile->children_known = true;
	uint64_t *found = map_put(&profile->children, (uint64_t)parent << 32 | name);
	if (!*found)
		*found = add_node(profile, parent, name);
	return (uint32_t)*found;
}

static bool is_java(const struct sample_tree *profile, uint32_t label) {
	return strncmp(strings_get(profile->tables->strings, label), "java", 4) == 0;
}

static void remember_source(struct sample_tree *profile, uint32_t name, uint32_t module, uint32_t frame) {
	uint64_t *source = map_put(&profile->sources, (uint64_t)name << 32 | module);
	if (!*source)
		*source = frame + UINT64_C(1);
}

const struct frame *sample_tree_source(const struct sample_tree *profile, uint32_t name, uint32_t module) {
	uint64_t *source = map_get(&profile->sources, (uint64_t)name << 32 | module);
	return source ? stacks_frame(profile->tables->stacks, (uint32_t)(*source - 1)) : NULL;
}

static uint32_t frame_name(struct sample_tree *profile, uint32_t frame, bool java) {
	size_t known = profile->names[java].count;
	if (frame >= known) {
		array_reserve(&profile->names[java], frame + 1u);
		memset(profile->names[java].items + known, 0, (frame + 1 - known) * sizeof(uint32_t));
		profile->names[java].count = frame + 1u;
	}
	uint32_t *name = &profile->names[java].items[frame];
	if (!*name) {
		const struct frame *entry = stacks_frame(profile->tables->stacks, frame);
		*name = sample_frame_name(profile->tables, entry, &profile->options, java);
		if (entry->file)
			remember_source(profile, *name, entry->module, frame);
	}
	return *name;
}

static struct label_nodes *nodes_of_label(struct sample_tree *profile, uint32_t label) {
	if (!profile->last_label_number || profile->last_label != label) {
		uint64_t *number = map_put(&profile->label_numbers, label);
		if (!*number) {
			array_push(&profile->label_nodes, (struct label_nodes){0});
			*number = profile->label_nodes.count;
		}
		profile->last_label = label;
		profile->last_label_number = (size_t)*number;
	}
	return &profile->label_nodes.items[profile->last_label_number - 1];
}

// The node of a stack, plus 1; 0 if it has none yet.
static uint32_t known_node(const struct label_nodes *nodes, uint32_t stack) {
	size_t page = stack / LABEL_PAGE;
	return page < nodes->pages.count && nodes->pages.items[page]
		       ? nodes->pages.items[page][stack % LABEL_PAGE]
		       : 0;
}

static void remember_node(struct label_nodes *nodes, uint32_t stack, uint32_t node) {
	size_t page = stack / LABEL_PAGE;
	while (nodes->pages.count <= page)
		array_push(&nodes->pages, NULL);
	if (!nodes->pages.items[page])
		nodes->pages.items[page] = memory_alloc(LABEL_PAGE * sizeof(uint32_t));
	nodes->pages.items[page][stack % LABEL_PAGE] = node + 1;
}

const struct frame *sample_tree_frame(const struct sample_tree *profile, uint32_t node) {
	uint32_t frame = node < profile->node_frames.count ? profile->node_frames.items[node] : 0;
	return frame ? stacks_frame(profile->tables->stacks, frame - 1) : NULL;
}

static uint32_t place_node(struct sample_tree *profile, uint32_t parent, uint32_t frame, bool java) {
	uint64_t *node = map_put(&profile->place_children, (uint64_t)parent << 32 | frame);
	if (!*node) {
		*node = add_node(profile, parent, frame_name(profile, frame, java));
		while (profile->node_frames.count < profile->nodes.count)
			array_push(&profile->node_frames, 0);
		profile->node_frames.items[*node] = frame + 1;
	}
	return (uint32_t)*node;
}

// A stack without a label and with exact names has its own node, unless a caller asked for nodes by name.
static uint32_t frame_node(struct sample_tree *profile, uint32_t parent, uint32_t frame_id, bool java,
			   bool bare) {
	const struct frame *frame = stacks_frame(profile->tables->stacks, frame_id);
	size_t nodes = profile->nodes.count;
	uint32_t node = profile->options.places ? place_node(profile, parent, frame_id, java)
			: bare && frame->exact == NAME_EXACT && !profile->children_known
				? add_node(profile, parent, frame->symbol)
				: sample_tree_child(profile, parent, frame_name(profile, frame_id, java));
	if (profile->nodes.count > nodes) {
		sample_node(profile, node)->module = frame->module;
		sample_node(profile, node)->kind = frame->kind;
	}
	return node;
}

// The node below which a label's stacks begin.
static uint32_t label_node(struct sample_tree *profile, uint32_t label) {
	if (!label)
		return SAMPLE_ROOT;
	uint32_t node = sample_tree_child(profile, SAMPLE_ROOT, label);
	sample_node(profile, node)->kind = SAMPLE_TASK;
	return node;
}

// Up through the callers to one whose node is known, then down again.
static uint32_t stack_node(struct sample_tree *profile, uint32_t label, uint32_t stack) {
	struct stacks *stacks = profile->tables->stacks;
	struct label_nodes *nodes = nodes_of_label(profile, label);
	uint32_t node, at = stack;
	profile->path.count = 0;
	while (!(node = known_node(nodes, at))) {
		array_push(&profile->path, at);
		const struct stack *entry = stacks_get(stacks, at);
		if (!entry)
			break;
		at = entry->caller;
	}
	if (node)
		node--;
	bool java = profile->path.count && is_java(profile, label);
	for (size_t i = profile->path.count; i-- > 0;) {
		const struct stack *entry = stacks_get(stacks, profile->path.items[i]);
		node = entry ? frame_node(profile, node, entry->frame, java, !label)
			     : label_node(profile, label);
		remember_node(nodes, profile->path.items[i], node);
	}
	return node;
}

// ---- samples ----

static uint32_t make_label(struct sample_tree *profile, const struct event *event, uint32_t comm) {
	struct buffer text = {0};
	const char *name = strings_get(profile->tables->strings, comm);
	for (; *name; name++)
		buffer_append(&text, *name == ' ' ? "_" : *name == ';' ? ":" : name, 1);
	bool no_task = event->sample.flags & SAMPLE_NO_TASK;
	if ((profile->options.pid || profile->options.tid) && !no_task) {
		if (event->sample.flags & SAMPLE_NO_PID)
			buffer_printf(&text, "-?");
		else
			buffer_printf(&text, "-%" PRId32, (int32_t)event->pid);
		if (profile->options.tid)
			buffer_printf(&text, "/%" PRId32, (int32_t)event->tid);
	}
	uint32_t id = text.size ? strings_add_bytes(profile->tables->strings, text.data, text.size) : 0;
	buffer_free(&text);
	return id;
}

// Labels are remembered for each name, and for each task where they tell it.
static uint32_t label_of(struct sample_tree *profile, const struct event *event) {
	uint32_t comm = event->sample.comm;
	if (!comm && event->sample.flags & SAMPLE_NO_TASK)
		return 0;
	if (!comm) {
		uint64_t *known = map_get(&profile->task_names, event->tid);
		comm = known ? (uint32_t)*known : 0;
	}
	uint64_t key = comm;
	if (profile->options.tid)
		key = hash_u64((uint64_t)event->tid << 32 | event->pid) ^ hash_u64(comm);
	else if (profile->options.pid)
		key = (uint64_t)event->pid << 32 | comm;
	key = hash_u64(key) ^ (event->sample.flags & (SAMPLE_NO_PID | SAMPLE_NO_TASK));
	uint64_t *label = map_put(&profile->labels, key);
	if (!*label)
		*label = make_label(profile, event, comm) + UINT64_C(1);
	return (uint32_t)(*label - 1);
}

// The length of an event's name without the modifiers of perf: "cycles" of "cycles:uP".
static size_t bare_length(const char *name) {
	const char *colon = strrchr(name, ':');
	return colon && colon > name && colon[1] && strspn(colon + 1, "ukhIGHpPSDWeb") == strlen(colon + 1)
		       ? (size_t)(colon - name)
		       : strlen(name);
}

// cycles, cycles:u and cycles:k are one event: what a user could record, or root.
static bool same_event(const char *one, const char *other) {
	size_t length = bare_length(one);
	return length == bare_length(other) && memcmp(one, other, length) == 0;
}

// Is it the event that was asked for? "cpu" is whatever samples the CPU by time.
static bool is_event(const char *name, const char *asked) {
	bool bare = asked[bare_length(asked)] == 0;
	return strcmp(name, asked) == 0 || (bare && same_event(name, asked)) ||
	       (strcmp(asked, "cpu") == 0 &&
		(strncmp(name, "cpu-clock", 9) == 0 || strncmp(name, "cycles", 6) == 0));
}

static bool is_wait(const struct sample_tree *profile, uint32_t name) {
	return strcmp(strings_get(profile->tables->strings, name), EVENT_OFF_CPU) == 0;
}

// Waiting tasks and stacks at events count only on demand, or if there is nothing else.
static bool is_second_choice(const struct sample_tree *profile, const struct event *event) {
	return event->sample.flags & SAMPLE_AT_EVENT || is_wait(profile, event->sample.name);
}

// Drops what was taken so far.
static void begin_again(struct sample_tree *profile) {
	struct sample_options options = profile->options;
	struct map task_names = profile->task_names;
	uint64_t left_out = profile->left_out;
	if (!is_wait(profile, profile->event))
		left_out += profile->samples + profile->base_samples;
	profile->task_names = (struct map){0};
	sample_tree_free(profile);
	sample_tree_init(profile, profile->tables, &options);
	profile->task_names = task_names;
	profile->left_out = left_out;
}

// Another name of the event that counts; only asked for by its name with modifiers it has no other.
static bool is_chosen_event(struct sample_tree *profile, uint32_t name) {
	const char *asked = profile->options.event;
	uint64_t *known = map_put(&profile->other_names, name);
	if (!*known) {
		const char *chosen = strings_get(profile->tables->strings, profile->event);
		bool same = same_event(strings_get(profile->tables->strings, name), chosen) &&
			    !(asked && strcmp(asked, chosen) == 0 && asked[bare_length(asked)]);
		*known = same ? 2 : 1;
	}
	return *known == 2;
}

static bool wanted_event(struct sample_tree *profile, const struct event *event) {
	uint32_t name = event->sample.name;
	if (profile->options.every_event)
		return true;
	if (profile->event_chosen && name != profile->event && profile->second_choice &&
	    !is_second_choice(profile, event))
		begin_again(profile);
	if (!profile->event_chosen && !profile->options.event) {
		profile->event = name;
		profile->second_choice = is_second_choice(profile, event);
		profile->event_chosen = true;
	}
	if (profile->event_chosen)
		return name == profile->event || is_chosen_event(profile, name);
	if (!is_event(strings_get(profile->tables->strings, name), profile->options.event))
		return false;
	profile->event = name;
	profile->event_chosen = true;
	return true;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static void take_sample(struct sample_tree *profile, const struct event *event) {
	if (!wanted_event(profile, event)) {
		profile->left_out += !is_second_choice(profile, event); // every recording has waits
		return;
	}
	uint32_t label = label_of(profile, event);
	uint32_t node = stack_node(profile, label, event->sample.stack);
	profile->last_node = node;
	bool baseline = event->sample.flags & SAMPLE_BASELINE;
	if (event->sample.flags & SAMPLE_METRIC && !profile->options.every_event) {
		if (!profile->metric)
			profile->metric = heap_metric_find(sample_tree_event_name(profile));
	} else if (event->sample.flags & SAMPLE_NO_TASK) {
		uint64_t *divisor = baseline ? &profile->base_divisor : &profile->divisor;
		*divisor = *divisor == 1 ? 1 : common_divisor(event->sample.weight, *divisor);
	}
	if (baseline) {
		sample_node(profile, node)->base_self += event->sample.weight;
		profile->base_weight += event->sample.weight;
		profile->base_samples++;
	} else {
		sample_node(profile, node)->self += event->sample.weight;
		sample_node(profile, node)->self_samples++;
		profile->weight += event->sample.weight;
		profile->samples++;
	}
}

static void take_fact(struct sample_tree *profile, const struct event *event) {
	const char *key = strings_get(profile->tables->strings, event->meta.key);
	for (size_t i = 0; i < HEAP_UNIT_COUNT; i++)
		if (strcmp(key, heap_unit_keys[i]) == 0)
			profile->heap_units[i] = event->meta.value;
}

static int push(struct sink *sink, const struct event *event) {
	struct sample_tree *profile = CONTAINER_OF(sink, struct sample_tree, sink);
	uint32_t tid, name;
	switch (event->kind) { // as sample_tree_takes() has them
	case EVENT_SAMPLE:
		take_sample(profile, event);
		break;
	case EVENT_META:
		take_fact(profile, event);
		break;
	default:
		if (event_names_task(event, &tid, &name))
			*map_put(&profile->task_names, tid) = name;
		break;
	}
	return 0;
}

static int finish(struct sink *sink) {
	sample_tree_finish(CONTAINER_OF(sink, struct sample_tree, sink));
	return 0;
}

static void destroy(struct sink *sink) {
}

void sample_tree_init(struct sample_tree *profile, struct tables *tables,
		      const struct sample_options *options) {
	*profile = (struct sample_tree){.sink = {.push = push, .finish = finish, .destroy = destroy},
					.tables = tables,
					.options = *options};
	array_push(&profile->nodes, (struct sample_node){0});
	if (options->addresses && tables->addresses == ADDRESSES_NONE)
		tables->addresses = ADDRESSES_OF_UNNAMED;
	profile->children_known = options->places; // only tasks are looked for by name
	if (options->places)
		tables->addresses = ADDRESSES_ALL;
	tables->places |= options->places || options->context;
	tables->details |= options->source || tables->places;
}

void sample_tree_free(struct sample_tree *profile) {
	array_free(&profile->nodes);
	array_free(&profile->names[0]);
	array_free(&profile->names[1]);
	map_free(&profile->children);
	for (size_t i = 0; i < profile->label_nodes.count; i++) {
		struct label_nodes *nodes = &profile->label_nodes.items[i];
		for (size_t k = 0; k < nodes->pages.count; k++)
			free(nodes->pages.items[k]);
		array_free(&nodes->pages);
	}
	array_free(&profile->label_nodes);
	map_free(&profile->label_numbers);
	array_free(&profile->path);
	map_free(&profile->place_children);
	array_free(&profile->node_frames);
	map_free(&profile->labels);
	map_free(&profile->task_names);
	map_free(&profile->sources);
	map_free(&profile->other_names);
}

const char *sample_tree_event_name(const struct sample_tree *profile) {
	return profile->options.every_event ? "" : strings_get(profile->tables->strings, profile->event);
}

// The software clocks count nanoseconds, as the clock of Windows does here.
bool sample_event_in_nanoseconds(const char *name) {
	return strncmp(name, "cpu-clock", 9) == 0 || strncmp(name, "task-clock", 10) == 0 ||
	       strcmp(name, EVENT_OFF_CPU) == 0 || strcmp(name, EVENT_CPU_SAMPLES) == 0 ||
	       strcmp(name, EVENT_CRITICAL_PATH) == 0;
}

bool sample_tree_in_nanoseconds(const struct sample_tree *profile) {
	return sample_event_in_nanoseconds(sample_tree_event_name(profile));
}

bool sample_tree_is_weighted(const struct sample_tree *profile) {
	return !profile->metric && !profile->divisor && !profile->base_divisor &&
	       (profile->weight != profile->samples || profile->base_weight != profile->base_samples);
}

struct sample_unit sample_tree_shown(const struct sample_tree *profile) {
	const char *event = sample_tree_event_name(profile);
	if (profile->metric || !sample_tree_is_weighted(profile))
		return (struct sample_unit){sample_tree_unit(profile), 1};
	if (sample_tree_in_nanoseconds(profile))
		return (struct sample_unit){"ms", 1e-6};
	return (struct sample_unit){*event ? event : sample_tree_unit(profile), 1};
}

const char *sample_tree_unit(const struct sample_tree *profile) {
	if (!profile->metric)
		return "samples";
	uint32_t name = profile->heap_units[profile->metric->unit];
	return name ? strings_get(profile->tables->strings, name) : heap_unit_names[profile->metric->unit];
}

bool sample_tree_in_bytes(const struct sample_tree *profile) {
	return profile->metric && strcmp(sample_tree_unit(profile), "bytes") == 0;
}

// Folded stacks do not have the number of samples. Small weights are samples themselves; if all large ones
// are multiples of one large number, that is the period of a sample.
static void guess_samples(uint64_t *samples, uint64_t weight, uint64_t divisor) {
	enum { LARGE = 1000 };
	if (!divisor || !*samples)
		return;
	if (weight / *samples < LARGE)
		*samples = weight;
	else if (divisor > LARGE)
		*samples = weight / divisor;
}

// A child is made after its parent, so one pass from the end adds up.
void sample_tree_finish(struct sample_tree *profile) {
	guess_samples(&profile->samples, profile->weight, profile->divisor);
	guess_samples(&profile->base_samples, profile->base_weight, profile->base_divisor);
	for (size_t i = 0; i < profile->nodes.count; i++) {
		struct sample_node *node = &profile->nodes.items[i];
		node->total = node->self;
		node->base_total = node->base_self;
		node->samples = node->self_samples;
	}
	for (size_t i = profile->nodes.count; i-- > 1;) {
		struct sample_node *node = &profile->nodes.items[i];
		profile->nodes.items[node->parent].total += node->total;
		profile->nodes.items[node->parent].base_total += node->base_total;
		profile->nodes.items[node->parent].samples += node->samples;
	}
	if (profile->left_out && !profile->options.event && !profile->metric)
		log_warning("only samples of %s are counted; %" PRIu64
			    " of other events are left out (--event-filter chooses)",
			    strings_get(profile->tables->strings, profile->event), profile->left_out);
}
