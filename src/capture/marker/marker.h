// Marks that the test makes itself (include/tracelet/mark.h): the tracer's side
// of the shared area. It is made before tracer and test are started, because the
// test finds it by the tracer's process and descriptor; the tracer then holds it.
#pragma once

#include "capture/capture.h"

struct marker;

// A memfd that will not change its size: a descriptor, or -errno.
int marker_create(void);

// The process by which a test may find the descriptor: the tracer or, where the kernel would not
// let the test look into that one, a small process of our own that lives as long as it.
pid_t marker_holder(int fd, pid_t tracer);

// What TRACELET_MARKS is to be when process `holder` has it open as `fd`.
enum { MARKER_NAME_SIZE = 96 };
void marker_name(int fd, pid_t holder, char name[MARKER_NAME_SIZE]);

// Takes over the descriptor. 0 or -errno.
int marker_open(struct marker **marker, int fd);
void marker_start(struct marker *marker);
int marker_wait_fd(const struct marker *marker); // readable when there is much to drain
void marker_drain(struct marker *marker, struct spool *spool);

// As drain, and no watermark of the spool's will be later than a mark that is still to come.
void marker_sync(struct marker *marker, struct spool *spool);

void marker_stop(struct marker *marker, struct spool *spool, struct capture_totals *totals);
void marker_close(struct marker *marker);
uint64_t marker_count(const struct marker *marker); // records taken so far
