#include "history/show.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

// ---- numbers ----

static const char *show_scaled(double value, const char *const *units, double step, char *text) {
	size_t unit = 0;
	for (; value >= 999.5 && units[unit + 1]; unit++)
		value /= unit ? step : 1000;
	snprintf(text, SHOW_SIZE,
		 value >= 99.95 || !unit ? "%.0f %s"
		 : value >= 9.995        ? "%.1f %s"
					 : "%.2f %s",
		 value, units[unit]);
	return text;
}

const char *show_value(const char *metric, double value, char text[SHOW_SIZE]) {
	static const char *const times[] = {"ns", "us", "ms", "s", NULL};
	static const char *const sizes[] = {"B", "kB", "MB", "GB", "TB", NULL};
	enum metric_unit unit = history_metric_unit(metric);
	if (isnan(value)) {
		snprintf(text, SHOW_SIZE, "-");
		return text;
	}
	if (unit == METRIC_NANOSECONDS)
		return show_scaled(value, times, 1000, text);
	if (unit == METRIC_BYTES)
		return show_scaled(value, sizes, 1000, text);
	snprintf(text, SHOW_SIZE, "%.15g", value);
	return text;
}

const char *show_percent(double ratio, char text[SHOW_SIZE]) {
	double percent = (ratio - 1) * 100;
	if (isinf(ratio) || isnan(ratio))
		snprintf(text, SHOW_SIZE, "new");
	else
		snprintf(text, SHOW_SIZE, fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
	return text;
}

static const char *show_form(int64_t ms, const char *form, char *text) {
	time_t seconds = (time_t)(ms / 1000);
	struct tm utc = {0};
	gmtime_r(&seconds, &utc);
	strftime(text, SHOW_SIZE, form, &utc);
	return text;
}

const char *show_time(int64_t ms, char text[SHOW_SIZE]) {
	return show_form(ms, "%Y-%m-%d %H:%M", text);
}

const char *show_day(int64_t ms, char text[SHOW_SIZE]) {
	return show_form(ms, "%Y-%m-%d", text);
}

const char *show_exact_time(int64_t ms, char text[SHOW_SIZE]) {
	char whole[SHOW_SIZE];
	show_form(ms, "%Y-%m-%dT%H:%M:%S", whole);
	snprintf(text, SHOW_SIZE, "%.24s.%03dZ", whole, (int)(ms % 1000));
	return text;
}

// ---- names ----

const char *show_commit(const char *commit, char text[SHOW_SIZE]) {
	bool hash = strlen(commit) >= 40 && strspn(commit, "0123456789abcdef") == strlen(commit);
	snprintf(text, SHOW_SIZE, hash ? "%.12s" : "%.40s", *commit ? commit : "-");
	return text;
}

char *show_test(const struct history_test *test) {
	if (!test)
		return memory_string("?");
	return *test->suite ? memory_format("%s/%s", test->suite, test->name) : memory_string(test->name);
}

char show_outcome(enum manifest_status status) {
	static const char letters[ENDED_COUNT] = {
		[ENDED_PASSED] = '.',    [ENDED_FAILED] = 'F',         [ENDED_CRASHED] = 'C',
		[ENDED_TIMED_OUT] = 'T', [ENDED_SKIPPED] = 's',        [ENDED_DISABLED] = 'd',
		[ENDED_RECORDED] = 'r',  [ENDED_MACHINE_FAILED] = 'M', [ENDED_UNKNOWN] = '?'};
	return letters[status];
}

const char *show_id(const uint8_t id[HISTORY_ID], char text[SHOW_SIZE]) {
	size_t at = 0;
	for (size_t i = 0; i < HISTORY_ID; i++)
		at += (size_t)snprintf(text + at, SHOW_SIZE - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
	return text;
}

void show_sparkline(struct buffer *out, const double *values, size_t count) {
	static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	double least = INFINITY, largest = -INFINITY;
	for (size_t i = 0; i < count; i++)
		if (!isnan(values[i])) {
			least = MIN(least, values[i]);
			largest = MAX(largest, values[i]);
		}
	for (size_t i = 0; i < count; i++) {
		double part = largest > least ? (values[i] - least) / (largest - least) : 0;
		buffer_text(out, isnan(values[i]) ? " " : heights[(size_t)MIN(part * 8, 7)]);
	}
}

// ---- tables ----

void show_cell(struct show_table *table, const char *format, ...) {
	va_list arguments;
	char *text = NULL;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		memory_exhausted();
	va_end(arguments);
	char *plain = text_plain_copy(text);
	free(text);
	array_push(&table->cells, plain);
}

static bool right_aligned(const char *header) {
	size_t length = strlen(header);
	return length && header[length - 1] == '>';
}

static const char *cell_of(const struct show_table *table, size_t row, size_t column, char *room) {
	const char *header = table->headers[column];
	if (row)
		return table->cells.items[(row - 1) * table->columns + column];
	snprintf(room, SHOW_SIZE, "%.*s", (int)(strlen(header) - right_aligned(header)), header);
	return room;
}

static void add_blanks(struct buffer *out, size_t count) {
	if (count)
		memset(buffer_room(out, count), ' ', count);
	out->size += count;
}

static void print_text(const struct show_table *table, size_t rows, struct buffer *out) {
	char room[SHOW_SIZE];
	size_t *widths = memory_alloc(table->columns * sizeof(*widths));
	for (size_t column = 0; column < table->columns; column++)
		for (size_t row = 0; row < rows; row++) {
			const char *cell = cell_of(table, row, column, room);
			widths[column] = MAX(widths[column], text_width(cell, strlen(cell)));
		}
	for (size_t row = 0; row < rows; row++) {
		for (size_t column = 0; column < table->columns; column++) {
			const char *cell = cell_of(table, row, column, room);
			size_t missing = widths[column] - text_width(cell, strlen(cell));
			bool right = right_aligned(table->headers[column]);
			add_blanks(out, (column ? 2 : 0) + (right ? missing : 0));
			buffer_text(out, cell);
			if (!right && column + 1 < table->columns)
				add_blanks(out, missing);
		}
		while (out->size && out->data[out->size - 1] == ' ')
			out->size--;
		buffer_text(out, "\n");
	}
	free(widths);
}

// Characters that Markdown or HTML would take for themselves.
static void add_markdown(struct buffer *out, const char *cell) {
	for (; *cell; cell++) {
		if (strchr("|\\`*_<>[]#&@", *cell))
			buffer_text(out, "\\");
		buffer_append(out, cell, 1);
	}
}

static void print_markdown(const struct show_table *table, size_t rows, struct buffer *out) {
	char room[SHOW_SIZE];
	for (size_t row = 0; row < rows; row++) {
		for (size_t column = 0; column < table->columns; column++) {
			const char *cell = cell_of(table, row, column, room);
			buffer_text(out, "| ");
			add_markdown(out, cell + strspn(cell, " ")); // text indents some tables
			buffer_text(out, " ");
		}
		buffer_text(out, "|\n");
		for (size_t column = 0; !row && column < table->columns; column++)
			buffer_text(out, right_aligned(table->headers[column]) ? "|---:" : "|---");
		if (!row)
			buffer_text(out, "|\n");
	}
	buffer_text(out, "\n");
}

void show_table_print(struct show_table *table, enum history_form form, struct buffer *out) {
	size_t rows = table->cells.count / table->columns + 1;
	if (form == HISTORY_MARKDOWN)
		print_markdown(table, rows, out);
	else
		print_text(table, rows, out);
	for (size_t i = 0; i < table->cells.count; i++)
		free(table->cells.items[i]);
	array_free(&table->cells);
}

void show_json_test(struct json *json, const struct history_test *test) {
	if (!test)
		return;
	if (*test->project)
		json_string(json, "project", test->project);
	if (*test->suite)
		json_string(json, "suite", test->suite);
	json_string(json, "name", test->name);
}

void show_line(const struct history_question *question, const char *format, ...) {
	va_list arguments;
	char *text = NULL;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		memory_exhausted();
	va_end(arguments);
	CLEANUP_FREE char *plain = text_plain_copy(text);
	if (question->form == HISTORY_MARKDOWN)
		add_markdown(question->out, plain);
	else
		buffer_text(question->out, plain);
	buffer_text(question->out, "\n");
	free(text);
}
