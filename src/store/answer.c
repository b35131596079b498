#include "store/answer.h"

enum { LONGEST_ROW = 64 * 1024 * 1024 };

// ---- answers ----

// TabSeparated escapes what would end a value or a row.
static char unescaped(char letter) {
	static const char letters[] = "bfnrt0", values[] = "\b\f\n\r\t";
	const char *at = letter ? strchr(letters, letter) : NULL;
	return !at ? letter : *at == '0' ? 0 : values[at - letters];
}

static bool take_line(struct answer *answer, const char *text, size_t size) {
	char *out = (char *)buffer_room(&answer->values, size + answer->columns + 1), *begin = out;
	size_t column = 0;
	bool null = false;
	if (!answer->cells)
		answer->cells = memory_resize_items(NULL, answer->columns, sizeof(*answer->cells));
	for (size_t i = 0; i <= size; i++) {
		if (i == size || text[i] == '\t') {
			if (column == answer->columns)
				return false;
			answer->cells[column++] = (struct cell){null ? NULL : begin, (size_t)(out - begin)};
			*out++ = 0;
			begin = out;
			null = false;
		} else if (text[i] == '\\' && i + 1 < size) {
			null = text[++i] == 'N' && out == begin;
			if (!null)
				*out++ = unescaped(text[i]);
		} else {
			*out++ = text[i];
		}
	}
	if (column != answer->columns)
		return false;
	answer->take(answer->context, answer->cells);
	return true;
}

bool answer_add(struct answer *answer, const void *bytes, size_t size) {
	const char *at = bytes, *end = at + size;
	while (at < end && !answer->bad) {
		const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
		bool joined = answer->line.size > 0;
		if (!newline || joined) {
			answer->bad = answer->line.size + (size_t)(stop - at) > LONGEST_ROW;
			if (!answer->bad)
				buffer_append(&answer->line, at, (size_t)(stop - at));
		}
		if (newline && !answer->bad) {
			answer->bad = !take_line(answer, joined ? (char *)answer->line.data : at,
						 joined ? answer->line.size : (size_t)(newline - at));
			answer->line.size = 0;
		}
		at = newline ? newline + 1 : end;
	}
	return !answer->bad;
}

bool answer_is_whole(const struct answer *answer) {
	return !answer->bad && !answer->line.size;
}

void answer_free(struct answer *answer) {
	buffer_free(&answer->line);
	buffer_free(&answer->values);
	free(answer->cells);
	answer->cells = NULL;
}

uint64_t cell_uint(const struct cell *cell) {
	return cell->text ? strtoull(cell->text, NULL, 10) : 0;
}

int64_t cell_int(const struct cell *cell) {
	return cell->text ? strtoll(cell->text, NULL, 10) : 0;
}

// ---- statements ----

static const char hexadecimal[] = "0123456789abcdef";

void sql_text(struct buffer *sql, const void *text, size_t size) {
	buffer_text(sql, "unhex('");
	char *out = (char *)buffer_room(sql, 2 * size);
	for (size_t i = 0; i < size; i++) {
		out[2 * i] = hexadecimal[((const uint8_t *)text)[i] >> 4];
		out[2 * i + 1] = hexadecimal[((const uint8_t *)text)[i] & 15];
	}
	sql->size += 2 * size;
	buffer_text(sql, "')");
}

// ---- rows to insert ----

void row_text(struct buffer *row, const void *text, size_t size) {
	const char *at = text;
	char *out = (char *)buffer_room(row, 2 * size), *begin = out;
	for (const char *end = at + size; at < end; at++) {
		char c = *at, letter = c == '\t'   ? 't'
				       : c == '\n' ? 'n'
				       : c == '\\' ? '\\'
				       : c == 0    ? '0'
						   : 0;
		if (letter)
			*out++ = '\\';
		*out++ = letter ? letter : c;
	}
	row->size += (size_t)(out - begin);
}

void row_int(struct buffer *row, int64_t value) {
	if (value < 0)
		buffer_append(row, "-", 1);
	buffer_decimal(row, value < 0 ? -(uint64_t)value : (uint64_t)value);
}
