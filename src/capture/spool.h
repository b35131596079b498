// Writing the spool: cheap binary appends while the test runs. After the first failed write (a full
// disk) nothing more is written and `error` says why; what was written stays readable.
#pragma once

#include "base/buffer.h"
#include "format/spool_format.h"

struct spool {
	struct buffer pending;
	uint64_t written;
	uint64_t limit;           // maximum size; 0 if unlimited. Events beyond it are dropped
	bool full;                // some were dropped
	uint64_t full_since;      // time of the first dropped one
	uint64_t watermark_limit; // latest watermark allowed, because a source is behind; 0 if none
	int fd;
	int error;
	// Where to write; NULL for the descriptor. Returns 0 or -errno.
	int (*write)(void *context, const void *bytes, size_t size);
	void *context;
};

void spool_open(struct spool *spool, int fd, uint64_t start); // takes over the descriptor
void spool_close(struct spool *spool);

void spool_append(struct spool *spool, enum spool_block_type type, const void *content, size_t size);
void spool_meta(struct spool *spool, const char *key, const char *value);
void spool_task(struct spool *spool, const struct spool_task *task, const char *name,
		const char *command_line, size_t command_line_size);
void spool_clock(struct spool *spool);
void spool_watermark(struct spool *spool, uint64_t time);

// Hands pending bytes to the system, so that they survive this process.
int spool_flush(struct spool *spool);

uint64_t clock_boot_now(void); // nanoseconds of CLOCK_BOOTTIME
uint64_t clock_monotonic_now(void);
