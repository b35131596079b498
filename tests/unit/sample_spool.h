// Spools for tests, built block by block, and one with every kind of block and
// record: the reader's tests and the seeds of its fuzzer start from it.
#pragma once

#include "base/buffer.h"
#include "format/spool_format.h"

enum { SAMPLE_START = 1000000 };

static inline void spool_begin(struct buffer *spool, uint64_t start) {
	struct spool_header header = {.magic = SPOOL_MAGIC,
				      .version = SPOOL_VERSION,
				      .header_size = sizeof(header),
				      .start = start};
	buffer_append(spool, &header, sizeof(header));
}

static inline void add_block(struct buffer *spool, uint32_t type, const void *content, size_t size) {
	struct spool_block block = {.type = type, .size = (uint32_t)size};
	buffer_append(spool, &block, sizeof(block));
	buffer_append(spool, content, size);
	buffer_append(spool, "\0\0\0\0\0\0\0", -size & 7);
}

static inline void spool_fact(struct buffer *spool, const char *key, const char *value) {
	struct buffer content = {0};
	buffer_append(&content, key, strlen(key) + 1);
	buffer_append(&content, value, strlen(value) + 1);
	add_block(spool, SPOOL_META, content.data, content.size);
	buffer_free(&content);
}

static inline void spool_a_task(struct buffer *spool, struct spool_task task, const char *name,
				const char *line, size_t line_size) {
	struct buffer content = {0};
	buffer_append(&content, &task, sizeof(task));
	buffer_append(&content, name, strlen(name) + 1);
	buffer_append(&content, line, line_size);
	add_block(spool, SPOOL_TASK, content.data, content.size);
	buffer_free(&content);
}

static inline void spool_a_watermark(struct buffer *spool, uint64_t time) {
	add_block(spool, SPOOL_WATERMARK, &time, sizeof(time));
}

// ---- batches ----

// Begins a batch, which contains everything recorded until batch_end().
static inline size_t batch_begin(struct buffer *spool, uint32_t cpu, uint64_t base) {
	struct spool_block block = {.type = SPOOL_BATCH};
	struct batch batch = {.base = base, .cpu = cpu};
	size_t mark = spool->size;
	buffer_append(spool, &block, sizeof(block));
	buffer_append(spool, &batch, sizeof(batch));
	return mark;
}

static inline void batch_end(struct buffer *spool, size_t mark) {
	uint32_t block_size = (uint32_t)(spool->size - mark - sizeof(struct spool_block));
	uint32_t batch_size = block_size - (uint32_t)sizeof(struct batch);
	memcpy(spool->data + mark + offsetof(struct spool_block, size), &block_size, 4);
	memcpy(spool->data + mark + sizeof(struct spool_block) + offsetof(struct batch, size), &batch_size,
	       4);
}

static inline void batch_lost(struct buffer *spool, size_t mark, unsigned source, uint32_t count) {
	uint8_t *batch = spool->data + mark + sizeof(struct spool_block);
	memcpy(batch + offsetof(struct batch, lost), &count, 4);
	memcpy(batch + offsetof(struct batch, lost_source), &source, 4);
}

static inline void record_append(struct buffer *spool, struct record head, const void *record) {
	size_t at = spool->size;
	buffer_append(spool, record, head.size);
	memcpy(spool->data + at, &head, sizeof(head));
}

// A record of any type: RECORD(&spool, record_exit, RECORD_EXIT, flags, delta, .tid = 10, .pid = 10).
#define RECORD(spool, type, record_kind, record_flags, record_delta, ...)                                    \
	record_append(spool,                                                                                 \
		      (struct record){.delta = (record_delta),                                               \
				      .kind = (record_kind),                                                 \
				      .flags = (record_flags),                                               \
				      .size = sizeof(struct type)},                                          \
		      &(struct type){__VA_ARGS__})

static inline void record_a_switch(struct buffer *spool, uint32_t delta, uint32_t tid, uint16_t tid_state,
				   uint32_t next_tid) {
	RECORD(spool, record_switch, RECORD_SWITCH, 0, delta, .prev_tid = tid, .next_tid = next_tid,
	       .prev_state = tid_state, .prev_priority = 120, .next_priority = 120);
}

