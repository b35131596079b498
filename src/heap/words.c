#include "heap/words.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

enum { SHOWN = 3 };

struct place { // a function and where it is called
	uint32_t frame;
	uint64_t bytes;
};

typedef ARRAY(struct place) place_array;

// Modules whose functions do not show which code needed the memory.
static bool is_of_system(const struct heap_label *label) {
	static const char *const libraries[] = {"libc.so*", "libstdc++.so*", "libc++*.so*", "ld-*.so*"};
	const char *slash = strrchr(label->module, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(libraries); i++)
		if (fnmatch(libraries[i], slash + 1, 0) == 0)
			return true;
	return false;
}

// The innermost frame of the program's own code, or else the innermost frame.
static uint32_t frame_of(const struct heap_made *made, const struct dhat_point *point) {
	const uint32_t *stack = &made->profile.stacks.items[point->first_frame];
	for (size_t i = 0; i < point->frame_count; i++)
		if (!is_of_system(&made->labels.items[stack[i]]))
			return stack[i];
	return *stack;
}

static void add_place(place_array *places, uint32_t frame, uint64_t bytes) {
	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].frame == frame) {
			places->items[i].bytes += bytes;
			return;
		}
	array_push(places, (struct place){frame, bytes});
}

static int by_bytes(const void *left, const void *right) {
	const struct place *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->frame < b->frame ? -1 : a->frame > b->frame;
}

static void append_place(const struct heap_made *made, const struct place *place, uint64_t whole,
			 const char *margin, struct buffer *out) {
	const char *frame = made->profile.frames.items[place->frame], *name = strstr(frame, ": ");
	char size[16];
	buffer_printf(out, "%s%5.1f %%  %9s  %.200s\n", margin, 100 * (double)place->bytes / (double)whole,
		      file_size_words(place->bytes, size), name ? name + 2 : frame);
}

void heap_words(const struct heap_made *made, const char *margin, struct buffer *out) {
	struct heap_sums sums = {0};
	place_array places = {0};
	char words[3][16];
	for (size_t i = 0; i < made->profile.points.count; i++) {
		const struct dhat_point *point = &made->profile.points.items[i];
		if (point->peak_bytes)
			add_place(&places, frame_of(made, point), point->peak_bytes);
	}
	heap_add_sums(&sums, made);
	if (!sums.blocks)
		return;
	buffer_printf(out, "%s%s%s in %" PRIu64 " block%s; at most %s at once, %s at the end\n", margin,
		      made->profile.sample ? "about " : "", file_size_words(sums.bytes, words[0]),
		      sums.blocks, sums.blocks == 1 ? "" : "s", file_size_words(sums.peak, words[1]),
		      file_size_words(sums.left, words[2]));
	if (places.count)
		qsort(places.items, places.count, sizeof(*places.items), by_bytes);
	for (size_t i = 0; i < MIN(places.count, SHOWN); i++)
		append_place(made, &places.items[i], sums.peak, margin, out);
	array_free(&places);
}
