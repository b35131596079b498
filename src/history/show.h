// Numbers and names of the history for people: "38.2 ms", "1.2 MB", strips of outcomes, sparklines.
#pragma once

#include "base/json.h"
#include "history/question.h"
#include "history/series.h"

enum { SHOW_SIZE = 48 };

const char *show_value(const char *metric, double value, char text[SHOW_SIZE]);
const char *show_percent(double ratio, char text[SHOW_SIZE]);      // 1.38 is "+38 %"
const char *show_time(int64_t ms, char text[SHOW_SIZE]);           // 2026-11-16 03:04
const char *show_day(int64_t ms, char text[SHOW_SIZE]);            // 2026-11-16
const char *show_exact_time(int64_t ms, char text[SHOW_SIZE]);     // as in a manifest
const char *show_commit(const char *commit, char text[SHOW_SIZE]); // 12 digits
// "suite/name"; with the project if there are several. To be freed.
char *show_test(const struct history_test *test);
char show_outcome(enum manifest_status status); // . F C T s d ?
const char *show_id(const uint8_t id[HISTORY_ID], char text[SHOW_SIZE]);

// Eight heights for values between the least and the largest; a blank for NAN.
void show_sparkline(struct buffer *out, const double *values, size_t count);

// A table: cells are collected and printed in columns as wide as they need. Numbers are right-aligned
// where the header ends with '>'.
struct show_table {
	const char *const *headers;
	size_t columns;
	ARRAY(char *) cells; // row by row
};
void show_cell(struct show_table *table, const char *format, ...) PRINTF_LIKE(2, 3);
void show_table_print(struct show_table *table, enum history_form form, struct buffer *out); // and frees it

// JSON: members that many answers have.
void show_json_test(struct json *json, const struct history_test *test);

// A line of the answer with its end, made plain; nothing in it is Markdown.
void show_line(const struct history_question *question, const char *format, ...) PRINTF_LIKE(2, 3);
