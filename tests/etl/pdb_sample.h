// A small PDB file made by hand: one unit with the function "run" (0x1010 to 0x1050), in which geo::helper is
// inlined (0x1018 to 0x1020) and Pool::take in that (0x101c to 0x1020); a public symbol without a unit at
// 0x1200. Included by unit tests and fuzz targets.
#pragma once

#include "etl_writer.h"

enum { PDB_BLOCK = 512, PDB_STREAMS = 9 };

// ---- the container ----

ETL_UNUSED static struct buffer sample_msf(struct buffer *streams) {
	struct buffer out = {0}, directory = {0};
	uint32_t block = 3, blocks = 0; // after the header and the lists of free blocks
	put32(&directory, PDB_STREAMS);
	for (size_t i = 0; i < PDB_STREAMS; i++)
		put32(&directory, (uint32_t)streams[i].size);
	for (size_t i = 0; i < PDB_STREAMS; i++)
		for (size_t at = 0; at < streams[i].size; at += PDB_BLOCK, blocks++)
			put32(&directory, block + blocks);
	buffer_append(&out, "Microsoft C/C++ MSF 7.00\r\n\032DS\0\0", 32);
	put32(&out, PDB_BLOCK);
	put32(&out, 1);
	put32(&out, block + blocks + 2);
	put32(&out, (uint32_t)directory.size);
	put32(&out, 0);
	put32(&out, block + blocks + 1);
	put_zeros(&out, 3 * PDB_BLOCK - out.size);
	for (size_t i = 0; i < PDB_STREAMS; i++) {
		buffer_append(&out, streams[i].data, streams[i].size);
		put_zeros(&out, -out.size & (PDB_BLOCK - 1));
		buffer_free(&streams[i]);
	}
	buffer_append(&out, directory.data, directory.size);
	put_zeros(&out, -out.size & (PDB_BLOCK - 1));
	put32(&out, block + blocks);
	put_zeros(&out, -out.size & (PDB_BLOCK - 1));
	buffer_free(&directory);
	return out;
}

// ---- streams ----

// Records begin with their size; they end at a multiple of four.
static void end_record(struct buffer *out, size_t begin) {
	put_zeros(out, -out->size & 3);
	uint16_t size = (uint16_t)(out->size - begin - 2);
	memcpy(out->data + begin, &size, sizeof(size));
}

static size_t begin_record(struct buffer *out, uint16_t kind) {
	size_t begin = out->size;
	put16(out, 0);
	put16(out, kind);
	return begin;
}

static void sample_info(struct buffer *out) {
	put32(out, 20000404);
	put32(out, 1);
	put32(out, 1);
	put_guid(out, "01020304-0506-0708-090a-0b0c0d0e0f10");
	put32(out, 7);
	buffer_append(out, "/names", 7);
	put32(out, 1); // names, places for them, two sets of bits
	put32(out, 1);
	put32(out, 1);
	put32(out, 1);
	put32(out, 0);
	put32(out, 0); // the name's offset, the stream
	put32(out, 7);
}

static void begin_types(struct buffer *out) {
	put32(out, 20040203);
	put32(out, 56);
	put32(out, 0x1000);
	put_zeros(out, 44);
}

// 0x1000: class Pool.
static void sample_types(struct buffer *out) {
	begin_types(out);
	size_t at = begin_record(out, 0x1504);
	put_zeros(out, 16);
	put16(out, 8); // size
	buffer_append(out, "Pool", 5);
	end_record(out, at);
}

// 0x1000: "geo"; 0x1001: geo::helper; 0x1002: Pool::take.
static void sample_ids(struct buffer *out) {
	begin_types(out);
	size_t at = begin_record(out, 0x1605);
	put32(out, 0);
	buffer_append(out, "geo", 4);
	end_record(out, at);
	at = begin_record(out, 0x1601);
	put32(out, 0x1000);
	put32(out, 0);
	buffer_append(out, "helper", 7);
	end_record(out, at);
	at = begin_record(out, 0x1602);
	put32(out, 0x1000);
	put32(out, 0);
	buffer_append(out, "take", 5);
	end_record(out, at);
}

static void sample_site(struct buffer *out, uint32_t type, const uint8_t *ranges, size_t size) {
	size_t at = begin_record(out, 0x114d);
	put64(out, 0);
	put32(out, type);
	buffer_append(out, ranges, size);
	end_record(out, at);
}

