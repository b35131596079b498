// Takes a spool into a page: its columns must be base64 and its picture well-formed, whatever the names are.
#include "fuzz.h"

#include "../unit/sample_spool.h"
#include "event/blocked.h"
#include "event/locate.h"
#include "read/reader.h"
#include "write/page/html.h"
#include "write/page/trace.h"

#include <ctype.h>

static uint8_t some_reason(void *context, const struct page_state *state) {
	return (uint8_t)(state->what + state->reason);
}

// A call for each byte, or a comparison that the fuzzer traces, would take longer than the page.
static void check_base64(const struct buffer *text) {
	static bool known[256], filled;
	uint8_t bad = 0;
	for (int c = 0; c < 256 && !filled; c++)
		known[c] = isalnum(c) || c == '+' || c == '/' || c == '=';
	filled = true;
	for (size_t i = 0; i < text->size; i++)
		bad |= !known[text->data[i]];
	if (bad)
		abort();
}

// Elements are ours: every "<" begins one of these.
static void check_picture(const struct buffer *picture) {
	static const char *const tags[] = {"figure", "/figure", "svg ",  "/svg",       "rect ",
					   "text ",  "/text",   "path ", "figcaption", "/figcaption"};
	if (!picture->size)
		return;
	const uint8_t *at = picture->data, *end = at + picture->size;
	for (; (at = memchr(at, '<', (size_t)(end - at))); at++) {
		bool known = false;
		for (size_t j = 0; j < ARRAY_SIZE(tags) && !known; j++)
			known = strlen(tags[j]) < (size_t)(end - at) && at[1] == *tags[j] &&
				memcmp(at + 1, tags[j], strlen(tags[j])) == 0;
		if (!known)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static const char *const names[] = {"a", "b:", ""};
	static const uint8_t colours[] = {COLOUR_LOCK, COLOUR_DISK, COLOUR_WAITS};
	struct page_reasons reasons = {.names = names, .colours = colours, .count = 3, .of = some_reason};
	struct stream input;
	struct tables tables = tables_new();
	struct page_trace page;
	struct buffer text = {0}, picture = {0}, overview = {0};
	stream_of_memory(&input, bytes, size);
	page_trace_init(&page, &tables, &reasons);
	struct sink *sink = locate_new(&tables, blocked_new(&tables, &page.sink));
	if (!spool_reader.read(&input, "fuzz", &tables, sink) && !sink_finish(sink)) {
		struct columns columns;
		columns_init(&columns);
		page_trace_columns(&page, &columns);
		columns_write(&columns, &text, NULL);
		columns_init(&columns);
		page_trace_overview(&page, &columns);
		columns_write(&columns, &overview, NULL);
		check_base64(&overview);
		page_trace_picture(&page, &picture);
		check_base64(&text);
		check_picture(&picture);
	}
	sink_destroy(sink);
	page_trace_free(&page);
	tables_free(&tables);
	stream_close(&input);
	buffer_free(&text);
	buffer_free(&overview);
	buffer_free(&picture);
	return 0;
}

void fuzz_seeds(void) {
	struct buffer seed = {0};
	sample_spool(&seed);
	fuzz_seed("whole", &seed);
}
