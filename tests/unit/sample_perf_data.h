// Builds small perf recordings, record by record.
#pragma once

#include "base/buffer.h"

enum { SAMPLE_IP = 1, SAMPLE_TID = 2, SAMPLE_TIME = 4, SAMPLE_CALLCHAIN = 32, SAMPLE_PERIOD = 256 };
enum { SAMPLE_FIELDS = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_CALLCHAIN | SAMPLE_PERIOD };

static inline void put_u16(struct buffer *out, uint16_t value) {
	buffer_append(out, &value, sizeof(value));
}

static inline void put_u32(struct buffer *out, uint32_t value) {
	buffer_append(out, &value, sizeof(value));
}

static inline void put_u64(struct buffer *out, uint64_t value) {
	buffer_append(out, &value, sizeof(value));
}

static inline void put_text(struct buffer *out, const char *text) {
	size_t size = strlen(text) + 1;
	buffer_append(out, text, size);
	for (; size % 8; size++)
		buffer_append(out, "", 1);
}

// A record's header; its size is filled in by put_end().
static inline size_t put_begin(struct buffer *out, uint32_t type, uint16_t misc) {
	size_t mark = out->size;
	put_u32(out, type);
	put_u16(out, misc);
	put_u16(out, 0);
	return mark;
}

static inline void put_end(struct buffer *out, size_t mark) {
	uint16_t size = (uint16_t)(out->size - mark);
	memcpy(out->data + mark + 6, &size, sizeof(size));
}

static inline void put_attr(struct buffer *out, uint64_t sample_type) {
	put_u32(out, 1); // software
	put_u32(out, 112);
	put_u64(out, 0); // cpu-clock
	put_u64(out, 4000);
	put_u64(out, sample_type);
	put_u64(out, 0);
	put_u64(out, 1 << 10 | 1 << 18); // frequency, times on all records
	for (size_t i = 48; i < 112; i += 8)
		put_u64(out, 0);
}

// The trailer of records other than samples.
static inline void put_trailer(struct buffer *out, uint32_t tid, uint64_t time) {
	put_u32(out, tid);
	put_u32(out, tid);
	put_u64(out, time);
}

static inline void put_comm(struct buffer *out, uint32_t tid, const char *name, uint64_t time) {
	size_t mark = put_begin(out, 3, 0);
	put_u32(out, tid);
	put_u32(out, tid);
	put_text(out, name);
	put_trailer(out, tid, time);
	put_end(out, mark);
}

static inline void put_mmap(struct buffer *out, uint32_t tid, uint64_t begin, uint64_t size, uint64_t offset,
			    const char *file, uint64_t time) {
	size_t mark = put_begin(out, 1, 2);
	put_u32(out, tid);
	put_u32(out, tid);
	put_u64(out, begin);
	put_u64(out, size);
	put_u64(out, offset);
	put_text(out, file);
	put_trailer(out, tid, time);
	put_end(out, mark);
}

static inline void put_kernel_symbol(struct buffer *out, uint64_t begin, uint32_t size, uint16_t flags,
				     const char *name, uint64_t time) {
	size_t mark = put_begin(out, 17, 0);
	put_u64(out, begin);
	put_u32(out, size);
	put_u16(out, 1); // a BPF program
	put_u16(out, flags);
	put_text(out, name);
	put_trailer(out, 0, time);
	put_end(out, mark);
}

// A sample in user code with these addresses, innermost first.
static inline void put_sample(struct buffer *out, uint32_t tid, uint64_t time, const uint64_t *chain,
			      size_t count) {
	size_t mark = put_begin(out, 9, 2);
	put_u64(out, chain[0]);
	put_u32(out, tid);
	put_u32(out, tid);
	put_u64(out, time);
	put_u64(out, 1000); // period
	put_u64(out, count + 1);
	put_u64(out, (uint64_t)-512); // user
	for (size_t i = 0; i < count; i++)
		put_u64(out, chain[i]);
	put_end(out, mark);
}

static inline void put_round(struct buffer *out) {
	put_end(out, put_begin(out, 68, 0));
}

static inline void put_pipe_header(struct buffer *out) {
	buffer_append(out, "PERFILE2", 8);
	put_u64(out, 16);
	size_t mark = put_begin(out, 64, 0);
	put_attr(out, SAMPLE_FIELDS);
	put_u64(out, 7); // its id
	put_end(out, mark);
}

// A file with these records.
static inline void put_file(struct buffer *out, const struct buffer *records) {
	enum { HEADER = 104, ATTR = 112 + 16 };
	buffer_append(out, "PERFILE2", 8);
	put_u64(out, HEADER);
	put_u64(out, ATTR);
	put_u64(out, HEADER); // the table of events
	put_u64(out, ATTR);
	put_u64(out, HEADER + ATTR); // the records
	put_u64(out, records->size);
	for (size_t i = 0; i < 6; i++) // no event names, no features
		put_u64(out, 0);
	put_attr(out, SAMPLE_FIELDS);
	put_u64(out, 0);
	put_u64(out, 0);
	buffer_append(out, records->data, records->size);
}

// A task that is named, mapped and sampled twice, out of order.
static inline void put_records(struct buffer *out) {
	put_comm(out, 5, "first", 10);
	put_mmap(out, 5, 0x1000, 0x2000, 0, "/lib/a.so", 20);
	put_sample(out, 5, 50, (uint64_t[]){0x1100, 0x1200}, 2);
	put_comm(out, 5, "later", 40);
	put_sample(out, 5, 30, (uint64_t[]){0x1100}, 1);
	put_round(out);
	put_round(out);
}