static void sample_function(struct buffer *out) {
	size_t at = begin_record(out, 0x1110);
	put_zeros(out, 12);
	put32(out, 0x40);
	put_zeros(out, 12);
	put32(out, 0x10);
	put16(out, 1);
	buffer_append(out, "", 1);
	buffer_append(out, "run", 4);
	end_record(out, at);
	// a line later at 8, 8 bytes; one more in it at 12, 4 bytes
	sample_site(out, 0x1001, (uint8_t[]){6, 2, 3, 8, 4, 8}, 6);
	sample_site(out, 0x1002, (uint8_t[]){3, 12, 4, 4}, 4);
	for (int i = 0; i < 2; i++)
		end_record(out, begin_record(out, 0x114e));
	end_record(out, begin_record(out, 6));
}

static void sample_unit(struct buffer *out, uint32_t *symbols, uint32_t *lines) {
	put32(out, 4);
	sample_function(out);
	*symbols = (uint32_t)out->size;
	put32(out, 0xf4); // files: one, without a checksum
	put32(out, 8);
	put32(out, 1);
	put32(out, 0);
	put32(out, 0xf6); // inlined functions: types, files, lines
	put32(out, 28);
	put32(out, 0);
	for (uint32_t i = 0; i < 2; i++) {
		put32(out, 0x1001 + i);
		put32(out, 0);
		put32(out, 100 + 100 * i);
	}
	put32(out, 0xf2); // lines of code at 1:0x10
	put32(out, 12 + 12 + 16);
	put32(out, 0x10);
	put32(out, 1);
	put32(out, 0x40);
	put32(out, 0);
	put32(out, 2);
	put32(out, 12 + 16);
	put64(out, UINT64_C(10) << 32);
	put64(out, UINT64_C(11) << 32 | 8);
	*lines = (uint32_t)out->size - *symbols;
}

static void sample_publics(struct buffer *out) {
	static const struct {
		uint32_t offset;
		const char *name;
	} list[] = {{0x10, "?run@@YAXXZ"}, {0x200, "?only@pub@@YAXXZ"}};
	for (size_t i = 0; i < 2; i++) {
		size_t at = begin_record(out, 0x110e);
		put32(out, 2);
		put32(out, list[i].offset);
		put16(out, 1);
		buffer_append(out, list[i].name, strlen(list[i].name) + 1);
		end_record(out, at);
	}
}

static void sample_piece(struct buffer *out) {
	put32(out, 1); // section
	put32(out, 0);
	put32(out, 0x100);
	put32(out, 0);
	put32(out, 0); // unit
	put64(out, 0);
}

static void sample_debug(struct buffer *out, uint32_t symbols, uint32_t lines) {
	uint32_t units = 64 + 12, pieces = 4 + 28;
	put32(out, UINT32_MAX);
	put32(out, 19990903);
	put32(out, 2); // age
	put64(out, 0);
	put16(out, 5);
	put16(out, 0);
	put32(out, units);
	put32(out, pieces);
	put_zeros(out, 16);
	put32(out, 22); // more streams
	put_zeros(out, 12);
	size_t begin = out->size;
	put32(out, 0);
	sample_piece(out);
	put16(out, 0);
	put16(out, 6);
	put32(out, symbols);
	put32(out, 0);
	put32(out, lines);
	put_zeros(out, 16);
	buffer_append(out, "a.obj\0a.obj", 12);
	put_zeros(out, units - (out->size - begin));
	put32(out, 0xeffe0000u + 19970605);
	sample_piece(out);
	for (int i = 0; i < 11; i++)
		put16(out, i == 5 ? 8 : 0xffff);
}

ETL_UNUSED static struct buffer sample_pdb(void) {
	struct buffer streams[PDB_STREAMS] = {0};
	uint32_t symbols, lines;
	sample_info(&streams[1]);
	sample_types(&streams[2]);
	sample_ids(&streams[4]);
	sample_publics(&streams[5]);
	sample_unit(&streams[6], &symbols, &lines);
	sample_debug(&streams[3], symbols, lines);
	put32(&streams[7], 0xeffeeffe);
	put32(&streams[7], 1);
	put32(&streams[7], 7);
	buffer_append(&streams[7], "\0run.c", 7);
	put64(&streams[8], 0); // the section's name
	put32(&streams[8], 0x1000);
	put32(&streams[8], 0x1000);
	put_zeros(&streams[8], 24);
	return sample_msf(streams);
}
