#include "capture/spool.h"
#include "base/file.h"

#include <time.h>
#include <unistd.h>

enum { SPOOL_PIECE = 512 * 1024 };

static uint64_t clock_now(clockid_t clock) {
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t clock_boot_now(void) {
	return clock_now(CLOCK_BOOTTIME);
}

uint64_t clock_monotonic_now(void) {
	return clock_now(CLOCK_MONOTONIC);
}

void spool_open(struct spool *spool, int fd, uint64_t start) {
	*spool = (struct spool){.fd = fd};
	struct spool_header header = {.magic = SPOOL_MAGIC,
				      .version = SPOOL_VERSION,
				      .header_size = sizeof(header),
				      .start = start};
	buffer_append(&spool->pending, &header, sizeof(header));
	spool_clock(spool);
}

void spool_close(struct spool *spool) {
	if (spool->fd >= 0) {
		spool_flush(spool);
		close(spool->fd);
	}
	spool->fd = -1;
	buffer_free(&spool->pending);
}

int spool_flush(struct spool *spool) {
	if (!spool->error)
		spool->error = spool->write
				       ? spool->write(spool->context, spool->pending.data,
						      spool->pending.size)
				       : file_write_all(spool->fd, spool->pending.data, spool->pending.size);
	if (!spool->error)
		spool->written += spool->pending.size;
	spool->pending.size = 0;
	return spool->error;
}

// Facts about the whole trace are few, and the rest is useless without them, so they are always
// written.
static bool has_room(struct spool *spool, enum spool_block_type type, const void *content, size_t size) {
	if (type != SPOOL_BATCH || !spool->limit)
		return true;
	bool was_full = spool->full;
	spool->full |= spool->written + spool->pending.size + sizeof(struct spool_block) + size >
		       spool->limit;
	if (spool->full && !was_full && size >= sizeof(struct batch))
		memcpy(&spool->full_since, content, sizeof(spool->full_since)); // the batch's base
	return !spool->full;
}

void spool_append(struct spool *spool, enum spool_block_type type, const void *content, size_t size) {
	if (!has_room(spool, type, content, size))
		return;
	struct spool_block block = {.type = type, .size = (uint32_t)size};
	buffer_append(&spool->pending, &block, sizeof(block));
	buffer_append(&spool->pending, content, size);
	buffer_append(&spool->pending, "\0\0\0\0\0\0\0", -size & 7);
	if (spool->pending.size >= SPOOL_PIECE)
		spool_flush(spool);
}

void spool_meta(struct spool *spool, const char *key, const char *value) {
	struct buffer content = {0};
	size_t value_size = strlen(value);
	buffer_append(&content, key, strlen(key) + 1);
	buffer_append(&content, value, MIN(value_size, SPOOL_LARGEST_BLOCK / 2));
	buffer_append(&content, "", 1);
	spool_append(spool, SPOOL_META, content.data, content.size);
	buffer_free(&content);
}

void spool_task(struct spool *spool, const struct spool_task *task, const char *name,
		const char *command_line, size_t command_line_size) {
	struct buffer content = {0};
	buffer_append(&content, task, sizeof(*task));
	buffer_append(&content, name, strlen(name) + 1);
	buffer_append(&content, command_line, MIN(command_line_size, SPOOL_LARGEST_BLOCK / 2));
	spool_append(spool, SPOOL_TASK, content.data, content.size);
	buffer_free(&content);
}

void spool_clock(struct spool *spool) {
	struct spool_clock clock = {.boot = clock_boot_now(),
				    .wall = clock_now(CLOCK_REALTIME),
				    .monotonic = clock_monotonic_now()};
	spool_append(spool, SPOOL_CLOCK, &clock, sizeof(clock));
}

void spool_watermark(struct spool *spool, uint64_t time) {
	if (spool->watermark_limit)
		time = MIN(time, spool->watermark_limit);
	spool_append(spool, SPOOL_WATERMARK, &time, sizeof(time));
}
