// Samples repeat: a stack of addresses that the same address space has had before is
// found again by one lookup. An address space is new whenever its process maps
// something or executes.
#include "event/locate.h"
#include "event/points.h"
#include "event/script.h"
#include "event/spaces.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_FRAMES = 512, MOST_INLINED = 32 };

struct locate {
	struct sink sink;
	struct sink *next;
	struct tables *tables;
	struct spaces spaces;
	struct map versions;  // pid → which of all address spaces it has
	struct map known;     // version and raw stack, hashed → stack + 1
	struct map functions; // of the kernel, by an address in them → the string of the name + 1
	struct scripted scripted;
	uint64_t version;
	uint64_t kernel_text;
	uint32_t kernel_module, kernel_build;
	uint32_t off_cpu; // name of the samples of waits
};

static void changed(struct locate *locate, uint32_t pid) {
	*map_put(&locate->versions, pid) = ++locate->version;
}

// A caller's address is a return address: the call is before it.
static struct frame code_at(struct locate *locate, uint32_t pid, const struct frame *raw, bool caller) {
	struct frame frame = {.address = raw->address - (caller && raw->address), .kind = raw->kind};
	if (raw->kind == FRAME_KERNEL) {
		frame.module = locate->kernel_module;
		frame.build_id = locate->kernel_build;
		frame.position = frame.address - locate->kernel_text;
		return frame;
	}
	struct space *space = space_of(&locate->spaces, pid);
	const struct space_map *map = space_find(space, frame.address);
	return map ? space_frame(space, map, frame.address) : frame;
}

static uint32_t add_code(struct locate *locate, uint32_t stack, const struct frame *frame) {
	struct tables *tables = locate->tables;
	uint32_t ids[MOST_INLINED];
	size_t count = 0;
	if (tables->symbolizer)
		count = tables->symbolizer->resolve(tables->symbolizer, tables, frame, ids, MOST_INLINED);
	if (!count)
		ids[count++] = stacks_add_frame(tables->stacks, frame);
	while (count)
		stack = stacks_add(tables->stacks, stack, ids[--count]);
	return stack;
}

// A raw stack on top of one that is located already.
static uint32_t located(struct locate *locate, uint32_t pid, uint32_t raw, uint32_t stack) {
	struct stacks *stacks = locate->tables->stacks;
	uint32_t frames[MOST_FRAMES];
	size_t count = 0;
	for (const struct stack *at = stacks_get(stacks, raw); at && count < MOST_FRAMES;
	     at = stacks_get(stacks, at->caller))
		frames[count++] = at->frame;
	for (size_t i = count; i-- > 0;) {
		struct frame frame = *stacks_frame(stacks, frames[i]);
		if (frame.symbol) { // stands for frames that are missing
			stack = stacks_add(stacks, stack, frames[i]);
			continue;
		}
		// The innermost frames of both halves are where the task was, the others where calls return
		// to.
		bool inner = i == 0 || stacks_frame(stacks, frames[i - 1])->kind != frame.kind;
		struct frame code = code_at(locate, pid, &frame, !inner);
		stack = add_code(locate, stack, &code);
	}
	return stack;
}

// With the frames of an interpreter, if there are any. They cannot be put in place if some of the machine's
// are missing.
static void add_script(struct locate *locate, struct event *named, bool waits) {
	uint32_t script = named->sample.script;
	named->sample.script = 0;
	if (script && !(named->sample.flags & (SAMPLE_BROKEN | SAMPLE_CUT)))
		named->sample.stack = scripted_stack(&locate->scripted, locate->tables, named->sample.stack,
						     script, waits || locate->tables->places);
}

// ---- copied stacks ----

struct finding {
	struct locate *locate;
	uint32_t pid;
};

static bool find_code(void *context, uint64_t address, struct frame *frame) {
	const struct finding *finding = context;
	*frame = code_at(finding->locate, finding->pid,
			 &(struct frame){.address = address, .kind = FRAME_USER}, false);
	return frame->module;
}

// The copy was too small.
static uint32_t add_cut(struct tables *tables, size_t frames) {
	char text[64];
	snprintf(text, sizeof(text), "[cut at %zu frames]", frames);
	struct frame frame = {.kind = FRAME_USER, .symbol = strings_add(tables->strings, text)};
	return stacks_add(tables->stacks, 0, stacks_add_frame(tables->stacks, &frame));
}

