// Records where BPF is not permitted: perf events show when the test's threads got and left a CPU, when its
// processes started and ended, and what they execute (samples.h). Ordinary users may do that for their own
// processes (perf_event_paranoid up to 2). One event per CPU on the test's process, inherited by everything
// it starts; each has its own ring. Draining converts its records to ours, so that the spool has one format.
#include "base/log.h"
#include "capture/capture.h"
#include "capture/perf_ring.h"
#include "capture/perf/samples.h"
#include "capture/tasks.h"
#include "event/event.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct capture {
	ARRAY(struct perf_ring) rings;
	struct capture_options options;
	struct buffer batch; // records of the ring being drained
	uint64_t base;       // time of the batch's first
	uint64_t lost;
	uint32_t lost_here;
	int epoll;
	struct perf_samples samples;
	pid_array followed; // whose mappings are not in the spool yet
	size_t enabled;     // of the rings
	bool started;
};

enum { BATCH_BYTES = 64 * 1024, EXIT_STATE_DEAD = 0x10 };

// ---- opening ----

static struct perf_event_attr attributes(void) {
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(struct perf_event_attr),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.disabled = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.context_switch = 1,
		.watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_BOOTTIME,
	};
}

static void perf_close(struct capture *capture) {
	if (!capture)
		return;
	for (size_t i = 0; i < capture->rings.count; i++)
		perf_ring_close(&capture->rings.items[i]);
	array_free(&capture->rings);
	array_free(&capture->followed);
	buffer_free(&capture->batch);
	perf_samples_free(&capture->samples);
	if (capture->epoll >= 0)
		close(capture->epoll);
	free(capture);
}

static int perf_open(const struct capture_options *options, struct capture **result, char *why) {
	if (options->scope == SCOPE_SYSTEM) {
		snprintf(why, 256, "--scope system needs BPF");
		return -EPERM;
	}
	struct perf_event_attr attribute = attributes();
	int probe = (int)syscall(SYS_perf_event_open, &attribute, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (probe < 0) {
		probe = -errno;
		snprintf(why, 256,
			 "perf events are not permitted either (kernel.perf_event_paranoid above 2)");
		return probe;
	}
	close(probe);
	if (options->counting.events)
		log_warning("no counters in the trace: they need BPF ('tracelet stat' does not)");
	struct capture *capture = memory_alloc(sizeof(*capture));
	capture->options = *options;
	capture->epoll = epoll_create1(EPOLL_CLOEXEC);
	perf_samples_choose(&capture->samples, options);
	*result = capture;
	return 0;
}

// Locked memory is limited: use the largest ring that is allowed.
static int add_ring(struct capture *capture, pid_t pid, uint32_t cpu) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t wanted = capture->options.buffer_size ? capture->options.buffer_size : 1 << 20;
	size_t size = page;
	while (size < wanted)
		size *= 2;
	for (; size >= page; size /= 2) {
		struct perf_event_attr attribute = attributes();
		struct perf_ring ring;
		perf_samples_ask(&capture->samples, &attribute);
		attribute.wakeup_watermark = (uint32_t)(size / 4);
		int error = perf_ring_open(&ring, attribute, pid, cpu, size);
		if (!error) {
			array_push(&capture->rings, ring);
			struct epoll_event wake = {.events = EPOLLIN};
			epoll_ctl(capture->epoll, EPOLL_CTL_ADD, ring.fd, &wake);
		}
		if (error != -ENOBUFS)
			return error == -ENODEV ? 0 : error; // a CPU that is off
	}
	return -ENOBUFS; // not even a page
}

