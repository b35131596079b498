#include "read/etl/format.h"

#include "base/utf8.h"

#include <inttypes.h>

// ---- text ----

// Nearly all text is ASCII: convert four units at a time while it is.
void format_utf16(struct buffer *out, const uint8_t *units, size_t count) {
	struct cursor in = cursor_of(units, count * 2);
	uint8_t *at = buffer_room(out, count + 4);
	while (cursor_left(&in) >= 8) {
		uint64_t four;
		memcpy(&four, in.at, 8);
		if (four & 0xff80ff80ff80ff80u)
			break;
		*at++ = (uint8_t)four;
		*at++ = (uint8_t)(four >> 16);
		*at++ = (uint8_t)(four >> 32);
		*at++ = (uint8_t)(four >> 48);
		in.at += 8;
	}
	out->size = (size_t)(at - out->data);
	while (cursor_left(&in) >= 2) {
		uint32_t code = cursor_u16(&in);
		if (code >= 0xd800 && code < 0xdc00 && cursor_left(&in) >= 2) {
			struct cursor ahead = in;
			uint32_t low = cursor_u16(&ahead);
			if (low >= 0xdc00 && low < 0xe000) {
				code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
				in = ahead;
			}
		}
		utf8_append(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
	}
}

void format_utf16_terminated(struct buffer *out, struct cursor *in) {
	const uint8_t *begin = in->at;
	size_t count = 0, most = cursor_left(in) / 2;
	for (struct cursor look = *in; count < most && cursor_u16(&look); count++)
		;
	format_utf16(out, begin, count);
	cursor_take(in, count < most ? count * 2 + 2 : cursor_left(in));
}

// ---- numbers ----

void format_uint(struct buffer *out, uint64_t value) {
	char digits[20];
	size_t count = 0;
	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	uint8_t *at = buffer_room(out, count);
	for (size_t i = 0; i < count; i++)
		at[i] = (uint8_t)digits[count - 1 - i];
	out->size += count;
}

static const char hex_digits[] = "0123456789abcdef";

void format_hex(struct buffer *out, uint64_t value) {
	uint8_t *at = buffer_room(out, 18);
	unsigned digits = value ? (67 - (unsigned)__builtin_clzll(value)) / 4 : 1;
	at[0] = '0';
	at[1] = 'x';
	for (unsigned i = 0; i < digits; i++)
		at[2 + i] = (uint8_t)hex_digits[value >> 4 * (digits - 1 - i) & 15];
	out->size += 2 + digits;
}

void format_hex_bytes(struct buffer *out, const uint8_t *bytes, size_t size) {
	uint8_t *at = buffer_room(out, size * 2 + 1);
	for (size_t i = 0; i < size; i++) {
		at[2 * i] = (uint8_t)hex_digits[bytes[i] >> 4];
		at[2 * i + 1] = (uint8_t)hex_digits[bytes[i] & 15];
	}
	out->size += size * 2;
}

// ---- GUIDs and SIDs ----

void format_guid(struct buffer *out, const uint8_t *guid) {
	// The first three parts are little-endian numbers.
	static const int8_t order[] = {3, 2, 1, 0, -1, 5, 4, -1, 7, 6, -1, 8, 9, -1, 10, 11, 12, 13, 14, 15};
	uint8_t *at = buffer_room(out, 36);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (order[i] < 0) {
			*at++ = '-';
			continue;
		}
		*at++ = (uint8_t)hex_digits[guid[order[i]] >> 4];
		*at++ = (uint8_t)hex_digits[guid[order[i]] & 15];
	}
	out->size += 36;
}