// Walks the user's half now, below the kernel's half that is already there.
static uint32_t walk_copy(struct locate *locate, const struct event *event, bool *complete, bool *beyond) {
	enum { X86_FIRST = 5, X86_FRAME = 6, X86_STACK = 7, X86_PC = 8 }; // perf's numbers
	struct tables *tables = locate->tables;
	const struct sample_copy *copy = event->sample.copy;
	struct finding finding = {.locate = locate, .pid = event->pid};
	struct user_state state = {.machine = MACHINE_X86_64,
				   .valid = 1 << X86_FRAME | 1 << X86_STACK | 1 << X86_PC,
				   .stack = copy->bytes,
				   .stack_size = copy->size,
				   .top = copy->top,
				   .beyond = beyond,
				   .find = find_code,
				   .context = &finding};
	state.registers[X86_FRAME] = copy->frame;
	state.registers[X86_STACK] = copy->stack;
	state.registers[X86_PC] = copy->pc;
	state.registers[X86_FIRST] = copy->first;
	state.valid |= (uint64_t)(copy->first != 0) << X86_FIRST;
	uint32_t ids[MOST_FRAMES], stack = 0;
	size_t count = tables->symbolizer->unwind(tables->symbolizer, tables, &state, ids, MOST_FRAMES,
						  complete);
	*beyond |= count == MOST_FRAMES;
	if (*beyond && !*complete)
		stack = add_cut(tables, count);
	while (count)
		stack = stacks_add(tables->stacks, stack, ids[--count]);
	return stack;
}

// execve() takes the old program's stack away before the new program begins: then the kernel's half is all.
static bool is_in_execve(const struct tables *tables, uint32_t stack) {
	for (const struct stack *at = stacks_get(tables->stacks, stack); at;
	     at = stacks_get(tables->stacks, at->caller)) {
		const struct frame *frame = stacks_frame(tables->stacks, at->frame);
		if (frame->kind == FRAME_KERNEL && frame->symbol &&
		    strstr(strings_get(tables->strings, frame->symbol), "execve"))
			return true;
	}
	return false;
}

static int take_copied(struct locate *locate, const struct event *event) {
	bool complete = false, beyond = false;
	struct event named = *event;
	uint32_t user = locate->tables->symbolizer ? walk_copy(locate, event, &complete, &beyond) : 0;
	named.sample.stack = located(locate, event->pid, event->sample.stack, user);
	if (!complete && is_in_execve(locate->tables, named.sample.stack)) {
		named.sample.stack = located(locate, event->pid, event->sample.stack, 0);
		complete = true;
	}
	named.sample.copy = NULL;
	named.sample.flags &= ~(uint32_t)(SAMPLE_RAW | SAMPLE_BROKEN | SAMPLE_CUT);
	if (!complete)
		named.sample.flags |= beyond ? SAMPLE_CUT : SAMPLE_BROKEN;
	add_script(locate, &named, event->sample.name == locate->off_cpu);
	return sink_push(locate->next, &named);
}

static int take_sample(struct locate *locate, const struct event *event) {
	bool waits = event->sample.name == locate->off_cpu;
	if (locate->tables->symbolizer)
		locate->tables->symbolizer->lines = waits;
	if (event->sample.copy)
		return take_copied(locate, event);
	uint64_t *version = map_get(&locate->versions, event->pid);
	uint64_t key[2] = {version ? *version : 0, event->sample.stack | (uint64_t)waits << 32};
	uint64_t *known = map_put(&locate->known, hash_bytes(key, sizeof(key)));
	uint64_t stack = *known;
	if (!stack) {
		stack = located(locate, event->pid, event->sample.stack, 0) + 1ull;
		*map_put(&locate->known, hash_bytes(key, sizeof(key))) = stack;
	}
	struct event named = *event;
	named.sample.stack = (uint32_t)(stack - 1);
	named.sample.flags &= ~(uint32_t)SAMPLE_RAW;
	add_script(locate, &named, waits);
	return sink_push(locate->next, &named);
}

