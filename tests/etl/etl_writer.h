// A small writer of ETL files, for what no public sample has. A file is built in
// a buffer: a session header, then buffers for one CPU each, with records of any
// kind. Times are ticks of 100 ns. Included by unit tests, fuzz targets and
// make_etl.c; every function is static and may be unused.
#pragma once

#include "base/buffer.h"

#include <string.h>

#define ETL_UNUSED __attribute__((unused))

enum { WRITER_PLAIN, WRITER_XPRESS, WRITER_LZNT1, WRITER_HUFFMAN };

struct etl_writer {
	struct buffer out;
	struct buffer content; // of the buffer being filled
	uint32_t buffer_size;
	uint16_t cpu, logger;
	uint64_t time; // for the header of the next buffer
	int compression;
	uint8_t pointer;
	bool unfinished;      // leave the length of buffers empty
	uint64_t shift;       // added to the times of events
	const char *activity; // of events; NULL: none
	uint8_t opcode;       // of events
};

// ---- bytes ----

ETL_UNUSED static void put16(struct buffer *out, uint16_t value) {
	buffer_append(out, &value, sizeof(value));
}

ETL_UNUSED static void put32(struct buffer *out, uint32_t value) {
	buffer_append(out, &value, sizeof(value));
}

ETL_UNUSED static void put64(struct buffer *out, uint64_t value) {
	buffer_append(out, &value, sizeof(value));
}

ETL_UNUSED static void put_zeros(struct buffer *out, size_t count) {
	memset(buffer_room(out, count), 0, count);
	out->size += count;
}

ETL_UNUSED static void put_utf16(struct buffer *out, const char *text) {
	do
		put16(out, (uint8_t)*text);
	while (*text++);
}

ETL_UNUSED static void put_guid(struct buffer *out, const char *text) {
	static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	uint8_t guid[16];
	for (size_t i = 0; i < 16; i++) {
		text += *text == '-';
		unsigned value = 0;
		for (int k = 0; k < 2; k++, text++)
			value = value << 4 |
				(unsigned)(*text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10);
		guid[order[i]] = (uint8_t)value;
	}
	buffer_append(out, guid, sizeof(guid));
}

// ---- compression, as simple as the formats allow ----

static void compress_xpress(struct buffer *out, const uint8_t *in, size_t size) {
	// Runs of one byte become matches of distance 1, the rest literals.
	for (size_t at = 0; at < size;) {
		size_t flags_at = out->size;
		uint32_t flags = 0;
		put32(out, 0);
		for (unsigned bit = 0; bit < 32; bit++) {
			size_t run = 0;
			while (at && at + run < size && run < 9 && in[at + run] == in[at - 1])
				run++;
			if (at >= size) {
				flags |= 1u << (31 - bit); // the remaining flags say "match": the end
			} else if (run >= 3) {
				put16(out, (uint16_t)(run - 3));
				flags |= 1u << (31 - bit);
				at += run;
			} else {
				buffer_append(out, &in[at++], 1);
			}
		}
		memcpy(out->data + flags_at, &flags, sizeof(flags));
	}
}

static void compress_lznt1(struct buffer *out, const uint8_t *in, size_t size) {
	for (size_t chunk = 0; chunk < size; chunk += 4096) {
		size_t left = MIN(size - chunk, (size_t)4096), header = out->size;
		put16(out, 0);
		for (size_t at = 0; at < left;) {
			size_t flags_at = out->size;
			uint8_t flags = 0;
			buffer_append(out, &flags, 1);
			for (unsigned bit = 0; bit < 8 && at < left; bit++) {
				size_t run = 0;
				while (at && at + run < left && run < 10 &&
				       in[chunk + at + run] == in[chunk + at - 1])
					run++;
				if (run >= 3) {
					put16(out,
					      (uint16_t)(run - 3)); // distance 1 is zero in the upper bits
					flags |= (uint8_t)(1u << bit);
					at += run;
				} else {
					buffer_append(out, &in[chunk + at++], 1);
				}
			}
			out->data[flags_at] = flags;
		}
		uint16_t word = (uint16_t)(0xb000 | (out->size - header - 2 - 1));
		memcpy(out->data + header, &word, sizeof(word));
	}
}

// All 512 symbols have codes of nine bits: the code of a symbol is the symbol.
static void compress_huffman(struct buffer *out, const uint8_t *in, size_t size) {
	for (size_t block = 0; block < size; block += 65536) {
		size_t left = MIN(size - block, (size_t)65536);
		memset(buffer_room(out, 256), 0x99, 256);
		out->size += 256;
		uint64_t bits = 0;
		unsigned count = 0;
		for (size_t i = 0; i < left; i++) {
			bits = bits << 9 | in[block + i];
			count += 9;
			while (count >= 16) {
				put16(out, (uint16_t)(bits >> (count - 16)));
				count -= 16;
			}
		}
		put16(out, (uint16_t)(count ? bits << (16 - count) : 0));
		put16(out, 0);
	}
}

