// The answer at the top of an article: what `tracelet why` says, with functions and lines that stand out, and
// a bar of where the time went; and the numbers of the last passing run. All of it is plain HTML and SVG.
#include "flow/report.h"

#include "base/file.h"
#include "base/text.h"
#include "format/metric_table.h"
#include "write/page/html.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

// ---- text of others ----

// The length of a terminal's escape sequence, 0 if there is none.
static size_t escape_length(const char *text, size_t size) {
	if (size < 2 || text[0] != '\033' || text[1] != '[')
		return size && *text == '\033';
	size_t length = 2;
	while (length < size && (unsigned char)text[length] < 0x40)
		length++;
	return MIN(length + 1, size);
}

static bool of_path(char c) {
	return isalnum((unsigned char)c) || (c && strchr("_./+-\\", c));
}

// The length of "path/file.c:123" or "file.rs:12:3"; 0 if there is none here.
static size_t place_length(const char *text, size_t size) {
	size_t length = 0, dot = 0, begin;
	while (length < size && of_path(text[length])) {
		dot = text[length] == '.' ? length + 1 : dot;
		length++;
	}
	if (!dot || dot == length || length - dot > 5 || length >= size || text[length] != ':')
		return 0;
	for (begin = ++length; length < size && isdigit((unsigned char)text[length]);)
		length++;
	return length > begin ? length : 0;
}

void report_printed(struct buffer *out, const char *text, size_t size) {
	char before = 0;
	for (size_t at = 0; at < size;) {
		size_t escape = escape_length(text + at, size - at);
		size_t place = escape || of_path(before) ? 0 : place_length(text + at, size - at), run = 1;
		if (escape) {
			at += escape;
			continue;
		}
		if (place) {
			buffer_text(out, "<mark>");
			text_xml(out, text + at, place);
			buffer_text(out, "</mark>");
			run = place;
		} else {
			while (at + run < size && text[at + run] != '\033' &&
			       of_path(text[at + run - 1]) == of_path(text[at + run]))
				run++;
			text_xml(out, text + at, run);
		}
		before = text[at + run - 1];
		at += run;
	}
}

void report_duration(struct buffer *out, uint64_t ns) {
	buffer_text(out, "<td class=\"number\">");
	why_duration(out, ns);
	buffer_text(out, "</td>");
}

// ---- the answer ----

static bool of_function(char c) {
	return isalnum((unsigned char)c) || (c && strchr("_:~.@", c));
}

// The length of "name()" or "a::b()"; 0 if there is none here.
static size_t function_length(const char *text, size_t size) {
	size_t length = 0;
	while (length < size && of_function(text[length]))
		length++;
	return length && length + 1 < size && text[length] == '(' && text[length + 1] == ')' ? length + 2 : 0;
}

static void put_sentence(struct buffer *out, const char *tag, const char *text, size_t size) {
	size_t plain = 0;
	buffer_printf(out, "<%s>", tag);
	for (size_t at = 0; at < size;) {
		size_t length = at && of_function(text[at - 1]) ? 0 : function_length(text + at, size - at);
		if (!length) {
			at++;
			continue;
		}
		report_printed(out, text + plain, at - plain);
		buffer_text(out, "<code>");
		text_xml(out, text + at, length);
		buffer_text(out, "</code>");
		plain = at += length;
	}
	report_printed(out, text + plain, size - plain);
	buffer_printf(out, "</%s>", tag);
}

// Where a sentence ends: after ". ", before a capital letter.
static size_t sentence_length(const char *text, size_t size) {
	for (size_t i = 0; i + 2 < size; i++)
		if (text[i] == '.' && text[i + 1] == ' ' && isupper((unsigned char)text[i + 2]))
			return i + 1;
	return size;
}

// The first sentence repeats the verdict; the second one is the answer.
static void put_sentences(struct buffer *out, const char *text, size_t size) {
	size_t answer = sentence_length(text, size) < size;
	buffer_text(out, "<p class=\"why\">");
	for (size_t number = 0; size; number++) {
		size_t length = sentence_length(text, size), next = MIN(length + 1, size);
		put_sentence(out, number == answer ? "strong" : "span", text, length);
		buffer_text(out, next < size ? " " : "");
		text += next;
		size -= next;
	}
	buffer_text(out, "</p>\n");
}

// Rectangles with widths in percent: they need no style, and follow the width of the page.
static void put_bar(struct buffer *out, const uint64_t sums[COLOUR_COUNT], uint64_t all) {
	double x = 0;
	buffer_text(out, "<svg width=\"100%\" height=\"26\" role=\"img\" aria-label=\"Where the time went\" "
			 "font-family=\"system-ui,sans-serif\" font-size=\"12\">");
	for (int i = 0; i < COLOUR_ENDED; i++) {
		double share = 100 * (double)sums[i] / (double)all;
		if (sums[i])
			buffer_printf(out, "<rect x=\"%.2f%%\" width=\"%.2f%%\" height=\"26\" fill=\"%s\"/>",
				      x, share, page_colours[i].fill);
		if (share >= 12)
			buffer_printf(out,
				      "<text x=\"%.2f%%\" y=\"17\" text-anchor=\"middle\" "
				      "fill=\"#14181d\">%.0f %%</text>",
				      x + share / 2, share);
		x += share;
	}
	buffer_text(out, "</svg>\n");
}

