// A recording in a few thousand states, for large pages: the time line can be used while the rest is still
// unpacked. The time is divided into equal parts, fewer if there are many threads; a thread has one state for
// each, which is what most of that part was, as a pixel is.
#include "write/page/trace.h"

enum { MOST_PARTS = 256, LEAST_PARTS = 16, ENOUGH_STATES = 16 << 10, PIECES_OF_PATH = 1024 };

struct bucket {
	uint64_t sums[COLOUR_COUNT];
	struct page_state last[COLOUR_COUNT]; // the newest state of each colour
};

static void close_bucket(struct page_thread *to, const struct bucket *bucket, uint64_t start,
			 enum page_colour *before) {
	int most = -1;
	for (int i = 0; i < COLOUR_COUNT; i++)
		if (bucket->sums[i] && (most < 0 || bucket->sums[i] > bucket->sums[most]))
			most = i;
	if (most < 0 || (to->states.count && (enum page_colour)most == *before))
		return;
	struct page_state state = bucket->last[most];
	state.start = start;
	state.kind &= PAGE_STATE_KIND;
	state.what = 0;
	array_push(&to->states, state);
	*before = (enum page_colour)most;
}

static void reduce_thread(const struct page_trace *trace, const struct page_thread *from,
			  struct page_thread *to, uint64_t part) {
	uint64_t end = 0, start = 0;
	enum page_colour before = COLOUR_ENDED;
	struct bucket bucket = {0};
	to->states = (__typeof__(to->states)){0};
	for (size_t i = 0; i < from->states.count; i++) {
		const struct page_state *state = &from->states.items[i];
		enum page_colour colour = page_state_colour(trace, state);
		uint64_t at = state->start, until = page_state_end(trace, from, i);
		if (!end) {
			start = at;
			end = trace->first + ((at - MIN(at, trace->first)) / part + 1) * part;
		}
		for (; at < until; at = MIN(until, end)) {
			if (at >= end) {
				close_bucket(to, &bucket, start, &before);
				bucket = (struct bucket){0};
				start = end;
				end += part;
			}
			bucket.sums[colour] += MIN(until, end) - at;
			bucket.last[colour] = *state;
		}
	}
	if (from->states.count)
		close_bucket(to, &bucket, start, &before);
}

// The piece of the path that is there at the beginning of each part of the time.
static void reduce_path(const struct page_trace *trace, struct page_trace *to) {
	uint64_t part = (trace->last - trace->first) / PIECES_OF_PATH + 1, end = 0;
	to->path = (__typeof__(to->path)){0};
	for (size_t i = 0; i < trace->path.count; i++) {
		const struct page_piece *piece = &trace->path.items[i];
		if (piece->to < end)
			continue;
		if (to->path.count)
			to->path.items[to->path.count - 1].to = piece->from;
		array_push(&to->path, *piece);
		end = piece->from + part;
	}
}

void page_trace_overview(struct page_trace *trace, struct columns *columns) {
	struct page_trace small = *trace;
	small.samples.count = small.sample_kinds.count = small.series.count = 0;
	small.events.count = small.lost.count = 0;
	small.threads = (__typeof__(small.threads)){0};
	uint64_t parts = MAX(ENOUGH_STATES / MAX(trace->threads.count, (size_t)1), (size_t)LEAST_PARTS);
	uint64_t part = (trace->last - trace->first) / MIN(parts, (uint64_t)MOST_PARTS) + 1;
	for (size_t i = 0; i < trace->threads.count; i++) {
		struct page_thread thread = trace->threads.items[i];
		reduce_thread(trace, &trace->threads.items[i], &thread, part);
		array_push(&small.threads, thread);
	}
	reduce_path(trace, &small);
	page_trace_columns(&small, columns);
	for (size_t i = 0; i < small.threads.count; i++)
		array_free(&small.threads.items[i].states);
	array_free(&small.threads);
	array_free(&small.path);
}