static inline void record_an_exec(struct buffer *spool, uint32_t delta, uint32_t tid, const char *file,
				  const char *arguments, size_t arguments_size) {
	size_t file_size = strlen(file) + 1;
	size_t size = (sizeof(struct record_exec) + file_size + arguments_size + 7) & ~(size_t)7;
	struct record_exec exec = {.head = {.delta = delta, .kind = RECORD_EXEC, .size = (uint16_t)size},
				   .tid = tid,
				   .pid = tid,
				   .old_tid = tid,
				   .name = "test",
				   .file_size = (uint16_t)file_size,
				   .arguments_size = (uint16_t)arguments_size};
	size_t end = spool->size + size;
	buffer_append(spool, &exec, sizeof(exec));
	buffer_append(spool, file, file_size);
	buffer_append(spool, arguments, arguments_size);
	buffer_append(spool, "\0\0\0\0\0\0\0", end - spool->size);
}

static inline void record_a_mark(struct buffer *spool, uint32_t delta, uint32_t tid, uint32_t pid,
				 uint8_t type, const char *text, double value) {
	size_t size = (sizeof(struct record_mark) + strlen(text) + 7) & ~(size_t)7;
	struct record_mark mark = {.head = {.delta = delta, .kind = RECORD_MARK, .size = (uint16_t)size},
				   .tid = tid,
				   .pid = pid,
				   .text_size = (uint16_t)strlen(text),
				   .type = type};
	memcpy(&mark.value, &value, sizeof(value));
	size_t end = spool->size + size;
	buffer_append(spool, &mark, sizeof(mark));
	buffer_append(spool, text, strlen(text));
	buffer_append(spool, "\0\0\0\0\0\0\0", end - spool->size);
}

// ---- the sample ----

static inline void sample_facts(struct buffer *spool) {
	struct spool_clock clock = {.boot = SAMPLE_START, .wall = 1700000000000000000, .monotonic = 900000};
	add_block(spool, SPOOL_CLOCK, &clock, sizeof(clock));
	spool_fact(spool, "test", "sample");
	spool_fact(spool, "scope", "tree");
	spool_fact(spool, "kernel", "6.1.0-test");
	spool_a_task(spool, (struct spool_task){.tid = 10, .pid = 10, .parent_pid = 1}, "waits",
		     "./waits\0-v", 11);
}

static inline void sample_life(struct buffer *spool) {
	size_t batch = batch_begin(spool, 0, SAMPLE_START + 1000);
	RECORD(spool, record_switch, RECORD_SWITCH, SWITCH_PREV_OUTSIDE, 0, .prev_tid = 0, .next_tid = 10,
	       .next_priority = 120);
	record_an_exec(spool, 100, 10, "/bin/test", "/bin/test\0--fast", 17);
	RECORD(spool, record_rename, RECORD_RENAME, 0, 150, .tid = 10, .pid = 10, .name = "renamed");
	RECORD(spool, record_fork, RECORD_FORK, 0, 200, .tid = 10, .pid = 10, .child_tid = 11,
	       .child_pid = 10, .parent_pid = 1, .name = "renamed");
	RECORD(spool, record_waking, RECORD_WAKING, 0, 250, .waker_tid = 10, .wakee_tid = 11, .target_cpu = 1,
	       .priority = 120);
	RECORD(spool, record_switch_named, RECORD_SWITCH, SWITCH_NEXT_OUTSIDE | SWITCH_PREEMPTED, 300,
	       .base = {.prev_tid = 10, .next_tid = 99}, .next_name = "intruder");
	batch_end(spool, batch);

	batch = batch_begin(spool, 1, SAMPLE_START + 1260);
	RECORD(spool, record_switch, RECORD_SWITCH, SWITCH_PREV_OUTSIDE, 0, .prev_tid = 0, .next_tid = 11,
	       .next_priority = 120);
	RECORD(spool, record_irq_named, RECORD_IRQ_ENTRY, 0, 10, .base = {.tid = 11, .number = 24},
	       .name = "eth0");
	RECORD(spool, record_irq_exit, RECORD_IRQ_EXIT, 0, 20, .base = {.tid = 11, .number = 24},
	       .result = 1);
	RECORD(spool, record_irq, RECORD_SOFTIRQ_ENTRY, 0, 30, .tid = 11, .number = 3);
	RECORD(spool, record_irq, RECORD_SOFTIRQ_EXIT, 0, 40, .tid = 11, .number = 3);
	RECORD(spool, record_point, RECORD_POINT, 0, 45, .tid = 11, .point = POINT_SYS_ENTER, .small = 1,
	       .values = {3, 4096, 10, 0});
	RECORD(spool, record_exit, RECORD_EXIT, 0, 50, .tid = 11, .pid = 10);
	record_a_switch(spool, 60, 11, 0x10, 0);
	batch_end(spool, batch);
}

