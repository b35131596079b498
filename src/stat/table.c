// The report for people: a table, and rows while a timeline grows.
#include "stat/stat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void append_note(struct buffer *text, const struct counting *counting, size_t index,
			const struct count *count) {
	const struct pmu_event *event = &counting->events.items[index];
	struct buffer note = {0};
	const char *comma = "";
	bool clock = strncmp(event->name, "task-clock", 10) == 0 || strncmp(event->name, "cpu-clock", 9) == 0;
	if (!stat_was_counted(counting, index, count)) {
		buffer_printf(text, "  not available: %s", stat_why_not(counting, index));
		return;
	}
	if (clock)
		buffer_printf(&note, "%.4g ms", count->scaled / 1e6), comma = ", ";
	if (event->unit)
		buffer_printf(&note, "%s%.6g %s", comma, count->scaled * event->scale, event->unit),
			comma = ", ";
	if (event->cpus)
		buffer_printf(&note, "%swhole machine", comma), comma = ", ";
	if (count->running < count->enabled)
		buffer_printf(&note, "%sscaled", comma);
	buffer_printf(text, "  %-24.*s", (int)note.size, note.data ? (char *)note.data : "");
	buffer_free(&note);
}

static void append_event(struct buffer *text, const struct stat_part *part, size_t index) {
	const struct counting *counting = part->counting;
	struct count count = stat_count(part, index);
	double seconds = part->reading->end - part->reading->begin;
	bool counted = stat_was_counted(counting, index, &count);
	char number[40];
	buffer_printf(text, "  %20s  %-28s", counted ? stat_number(round(count.scaled), number) : "-",
		      counting->events.items[index].name);
	append_note(text, counting, index, &count);
	if (counted) {
		double share = count.enabled ? 100.0 * (double)count.running / (double)count.enabled : 100;
		buffer_printf(text, " %16s %7.1f%%",
			      seconds > 0 ? stat_number(round(count.scaled / seconds), number) : "-", share);
	}
	buffer_printf(text, "\n");
}

static void append_metric(struct buffer *text, const struct stat_part *part, const struct metric *metric) {
	double value = stat_metric_value(part, metric);
	if (isnan(value) && !part->counting->options->metrics)
		return; // not requested
	if (isnan(value))
		buffer_printf(text, "  %20s  %-28s  not available: one of its events is not\n", "-",
			      metric->name);
	else
		buffer_printf(text, "  %20.4g  %-28s  %s\n", value, metric->name,
			      metric->unit ? metric->unit : "");
}

static void append_part(const struct stat_part *part, void *context) {
	struct buffer *text = context;
	char name[64];
	stat_part_name(part, name);
	if (*name)
		buffer_printf(text, "\n%s\n", name);
	buffer_printf(text, "  %20s  %-28s  %-24s %16s %8s\n", "VALUE", "EVENT", "NOTE", "PER SECOND",
		      "SHARE");
	for (size_t i = 0; i < part->counting->events.count; i++)
		append_event(text, part, i);
	for (size_t i = 0; i < part->counting->shown.count; i++)
		append_metric(text, part, part->counting->shown.items[i]);
}

// ---- a timeline ----

static int column_width(const struct counting *counting, size_t event) {
	return (int)MAX(strlen(counting->events.items[event].name), 14);
}

static void append_columns(const struct counting *counting, struct buffer *text) {
	for (size_t i = 0; i < counting->events.count; i++)
		buffer_printf(text, "  %*s", column_width(counting, i), counting->events.items[i].name);
	for (size_t i = 0; i < counting->shown.count; i++)
		if (counting->options->metrics)
			buffer_printf(text, "  %14s", counting->shown.items[i]->name);
}

void stat_table_begin(struct counting *counting, struct buffer *text) {
	if (!counting->options->timeline && !counting->options->per_test)
		return;
	buffer_printf(text, "  %10s", "SECONDS");
	if (counting->options->per_core || counting->options->per_thread)
		buffer_printf(text, "  %-20s", "WHERE");
	append_columns(counting, text);
	if (counting->options->per_test)
		buffer_printf(text, "  TEST");
	buffer_printf(text, "\n");
}

static void append_values(const struct stat_part *part, struct buffer *text) {
	const struct counting *counting = part->counting;
	char number[40];
	for (size_t i = 0; i < counting->events.count; i++) {
		struct count count = stat_count(part, i);
		bool counted = stat_was_counted(counting, i, &count);
		buffer_printf(text, "  %*s", column_width(counting, i),
			      counted ? stat_number(round(count.scaled), number) : "-");
	}
	for (size_t i = 0; i < counting->shown.count; i++)
		if (counting->options->metrics) {
			double value = stat_metric_value(part, counting->shown.items[i]);
			if (isnan(value))
				buffer_printf(text, "  %14s", "-");
			else
				buffer_printf(text, "  %14.4g", value);
		}
	buffer_printf(text, "\n");
}

