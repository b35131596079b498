// The time line as a static picture. Each pixel has the colour of what took most of its time. Colours are
// attributes: a policy that forbids styles, as that of Jenkins, does not touch them.
#include "write/page/trace.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
	WIDTH = 1000,
	GUTTER = 150,
	PLOT = WIDTH - GUTTER,
	ROW = 20,
	MOST_THREADS = 14,
	TOP = 18,
	LEGEND = 22
};

const struct page_colour_words page_colours[COLOUR_COUNT] = {
	[COLOUR_RUNS] = {"#3fae5a", "running"},
	[COLOUR_READY] = {"#f0b429", "ready, no CPU is free"},
	[COLOUR_LOCK] = {"#a97be0", "waits for a lock"},
	[COLOUR_DISK] = {"#ef7d52", "waits for disk or memory"},
	[COLOUR_WAITS] = {"#7d93ad", "waits for others"},
	[COLOUR_SLEEPS] = {"#b9c2cd", "sleeps"},
	[COLOUR_ENDED] = {"none", ""},
};

static void rectangle(struct buffer *out, int x, unsigned y, int width, unsigned height,
		      enum page_colour colour) {
	bool thin = colour == COLOUR_WAITS || colour == COLOUR_SLEEPS;
	if (colour == COLOUR_ENDED || width <= 0)
		return;
	buffer_printf(out, "<rect x=\"%d\" y=\"%u\" width=\"%d\" height=\"%u\" fill=\"%s\"/>", x,
		      thin ? y + height / 2 - 1 : y, width, thin ? 3 : height, page_colours[colour].fill);
}

// ---- rows ----

static enum page_colour most_of(const uint64_t sums[COLOUR_COUNT]) {
	enum page_colour most = COLOUR_ENDED;
	uint64_t largest = 0;
	for (int i = 0; i < COLOUR_COUNT; i++)
		if (sums[i] > largest) {
			largest = sums[i];
			most = (enum page_colour)i;
		}
	return most;
}

static void draw_thread(struct buffer *out, const struct page_trace *trace, const struct page_thread *thread,
			unsigned y) {
	double per = (double)(trace->last - trace->first) / PLOT;
	enum page_colour run = COLOUR_ENDED;
	size_t state = 0;
	int begun = 0;
	for (int pixel = 0; pixel <= PLOT; pixel++) {
		uint64_t from = trace->first + (uint64_t)(per * pixel),
			 to = trace->first + (uint64_t)(per * (pixel + 1));
		uint64_t sums[COLOUR_COUNT] = {0};
		for (; pixel < PLOT && state < thread->states.count; state++) {
			uint64_t begin = MAX(thread->states.items[state].start, from);
			uint64_t end = page_state_end(trace, thread, state);
			if (begin < MIN(end, to))
				sums[page_state_colour(trace, &thread->states.items[state])] += MIN(end, to) -
												begin;
			if (end > to)
				break;
		}
		enum page_colour colour = most_of(sums);
		if (colour == run && pixel < PLOT)
			continue;
		rectangle(out, GUTTER + begun, y + 2, pixel - begun, ROW - 4, run);
		run = colour;
		begun = pixel;
	}
}

static enum page_colour colour_of_piece(const struct page_trace *trace, const char *name) {
	size_t length = strcspn(name, ":");
	const struct page_reasons *reasons = &trace->reasons;
	for (size_t i = 0; i < reasons->count; i++)
		if (strlen(reasons->names[i]) == length && strncmp(reasons->names[i], name, length) == 0)
			return (enum page_colour)reasons->colours[i];
	return COLOUR_WAITS;
}

static void draw_path(struct buffer *out, const struct page_trace *trace, unsigned y) {
	double scale = PLOT / (double)(trace->last - trace->first);
	for (size_t i = 0; i < trace->path.count; i++) {
		const struct page_piece *piece = &trace->path.items[i];
		const char *name = strings_get(trace->tables->strings, piece->name);
		double x = GUTTER + (double)(piece->from - MIN(piece->from, trace->first)) * scale;
		double width = (double)(piece->to - piece->from) * scale;
		enum page_colour colour = colour_of_piece(trace, name);
		buffer_printf(out, "<rect x=\"%.1f\" y=\"%u\" width=\"%.1f\" height=\"%u\" fill=\"%s\"/>", x,
			      y + 2, MAX(width, 0.3), ROW - 4, page_colours[colour].fill);
		if (width < 60)
			continue;
		buffer_printf(out, "<text x=\"%.1f\" y=\"%u\">", x + 4, y + 14);
		text_xml_cut(out, name, strlen(name), (size_t)(width / 6.5));
		buffer_text(out, "</text>");
	}
}

