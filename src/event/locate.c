// Samples repeat: a stack of addresses that the same address space has had before is
// found again by one lookup. An address space is new whenever its process maps
// something or executes.
#include "event/locate.h"
#include "event/spaces.h"

#include <string.h>

enum { MOST_FRAMES = 512, MOST_INLINED = 32 };

struct locate {
	struct sink sink;
	struct sink *next;
	struct tables *tables;
	struct spaces spaces;
	struct map versions; // pid → which of all address spaces it has
	struct map known;    // version and raw stack, hashed → stack + 1
	uint64_t version;
	uint64_t kernel_text;
	uint32_t kernel_module, kernel_build;
};

static void changed(struct locate *locate, uint32_t pid) {
	*map_put(&locate->versions, pid) = ++locate->version;
}

// A caller's address is where the call returns to: the call is before it.
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
		// The innermost frames of both halves are where the task was, the others where calls return
		// to.
		bool inner = i == 0 || stacks_frame(stacks, frames[i - 1])->kind != frame.kind;
		struct frame code = code_at(locate, pid, &frame, !inner);
		stack = add_code(locate, stack, &code);
	}
	return stack;
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

// The user's half walked now, under the kernel's half that is there.
static uint32_t walk_copy(struct locate *locate, const struct event *event, bool *complete) {
	enum { X86_FRAME = 6, X86_STACK = 7, X86_PC = 8 }; // perf's numbers
	struct tables *tables = locate->tables;
	const struct sample_copy *copy = event->sample.copy;
	struct finding finding = {.locate = locate, .pid = event->pid};
	struct user_state state = {.machine = MACHINE_X86_64,
				   .valid = 1 << X86_FRAME | 1 << X86_STACK | 1 << X86_PC,
				   .stack = copy->bytes,
				   .stack_size = copy->size,
				   .find = find_code,
				   .context = &finding};
	state.registers[X86_FRAME] = copy->frame;
	state.registers[X86_STACK] = copy->stack;
	state.registers[X86_PC] = copy->pc;
	uint32_t ids[MOST_FRAMES], stack = 0;
	size_t count = tables->symbolizer->unwind(tables->symbolizer, tables, &state, ids, MOST_FRAMES,
						  complete);
	while (count)
		stack = stacks_add(tables->stacks, stack, ids[--count]);
	return stack;
}

static int take_copied(struct locate *locate, const struct event *event) {
	bool complete = false;
	struct event named = *event;
	uint32_t user = locate->tables->symbolizer ? walk_copy(locate, event, &complete) : 0;
	named.sample.stack = located(locate, event->pid, event->sample.stack, user);
	named.sample.copy = NULL;
	named.sample.flags &= ~(uint32_t)(SAMPLE_RAW | SAMPLE_BROKEN);
	if (!complete)
		named.sample.flags |= SAMPLE_BROKEN;
	return sink_push(locate->next, &named);
}

static int take_sample(struct locate *locate, const struct event *event) {
	if (event->sample.copy)
		return take_copied(locate, event);
	uint64_t *version = map_get(&locate->versions, event->pid);
	uint64_t key[2] = {version ? *version : 0, event->sample.stack};
	uint64_t *known = map_put(&locate->known, hash_bytes(key, sizeof(key)));
	uint64_t stack = *known;
	if (!stack) {
		stack = located(locate, event->pid, event->sample.stack, 0) + 1ull;
		*map_put(&locate->known, hash_bytes(key, sizeof(key))) = stack;
	}
	struct event named = *event;
	named.sample.stack = (uint32_t)(stack - 1);
	named.sample.flags &= ~(uint32_t)SAMPLE_RAW;
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

static int push(struct sink *sink, const struct event *event) {
	struct locate *locate = CONTAINER_OF(sink, struct locate, sink);
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
	}
	return sink_push(locate->next, event);
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
	free(locate);
}

struct sink *locate_new(struct tables *tables, struct sink *next) {
	struct locate *locate = memory_alloc(sizeof(*locate));
	locate->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	locate->next = next;
	locate->tables = tables;
	locate->kernel_module = strings_add(tables->strings, "[kernel.kallsyms]");
	return &locate->sink;
}
