// A growable sequence of bytes, with the encodings that the writers need:
// little-endian integers, varints and protobuf fields.
//
// protobuf-c is not used: a trace packet is written while its events stream by
// and never exists as a tree of structs. Nested messages are opened and closed
// in place; the length is patched in with the number of bytes it needs.
#pragma once

#include "base/memory.h"

#include <string.h>

struct buffer {
	uint8_t *data;
	size_t size, capacity;
};

void buffer_grow(struct buffer *buffer, size_t more); // slow path of buffer_room()
void buffer_free(struct buffer *buffer);
void buffer_printf(struct buffer *buffer, const char *format, ...) PRINTF_LIKE(2, 3);

// A pointer to `more` bytes after the end, which the caller fills and adds to the size.
static inline uint8_t *buffer_room(struct buffer *buffer, size_t more) {
	if (buffer->capacity - buffer->size < more)
		buffer_grow(buffer, more);
	return buffer->data + buffer->size;
}

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t size) {
	if (!size)
		return;
	memcpy(buffer_room(buffer, size), bytes, size);
	buffer->size += size;
}

static inline void buffer_text(struct buffer *buffer, const char *text) {
	buffer_append(buffer, text, strlen(text));
}

void buffer_decimal(struct buffer *buffer, uint64_t value); // decimal digits; faster than printf()

// Removes `size` bytes at the front.
static inline void buffer_drop(struct buffer *buffer, size_t size) {
	memmove(buffer->data, buffer->data + size, buffer->size - size);
	buffer->size -= size;
}

static inline void buffer_varint(struct buffer *buffer, uint64_t value) {
	uint8_t *out = buffer_room(buffer, 10);
	size_t size = 0;
	while (value >= 0x80) {
		out[size++] = (uint8_t)value | 0x80;
		value >>= 7;
	}
	out[size++] = (uint8_t)value;
	buffer->size += size;
}

// ---- protobuf ----

enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2, PROTO_FIXED32 = 5 };

static inline void proto_tag(struct buffer *buffer, uint32_t field, enum proto_wire wire) {
	buffer_varint(buffer, (uint64_t)field << 3 | wire);
}

static inline void proto_uint(struct buffer *buffer, uint32_t field, uint64_t value) {
	proto_tag(buffer, field, PROTO_VARINT);
	buffer_varint(buffer, value);
}

// int32/int64 fields: negative numbers take ten bytes, as protobuf requires.
static inline void proto_int(struct buffer *buffer, uint32_t field, int64_t value) {
	proto_uint(buffer, field, (uint64_t)value);
}

static inline void proto_bytes(struct buffer *buffer, uint32_t field, const void *bytes, size_t size) {
	proto_tag(buffer, field, PROTO_BYTES);
	buffer_varint(buffer, size);
	buffer_append(buffer, bytes, size);
}

static inline void proto_string(struct buffer *buffer, uint32_t field, const char *text) {
	proto_bytes(buffer, field, text, strlen(text));
}

void proto_fixed64(struct buffer *buffer, uint32_t field, uint64_t value);
void proto_double(struct buffer *buffer, uint32_t field, double value);

// Opens a nested message: everything appended until proto_end() is its content.
size_t proto_begin(struct buffer *buffer, uint32_t field);
void proto_end(struct buffer *buffer, size_t mark);
