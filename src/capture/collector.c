// The backend that lets a resident collector record (docs/collector.md): batches come over a socket. It needs
// no rights, and takes a fraction of the time that loading BPF programs of our own does.
#include "base/log.h"
#include "capture/capture.h"
#include "capture/copies.h"
#include "capture/collector_code.h"
#include "capture/collector_wire.h"
#include "capture/crashes.h"
#include "capture/sources.h"

#include <errno.h>
#include <string.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct capture {
	int socket;
	const char *broken;  // why nothing more comes, or NULL
	struct buffer early; // batches that came before there was a spool for them
	uint64_t watermark;  // that came with them
	struct collector_end end;
	struct capture_crashes crashes;
	struct collector_code *code; // NULL if there are no stacks
	struct copies copies;
	bool sampled; // at a rate
	char *lacks;  // what is not recorded, although it should be; NULL if nothing
	uint8_t packet[COLLECTOR_MOST_PACKET] __attribute__((aligned(8)));
};

static const bool sources[RECORD_SOURCE_COUNT] = {
	[SOURCE_SCHED] = true,   [SOURCE_PROCESS] = true,       [SOURCE_IRQ] = true,
	[SOURCE_SIGNAL] = true,  [SOURCE_MARKER] = true,        [SOURCE_SAMPLE] = true,
	[SOURCE_FAULT] = true,   [SOURCE_MEMORY] = true,        [SOURCE_FILE] = true,
	[SOURCE_BLOCK] = true,   [SOURCE_BIO] = true,           [SOURCE_SYSTEM_CALL] = true,
	[SOURCE_TIMER] = true,   [SOURCE_WORK] = true,          [SOURCE_IPI] = true,
	[SOURCE_NETWORK] = true, [SOURCE_PRIORITY] = true,      [SOURCE_MIGRATION] = true,
	[SOURCE_CLOCK] = true,   [SOURCE_SOFTIRQ_QUEUE] = true, [SOURCE_LOCK] = true,
};

// ---- messages ----

static unsigned kind_of(const struct batch *batch) {
	struct record head = {0};
	if (batch->size >= sizeof(head))
		memcpy(&head, batch + 1, sizeof(head));
	return head.kind;
}

static void write_batch(struct capture *capture, struct spool *spool, const struct batch *batch) {
	crashes_note(&capture->crashes, batch);
	if (kind_of(batch) == RECORD_MODULES) {
		if (capture->code)
			collector_code_modules(capture->code, spool, batch);
		return;
	}
	if (kind_of(batch) == RECORD_SAMPLE && capture->code)
		collector_code_stack(capture->code, spool, batch);
	batch = copies_pack(&capture->copies, batch);
	spool_append(spool, SPOOL_BATCH, batch, sizeof(*batch) + batch->size);
}

static void take_batch(struct capture *capture, struct spool *spool, const struct batch *batch) {
	if (spool)
		write_batch(capture, spool, batch);
	else
		buffer_append(&capture->early, batch, sizeof(*batch) + batch->size);
}

// Whole batches only. False if they do not add up.
static bool take_batches(struct capture *capture, struct spool *spool, const uint8_t *at, size_t left) {
	while (left) {
		const struct batch *batch = (const void *)at;
		if (left < sizeof(*batch) || batch->size > left - sizeof(*batch) || batch->size % 8)
			return false;
		take_batch(capture, spool, batch);
		size_t size = sizeof(*batch) + batch->size;
		at += size;
		left -= size;
	}
	return true;
}

static bool take_data(struct capture *capture, struct spool *spool, size_t size) {
	const struct collector_data *data = (const void *)capture->packet;
	if (size < sizeof(*data) ||
	    !take_batches(capture, spool, capture->packet + sizeof(*data), size - sizeof(*data)))
		return false;
	if (data->watermark && spool)
		spool_watermark(spool, data->watermark);
	else if (data->watermark)
		capture->watermark = data->watermark;
	return true;
}

static bool take_name(struct capture *capture, size_t size) {
	const struct collector_name *name = (const void *)capture->packet;
	if (size != sizeof(*name))
		return false;
	if (capture->code)
		collector_code_name(capture->code, name);
	return true;
}

static const char *const gone = "the collector ended", *const confused = "the collector broke its protocol",
			 *const silent = "the collector does not answer";

// Takes one message; its type, or 0 if there is none. `broken` says why there will be no more.
static unsigned take_message(struct capture *capture, struct spool *spool, bool wait) {
	if (capture->broken)
		return 0;
	long size = collector_receive(capture->socket, capture->packet, sizeof(capture->packet), wait);
	if (size <= 0) {
		if (size != -EAGAIN || wait)
			capture->broken = size == 0 ? gone : size == -EAGAIN ? silent : confused;
		return 0;
	}
	const struct collector_head *head = (const void *)capture->packet;
	if (head->type == COLLECTOR_GOING)
		capture->broken = gone;
	else if (head->type == COLLECTOR_DATA && !take_data(capture, spool, (size_t)size))
		capture->broken = confused;
	else if (head->type == COLLECTOR_NAME && !take_name(capture, (size_t)size))
		capture->broken = confused;
	return capture->broken ? 0 : head->type;
}