void report_shares(struct buffer *out, const uint64_t sums[COLOUR_COUNT]) {
	uint64_t all = 0;
	for (int i = 0; i < COLOUR_ENDED; i++)
		all += sums[i];
	if (!all)
		return;
	buffer_text(out, "<div class=\"shares\">");
	put_bar(out, sums, all);
	buffer_text(out, "<ul class=\"legend\">\n");
	for (int i = 0; i < COLOUR_ENDED; i++)
		if (sums[i]) {
			buffer_printf(
				out,
				"<li><svg width=\"11\" height=\"11\" aria-hidden=\"true\"><rect width=\"11\" "
				"height=\"11\" rx=\"3\" fill=\"%s\"/></svg> %s <b>",
				page_colours[i].fill, page_colours[i].words);
			why_duration(out, sums[i]);
			buffer_printf(out, "</b> %.*f %%</li>\n", 100 * sums[i] < 10 * all,
				      100 * (double)sums[i] / (double)all);
		}
	buffer_text(out, "</ul></div>\n");
}

static void put_path_shares(struct buffer *out, const struct report_trace *trace) {
	uint64_t sums[COLOUR_COUNT] = {0};
	for (size_t i = 0; i < trace->why.segments.count; i++) {
		const struct why_segment *segment = &trace->why.segments.items[i];
		sums[trace->colours[segment->reason]] += segment->ns;
	}
	report_shares(out, sums);
}

void report_answer(struct buffer *out, struct report_trace *trace, const struct report_record *record) {
	struct buffer words = {0};
	bool explained = trace && trace->explained;
	if (explained)
		why_sentences(&trace->why, trace->compared ? &trace->difference : NULL, &words);
	else if (record && record->record.explanation)
		buffer_text(&words, record->record.explanation);
	if (words.size || explained)
		buffer_printf(out, "<section class=\"answer %s\">\n",
			      record ? report_status(record) : "recorded");
	if (words.size)
		put_sentences(out, (const char *)words.data, words.size);
	if (explained)
		put_path_shares(out, trace);
	if (words.size || explained)
		buffer_text(out, "</section>\n");
	buffer_free(&words);
}

// ---- numbers ----

static const struct {
	const char *name;
	enum metric_unit unit;
} metrics[] = {
#define NAME_UNIT(name, unit, exact) {#name, METRIC_##unit},
	HISTORY_METRIC_TABLE(NAME_UNIT)
#undef NAME_UNIT
};

static enum metric_unit unit_of(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		if (strcmp(metrics[i].name, name) == 0)
			return metrics[i].unit;
	return METRIC_COUNT;
}

static void put_number(struct buffer *out, const char *name, uint64_t value) {
	char size[16];
	enum metric_unit unit = unit_of(name);
	if (unit == METRIC_NANOSECONDS)
		why_duration(out, value);
	else if (unit == METRIC_BYTES)
		buffer_text(out, file_size_words(value, size));
	else
		buffer_printf(out, "%" PRIu64, value);
}

static void put_name(struct buffer *out, const char *name) {
	size_t length = strlen(name);
	bool ns = unit_of(name) == METRIC_NANOSECONDS && length > 3;
	CLEANUP_FREE char *words = memory_format("%.*s", (int)(ns ? length - 3 : length), name);
	for (char *at = words; *at; at++)
		*at = (char)(*at == '_' ? ' ' : *at);
	page_cell(out, "td", words);
}

static void put_count(struct buffer *out, const char *name, uint64_t now, uint64_t then) {
	bool more = now >= then;
	uint64_t by = more ? now - then : then - now;
	buffer_text(out, "<tr>");
	put_name(out, name);
	buffer_text(out, "<td class=\"number\">");
	put_number(out, name, now);
	buffer_text(out, "</td><td class=\"number\">");
	put_number(out, name, then);
	buffer_printf(out, "</td><td class=\"number%s\">%s",
		      !by    ? ""
		      : more ? " more"
			     : " less",
		      !by    ? "same"
		      : more ? "+"
			     : "−");
	if (by)
		put_number(out, name, by);
	if (by && then)
		buffer_printf(out, "</td><td class=\"number\">%s%.0f %%", more ? "+" : "−",
			      100 * (double)by / (double)then);
	else
		buffer_text(out, "</td><td>");
	buffer_text(out, "</td></tr>\n");
}

void report_counts(struct buffer *out, const struct manifest_record *now,
		   const struct manifest_record *then) {
	size_t rows = 0;
	for (size_t i = 0; i < now->metrics.count; i++) {
		const struct manifest_count *own = &now->metrics.items[i];
		for (size_t j = 0; own->name && j < then->metrics.count; j++) {
			const struct manifest_count *other = &then->metrics.items[j];
			if (!other->name || strcmp(own->name, other->name) != 0)
				continue;
			if (!rows++)
				buffer_text(
					out,
					"<details class=\"counts-then\"><summary>Counters, now and "
					"then</summary>\n<div "
					"class=\"card\"><table><thead><tr><th>counter</th><th "
					"class=\"number\">now</th><th class=\"number\">then</th><th "
					"class=\"number\">difference</th><th></th></tr></thead><tbody>\n");
			put_count(out, own->name, own->count, other->count);
			break;
		}
	}
	if (rows)
		buffer_text(out, "</tbody></table></div></details>\n");
}
