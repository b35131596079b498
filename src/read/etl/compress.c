// The compressions of [MS-XCA]: plain LZ77 (XPRESS), LZNT1, and LZ77 with Huffman
// codes. Debian has no library for them.
//
// Each function takes a whole compressed piece and returns how many bytes it
// produced; on damaged input, as many as it could. Real files use plain LZ77, so
// that function is fast: it moves literals and matches in wide pieces while both
// ends are far, and byte by byte near them.
#include "read/etl/etl.h"

struct lz {
	const uint8_t *in, *in_end;
	uint8_t *out, *out_begin, *out_end;
};

static size_t produced(const struct lz *lz) {
	return (size_t)(lz->out - lz->out_begin);
}

static bool take_byte(struct lz *lz, uint32_t *value) {
	if (lz->in == lz->in_end)
		return false;
	*value = *lz->in++;
	return true;
}

static bool take_bytes(struct lz *lz, size_t size, uint32_t *value) {
	if ((size_t)(lz->in_end - lz->in) < size)
		return false;
	*value = 0;
	memcpy(value, lz->in, size); // little-endian
	lz->in += size;
	return true;
}

// A match may overlap the bytes it is about to write. A match too long for the
// output is damage; the part that fits counts.
static bool copy_match(struct lz *lz, size_t offset, size_t length) {
	if (offset > produced(lz))
		return false;
	size_t room = (size_t)(lz->out_end - lz->out);
	bool fits = length <= room;
	const uint8_t *from = lz->out - offset;
	uint8_t *to = lz->out;
	length = fits ? length : room;
	lz->out += length;
	if (offset >= 8 && room >= length + 8) {
		for (uint8_t *end = to + length; to < end; to += 8, from += 8)
			memcpy(to, from, 8);
		return true;
	}
	if (offset == 1)
		memset(to, *from, length);
	else
		while (length--)
			*to++ = *from++;
	return fits;
}

// ---- plain LZ77 ----

// Lengths of 10 and more continue in a nibble that two matches share, then in a
// byte, then in two or four bytes.
static bool take_length(struct lz *lz, const uint8_t **half, uint32_t *length) {
	if (*half) {
		*length = **half >> 4;
		*half = NULL;
	} else {
		if (lz->in == lz->in_end)
			return false;
		*half = lz->in;
		*length = *lz->in++ & 15;
	}
	if (*length == 15) {
		if (!take_byte(lz, length))
			return false;
		if (*length == 255) {
			if (!take_bytes(lz, 2, length) || (*length == 0 && !take_bytes(lz, 4, length)) ||
			    *length < 15 + 7)
				return false;
			*length -= 15 + 7;
		}
		*length += 15;
	}
	*length += 7;
	return true;
}

static bool copy_literals(struct lz *lz, size_t count) {
	size_t in_left = (size_t)(lz->in_end - lz->in), room = (size_t)(lz->out_end - lz->out);
	if (in_left >= 32 && room >= 32) {
		memcpy(lz->out, lz->in, 32);
	} else {
		count = MIN(count, MIN(in_left, room));
		memcpy(lz->out, lz->in, count);
	}
	lz->in += count;
	lz->out += count;
	return in_left != 0 && room != 0;
}

static size_t decompress_xpress(struct lz *lz) {
	const uint8_t *half = NULL;
	uint32_t flags;
	while (lz->out < lz->out_end && take_bytes(lz, 4, &flags)) {
		for (unsigned left = 32; left;) {
			// The next flags are in the top bits: literals up to the first bit that is
			// set.
			unsigned literals = flags ? (unsigned)__builtin_clz(flags) : 32;
			literals = MIN(literals, left);
			if (literals) {
				if (!copy_literals(lz, literals))
					return produced(lz);
				left -= literals;
				flags = literals < 32 ? flags << literals : 0;
				continue;
			}
			uint32_t match, length;
			if (lz->out == lz->out_end || !take_bytes(lz, 2, &match))
				return produced(lz);
			length = match & 7;
			if (length == 7 && !take_length(lz, &half, &length))
				return produced(lz);
			if (!copy_match(lz, (match >> 3) + 1, (size_t)length + 3))
				return produced(lz);
			flags <<= 1;
			left--;
		}
	}
	return produced(lz);
}

// ---- LZNT1 ----

static bool lznt1_chunk(struct lz *lz, const uint8_t *end) {
	const uint8_t *chunk = lz->out;
	while (lz->in < end && lz->out < lz->out_end) {
		unsigned flags = *lz->in++;
		for (unsigned bit = 0; bit < 8 && lz->in < end && lz->out < lz->out_end; bit++, flags >>= 1) {
			if (!(flags & 1)) {
				*lz->out++ = *lz->in++;
				continue;
			}
			uint32_t token;
			if (end - lz->in < 2 || !take_bytes(lz, 2, &token))
				return false;
			// The further into the chunk, the more bits of the token are the distance.
			unsigned length_bits = 12;
			for (size_t at = (size_t)(lz->out - chunk - 1); lz->out > chunk && at >= 16; at >>= 1)
				length_bits--;
			size_t offset = (token >> length_bits) + 1;
			size_t length = (token & ((1u << length_bits) - 1)) + 3;
			if (offset > (size_t)(lz->out - chunk) || !copy_match(lz, offset, length))
				return false;
		}
	}
	return true;
}

