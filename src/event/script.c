#include "event/script.h"

#include <string.h>

enum { MOST_FRAMES = 1024 };

// The frames of a stack, innermost first. Returns how many; 0 if there are too many.
static size_t frames_of(const struct tables *tables, uint32_t stack, uint32_t *frames) {
	size_t count = 0;
	for (const struct stack *at = stacks_get(tables->stacks, stack); at;
	     at = stacks_get(tables->stacks, at->caller)) {
		if (count == MOST_FRAMES)
			return 0;
		frames[count++] = at->frame;
	}
	return count;
}

// With its perf trampoline, Python names its functions itself.
static bool names_itself(const struct tables *tables, const struct frame *frame) {
	return frame->kind == FRAME_JIT &&
	       strncmp(strings_get(tables->strings, frame->symbol), "py::", 4) == 0;
}

static bool is_boundary(const struct tables *tables, uint32_t frame) {
	return !stacks_frame(tables->stacks, frame)->symbol;
}

// Finds the interpreter's calls. False if these frames already have names of scripts.
static bool find_calls(const struct scripted *scripted, const struct tables *tables, const uint32_t *frames,
		       size_t count, size_t *calls) {
	*calls = 0;
	for (size_t i = 0; i < count; i++) {
		const struct frame *frame = stacks_frame(tables->stacks, frames[i]);
		if (names_itself(tables, frame))
			return false;
		*calls += frame->symbol == scripted->function && frame->kind == FRAME_USER;
	}
	return true;
}

// How many of the interpreter's innermost calls have no frames of their own yet, or no longer: 0 or 1; -1 if
// the two stacks do not agree. A script that is cut has no boundary at its end; of more calls than it has
// parts, it is not known which of them are missing.
static int calls_without_frames(const struct tables *tables, const uint32_t *script, size_t count,
				size_t calls) {
	size_t parts = 0;
	for (size_t i = 0; i < count; i++)
		parts += is_boundary(tables, script[i]);
	bool cut = !is_boundary(tables, script[count - 1]);
	parts += cut;
	return parts == calls ? 0 : parts + 1 == calls && !cut ? 1 : -1;
}

static uint32_t without_line(struct tables *tables, uint32_t id) {
	struct frame frame = *stacks_frame(tables->stacks, id);
	frame.at_file = frame.at_line = 0;
	return stacks_add_frame(tables->stacks, &frame);
}

struct mixing {
	struct tables *tables;
	const uint32_t *script;
	size_t left; // frames of the script
	uint32_t stack;
	bool lines;
};

// Adds the outermost part that is left, for one call of the interpreter. False if it is empty.
static bool add_part(struct mixing *mixing) {
	bool any = false;
	if (mixing->left && is_boundary(mixing->tables, mixing->script[mixing->left - 1]))
		mixing->left--;
	for (; mixing->left && !is_boundary(mixing->tables, mixing->script[mixing->left - 1]); any = true) {
		uint32_t frame = mixing->script[--mixing->left];
		mixing->stack = stacks_add(mixing->tables->stacks, mixing->stack,
					   mixing->lines ? frame : without_line(mixing->tables, frame));
	}
	return any;
}

static uint32_t mix(const struct scripted *scripted, struct tables *tables, uint32_t stack, uint32_t script,
		    bool lines) {
	uint32_t frames[MOST_FRAMES], parts[MOST_FRAMES];
	size_t count = frames_of(tables, stack, frames), part_count = frames_of(tables, script, parts), calls;
	if (!count || !part_count || !find_calls(scripted, tables, frames, count, &calls))
		return stack;
	int bare = calls_without_frames(tables, parts, part_count, calls);
	if (bare < 0)
		return stack;
	struct mixing mixing = {tables, parts, part_count, 0, lines};
	while (count--) {
		const struct frame *frame = stacks_frame(tables->stacks, frames[count]);
		bool call = frame->symbol == scripted->function && frame->kind == FRAME_USER;
		if (call && calls-- > (size_t)bare && add_part(&mixing))
			continue;
		mixing.stack = stacks_add(tables->stacks, mixing.stack, frames[count]);
	}
	return mixing.stack;
}

uint32_t scripted_stack(struct scripted *scripted, struct tables *tables, uint32_t stack, uint32_t script,
			bool lines) {
	if (!scripted->function)
		scripted->function = strings_add(tables->strings, "_PyEval_EvalFrameDefault");
	const uint32_t key[] = {stack, script, lines};
	uint64_t hash = hash_bytes(key, sizeof(key)), *known = map_put(&scripted->known, hash);
	if (!*known)
		*known = mix(scripted, tables, stack, script, lines) + 1ull;
	return (uint32_t)(*known - 1);
}

void scripted_free(struct scripted *scripted) {
	map_free(&scripted->known);
}
