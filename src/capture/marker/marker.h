// The test's own marks (include/tracelet/mark.h): the tracer's side of the shared area. It is created before
// tracer and test start, because the test finds it by the tracer's process and descriptor; the tracer then
// holds it.
#pragma once

#include "capture/capture.h"

struct marker;

// A memfd of fixed size: returns a descriptor, or -errno.
int marker_create(void);

// The value of TRACELET_MARKS if process `holder` has it open as `fd`.
enum { MARKER_NAME_SIZE = 96 };
void marker_name(int fd, pid_t holder, char name[MARKER_NAME_SIZE]);

// Takes over the descriptor. Returns 0 or -errno.
int marker_open(struct marker **marker, int fd);
void marker_start(struct marker *marker);
// Starts the thread that notices when there is much to drain. A test that ends within milliseconds needs none.
void marker_watch(struct marker *marker);
int marker_wait_fd(const struct marker *marker); // readable when there is much to drain
void marker_drain(struct marker *marker, struct spool *spool);

// Like drain, but keeps the spool's watermark before any mark that may still come.
void marker_sync(struct marker *marker, struct spool *spool);

void marker_stop(struct marker *marker, struct spool *spool, struct capture_totals *totals);
void marker_close(struct marker *marker);
uint64_t marker_count(const struct marker *marker); // records taken so far
