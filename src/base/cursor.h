// A bounds-checked view of input. Readers never index raw bytes: they take
// from a cursor, which remembers if it ran out. After an overrun every take
// returns zero, so a decoder checks `failed` once, at the end of a record.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static inline struct cursor cursor_of(const void *bytes, size_t size) {
	return (struct cursor){.at = bytes, .end = (const uint8_t *)bytes + size};
}

static inline size_t cursor_left(const struct cursor *cursor) {
	return (size_t)(cursor->end - cursor->at);
}

// Takes `size` bytes; NULL, and `failed`, if there are fewer.
static inline const uint8_t *cursor_take(struct cursor *cursor, size_t size) {
	if (cursor->failed || cursor_left(cursor) < size) {
		cursor->failed = true;
		cursor->at = cursor->end;
		return NULL;
	}
	const uint8_t *bytes = cursor->at;
	cursor->at += size;
	return bytes;
}

// A cursor over the next `size` bytes, which are taken from this one.
static inline struct cursor cursor_slice(struct cursor *cursor, size_t size) {
	const uint8_t *bytes = cursor_take(cursor, size);
	return bytes ? cursor_of(bytes, size)
		     : (struct cursor){.at = cursor->end, .end = cursor->end, .failed = true};
}

static inline void cursor_copy(struct cursor *cursor, void *out, size_t size) {
	const uint8_t *bytes = cursor_take(cursor, size);
	if (bytes)
		memcpy(out, bytes, size);
	else
		memset(out, 0, size);
}

// Little-endian integers; the name gives the width. (Every machine we build for is
// little-endian; readers handle other byte orders themselves.)
#define CURSOR_INTEGER(type, name)                                                                           \
	static inline type name(struct cursor *cursor) {                                                     \
		type value;                                                                                  \
		cursor_copy(cursor, &value, sizeof(value));                                                  \
		return value;                                                                                \
	}
CURSOR_INTEGER(uint8_t, cursor_u8)
CURSOR_INTEGER(uint16_t, cursor_u16)
CURSOR_INTEGER(uint32_t, cursor_u32)
CURSOR_INTEGER(uint64_t, cursor_u64)
#undef CURSOR_INTEGER

// A protobuf varint: at most ten bytes.
static inline uint64_t cursor_varint(struct cursor *cursor) {
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->failed = true;
	return 0;
}

// As DWARF's signed numbers: the last byte has the sign.
static inline int64_t cursor_signed_varint(struct cursor *cursor) {
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t byte = cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			if (byte & 0x40 && shift + 7 < 64)
				value |= ~UINT64_C(0) << (shift + 7);
			return (int64_t)value;
		}
	}
	cursor->failed = true;
	return 0;
}

// A NUL-terminated string inside the input; NULL, and `failed`, if there is none.
static inline const char *cursor_string(struct cursor *cursor) {
	const uint8_t *nul = cursor->failed ? NULL : memchr(cursor->at, 0, cursor_left(cursor));
	if (!nul) {
		cursor->failed = true;
		cursor->at = cursor->end;
		return NULL;
	}
	const char *text = (const char *)cursor->at;
	cursor->at = nul + 1;
	return text;
}