static inline void sample_marks(struct buffer *spool) {
	size_t batch = batch_begin(spool, BATCH_NO_CPU, SAMPLE_START + 1270);
	batch_lost(spool, batch, SOURCE_MARKER, 2);
	record_a_mark(spool, 0, 10, 10, 5, "case", 0);
	record_a_mark(spool, 1, 10, 10, 2, "phase", 0);
	record_a_mark(spool, 2, 10, 10, 1, "a point", 0);
	record_a_mark(spool, 3, 11, 10, 4, "depth", 2.5);
	record_a_mark(spool, 4, 10, 10, 3, "", 0);
	record_a_mark(spool, 5, 10, 10, 6, "", 1);
	record_a_mark(spool, 6, 11, 10, 2, "never ended", 0);
	batch_end(spool, batch);
}

static inline void sample_end(struct buffer *spool) {
	size_t batch = batch_begin(spool, 0, SAMPLE_START + 2000);
	batch_lost(spool, batch, SOURCE_IRQ, 3);
	RECORD(spool, record_waking_named, RECORD_WAKING, WAKING_OUTSIDE | WAKING_HARDIRQ, 0,
	       .base = {.waker_tid = 77, .wakee_tid = 10, .target_cpu = 0, .priority = 120},
	       .waker_name = "helper");
	RECORD(spool, record_switch, RECORD_SWITCH, SWITCH_PREV_OUTSIDE, 100, .prev_tid = 99, .next_tid = 10);
	RECORD(spool, record_exit, RECORD_EXIT, EXIT_LAST, 200, .tid = 10, .pid = 10, .code = 3 << 8);
	record_a_switch(spool, 300, 10, 0x10, 0);
	batch_end(spool, batch);
	spool_a_watermark(spool, SAMPLE_START + 2500);
	struct spool_lost lost = {.time = SAMPLE_START + 3000, .count = {0, 2, 3}, .unfollowed = 1};
	add_block(spool, SPOOL_LOST, &lost, sizeof(lost));
	spool_fact(spool, "result", "failed: exit status 3");
}

static inline void sample_counts(struct buffer *spool) {
	struct buffer block = {0};
	struct spool_counters head = {.count = 1, .per_slice = 1};
	buffer_append(&block, &head, sizeof(head));
	buffer_append(&block, "cycles\0\0001", 10);
	add_block(spool, SPOOL_COUNTERS, block.data, block.size);
	size_t batch = batch_begin(spool, 0, SAMPLE_START + 1290);
	RECORD(spool, record_counts, RECORD_COUNTS, 0, 0, .count = 2, .values = {10, 20});
	RECORD(spool, record_counts, RECORD_COUNTS, COUNTS_OF_TEST | COUNTS_OF_SLICE, 9, .tid = 10,
	       .count = 2, .values = {9, 30});
	batch_end(spool, batch);
	buffer_free(&block);
}

static inline void sample_spool(struct buffer *spool) {
	spool_begin(spool, SAMPLE_START);
	sample_facts(spool);
	sample_life(spool);
	spool_a_watermark(spool, SAMPLE_START + 1400);
	sample_end(spool);
}