// ---- buffers ----

static void buffer_header(struct etl_writer *writer, uint32_t stored, uint32_t filled, uint16_t flags,
			  uint16_t type) {
	struct buffer *out = &writer->out;
	put32(out, stored);
	put32(out, filled); // SavedOffset
	put64(out, 0);
	put64(out, writer->time);
	put64(out, 0); // sequence
	put64(out, 0);
	put16(out, writer->cpu);
	put16(out, writer->logger);
	put32(out, 3);
	put32(out, writer->unfinished ? UINT32_MAX : filled);
	put16(out, (uint16_t)(flags | 0x20));
	put16(out, type);
	put_zeros(out, 0x48 - 0x38);
}

ETL_UNUSED static void etl_writer_flush(struct etl_writer *writer, uint16_t type) {
	uint32_t filled = 0x48 + (uint32_t)writer->content.size;
	if (writer->compression == WRITER_PLAIN || type == 4) {
		uint32_t stored = writer->compression == WRITER_PLAIN ? writer->buffer_size : filled;
		buffer_header(writer, stored, filled, 0, type);
		buffer_append(&writer->out, writer->content.data, writer->content.size);
		memset(buffer_room(&writer->out, stored - filled), 0xff, stored - filled);
		writer->out.size += stored - filled;
	} else {
		static void (*const schemes[])(struct buffer *, const uint8_t *,
					       size_t) = {[WRITER_XPRESS] = compress_xpress,
							  [WRITER_LZNT1] = compress_lznt1,
							  [WRITER_HUFFMAN] = compress_huffman};
		struct buffer packed = {0};
		schemes[writer->compression](&packed, writer->content.data, writer->content.size);
		buffer_header(writer, 0x48 + (uint32_t)packed.size, filled, 0x40, type);
		buffer_append(&writer->out, packed.data, packed.size);
		buffer_free(&packed);
	}
	writer->content.size = 0;
}

ETL_UNUSED static void etl_writer_cpu(struct etl_writer *writer, uint16_t cpu, uint64_t time) {
	if (writer->content.size)
		etl_writer_flush(writer, 0);
	writer->cpu = cpu;
	writer->time = time;
}

// ---- records ----

static void pad(struct buffer *out) {
	put_zeros(out, -out->size & 7);
}

// SYSTEM (1, 2), COMPACT (3, 4) and PERFINFO (16, 17), by the type of a 32-bit record.
static void kernel_record(struct etl_writer *writer, uint8_t type, uint8_t group, uint8_t opcode,
			  uint16_t version, uint32_t tid, uint32_t pid, uint64_t time,
			  const struct buffer *payload) {
	struct buffer *out = &writer->content;
	size_t header = type == 16 ? 16 : type == 1 ? 32 : 24;
	put32(out, (uint32_t)(0xc0000000u | (type + (writer->pointer == 8)) << 16 | version));
	put16(out, (uint16_t)(header + payload->size));
	buffer_append(out, (uint8_t[]){opcode, group}, 2);
	if (type != 16) {
		put32(out, tid);
		put32(out, pid);
	}
	put64(out, time);
	if (type == 1)
		put64(out, 0); // kernel and user times
	buffer_append(out, payload->data, payload->size);
	pad(out);
}

ETL_UNUSED static void etl_system(struct etl_writer *writer, uint8_t group, uint8_t opcode, uint16_t version,
				  uint32_t tid, uint32_t pid, uint64_t time, struct buffer *payload) {
	kernel_record(writer, 1, group, opcode, version, tid, pid, time, payload);
	payload->size = 0;
}

ETL_UNUSED static void etl_compact(struct etl_writer *writer, uint8_t group, uint8_t opcode, uint16_t version,
				   uint32_t tid, uint32_t pid, uint64_t time, struct buffer *payload) {
	kernel_record(writer, 3, group, opcode, version, tid, pid, time, payload);
	payload->size = 0;
}

ETL_UNUSED static void etl_perfinfo(struct etl_writer *writer, uint8_t group, uint8_t opcode,
				    uint16_t version, uint64_t time, struct buffer *payload) {
	kernel_record(writer, 16, group, opcode, version, 0, 0, time, payload);
	payload->size = 0;
}