static int enable_rings(struct capture *capture) {
	for (; capture->enabled < capture->rings.count; capture->enabled++)
		if (ioctl(capture->rings.items[capture->enabled].fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

static int perf_follow(struct capture *capture, pid_t pid, int pidfd) {
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int error = 0;
	if (capture->samples.how != PERF_SAMPLES_NONE)
		array_push(&capture->followed, pid);
	for (uint32_t cpu = 0; !error && cpu < (uint32_t)cpus; cpu++)
		error = add_ring(capture, pid, cpu);
	return error || !capture->started ? error : enable_rings(capture);
}

static int perf_start(struct capture *capture, char *why) {
	int error = enable_rings(capture);
	if (error)
		snprintf(why, 256, "cannot enable perf events: %s", strerror(-error));
	capture->started = !error;
	return error;
}

static int perf_wait_fd(const struct capture *capture) {
	return capture->epoll;
}

// ---- from perf's records to ours ----

struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
};

static void flush_batch(struct capture *capture, struct spool *spool, uint32_t cpu) {
	struct batch head = {
		.base = capture->base, .cpu = cpu, .size = (uint32_t)(capture->batch.size - sizeof(head))};
	if (capture->batch.size <= sizeof(head) && !capture->lost_here)
		return;
	if (!capture->batch.size)
		buffer_append(&capture->batch, &head, sizeof(head));
	head.size = (uint32_t)(capture->batch.size - sizeof(head));
	head.lost = capture->lost_here;
	head.lost_source = SOURCE_SCHED;
	memcpy(capture->batch.data, &head, sizeof(head));
	spool_append(spool, SPOOL_BATCH, capture->batch.data, capture->batch.size);
	capture->batch.size = 0;
	capture->lost_here = 0;
}

// Begins a record of `size` bytes at this time, in a new batch if the time does not fit.
static struct record *append(struct capture *capture, struct spool *spool, uint32_t cpu, uint64_t time,
			     uint8_t kind, uint8_t flags, size_t size) {
	if (capture->batch.size && (time < capture->base || time - capture->base > UINT32_MAX ||
				    capture->batch.size + size > BATCH_BYTES))
		flush_batch(capture, spool, cpu);
	if (!capture->batch.size) {
		capture->base = time;
		buffer_append(&capture->batch, &(struct batch){0}, sizeof(struct batch));
	}
	struct record *record = (struct record *)buffer_room(&capture->batch, size);
	memset(record, 0, size);
	capture->batch.size += size;
	*record = (struct record){.delta = (uint32_t)(time - capture->base),
				  .kind = kind,
				  .flags = flags,
				  .size = (uint16_t)size};
	return record;
}

#define APPEND(type, id, kind, flags)                                                                        \
	((struct type *)append(capture, spool, ring->cpu, (id)->time, kind, flags, sizeof(struct type)))

static void take_switch(struct capture *capture, struct spool *spool, const struct perf_ring *ring,
			uint16_t misc, const struct sample_id *id) {
	bool out = misc & PERF_RECORD_MISC_SWITCH_OUT;
	uint8_t flags = out ? SWITCH_NEXT_OUTSIDE : SWITCH_PREV_OUTSIDE;
	if (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
		flags |= SWITCH_PREEMPTED;
	struct record_switch *record = APPEND(record_switch, id, RECORD_SWITCH, flags);
	record->prev_tid = out ? id->tid : TID_OUTSIDE;
	record->next_tid = out ? TID_OUTSIDE : id->tid;
	record->prev_state = STATE_SLEEPING;
	record->prev_priority = record->next_priority = 120;
}

static void take_comm(struct capture *capture, struct spool *spool, const struct perf_ring *ring,
		      uint16_t misc, struct cursor *in, const struct sample_id *id) {
	char name[RECORD_NAME_SIZE] = "";
	cursor_take(in, 8); // pid and tid, which the sample id has too
	const char *text = cursor_string(in);
	strncpy(name, text ? text : "", sizeof(name) - 1);
	struct record_rename *rename = APPEND(record_rename, id, RECORD_RENAME, 0);
	rename->tid = id->tid;
	rename->pid = id->pid;
	memcpy(rename->name, name, sizeof(name));
	if (!(misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	if (capture->samples.how != PERF_SAMPLES_NONE)
		perf_samples_exec(spool, id->pid, id->time);
	// perf does not say what was executed; while the process lives, /proc does.
	struct buffer arguments = {0};
	task_command_line((pid_t)id->pid, &arguments);
	arguments.size = MIN(arguments.size, (size_t)EXEC_ARGUMENTS_LONG);
	const char *file = arguments.size && memchr(arguments.data, 0, arguments.size)
				   ? (char *)arguments.data
				   : name;
	uint16_t file_size = (uint16_t)MIN(strlen(file) + 1, (size_t)EXEC_FILE_SIZE);
	size_t size = (sizeof(struct record_exec) + file_size + arguments.size + 7) & ~(size_t)7;
	struct record_exec *exec = (struct record_exec *)append(capture, spool, ring->cpu, id->time + 1,
								RECORD_EXEC, 0, size);
	exec->tid = exec->old_tid = id->tid;
	exec->pid = id->pid;
	exec->file_size = file_size;
	exec->arguments_size = (uint16_t)arguments.size;
	memcpy(exec->name, name, sizeof(name));
	memcpy(exec + 1, file, file_size);
	if (arguments.size)
		memcpy((char *)(exec + 1) + file_size, arguments.data, arguments.size);
	buffer_free(&arguments);
}

struct lineage {
	uint32_t pid, parent_pid, tid, parent_tid;
};

static void take_fork(struct capture *capture, struct spool *spool, const struct perf_ring *ring,
		      struct cursor *in, const struct sample_id *id) {
	struct lineage who;
	cursor_copy(in, &who, sizeof(who));
	struct record_fork *record = APPEND(record_fork, id, RECORD_FORK, 0);
	record->tid = who.parent_tid;
	record->pid = record->parent_pid = who.parent_pid;
	record->child_tid = who.tid;
	record->child_pid = who.pid;
}

// perf does not see a task after its exit: its last switch is added here.
static void take_exit(struct capture *capture, struct spool *spool, const struct perf_ring *ring,
		      struct cursor *in, const struct sample_id *id) {
	struct lineage who;
	cursor_copy(in, &who, sizeof(who));
	uint8_t flags = EXIT_CODE_UNKNOWN | (who.tid == who.pid ? EXIT_LAST : 0);
	struct record_exit *record = APPEND(record_exit, id, RECORD_EXIT, flags);
	record->tid = who.tid;
	record->pid = who.pid;
	struct record_switch *last = (struct record_switch *)append(
		capture, spool, ring->cpu, id->time + 1, RECORD_SWITCH, SWITCH_NEXT_OUTSIDE, sizeof(*last));
	last->prev_tid = who.tid;
	last->next_tid = TID_OUTSIDE;
	last->prev_state = EXIT_STATE_DEAD;
	last->prev_priority = last->next_priority = 120;
}

static void take_record(struct capture *capture, struct spool *spool, const struct perf_ring *ring,
			const struct perf_event_header *header, struct cursor in) {
	enum { SAMPLE_ID_SIZE = 24 }; // pid, tid, time, cpu, reserved
	if (header->type == PERF_RECORD_SAMPLE) {
		flush_batch(capture, spool, ring->cpu);
		perf_samples_take(&capture->samples, spool, ring->cpu, in);
		return;
	}
	if (cursor_left(&in) < SAMPLE_ID_SIZE)
		return;
	struct cursor tail = cursor_of(in.end - SAMPLE_ID_SIZE, SAMPLE_ID_SIZE);
	struct sample_id id = {.pid = cursor_u32(&tail), .tid = cursor_u32(&tail)};
	id.time = cursor_u64(&tail);
	switch (header->type) {
	case PERF_RECORD_SWITCH:
		take_switch(capture, spool, ring, header->misc, &id);
		break;
	case PERF_RECORD_COMM:
		take_comm(capture, spool, ring, header->misc, &in, &id);
		break;
	case PERF_RECORD_FORK:
		take_fork(capture, spool, ring, &in, &id);
		break;
	case PERF_RECORD_EXIT:
		take_exit(capture, spool, ring, &in, &id);
		break;
	case PERF_RECORD_MMAP2:
		perf_samples_mapping(spool, header->misc, in, id.time);
		break;
	case PERF_RECORD_LOST:
		cursor_u64(&in);
		uint64_t lost = cursor_u64(&in);
		capture->lost += lost;
		capture->lost_here += (uint32_t)lost;
		break;
	}
}

// ---- draining ----

struct draining {
	struct capture *capture;
	struct spool *spool;
	const struct perf_ring *ring;
};

static void take_drained(void *context, const struct perf_event_header *header, struct cursor body) {
	const struct draining *draining = context;
	take_record(draining->capture, draining->spool, draining->ring, header, body);
}

static void drain_ring(struct capture *capture, struct spool *spool, struct perf_ring *ring) {
	perf_ring_drain(ring, take_drained,
			&(struct draining){.capture = capture, .spool = spool, .ring = ring});
	flush_batch(capture, spool, ring->cpu);
}

static void perf_drain(struct capture *capture, struct spool *spool) {
	for (size_t i = 0; i < capture->followed.count; i++)
		perf_samples_process(spool, capture->followed.items[i]);
	capture->followed.count = 0;
	for (size_t i = 0; i < capture->rings.count; i++)
		drain_ring(capture, spool, &capture->rings.items[i]);
}

static void perf_sync(struct capture *capture, struct spool *spool) {
	uint64_t now = clock_boot_now();
	perf_drain(capture, spool);
	spool_watermark(spool, now);
}

static void perf_stop(struct capture *capture, struct spool *spool, struct capture_totals *totals) {
	for (size_t i = 0; i < capture->rings.count; i++)
		ioctl(capture->rings.items[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	perf_sync(capture, spool);
	totals->lost[SOURCE_SCHED] = capture->lost;
	totals->sample_event = capture->samples.how != PERF_SAMPLES_NONE ? "cpu-clock" : NULL;
}

static const bool known_sources[RECORD_SOURCE_COUNT] = {
	[SOURCE_SCHED] = true, [SOURCE_PROCESS] = true, [SOURCE_MARKER] = true, [SOURCE_SAMPLE] = true};

const struct capture_backend capture_perf = {
	.name = "perf",
	.open = perf_open,
	.follow = perf_follow,
	.start = perf_start,
	.wait_fd = perf_wait_fd,
	.drain = perf_drain,
	.sync = perf_sync,
	.stop = perf_stop,
	.close = perf_close,
	.sources = known_sources,
	.missing = "wakeups, interrupts, exit codes, other processes",
};
