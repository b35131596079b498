// A document of columns, the form in which a page has its data (docs/page.md).
//
// It is a list of sets; a set has rows and named columns, and each column is coded on its own, so that equal
// things stand side by side: numbers as varints, times as differences. All of it is deflated once and
// written as base64, which HTML holds without escapes. The head, JSON, says where each column begins.
//
//     columns_set(&columns, "marks", count);
//     columns_begin(&columns, "time", COLUMN_DELTA);
//     for (...) columns_delta(&columns, mark->time);
//     columns_end(&columns);
#pragma once

#include "base/buffer.h"
#include "event/strings.h"

// The letter of the type in the head.
enum column_type {
	COLUMN_UINT = 'u',  // varints
	COLUMN_DELTA = 'd', // differences to the row before, as zigzag varints
	COLUMN_REAL = 'f',  // doubles, little-endian
	COLUMN_BYTE = 'b',
	COLUMN_TEXT = 't', // UTF-8; a NUL ends each
};

struct columns {
	struct buffer head, body;
	size_t begun; // of the column that is open, in the body
	uint64_t last;
	bool has_set, has_column;
};

void columns_init(struct columns *columns);
void columns_free(struct columns *columns);

// The names are ours: letters and digits.
void columns_set(struct columns *columns, const char *name, uint64_t rows);
void columns_begin(struct columns *columns, const char *name, enum column_type type);
void columns_end(struct columns *columns);

// One row of the open column.
static inline void columns_uint(struct columns *columns, uint64_t value) {
	buffer_varint(&columns->body, value);
}
void columns_delta(struct columns *columns, uint64_t value);
void columns_real(struct columns *columns, double value);
static inline void columns_byte(struct columns *columns, uint8_t value) {
	buffer_append(&columns->body, &value, 1);
}
// Names from elsewhere: bytes that are not UTF-8 become U+FFFD, and NULs blanks.
void columns_text(struct columns *columns, const char *text, size_t size);

// Appends the document in base64; the columns are done after it. `packed` gets the size before base64.
void columns_write(struct columns *columns, struct buffer *out, size_t *packed);

void columns_pack(struct buffer *out, const uint8_t *bytes, size_t size); // any bytes, deflated and in base64