static void label(struct buffer *out, const char *name, unsigned y) {
	buffer_printf(out, "<text x=\"4\" y=\"%u\">", y + 14);
	text_xml_cut(out, name, strlen(name), 22);
	buffer_text(out, "</text>");
}

// ---- which ----

struct chosen {
	const struct page_thread *thread;
	uint64_t ran;
};

static int compare_chosen(const void *a, const void *b) {
	const struct chosen *left = a, *right = b;
	if (left->thread->path_ns != right->thread->path_ns)
		return left->thread->path_ns > right->thread->path_ns ? -1 : 1;
	if (left->ran != right->ran)
		return left->ran > right->ran ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static uint64_t time_running(const struct page_trace *trace, const struct page_thread *thread) {
	uint64_t sum = 0;
	for (size_t i = 0; i < thread->states.count; i++)
		if (thread->states.items[i].kind == PAGE_RUNS)
			sum += page_state_end(trace, thread, i) - thread->states.items[i].start;
	return sum;
}

typedef ARRAY(struct chosen) chosen_list;

static void choose(const struct page_trace *trace, chosen_list *list) {
	for (size_t i = 0; i < trace->threads.count; i++) {
		const struct page_thread *thread = &trace->threads.items[i];
		if (thread->tid && thread->tid < TID_OUTSIDE && thread->states.count &&
		    (!thread->outside || thread->path_ns))
			array_push(list, (struct chosen){thread, time_running(trace, thread)});
	}
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_chosen);
}

// ---- the whole ----

static void draw_ruler(struct buffer *out, const struct page_trace *trace, unsigned height) {
	double span = (double)(trace->last - trace->first), step = 1;
	while (span / step > 10)
		step *= span / step > 50 ? 10 : span / step > 20 ? 5 : 2;
	for (double at = 0; at <= span; at += step) {
		double x = GUTTER + at / span * PLOT;
		buffer_printf(out,
			      "<path d=\"M%.1f %dV%u\" stroke=\"#d5dae1\"/><text x=\"%.1f\" y=\"13\" "
			      "fill=\"#5a6472\">%g %s</text>",
			      x, TOP, height, x + 3,
			      at / (step >= 1e9   ? 1e9
				    : step >= 1e6 ? 1e6
						  : 1e3),
			      step >= 1e9   ? "s"
			      : step >= 1e6 ? "ms"
					    : "µs");
	}
}

static void draw_legend(struct buffer *out, unsigned y) {
	double x = GUTTER;
	for (int i = 0; i < COLOUR_ENDED; i++) {
		buffer_printf(out,
			      "<rect x=\"%d\" y=\"%u\" width=\"12\" height=\"10\" fill=\"%s\"/><text "
			      "x=\"%d\" y=\"%u\">%s</text>",
			      (int)(x + 0.5), y + 6, page_colours[i].fill, (int)(x + 16.5), y + 15,
			      page_colours[i].words);
		x += 36 + 6.2 * (double)strlen(page_colours[i].words);
	}
}

void page_trace_picture(const struct page_trace *trace, struct buffer *out) {
	chosen_list chosen = {0};
	choose(trace, &chosen);
	size_t count = MIN(chosen.count, (size_t)MOST_THREADS);
	if (!count || trace->last <= trace->first) {
		array_free(&chosen);
		return;
	}
	unsigned path = trace->path.count ? ROW : 0, bottom = TOP + path + (unsigned)count * ROW;
	buffer_printf(out,
		      "<figure class=\"picture\"><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		      "height=\"%u\" viewBox=\"0 0 %d "
		      "%u\" role=\"img\" aria-label=\"Time line of %zu threads\" "
		      "font-family=\"system-ui,sans-serif\" font-size=\"12\">"
		      "<rect width=\"%d\" height=\"%u\" fill=\"#ffffff\"/>",
		      WIDTH, bottom + LEGEND, WIDTH, bottom + LEGEND, count, WIDTH, bottom + LEGEND);
	draw_ruler(out, trace, bottom);
	if (path) {
		label(out, "critical path", TOP);
		draw_path(out, trace, TOP);
	}
	for (size_t i = 0; i < count; i++) {
		unsigned y = TOP + path + (unsigned)i * ROW;
		label(out, strings_get(trace->tables->strings, chosen.items[i].thread->name), y);
		draw_thread(out, trace, chosen.items[i].thread, y);
	}
	draw_legend(out, bottom);
	buffer_text(out, "</svg><figcaption>");
	if (chosen.count > count)
		buffer_printf(out,
			      "%zu of %zu threads: those on the critical path, then those that ran longest. ",
			      count, chosen.count);
	buffer_text(
		out,
		"With JavaScript this becomes a time line to zoom and select in.</figcaption></figure>\n");
	array_free(&chosen);
}
