#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>

void buffer_grow(struct buffer *buffer, size_t more) {
	size_t wanted;
	if (__builtin_add_overflow(buffer->size, more, &wanted))
		memory_exhausted();
	size_t capacity = MAX(wanted, buffer->capacity * 2 + 64);
	buffer->data = memory_resize(buffer->data, capacity);
	buffer->capacity = capacity;
}

void buffer_free(struct buffer *buffer) {
	free(buffer->data);
	*buffer = (struct buffer){0};
}

void buffer_decimal(struct buffer *buffer, uint64_t value) {
	char digits[20];
	size_t at = sizeof(digits);
	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	buffer_append(buffer, digits + at, sizeof(digits) - at);
}

void buffer_printf(struct buffer *buffer, const char *format, ...) {
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	int length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length > 0) {
		vsnprintf((char *)buffer_room(buffer, (size_t)length + 1), (size_t)length + 1, format, again);
		buffer->size += (size_t)length;
	}
	va_end(again);
}

static void append_fixed64(struct buffer *buffer, uint64_t value) {
	uint8_t *out = buffer_room(buffer, 8);
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(value >> (8 * i));
	buffer->size += 8;
}

void proto_fixed64(struct buffer *buffer, uint32_t field, uint64_t value) {
	proto_tag(buffer, field, PROTO_FIXED64);
	append_fixed64(buffer, value);
}

void proto_double(struct buffer *buffer, uint32_t field, double value) {
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(buffer, field, bits);
}

// Most messages are shorter than 128 bytes: one byte is kept for the length,
// and the content moves by the difference when it turns out longer.
size_t proto_begin(struct buffer *buffer, uint32_t field) {
	proto_tag(buffer, field, PROTO_BYTES);
	buffer_room(buffer, 1);
	return ++buffer->size;
}

void proto_end(struct buffer *buffer, size_t mark) {
	size_t size = buffer->size - mark;
	size_t length_size = 1;
	for (size_t rest = size >> 7; rest; rest >>= 7)
		length_size++;
	if (length_size > 1) {
		buffer_room(buffer, length_size);
		memmove(buffer->data + mark + length_size - 1, buffer->data + mark, size);
		buffer->size += length_size - 1;
	}
	uint8_t *out = buffer->data + mark - 1;
	for (; size >= 0x80; size >>= 7)
		*out++ = (uint8_t)size | 0x80;
	*out = (uint8_t)size;
}