static int hex_value(char digit) {
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool guid_parse(const char *text, uint8_t *guid) {
	static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	text += *text == '{';
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		text += *text == '-' && i > 0;
		int high = hex_value(text[0]), low = high < 0 ? -1 : hex_value(text[1]);
		if (low < 0)
			return false;
		guid[order[i]] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	text += *text == '}';
	return *text == 0;
}

bool format_sid(struct buffer *out, struct cursor *in) {
	struct cursor look = *in;
	uint8_t revision = cursor_u8(&look), count = cursor_u8(&look);
	uint64_t authority = 0;
	for (int i = 0; i < 6; i++)
		authority = authority << 8 | cursor_u8(&look);
	if (look.failed || revision != 1 || count > 15 || cursor_left(&look) < count * 4u)
		return false;
	buffer_printf(out, "S-1-%" PRIu64, authority);
	for (unsigned i = 0; i < count; i++) {
		buffer_append(out, "-", 1);
		format_uint(out, cursor_u32(&look));
	}
	*in = look;
	return true;
}

// ---- times ----

void format_filetime(struct buffer *out, uint64_t filetime) {
	// Days since 1601-01-01, then the calendar in 400-year eras that begin in March.
	uint64_t ticks = filetime % 10000000, seconds = filetime / 10000000;
	uint64_t day = seconds / 86400 + 584694; // since 0000-03-01
	unsigned second = (unsigned)(seconds % 86400);
	uint64_t era = day / 146097;
	unsigned of_era = (unsigned)(day % 146097);
	unsigned year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	unsigned of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned march_month = (5 * of_year + 2) / 153;
	unsigned month_day = of_year - (153 * march_month + 2) / 5 + 1;
	unsigned month = march_month < 10 ? march_month + 3 : march_month - 9;
	uint64_t year = era * 400 + year_of_era + (month <= 2);
	buffer_printf(out, "%04" PRIu64 "-%02u-%02uT%02u:%02u:%02u.%07" PRIu64 "Z", year, month, month_day,
		      second / 3600, second / 60 % 60, second % 60, ticks);
}

void format_systemtime(struct buffer *out, const uint16_t *parts) {
	// Year, month, day of the week, day, hour, minute, second, millisecond.
	buffer_printf(out, "%04u-%02u-%02uT%02u:%02u:%02u.%03u", parts[0], parts[1], parts[3], parts[4],
		      parts[5], parts[6], parts[7]);
}

// ---- addresses ----

void format_ip4(struct buffer *out, const uint8_t *address) {
	for (int i = 0; i < 4; i++) {
		if (i)
			buffer_append(out, ".", 1);
		format_uint(out, address[i]);
	}
}

// The longest run of zeros becomes "::" (RFC 5952).
void format_ip6(struct buffer *out, const uint8_t *address) {
	unsigned words[8], longest = 0, longest_at = 8;
	for (unsigned i = 0; i < 8; i++)
		words[i] = (unsigned)address[2 * i] << 8 | address[2 * i + 1];
	for (unsigned i = 0; i < 8; i++) {
		unsigned run = 0;
		while (i + run < 8 && !words[i + run])
			run++;
		if (run > longest && run > 1) {
			longest = run;
			longest_at = i;
		}
	}
	for (unsigned i = 0; i < 8; i++) {
		if (i == longest_at) {
			buffer_append(out, "::", 2);
			i += longest - 1;
			continue;
		}
		if (i && i != longest_at + longest)
			buffer_append(out, ":", 1);
		buffer_printf(out, "%x", words[i]);
	}
}

bool format_socket_address(struct buffer *out, const uint8_t *bytes, size_t size) {
	enum { FAMILY_IP4 = 2, FAMILY_IP6 = 23, IP4_SIZE = 16, IP6_SIZE = 28, ANY_SIZE = 128 };
	struct cursor in = cursor_of(bytes, size);
	uint16_t family = cursor_u16(&in);
	unsigned port = (unsigned)cursor_u8(&in) << 8;
	port |= cursor_u8(&in);
	if (size != IP4_SIZE && size != IP6_SIZE && size != ANY_SIZE)
		return false;
	if (family == FAMILY_IP4 && size != IP6_SIZE) {
		const uint8_t *address = cursor_take(&in, 4);
		format_ip4(out, address);
		buffer_printf(out, ":%u", port);
		return true;
	}
	cursor_u32(&in); // flow
	const uint8_t *address = cursor_take(&in, 16);
	if (family != FAMILY_IP6 || !address || size == IP4_SIZE)
		return false;
	buffer_append(out, "[", 1);
	format_ip6(out, address);
	buffer_printf(out, "]:%u", port);
	return true;
}