static size_t decompress_lznt1(struct lz *lz) {
	uint32_t header;
	while (lz->out < lz->out_end && take_bytes(lz, 2, &header) && header) {
		size_t size = (header & 0xfff) + 1;
		if ((header >> 12 & 7) != 3 || size > (size_t)(lz->in_end - lz->in))
			break;
		const uint8_t *end = lz->in + size;
		if (!(header & 0x8000)) {
			size = MIN(size, (size_t)(lz->out_end - lz->out));
			memcpy(lz->out, lz->in, size);
			lz->out += size;
		} else if (!lznt1_chunk(lz, end)) {
			break;
		}
		lz->in = end;
	}
	return produced(lz);
}

// ---- LZ77 with Huffman codes ----

enum { SYMBOLS = 512, LONGEST_CODE = 15, BLOCK = 65536 };

struct huffman {
	uint16_t symbols[1 << LONGEST_CODE]; // indexed by the next 15 bits
	uint8_t lengths[SYMBOLS];
};

static bool huffman_read(struct lz *lz, struct huffman *code) {
	if (lz->in_end - lz->in < SYMBOLS / 2)
		return false;
	for (size_t i = 0; i < SYMBOLS; i++)
		code->lengths[i] = i & 1 ? lz->in[i / 2] >> 4 : lz->in[i / 2] & 15;
	lz->in += SYMBOLS / 2;
	// Codes of the same length are consecutive, shorter lengths first; together they must use
	// the whole code space. Data that is not a table at all is rejected before the table is
	// filled.
	size_t spans[LONGEST_CODE + 1] = {0}, at[LONGEST_CODE + 2] = {0};
	for (size_t i = 0; i < SYMBOLS; i++)
		spans[code->lengths[i]] += (size_t)1 << (LONGEST_CODE - code->lengths[i]);
	for (unsigned length = 1; length <= LONGEST_CODE; length++)
		at[length + 1] = at[length] + spans[length];
	if (at[LONGEST_CODE + 1] != ARRAY_SIZE(code->symbols))
		return false;
	for (size_t i = 0; i < SYMBOLS; i++) {
		unsigned length = code->lengths[i];
		size_t end = at[length] + ((size_t)1 << (LONGEST_CODE - length));
		for (; length && at[length] < end; at[length]++)
			code->symbols[at[length]] = (uint16_t)i;
	}
	return true;
}

struct bits {
	uint32_t next;
	int extra; // bits in `next` beyond the first 16
};

static void bits_drop(struct lz *lz, struct bits *bits, unsigned count) {
	bits->next = count < 32 ? bits->next << count : 0;
	bits->extra -= (int)count;
	if (bits->extra < 0) {
		uint32_t word = 0;
		take_bytes(lz, 2, &word); // zeros follow the end
		bits->next |= word << -bits->extra;
		bits->extra += 16;
	}
}

static bool huffman_length(struct lz *lz, uint32_t *length) {
	if (*length == 15) {
		if (!take_byte(lz, length))
			return false;
		if (*length == 255) {
			if (!take_bytes(lz, 2, length) || (*length == 0 && !take_bytes(lz, 4, length)) ||
			    *length < 15)
				return false;
			*length -= 15;
		}
		*length += 15;
	}
	*length += 3;
	return true;
}

static bool huffman_block(struct lz *lz, const struct huffman *code) {
	struct bits bits = {.extra = 16};
	uint32_t high, low;
	if (!take_bytes(lz, 2, &high) || !take_bytes(lz, 2, &low))
		return false;
	bits.next = high << 16 | low;
	const uint8_t *end = lz->out + MIN((size_t)(lz->out_end - lz->out), (size_t)BLOCK);
	while (lz->out < end) {
		uint32_t symbol = code->symbols[bits.next >> (32 - LONGEST_CODE)];
		bits_drop(lz, &bits, code->lengths[symbol]);
		if (symbol < 256) {
			*lz->out++ = (uint8_t)symbol;
			continue;
		}
		uint32_t length = symbol & 15;
		unsigned offset_bits = symbol >> 4 & 15;
		if (!huffman_length(lz, &length))
			return false;
		size_t offset = ((size_t)1 << offset_bits) +
				(offset_bits ? bits.next >> (32 - offset_bits) : 0);
		bits_drop(lz, &bits, offset_bits);
		if (!copy_match(lz, offset, length))
			return false;
	}
	return true;
}

static size_t decompress_huffman(struct lz *lz) {
	struct huffman *code = memory_alloc(sizeof(*code));
	while (lz->out < lz->out_end && huffman_read(lz, code) && huffman_block(lz, code))
		;
	free(code);
	return produced(lz);
}

size_t etl_decompress(enum etl_compression scheme, const uint8_t *in, size_t in_size, uint8_t *out,
		      size_t out_size) {
	static size_t (*const schemes[ETL_COMPRESSION_COUNT])(struct lz *) = {
		[ETL_XPRESS] = decompress_xpress,
		[ETL_LZNT1] = decompress_lznt1,
		[ETL_XPRESS_HUFFMAN] = decompress_huffman,
	};
	struct lz lz = {
		.in = in, .in_end = in + in_size, .out = out, .out_begin = out, .out_end = out + out_size};
	size_t size = schemes[scheme](&lz);
	// The output is right only if no input is left over (except an end mark or padding).
	return size == out_size && lz.in_end - lz.in > 8 ? 0 : size;
}