// Waits for this message, or for REFUSED. False if neither comes, or it is too short.
static bool await(struct capture *capture, struct spool *spool, unsigned wanted, size_t size) {
	unsigned type;
	do
		type = take_message(capture, spool, true);
	while (type == COLLECTOR_DATA || type == COLLECTOR_NAME);
	const struct collector_head *head = (const void *)capture->packet;
	bool refused = type == COLLECTOR_REFUSED && head->size == sizeof(struct collector_answer);
	if (type && !refused && (type != wanted || head->size != size))
		capture->broken = confused;
	return !capture->broken && type;
}

// Sends a request and waits for a struct collector_answer, which is then in `packet`: 0, or why not.
static unsigned ask(struct capture *capture, struct spool *spool, enum collector_type type,
		    struct collector_request request, int fd, enum collector_type wanted) {
	const struct collector_answer *answer = (const void *)capture->packet;
	if (!capture->broken && collector_send(capture->socket, type, request, fd))
		capture->broken = gone;
	if (capture->broken || !await(capture, spool, wanted, sizeof(*answer)))
		return COLLECTOR_REFUSAL_COUNT;
	if (answer->head.type == COLLECTOR_REFUSED && !answer->refusal)
		return COLLECTOR_REFUSAL_COUNT;
	return answer->refusal;
}

// ---- the backend ----

static bool wants_stacks(const struct capture_options *options) {
	return options->stacks;
}

static bool wants_counters(const struct capture_options *options) {
	return options->counting.events;
}

static bool wants_buffers(const struct capture_options *options) {
	return options->buffer_size;
}

// What it never does, besides sources: a reason to do without it, but not for those who have nothing better.
static const struct {
	bool (*wanted)(const struct capture_options *options);
	const char *why_not, *name; // the name is for the summary; NULL if nothing is missing there
} extras[] = {
	{wants_stacks, "it takes stacks of waits and by the clock only", "stacks at events"},
	{wants_counters, "it does not count", "counters"},
	{wants_buffers, "the size of its buffers is fixed", NULL},
};

// What it cannot record; NULL if it can all that is wanted.
static const char *not_supported(const struct capture_options *options) {
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		if (options->sources[source] && !sources[source] && !options->collector_or_less)
			return "it does not record all of the profile's events";
	if (options->scope != SCOPE_TREE)
		return "it does not record the whole machine";
	if (options->owner != geteuid()) // it would record what our rights allow
		return "it records only for the user who asks";
	if (options->sample_event)
		return "it takes stacks of waits and by the clock only";
	for (size_t i = 0; i < ARRAY_SIZE(extras) && !options->collector_or_less; i++)
		if (extras[i].wanted(options))
			return extras[i].why_not;
	return NULL;
}

static uint64_t sources_wanted(const struct capture_options *options) {
	uint64_t wanted = 0;
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		wanted |= (uint64_t)(options->sources[source] && sources[source]) << source;
	return wanted;
}

static void collector_close(struct capture *capture) {
	if (!capture)
		return;
	close(capture->socket);
	buffer_free(&capture->early);
	crashes_free(&capture->crashes);
	collector_code_free(capture->code);
	copies_free(&capture->copies);
	free(capture->lacks);
	free(capture);
}

// What it does not record, although it should.
static void note_lacks(struct capture *capture, const struct capture_options *options, bool waits) {
	struct buffer names = {0};
	sources_ignored(options, &capture_collector, &names);
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++)
		if (extras[i].wanted(options) && extras[i].name)
			buffer_printf(&names, "%s%s", names.size ? ", " : "", extras[i].name);
	if (options->buffer_size)
		log_warning("--buffer-size is not used: the collector's buffers have a fixed size");
	if (waits)
		buffer_printf(&names, "%sthe stacks of long waits", names.size ? ", " : "");
	if (names.size)
		capture->lacks = memory_format("%.*s", (int)names.size, (const char *)names.data);
	buffer_free(&names);
}

