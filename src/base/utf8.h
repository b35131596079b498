// Which bytes are text: names and command lines may contain any bytes.
#pragma once

#include "base/buffer.h"

// The length of the well-formed UTF-8 sequence at `at`, 0 if there is none.
static inline size_t utf8_length(const uint8_t *at, size_t left) {
	static const struct {
		uint8_t mask, lead, size;
		uint32_t least;
	} forms[] = {
		{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if ((at[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (left < forms[i].size)
			return 0;
		uint32_t code = at[0] & (uint8_t)~forms[i].mask;
		for (size_t k = 1; k < forms[i].size; k++) {
			if ((at[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (at[k] & 0x3f);
		}
		bool surrogate = code >= 0xd800 && code < 0xe000;
		return code < forms[i].least || code > 0x10ffff || surrogate ? 0 : forms[i].size;
	}
	return 0;
}

static inline void utf8_append(struct buffer *out, uint32_t code) {
	uint8_t *at = buffer_room(out, 4);
	if (code < 0x80) {
		at[0] = (uint8_t)code;
		out->size += 1;
	} else if (code < 0x800) {
		at[0] = (uint8_t)(0xc0 | code >> 6);
		at[1] = (uint8_t)(0x80 | (code & 0x3f));
		out->size += 2;
	} else if (code < 0x10000) {
		at[0] = (uint8_t)(0xe0 | code >> 12);
		at[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
		at[2] = (uint8_t)(0x80 | (code & 0x3f));
		out->size += 3;
	} else {
		at[0] = (uint8_t)(0xf0 | code >> 18);
		at[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
		at[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
		at[3] = (uint8_t)(0x80 | (code & 0x3f));
		out->size += 4;
	}
}
