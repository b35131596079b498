#include "write/page/columns.h"

#include "base/text.h"

#include <string.h>

#if defined(HAVE_ZLIB) && !defined(PAGE_STORED) // the fuzzer's: zlib has its own
#include <zlib.h>
#endif

void columns_init(struct columns *columns) {
	*columns = (struct columns){0};
	buffer_text(&columns->head, "{\"version\":1,\"sets\":[");
}

void columns_free(struct columns *columns) {
	buffer_free(&columns->head);
	buffer_free(&columns->body);
}

// ---- rows ----

static void close_set(struct columns *columns) {
	if (columns->has_set)
		buffer_text(&columns->head, "]}");
}

void columns_set(struct columns *columns, const char *name, uint64_t rows) {
	close_set(columns);
	buffer_text(&columns->head, columns->has_set ? ",{\"name\":\"" : "{\"name\":\"");
	buffer_text(&columns->head, name);
	buffer_text(&columns->head, "\",\"rows\":");
	buffer_decimal(&columns->head, rows);
	buffer_text(&columns->head, ",\"columns\":[");
	columns->has_set = true;
	columns->has_column = false;
}

void columns_begin(struct columns *columns, const char *name, enum column_type type) {
	char letter = (char)type;
	buffer_text(&columns->head, columns->has_column ? ",[\"" : "[\"");
	buffer_text(&columns->head, name);
	buffer_text(&columns->head, "\",\"");
	buffer_append(&columns->head, &letter, 1);
	buffer_text(&columns->head, "\",");
	columns->has_column = true;
	columns->begun = columns->body.size;
	columns->last = 0;
}

void columns_end(struct columns *columns) {
	buffer_decimal(&columns->head, columns->body.size - columns->begun);
	buffer_text(&columns->head, "]");
}

void columns_delta(struct columns *columns, uint64_t value) {
	uint64_t difference = value - columns->last;
	buffer_varint(&columns->body, difference << 1 ^ (uint64_t)((int64_t)difference >> 63));
	columns->last = value;
}

void columns_real(struct columns *columns, double value) {
	uint64_t bits;
	uint8_t bytes[8];
	memcpy(&bits, &value, sizeof(bits));
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
	buffer_append(&columns->body, bytes, sizeof(bytes));
}

void columns_text(struct columns *columns, const char *text, size_t size) {
	size_t begin = columns->body.size;
	text_utf8(&columns->body, text, size);
	for (size_t i = begin; i < columns->body.size; i++)
		if (!columns->body.data[i])
			columns->body.data[i] = ' ';
	columns_byte(columns, 0);
}

// ---- the document ----

// Blocks that are not compressed, for builds without zlib.
static __attribute__((unused)) void store(struct buffer *out, const uint8_t *bytes, size_t size) {
	enum { MOST = 65535 };
	for (size_t at = 0; at < size || !at; at += MOST) {
		size_t piece = MIN(size - at, (size_t)MOST);
		uint8_t head[5] = {at + piece >= size, (uint8_t)piece, (uint8_t)(piece >> 8), (uint8_t)~piece,
				   (uint8_t)(~piece >> 8)};
		buffer_append(out, head, sizeof(head));
		buffer_append(out, bytes + at, piece);
	}
}

#if defined(HAVE_ZLIB) && !defined(PAGE_STORED)
// A window of 32 kB and its tables take 400 kB, which most pages never fill: with 4 kB a window of 4 kB and
// a tenth of the memory are enough. Level 9 makes a page of a million events half a percent smaller than level 6,
// and takes eight times as long.
static int deflate_begin(z_stream *stream, size_t size) {
	enum { SMALL = 4096, MEDIUM = 128 << 10, LARGE = 8 << 20 };
	int level = size > LARGE ? 4 : size > MEDIUM ? 6 : 9;
	return size > SMALL ? deflateInit2(stream, level, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY)
			    : deflateInit2(stream, level, Z_DEFLATED, -12, 6, Z_DEFAULT_STRATEGY);
}
#endif

static void deflate_all(struct buffer *out, const uint8_t *bytes, size_t size) {
#if defined(HAVE_ZLIB) && !defined(PAGE_STORED)
	enum { PIECE = 1 << 30, ROOM = 1 << 16 };
	z_stream stream = {0};
	int done = Z_OK;
	if (deflate_begin(&stream, size) != Z_OK) {
		store(out, bytes, size);
		return;
	}
	size_t room = MIN(deflateBound(&stream, size), (size_t)ROOM);
	while (done == Z_OK) {
		if (!stream.avail_in) {
			stream.next_in = (Bytef *)bytes;
			stream.avail_in = (uInt)MIN(size, (size_t)PIECE);
			bytes += stream.avail_in;
			size -= stream.avail_in;
		}
		stream.next_out = buffer_room(out, room);
		stream.avail_out = (uInt)room;
		done = deflate(&stream, size ? Z_NO_FLUSH : Z_FINISH);
		out->size += room - stream.avail_out;
	}
	deflateEnd(&stream);
#else
	store(out, bytes, size);
#endif
}

static void base64_append(struct buffer *out, const uint8_t *bytes, size_t size) {
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t *to = buffer_room(out, (size + 2) / 3 * 4);
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t three = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? bytes[i + 2] : 0);
		*to++ = (uint8_t)digits[three >> 18];
		*to++ = (uint8_t)digits[three >> 12 & 63];
		*to++ = (uint8_t)(left > 1 ? digits[three >> 6 & 63] : '=');
		*to++ = (uint8_t)(left > 2 ? digits[three & 63] : '=');
	}
	out->size += (size + 2) / 3 * 4;
}

static size_t pack(struct buffer *out, const uint8_t *bytes, size_t size) {
	struct buffer deflated = {0};
	deflate_all(&deflated, bytes, size);
	size_t packed = deflated.size;
	base64_append(out, deflated.data, deflated.size);
	buffer_free(&deflated);
	return packed;
}

void columns_pack(struct buffer *out, const uint8_t *bytes, size_t size) {
	pack(out, bytes, size);
}

// The head's size, the head, the body.
void columns_write(struct columns *columns, struct buffer *out, size_t *packed) {
	struct buffer whole = {0};
	close_set(columns);
	buffer_text(&columns->head, "]}");
	uint32_t size = (uint32_t)columns->head.size;
	uint8_t bytes[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
			    (uint8_t)(size >> 24)};
	buffer_append(&whole, bytes, sizeof(bytes));
	buffer_append(&whole, columns->head.data, columns->head.size);
	buffer_append(&whole, columns->body.data, columns->body.size);
	columns_free(columns);
	size_t size_packed = pack(out, whole.data, whole.size);
	if (packed)
		*packed = size_packed;
	buffer_free(&whole);
}