static int open_session(struct capture *capture, const struct capture_options *options, char *why) {
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct collector_request request = {.sources = sources_wanted(options),
					    .long_wait = options->off_cpu ? 0 : options->long_waits,
					    .sample_frequency = options->sample_frequency,
					    .flags = (options->hard_faults ? COLLECTOR_HARD_FAULTS : 0u) |
						     (options->off_cpu ? COLLECTOR_OFF_CPU : 0u)};
	unsigned refusal = self < 0 ? COLLECTOR_REFUSAL_COUNT
				    : ask(capture, NULL, COLLECTOR_OPEN, request, self, COLLECTOR_OPENED);
	const struct collector_answer *answer = (const void *)capture->packet;
	bool stacks = !refusal && (answer->long_wait || options->sample_frequency || options->off_cpu);
	if (!refusal)
		note_lacks(capture, options, request.long_wait && !answer->long_wait);
	capture->sampled = options->sample_frequency;
	if (stacks)
		capture->code = collector_code_new();
	if (self >= 0)
		close(self);
	if (refusal)
		snprintf(why, 256, "the collector refused: %s",
			 capture->broken ? capture->broken : collector_refusal_words(refusal));
	return refusal ? -EPERM : 0;
}

static int collector_open(const struct capture_options *options, struct capture **result, char *why) {
	const char *missing = not_supported(options);
	int socket = missing ? -EOPNOTSUPP : collector_connect(options->collector);
	if (socket < 0) {
		snprintf(why, 256, "no collector: %s: %s", options->collector,
			 missing            ? missing
			 : socket == -EPERM ? "it belongs to another user"
					    : strerror(-socket));
		return socket;
	}
	struct capture *capture = memory_alloc(sizeof(*capture));
	capture->socket = socket;
	int error = open_session(capture, options, why);
	if (error)
		collector_close(capture);
	else
		*result = capture;
	return error;
}

static int collector_follow(struct capture *capture, pid_t pid, int pidfd) {
	unsigned refusal = pidfd < 0 ? 0
				     : ask(capture, NULL, COLLECTOR_FOLLOW, (struct collector_request){0},
					   pidfd, COLLECTOR_FOLLOWED);
	if (refusal)
		log_verbose("the collector does not follow %d: %s", (int)pid,
			    collector_refusal_words(refusal));
	return pidfd < 0 ? -EBADF : refusal == COLLECTOR_NO_GONE ? -ESRCH : refusal ? -EPERM : 0;
}

// It records since it was opened, but no task belonged to the session.
static int collector_start(struct capture *capture, char *why) {
	return 0;
}

static int collector_wait_fd(const struct capture *capture) {
	return capture->broken ? -1 : capture->socket;
}

static void write_early(struct capture *capture, struct spool *spool) {
	const uint8_t *at = capture->early.data;
	for (size_t left = capture->early.size; left;) {
		struct batch batch;
		memcpy(&batch, at, sizeof(batch));
		size_t size = sizeof(batch) + batch.size;
		write_batch(capture, spool, (const struct batch *)at);
		at += size;
		left -= size;
	}
	if (capture->watermark)
		spool_watermark(spool, capture->watermark);
	capture->early.size = capture->watermark = 0;
}

static void collector_drain(struct capture *capture, struct spool *spool) {
	write_early(capture, spool);
	while (take_message(capture, spool, false))
		;
}

static void collector_sync(struct capture *capture, struct spool *spool) {
	collector_drain(capture, spool);
	if (!capture->broken)
		ask(capture, spool, COLLECTOR_FLUSH, (struct collector_request){0}, -1, COLLECTOR_FLUSHED);
}

static void collector_stop(struct capture *capture, struct spool *spool, struct capture_totals *totals) {
	const struct collector_end *end = (const void *)capture->packet;
	collector_drain(capture, spool);
	if (capture->broken)
		return;
	if (collector_send(capture->socket, COLLECTOR_STOP, (struct collector_request){0}, -1))
		capture->broken = gone;
	if (capture->broken || !await(capture, spool, COLLECTOR_END, sizeof(*end)) ||
	    end->head.type != COLLECTOR_END)
		return;
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		if (source != SOURCE_MARKER)
			totals->lost[source] = end->lost[source];
	totals->unfollowed = end->unfollowed;
	if (capture->sampled)
		totals->sample_event = "cpu-clock";
	spool_watermark(spool, clock_boot_now());
}

static const char *collector_broken(const struct capture *capture) {
	return capture->broken;
}

static const struct capture_crashes *collector_crashes(const struct capture *capture) {
	return &capture->crashes;
}

static const char *collector_lacks(const struct capture *capture) {
	return capture->lacks;
}

const struct capture_backend capture_collector = {
	.name = "collector",
	.open = collector_open,
	.follow = collector_follow,
	.start = collector_start,
	.wait_fd = collector_wait_fd,
	.drain = collector_drain,
	.sync = collector_sync,
	.stop = collector_stop,
	.crashes = collector_crashes,
	.close = collector_close,
	.broken = collector_broken,
	.pushes = true,
	.sources = sources,
	.lacks = collector_lacks,
};