// For an unknown address, the address itself.
static uint32_t function_at(struct locate *locate, uint64_t address) {
	struct tables *tables = locate->tables;
	uint64_t *known = map_put(&locate->functions, address);
	if (*known)
		return (uint32_t)(*known - 1);
	struct frame frame = code_at(locate, 0, &(struct frame){.address = address, .kind = FRAME_KERNEL},
				     false);
	uint32_t ids[MOST_INLINED], name = 0;
	size_t count = tables->symbolizer && locate->kernel_text
			       ? tables->symbolizer->resolve(tables->symbolizer, tables, &frame, ids,
							     MOST_INLINED)
			       : 0;
	if (count)
		name = stacks_frame(tables->stacks, ids[count - 1])->symbol;
	if (!name) {
		char text[24];
		snprintf(text, sizeof(text), "0x%" PRIx64, address);
		name = strings_add(tables->strings, text);
	}
	*known = name + 1ull;
	return name;
}

static int take_point(struct locate *locate, const struct event *event) {
	const struct point *point = &points[event->point.number];
	struct event named = *event;
	for (size_t i = 0; i < POINT_MOST_FIELDS && point->fields[i].name; i++) {
		uint64_t *value = &named.point.values[point->fields[i].place % POINT_VALUES];
		if (point->fields[i].type == POINT_CODE && *value > UINT32_MAX)
			*value = function_at(locate, *value);
	}
	return sink_push(locate->next, &named);
}

static void take_fact(struct locate *locate, const struct event *event) {
	struct strings *strings = locate->tables->strings;
	const char *key = strings_get(strings, event->meta.key);
	if (strcmp(key, "kernel-text") == 0)
		locate->kernel_text = strtoull(strings_get(strings, event->meta.value), NULL, 16);
	else if (strcmp(key, "kernel-build-id") == 0)
		locate->kernel_build = event->meta.value;
}

static __attribute__((noinline)) int take(struct locate *locate, const struct event *event) {
	uint64_t *version;
	switch (event->kind) {
	case EVENT_META:
		take_fact(locate, event);
		break;
	case EVENT_MAPPING:
		spaces_learn(&locate->spaces, locate->tables->strings, event);
		changed(locate, event->pid);
		break;
	case EVENT_FORK:
		if (event->fork.child_pid == event->pid)
			break;
		spaces_learn(&locate->spaces, locate->tables->strings, event);
		version = map_get(&locate->versions, event->pid);
		if (version) {
			uint64_t same = *version;
			*map_put(&locate->versions, event->fork.child_pid) = same;
		}
		break;
	case EVENT_SAMPLE:
		if (event->sample.flags & SAMPLE_RAW)
			return take_sample(locate, event);
		break;
	case EVENT_POINT:
		if (point_names_code(&points[event->point.number]))
			return take_point(locate, event);
		break;
	}
	return sink_push(locate->next, event);
}

// Most events are of other kinds: they go by without a stack frame.
static int push(struct sink *sink, const struct event *event) {
	enum {
		TAKEN = 1 << EVENT_META | 1 << EVENT_MAPPING | 1 << EVENT_FORK | 1 << EVENT_SAMPLE |
			1 << EVENT_POINT
	};
	struct locate *locate = CONTAINER_OF(sink, struct locate, sink);
	return 1 << event->kind & TAKEN ? take(locate, event) : sink_push(locate->next, event);
}

static int finish(struct sink *sink) {
	return sink_finish(CONTAINER_OF(sink, struct locate, sink)->next);
}

static void destroy(struct sink *sink) {
	struct locate *locate = CONTAINER_OF(sink, struct locate, sink);
	sink_destroy(locate->next);
	spaces_free(&locate->spaces);
	map_free(&locate->versions);
	map_free(&locate->known);
	map_free(&locate->functions);
	scripted_free(&locate->scripted);
	free(locate);
}

struct sink *locate_new(struct tables *tables, struct sink *next) {
	struct locate *locate = memory_alloc(sizeof(*locate));
	locate->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	locate->next = next;
	locate->tables = tables;
	locate->kernel_module = strings_add(tables->strings, "[kernel.kallsyms]");
	locate->off_cpu = strings_add(tables->strings, EVENT_OFF_CPU);
	return &locate->sink;
}
