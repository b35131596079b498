#include "flow/report.h"

#include "artifact/manifest.h"
#include "base/text.h"
#include "write/page/html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATIC = 200, SLOWEST = 10, MOST_FLAKY = 50 };

static const struct report_record *newest(const struct report_run *run, const struct report_test *test) {
	return &run->records.items[test->attempts.items[test->attempts.count - 1]];
}

static bool is_bad(const struct report_record *record) {
	return !record->passed && strcmp(report_status(record), "skipped") != 0 &&
	       strcmp(report_status(record), "recorded") != 0;
}

static uint64_t wall_of(const struct report_record *record) {
	return (uint64_t)(MIN(MAX(record->record.wall_seconds, 0), 1e9) * 1e9);
}

// ---- where the time went ----

// The time of one test on its critical path, by colour. False if it is not known.
static bool times_of(const struct report_record *record, uint64_t sums[COLOUR_COUNT]) {
	uint8_t colours[REASON_COUNT];
	struct why_parts parts = {0};
	bool known = record->record.time_digest && why_parts_read(&parts, record->record.time_digest);
	report_colours(colours);
	for (size_t i = 0; known && i < parts.list.count; i++) {
		const char *reason = parts.list.items[i].reason;
		size_t number = 0;
		while (number + 1 < REASON_COUNT && !(reason && strcmp(reason_names[number], reason) == 0))
			number++;
		sums[colours[number]] += parts.list.items[i].ns;
	}
	why_parts_free(&parts);
	return known;
}

static void put_shares(struct buffer *out, const struct report_run *run) {
	uint64_t sums[COLOUR_COUNT] = {0}, digests = 0;
	for (size_t i = 0; i < run->tests.count; i++)
		digests += times_of(newest(run, &run->tests.items[i]), sums);
	if (!digests)
		return;
	buffer_printf(out,
		      "<div class=\"answer\"><h3>Where the time went, on the critical paths of %" PRIu64
		      " test%s</h3>\n",
		      digests, plural(digests));
	report_shares(out, sums);
	buffer_text(out, "</div>\n");
}

// ---- plain lists ----

static void put_test_row(struct buffer *out, const struct report_run *run, size_t number, bool inside) {
	const struct report_test *test = &run->tests.items[number];
	const struct report_record *record = newest(run, test);
	buffer_printf(out, "<tr><td class=\"status %s\">%s%s</td><td>", report_status(record),
		      report_status(record), test->flaky ? ", flaky" : "");
	if (inside)
		buffer_printf(out, "<a href=\"#t%zu\">", number);
	page_text(out, test->name);
	buffer_text(out, inside ? "</a></td><td class=\"number\">" : "</td><td class=\"number\">");
	why_duration(out, wall_of(record));
	buffer_text(out, "</td>");
	page_cell(out, "td", record->record.result ? record->record.result : "");
	page_cell(out, "td", record->record.explanation ? record->record.explanation : "");
	buffer_text(out, "</tr>\n");
}

