// Values on their way to ClickHouse and back: rows of TabSeparated, and texts in statements.
#pragma once

#include "base/buffer.h"

// ---- answers ----

struct cell {
	const char *text; // ends with a NUL, and may hold others; NULL if it is null
	size_t size;
};

// Takes the pieces of an answer as they come. Zeros, but for the first three.
struct answer {
	size_t columns;
	void (*take)(void *context, const struct cell *cells); // valid during the call
	void *context;
	struct buffer line, values; // the line so far; the values of a line, each with a NUL after it
	struct cell *cells;
	bool bad;
};

bool answer_add(struct answer *answer, const void *bytes,
		size_t size);                      // false if a row is not as it should be
bool answer_is_whole(const struct answer *answer); // at its end
void answer_free(struct answer *answer);

uint64_t cell_uint(const struct cell *cell); // 0 if it is none
int64_t cell_int(const struct cell *cell);

// ---- statements ----

void sql_text(struct buffer *sql, const void *text, size_t size); // unhex('...')

// ---- rows to insert ----

void row_text(struct buffer *row, const void *text, size_t size);
void row_int(struct buffer *row, int64_t value);
static inline void row_next(struct buffer *row) { // between two values
	buffer_append(row, "\t", 1);
}
static inline void row_end(struct buffer *row) {
	buffer_append(row, "\n", 1);
}
