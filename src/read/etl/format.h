// Formats Windows values for people and appends them to a buffer as UTF-8.
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"

void format_utf16(struct buffer *out, const uint8_t *units, size_t count);
void format_utf16_terminated(struct buffer *out, struct cursor *in); // up to a NUL or the end; skips the NUL
void format_guid(struct buffer *out, const uint8_t *guid);           // 16 bytes
bool format_sid(struct buffer *out, struct cursor *in);              // takes a SID; false if there is none
void format_filetime(struct buffer *out, uint64_t filetime);         // 2026-01-02T03:04:05.0678901Z
void format_systemtime(struct buffer *out, const uint16_t *parts);   // eight parts
void format_ip4(struct buffer *out, const uint8_t *address);
void format_ip6(struct buffer *out, const uint8_t *address);
bool format_socket_address(struct buffer *out, const uint8_t *bytes,
			   size_t size); // false for unknown kinds
void format_hex_bytes(struct buffer *out, const uint8_t *bytes, size_t size);
void format_uint(struct buffer *out, uint64_t value);
void format_hex(struct buffer *out, uint64_t value); // 0x1f

bool guid_parse(const char *text, uint8_t *guid); // with braces or without