// FULL (10, 20), or INSTANCE (11, 21).
ETL_UNUSED static void etl_full(struct etl_writer *writer, bool instance, const char *guid, uint8_t opcode,
				uint16_t version, uint32_t tid, uint32_t pid, uint64_t time,
				struct buffer *payload) {
	struct buffer *out = &writer->content;
	uint32_t type = (writer->pointer == 8 ? 20u : 10u) + instance;
	put32(out, (uint32_t)(0xc0000000u | type << 16 | ((instance ? 72 : 48) + (uint32_t)payload->size)));
	buffer_append(out, (uint8_t[]){opcode, 4}, 2);
	put16(out, version);
	put32(out, tid);
	put32(out, pid);
	put64(out, time);
	put_guid(out, guid);
	put64(out, 0); // kernel and user times
	if (instance) {
		put32(out, 17); // itself, its parent
		put32(out, 16);
		put_guid(out, guid);
	}
	buffer_append(out, payload->data, payload->size);
	pad(out);
	payload->size = 0;
}

// An extended item; `more` when another one follows.
ETL_UNUSED static void etl_item(struct buffer *items, uint16_t type, const void *data, size_t size,
				bool more) {
	put16(items, (uint16_t)((8 + size + 7) & ~(size_t)7));
	put16(items, type);
	put16(items, more);
	put16(items, (uint16_t)size);
	buffer_append(items, data, size);
	pad(items);
}

ETL_UNUSED static void etl_event(struct etl_writer *writer, const char *guid, uint16_t id, uint8_t version,
				 uint32_t tid, uint32_t pid, uint64_t time, struct buffer *items,
				 struct buffer *payload) {
	struct buffer *out = &writer->content;
	uint32_t size = 80 + (uint32_t)payload->size + (items ? (uint32_t)items->size : 0);
	put32(out, 0xc0000000u | (writer->pointer == 8 ? 19u : 18u) << 16 | size);
	put16(out, items && items->size ? 1 : 0);
	put16(out, 0);
	put32(out, tid);
	put32(out, pid);
	put64(out, time + writer->shift);
	put_guid(out, guid);
	put16(out, id);
	buffer_append(out, (uint8_t[]){version, 0, 4, writer->opcode}, 4);
	put16(out, 0);
	put64(out, 1); // keyword
	put64(out, 0);
	if (writer->activity)
		put_guid(out, writer->activity);
	else
		put_zeros(out, 16);
	if (items) {
		buffer_append(out, items->data, items->size);
		items->size = 0;
	}
	buffer_append(out, payload->data, payload->size);
	pad(out);
	payload->size = 0;
}

ETL_UNUSED static void etl_message(struct etl_writer *writer, const char *guid, uint16_t number, uint32_t tid,
				   uint32_t pid, uint64_t time, struct buffer *payload) {
	struct buffer *out = &writer->content;
	put32(out, 0x90000000u | (uint32_t)(8 + 4 + 16 + 8 + 8 + payload->size));
	put16(out, number);
	put16(out, 1 | 2 | 8 | 0x20);
	put32(out, 1); // sequence
	put_guid(out, guid);
	put64(out, time);
	put32(out, tid);
	put32(out, pid);
	buffer_append(out, payload->data, payload->size);
	pad(out);
	payload->size = 0;
}

// ---- the file ----

// A session with ten million ticks a second that began at tick 1000; with `wall`, its clock is the system
// time (events only).
ETL_UNUSED static void etl_writer_begin_clock(struct etl_writer *writer, int compression, uint8_t pointer,
					      bool wall) {
	const uint64_t start = 132500000000000000u;
	struct buffer header = {0};
	*writer = (struct etl_writer){
		.buffer_size = 4096, .compression = compression, .pointer = pointer, .time = 1000};
	writer->shift = wall ? start - 1000 : 0;
	put32(&header, 4096);
	put32(&header, 0x0501000a);
	put32(&header, 19045);
	put32(&header, 4);
	put64(&header, 132500000010000000u);
	put32(&header, 156250);
	put32(&header, 0);
	put32(&header, compression == WRITER_PLAIN ? 1 : 0x04000001);
	put32(&header, 0);
	put32(&header, 1);
	put32(&header, pointer);
	put32(&header, 7); // events lost
	put32(&header, 3000);
	put_zeros(&header, 2u * pointer + 176);
	put64(&header, 132499999990000000u); // boot
	put64(&header, 10000000);
	put64(&header, start);
	put32(&header, wall ? 2 : 1);
	put32(&header, 0);
	put_utf16(&header, "hand-made");
	put_utf16(&header, "C:\\made.etl");
	etl_system(writer, 0, 0, 2, 100, 4, 1000 + writer->shift, &header);
	etl_writer_flush(writer, 4);
	buffer_free(&header);
}

ETL_UNUSED static void etl_writer_begin(struct etl_writer *writer, int compression, uint8_t pointer) {
	etl_writer_begin_clock(writer, compression, pointer, false);
}

// Returns the file; the writer is done.
ETL_UNUSED static struct buffer etl_writer_end(struct etl_writer *writer) {
	if (writer->content.size)
		etl_writer_flush(writer, 0);
	buffer_free(&writer->content);
	return writer->out;
}