static void append_row(const struct stat_part *part, void *context) {
	struct buffer *text = context;
	char name[64];
	stat_part_name(part, name);
	buffer_printf(text, "  %10.3f", part->reading->end);
	if (*name)
		buffer_printf(text, "  %-20s", name);
	append_values(part, text);
}

// A command may have many threads: a row is enough for each.
static void append_thread(const struct stat_part *part, void *context) {
	struct buffer *text = context;
	char name[64];
	stat_part_name(part, name);
	buffer_printf(text, "  %-32s", name);
	append_values(part, text);
}

static void append_threads(const struct counting *counting, struct buffer *text) {
	buffer_printf(text, "\n  %-32s", "THREAD");
	append_columns(counting, text);
	buffer_printf(text, "\n");
	stat_each_part(counting, &counting->total, append_thread, text);
}

void stat_table_row(struct counting *counting, const struct stat_reading *reading, struct buffer *text) {
	if (counting->options->per_core || counting->options->per_thread) {
		stat_each_part(counting, reading, append_row, text);
	} else {
		struct stat_part whole = stat_whole(counting, reading);
		append_row(&whole, text);
	}
}

// ---- cases ----

// A row for each.
void stat_table_case(struct counting *counting, int status, struct buffer *text) {
	struct stat_part whole = stat_whole(counting, &counting->total);
	append_row(&whole, text);
	text->size--; // the end of the line
	buffer_printf(text, "  %s", counting->test);
	const char *result = counting->case_result;
	if (status && strcmp(result, "skipped") != 0)
		buffer_printf(text, " (exit status %d)", status);
	else if (*result && strcmp(result, "passed") != 0)
		buffer_printf(text, " (%s)", result);
	buffer_printf(text, "\n");
}

// ---- spark lines ----

// Of each row one letter, from the least to the most; of many rows as many together as fit.
static void append_spark(struct counting *counting, size_t event, struct buffer *text) {
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	enum { WIDEST = 60 };
	size_t rows = counting->timeline.count, width = MIN(rows, (size_t)WIDEST);
	double values[WIDEST] = {0}, most = 0, longest = 0;
	for (size_t i = 0; i < rows; i++) {
		const struct stat_reading *reading = &counting->timeline.items[i];
		longest = MAX(longest, reading->end - reading->begin);
	}
	for (size_t i = 0; i < rows; i++) {
		const struct stat_reading *reading = &counting->timeline.items[i];
		struct stat_part part = stat_whole(counting, reading);
		// The last row may be so short that one event in it would be the highest rate of all.
		double seconds = MAX(reading->end - reading->begin, longest / 2);
		struct count count = stat_count(&part, event);
		double rate = seconds > 0 ? count.scaled / seconds : 0;
		size_t column = i * width / rows;
		values[column] = MAX(values[column], rate);
		most = MAX(most, rate);
	}
	for (size_t i = 0; i < width; i++)
		buffer_printf(
			text, "%s",
			blocks[most > 0 ? (size_t)(values[i] / most * (ARRAY_SIZE(blocks) - 1) + 0.5) : 0]);
}

void stat_table_sparks(struct counting *counting, struct buffer *text) {
	char number[40];
	if (counting->timeline.count < 2)
		return;
	buffer_printf(text, "\n");
	for (size_t i = 0; i < counting->events.count; i++) {
		if (counting->events.items[i].missing)
			continue;
		double most = 0;
		for (size_t row = 0; row < counting->timeline.count; row++) {
			struct stat_part part = stat_whole(counting, &counting->timeline.items[row]);
			most = MAX(most, stat_count(&part, i).scaled);
		}
		buffer_printf(text, "  %-28s  ", counting->events.items[i].name);
		append_spark(counting, i, text);
		buffer_printf(text, "  at most %s in a row\n", stat_number(round(most), number));
	}
}

// ---- the end ----

void stat_table_end(struct counting *counting, struct buffer *text) {
	struct stat_part whole = stat_whole(counting, &counting->total);
	char **command = counting->options->command;
	buffer_printf(text, "%stracelet: counted for %.6f s%s%s%s\n", counting->options->timeline ? "\n" : "",
		      counting->total.end, command ? ": " : "", command ? command[0] : "",
		      counting->counters.user_only ? " (user code only: this user may not count the kernel)"
						   : "");
	if (command)
		buffer_printf(text, "  %.6f s in user code, %.6f s in the kernel\n", counting->user_seconds,
			      counting->system_seconds);
	if (counting->thread_names.count)
		append_threads(counting, text);
	else
		stat_each_part(counting, &counting->total, append_part, text);
	if (counting->options->per_core || counting->options->per_thread)
		buffer_printf(text, "\nall\n");
	append_part(&whole, text);
}