static void put_list(struct buffer *out, const struct report_run *run, const char *title, const size_t *tests,
		     size_t count, const bool *inside) {
	if (!count)
		return;
	page_cell(out, "h2", title);
	buffer_text(out, "\n<div class=\"card\"><table><thead><tr><th>status</th><th>test</th><th "
			 "class=\"number\">time</th><th>result</th><th>where the time "
			 "went</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < count; i++)
		put_test_row(out, run, tests[i], inside[tests[i]]);
	buffer_text(out, "</tbody></table></div>\n");
}

typedef ARRAY(size_t) numbers;

struct by_time {
	uint64_t ns;
	size_t test;
};

static int compare_times(const void *a, const void *b) {
	const struct by_time *left = a, *right = b;
	return left->ns > right->ns ? -1 : left->ns < right->ns ? 1 : left->test < right->test ? -1 : 1;
}

static void put_lists(struct buffer *out, const struct report_run *run, const bool *inside) {
	numbers failed = {0}, flaky = {0}, slow = {0};
	ARRAY(struct by_time) times = {0};
	for (size_t i = 0; i < run->tests.count; i++) {
		const struct report_record *record = newest(run, &run->tests.items[i]);
		if (is_bad(record) && failed.count < MOST_STATIC)
			array_push(&failed, i);
		if (run->tests.items[i].flaky && flaky.count < MOST_FLAKY)
			array_push(&flaky, i);
		array_push(&times, (struct by_time){wall_of(record), i});
	}
	if (times.count)
		qsort(times.items, times.count, sizeof(*times.items), compare_times);
	for (size_t i = 0; i < MIN(times.count, (size_t)SLOWEST); i++)
		array_push(&slow, times.items[i].test);
	put_list(out, run, "Failed", failed.items, failed.count, inside);
	put_list(out, run, "Flaky: passed and failed on the same commit", flaky.items, flaky.count, inside);
	put_list(out, run, "Slowest", slow.items, slow.count, inside);
	array_free(&failed);
	array_free(&flaky);
	array_free(&slow);
	array_free(&times);
}

static void put_tile(struct buffer *out, const char *kind, size_t count, const char *words) {
	buffer_printf(out, "<li class=\"%s\"><b>%zu</b> %s</li>\n", kind, count, words);
}

static void put_counts(struct buffer *out, const struct report_run *run) {
	size_t passed = 0, failed = 0, flaky = 0, skipped = 0;
	uint64_t wall = 0;
	for (size_t i = 0; i < run->tests.count; i++) {
		const struct report_record *record = newest(run, &run->tests.items[i]);
		failed += is_bad(record);
		passed += record->passed;
		skipped += !record->passed && !is_bad(record);
		flaky += run->tests.items[i].flaky;
	}
	for (size_t i = 0; i < run->records.count; i++)
		wall += wall_of(&run->records.items[i]);
	buffer_text(out, "<ul class=\"counts\">\n");
	put_tile(out, failed ? "failed" : "none", failed, "failed");
	put_tile(out, "passed", passed, "passed");
	if (skipped)
		put_tile(out, "skipped", skipped, "skipped");
	if (flaky)
		put_tile(out, "flaky", flaky, "flaky");
	buffer_text(out, "<li class=\"took\"><b>");
	why_duration(out, wall);
	buffer_printf(out, "</b> together</li>\n</ul>\n<p class=\"soft\">%zu test%s in %zu run%s",
		      run->tests.count, plural(run->tests.count), run->records.count,
		      plural(run->records.count));
	if (run->folders.count > 1)
		buffer_printf(out, ", from %zu folders", run->folders.count);
	if (run->duplicates)
		buffer_printf(out, "; %zu session%s in more than one of them count once", run->duplicates,
			      plural(run->duplicates));
	buffer_text(out, flaky ? ". A flaky test passed and failed on the same commit.</p>\n" : ".</p>\n");
}

// ---- the table as columns ----

static void put_text(struct columns *columns, struct strings *strings, const char *text) {
	columns_uint(columns, strings_add(strings, text ? text : ""));
}

#define EACH(name, type, statement)                                                                          \
	do {                                                                                                 \
		columns_begin(columns, name, type);                                                          \
		for (size_t i = 0; i < run->tests.count; i++) {                                              \
			const struct report_test *test = &run->tests.items[i];                               \
			const struct report_record *record = newest(run, test);                              \
			(void)test;                                                                          \
			(void)record;                                                                        \
			statement;                                                                           \
		}                                                                                            \
		columns_end(columns);                                                                        \
	} while (0)

// Where the time of each test went: for each colour a byte, of 255.
static void put_time_columns(struct columns *columns, const struct report_run *run) {
	uint8_t(*shares)[COLOUR_ENDED] = memory_alloc((run->tests.count + 1) * sizeof(*shares));
	for (size_t i = 0; i < run->tests.count; i++) {
		uint64_t sums[COLOUR_COUNT] = {0}, all = 0;
		times_of(newest(run, &run->tests.items[i]), sums);
		for (int j = 0; j < COLOUR_ENDED; j++)
			all += sums[j];
		for (int j = 0; all && j < COLOUR_ENDED; j++)
			shares[i][j] = (uint8_t)(255 * (double)sums[j] / (double)all + 0.5);
	}
	for (int j = 0; j < COLOUR_ENDED; j++) {
		char name[] = {'s', (char)('0' + j), 0};
		EACH(name, COLUMN_BYTE, columns_byte(columns, shares[i][j]));
	}
	free(shares);
}

static void put_columns(struct buffer *out, const struct report_run *run, const bool *inside) {
	struct columns all, *columns = &all;
	struct strings *strings = strings_new();
	columns_init(columns);
	columns_set(columns, "tests", run->tests.count);
	EACH("name", COLUMN_UINT, put_text(columns, strings, test->name));
	EACH("status", COLUMN_UINT, put_text(columns, strings, report_status(record)));
	EACH("wall", COLUMN_UINT, columns_uint(columns, wall_of(record)));
	EACH("cpu", COLUMN_UINT,
	     columns_uint(columns, (uint64_t)(MIN(MAX(record->record.cpu_seconds, 0), 1e9) * 1e9)));
	EACH("result", COLUMN_UINT, put_text(columns, strings, record->record.result));
	EACH("why", COLUMN_UINT, put_text(columns, strings, record->record.explanation));
	EACH("folder", COLUMN_UINT, put_text(columns, strings, run->folders.count > 1 ? record->folder : ""));
	EACH("tries", COLUMN_UINT, columns_uint(columns, test->attempts.count));
	EACH("flaky", COLUMN_BYTE, columns_byte(columns, test->flaky));
	EACH("place", COLUMN_BYTE, columns_byte(columns, inside[i]));
	put_time_columns(columns, run);
	columns_set(columns, "strings", strings->texts.count);
	columns_begin(columns, "text", COLUMN_TEXT);
	for (uint32_t i = 0; i < strings->texts.count; i++)
		columns_text(columns, strings_get(strings, i), strings_length(strings, i));
	columns_end(columns);
	buffer_text(out, "<template id=\"run-columns\">");
	columns_write(columns, out, NULL);
	buffer_text(out, "</template>\n");
	strings_free(strings);
}

// ---- tests inside the page ----

static void put_articles(struct buffer *out, const struct report_run *run,
			 const struct report_options *options, bool *inside) {
	for (int bad = 1; bad >= 0 && options->embed != EMBED_NONE; bad--)
		for (size_t i = 0; i < run->tests.count && out->size < options->budget; i++) {
			const struct report_record *record = newest(run, &run->tests.items[i]);
			if (is_bad(record) != bad || (!bad && options->embed != EMBED_ALL))
				continue;
			CLEANUP_FREE char *trace = report_artifact(record, NULL);
			CLEANUP_FREE char *heap = report_artifact(record, "heap");
			size_t size = 0, before = out->size;
			const char *output = options->output
						     ? options->output(options->context, record, &size)
						     : NULL;
			struct why_passes others = {0};
			struct report_article article = {
				.record = record,
				.before = report_last_pass(options->history ? options->history : run, record,
							   &others),
				.others = &others,
				.trace = trace,
				.heap = heap,
				.title = run->tests.items[i].name,
				.output = output,
				.output_size = size,
				.in_run = true};
			buffer_printf(out, "<div id=\"t%zu\">\n", i);
			report_article(out, &article);
			why_passes_free(&others);
			buffer_text(out, "</div>\n");
			inside[i] = out->size <= options->budget;
			if (!inside[i])
				out->size = before; // a smaller one may still fit
		}
}

void report_run_page(struct buffer *out, const struct report_run *run, const struct report_options *options) {
	struct buffer articles = {0};
	bool *inside = memory_alloc(run->tests.count + 1);
	size_t failed = 0;
	put_articles(&articles, run, options, inside);
	for (size_t i = 0; i < run->tests.count; i++)
		failed += is_bad(newest(run, &run->tests.items[i]));
	CLEANUP_FREE char *title = memory_format("%s: %zu of %zu tests failed", options->title, failed,
						 run->tests.count);
	page_begin(out, title);
	buffer_text(out, "<section id=\"run\">\n");
	page_cell(out, "h1", options->title);
	put_counts(out, run);
	put_shares(out, run);
	buffer_text(out, "<div id=\"run-table\">\n");
	put_lists(out, run, inside);
	buffer_text(out, "</div>\n");
	put_columns(out, run, inside);
	buffer_text(out, "</section>\n");
	buffer_append(out, articles.data, articles.size);
	buffer_free(&articles);
	page_end(out, NULL);
	free(inside);
}
