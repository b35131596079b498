#include "write/page/runs.h"

#include <stdlib.h>

struct span {
	uint64_t from, to;
};

typedef ARRAY(struct spans { ARRAY(struct span) list; }) all_spans;

// A file may claim any CPU: there is an entry for each that ran something, not for each number below it.
static uint32_t place_of(struct page_runs *runs, all_spans *all, uint16_t cpu) {
	uint64_t *place = map_put(&runs->by_cpu, cpu);
	if (!*place) {
		array_push(all, (struct spans){0});
		array_push(&runs->cpus, (struct page_turns){.cpu = cpu});
		*place = runs->cpus.count;
	}
	return (uint32_t)*place - 1;
}

static void collect(struct page_runs *runs, all_spans *all, const struct page_trace *trace) {
	for (size_t i = 0; i < trace->threads.count; i++) {
		const struct page_thread *thread = &trace->threads.items[i];
		for (size_t j = 0; j < thread->states.count; j++) {
			const struct page_state *state = &thread->states.items[j];
			if (!page_state_runs(state))
				continue;
			uint32_t place = place_of(runs, all, state->cpu); // may move the items
			array_push(&all->items[place].list,
				   (struct span){state->start, page_state_end(trace, thread, j)});
		}
	}
}

static int by_end(const void *a, const void *b) {
	const struct span *one = a, *two = b;
	return one->to != two->to ? (one->to > two->to) - (one->to < two->to)
				  : (one->from > two->from) - (one->from < two->from);
}

// As many spans as can follow each other, as a list of the times at which they begin or end. Those that end
// first are taken first: one that lasts for too long must not hide all that are inside it.
static void join(struct page_turns *turns, struct spans *spans) {
	uint64_t end = 0;
	if (spans->list.count)
		qsort(spans->list.items, spans->list.count, sizeof(*spans->list.items), by_end);
	for (size_t i = 0; i < spans->list.count; i++) {
		const struct span *span = &spans->list.items[i];
		if (span->from < end || span->to <= span->from)
			continue;
		if (!turns->times.count || span->from != end)
			array_push(&turns->times, span->from);
		array_push(&turns->times, span->to);
		end = span->to;
	}
}

// The first time in the list that is not before this one.
static size_t find(const struct page_turns *turns, uint64_t time) {
	size_t low = 0, high = turns->times.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (turns->times.items[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t turn_of(const struct page_runs *runs, const struct page_trace *trace,
			const struct page_thread *thread, size_t number) {
	const struct page_state *state = &thread->states.items[number];
	const struct page_turns *turns = &runs->cpus.items[*map_get(&runs->by_cpu, state->cpu) - 1];
	size_t at = find(turns, state->start);
	bool ready = number && !page_state_runs(state - 1);
	if (at + 1 >= turns->times.count || turns->times.items[at] != state->start ||
	    turns->times.items[at + 1] != page_state_end(trace, thread, number))
		return 0;
	return (uint32_t)(at - (ready ? find(turns, state[-1].start) : at) + 1);
}

void page_runs_init(struct page_runs *runs, const struct page_trace *trace) {
	all_spans all = {0};
	*runs = (struct page_runs){0};
	collect(runs, &all, trace);
	for (size_t i = 0; i < all.count; i++) {
		join(&runs->cpus.items[i], &all.items[i]);
		array_free(&all.items[i].list);
	}
	array_free(&all);
	for (size_t i = 0; i < trace->threads.count; i++) {
		const struct page_thread *thread = &trace->threads.items[i];
		for (size_t j = 0; j < thread->states.count; j++)
			if (page_state_runs(&thread->states.items[j]))
				array_push(&runs->turns, turn_of(runs, trace, thread, j));
	}
}

void page_runs_free(struct page_runs *runs) {
	for (size_t i = 0; i < runs->cpus.count; i++)
		array_free(&runs->cpus.items[i].times);
	array_free(&runs->cpus);
	map_free(&runs->by_cpu);
	array_free(&runs->turns);
}
