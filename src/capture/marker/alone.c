// The backend that records nothing itself: where neither BPF nor perf events are permitted, the test's own
// marks are still worth a trace.
#include "capture/capture.h"

static int alone_open(const struct capture_options *options, struct capture **capture, char *why) {
	return 0;
}

static int alone_follow(struct capture *capture, pid_t pid, int pidfd) {
	return 0;
}

static int alone_start(struct capture *capture, char *why) {
	return 0;
}

static int alone_wait_fd(const struct capture *capture) {
	return -1;
}

static void alone_drain(struct capture *capture, struct spool *spool) {
}

static void alone_sync(struct capture *capture, struct spool *spool) {
	spool_watermark(spool, clock_boot_now());
}

static void alone_stop(struct capture *capture, struct spool *spool, struct capture_totals *totals) {
	alone_sync(capture, spool);
}

static void alone_close(struct capture *capture) {
}

const struct capture_backend capture_marks = {
	.name = "marks",
	.open = alone_open,
	.follow = alone_follow,
	.start = alone_start,
	.wait_fd = alone_wait_fd,
	.drain = alone_drain,
	.sync = alone_sync,
	.stop = alone_stop,
	.close = alone_close,
	.missing = "everything but the test's own marks",
};
