// Reads a spool: blocks, batches, records. Records become events, in time order (merge.h). A spool
// may end anywhere (the tracer was killed, the disk was full): the reader warns about the truncated
// part and uses everything before it.
#include "base/cursor.h"
#include "base/log.h"
#include "base/text.h"
#include "event/event_stacks.h"
#include "event/points.h"
#include "format/spool_format.h"
#include "read/reader.h"
#include "read/spool/counts.h"
#include "read/spool/scripts.h"
#include "read/spool/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

struct decoder {
	struct spool_merge merge;
	struct sink *sink; // the merge's
	bool one_by_one;   // never take batches as runs
	struct strings *strings;
	struct stacks *stacks;
	uint64_t lost[RECORD_SOURCE_COUNT]; // reported by batches so far
	uint64_t time;                      // time reached so far, for facts, which have no time
	uint64_t start;                     // of the recording
	uint64_t bad_records;
	struct sample_copy copy; // for the sample being pushed
	struct buffer unpacked;  // the copy's bytes, if they were compressed
	void *unpacker;          // ZSTD_DCtx: making one takes longer than unpacking a copy
	struct counts counts;
	struct scripts scripts;
	uint32_t machine;      // string: name of the machine
	uint32_t sample_event; // event whose overflows are sampled; 0 if sampling by time
};

static uint32_t name_string(struct decoder *decoder, const char *name) {
	return strings_add_bytes(decoder->strings, name, strnlen(name, RECORD_NAME_SIZE));
}

// A task other than idle.
static bool is_task(uint32_t tid) {
	return tid > 0 && tid < TID_OUTSIDE;
}

// Most trace formats have signed times.
static bool is_time(uint64_t time) {
	return time <= INT64_MAX;
}

// ---- sched ----

// Translates a state as the kernel does for readers of the tracepoint: the
// highest of the reported bits; an idle kernel thread has its own state.
static uint16_t reported_state(uint16_t state, uint8_t flags) {
	enum { UNINTERRUPTIBLE = 0x02, REPORTED = 0x7f, NO_LOAD = 0x400, RT_LOCK = 0x1000, FROZEN = 0x8000 };
	if (flags & SWITCH_PREEMPTED)
		return STATE_PREEMPTED;
	if ((state & (UNINTERRUPTIBLE | NO_LOAD)) == (UNINTERRUPTIBLE | NO_LOAD))
		return STATE_IDLE;
	if (state & (RT_LOCK | FROZEN))
		return STATE_DISK;
	state &= REPORTED;
	while (state & (state - 1))
		state &= (uint16_t)(state - 1);
	return state;
}

// Name of a task that may be unknown; 0 if none.
static uint32_t trailing_name(struct decoder *decoder, struct cursor *in) {
	const uint8_t *name = cursor_left(in) >= RECORD_NAME_SIZE ? cursor_take(in, RECORD_NAME_SIZE) : NULL;
	return name ? name_string(decoder, (const char *)name) : 0;
}

static bool decode_switch(struct decoder *decoder, struct cursor *in, const struct record *head,
			  struct event *event) {
	struct record_switch record;
	cursor_copy(in, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	event->kind = EVENT_SWITCH;
	event->tid = record.prev_tid;
	event->switched.next_tid = record.next_tid;
	event->switched.next_name = trailing_name(decoder, in);
	event->switched.state = reported_state(record.prev_state, head->flags);
	event->switched.priority = record.prev_priority;
	event->switched.next_priority = record.next_priority;
	event->switched.next_outside = head->flags & SWITCH_NEXT_OUTSIDE;
	event->switched.outside = head->flags & SWITCH_PREV_OUTSIDE;
	event->switched.followed = head->flags & SWITCH_FOLLOWED && event->switched.outside &&
				   event->switched.next_outside && event->switched.next_tid < TID_OUTSIDE;
	event->switched.io_wait = event->switched.outside           ? IO_WAIT_UNKNOWN
				  : head->flags & SWITCH_IO_WAIT    ? IO_WAIT_YES
				  : head->flags & SWITCH_NO_IO_WAIT ? IO_WAIT_NO
								    : IO_WAIT_UNKNOWN;
	// The pseudo task for time outside the test is allowed on either side; no other is.
	return !in->failed && event->tid <= TID_OUTSIDE && event->switched.next_tid <= TID_OUTSIDE &&
	       (event->tid < TID_OUTSIDE || event->switched.outside) &&
	       (event->switched.next_tid < TID_OUTSIDE || event->switched.next_outside);
}

static bool decode_waking(struct decoder *decoder, struct cursor *in, const struct record *head,
			  struct event *event) {
	struct record_waking record;
	cursor_copy(in, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	event->kind = EVENT_WAKING;
	event->tid = record.waker_tid;
	event->waking.wakee_tid = record.wakee_tid;
	event->waking.waker_name = trailing_name(decoder, in);
	event->waking.target_cpu = record.target_cpu;
	event->waking.priority = record.priority;
	event->waking.context = (head->flags & WAKING_HARDIRQ ? CONTEXT_HARDIRQ : 0) |
				(head->flags & WAKING_SOFTIRQ ? CONTEXT_SOFTIRQ : 0) |
				(head->flags & WAKING_TIMER ? CONTEXT_TIMER : 0);
	event->waking.waker_outside = head->flags & WAKING_OUTSIDE;
	event->waking.written = head->flags & WAKING_PIPE     ? WRITTEN_PIPE
				: head->flags & WAKING_SOCKET ? WRITTEN_SOCKET
							      : WRITTEN_NOTHING;
	if (waker_is_interrupt(event->waking.context, event->waking.waker_outside)) {
		event->tid = event->waking.waker_name = 0;
		event->waking.waker_outside = false;
	}
	return !in->failed && event->tid < TID_OUTSIDE && is_task(event->waking.wakee_tid) &&
	       event->waking.target_cpu < CPU_COUNT_MOST;
}

// ---- process ----

static bool decode_fork(struct decoder *decoder, struct cursor *in, const struct record *head,
			struct event *event) {
	struct record_fork record = {0};
	cursor_copy(in, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	event->kind = EVENT_FORK;
	event->tid = record.tid;
	event->pid = record.pid;
	event->fork.child_tid = record.child_tid;
	event->fork.child_pid = record.child_pid;
	event->fork.parent_pid = record.parent_pid;
	event->fork.name = name_string(decoder, record.name);
	return !in->failed && event->tid < TID_OUTSIDE && is_task(event->fork.child_tid) &&
	       is_task(event->fork.child_pid) && event->fork.parent_pid < TID_OUTSIDE;
}

static bool decode_exec(struct decoder *decoder, struct cursor *in, const struct record *head,
			struct event *event) {
	struct record_exec record = {0};
	cursor_copy(in, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	struct cursor file = cursor_slice(in, record.file_size);
	struct cursor arguments = cursor_slice(in, record.arguments_size);
	if (in->failed || !is_task(record.tid) || !is_task(record.pid) || record.old_tid >= TID_OUTSIDE)
		return false;
	event->kind = EVENT_EXEC;
	event->tid = record.tid;
	event->pid = record.pid;
	event->exec.old_tid = record.old_tid;
	event->exec.name = name_string(decoder, record.name);
	event->exec.file = strings_add_bytes(decoder->strings, file.at,
					     strnlen((const char *)file.at, cursor_left(&file)));
	event->exec.arguments = strings_add_bytes(decoder->strings, arguments.at, cursor_left(&arguments));
	event->exec.truncated = head->flags & EXEC_TRUNCATED;
	return true;
}

static bool decode_rename(struct decoder *decoder, struct cursor *in, const struct record *head,
			  struct event *event) {
	struct record_rename record = {0};
	cursor_copy(in, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	event->kind = EVENT_RENAME;
	event->tid = record.tid;
	event->pid = record.pid;
	event->rename.name = name_string(decoder, record.name);
	return !in->failed && is_task(event->tid);
}

static bool decode_exit(struct decoder *decoder, struct cursor *in, const struct record *head,
			struct event *event) {
	struct record_exit record = {0};
	cursor_copy(in, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	event->kind = EVENT_EXIT;
	event->tid = record.tid;
	event->pid = record.pid;
	event->exit.code = record.code;
	event->exit.last = head->flags & EXIT_LAST;
	event->exit.unknown = head->flags & EXIT_CODE_UNKNOWN;
	return !in->failed && is_task(event->tid) && is_task(event->pid);
}

static bool decode_crash(struct decoder *decoder, struct cursor *in, const struct record *head,
			 struct event *event) {
	struct record_crash record = {0};
	size_t size = offsetof(struct record_crash, modules) - sizeof(struct record);
	cursor_copy(in, (char *)&record + sizeof(struct record), size);
	event->kind = EVENT_CRASH;
	event->tid = record.tid;
	event->pid = record.pid;
	event->crash.address = record.address;
	event->crash.instruction = record.instruction;
	event->crash.signal = record.signal;
	event->crash.code = record.code;
	event->crash.name = name_string(decoder, record.name);
	return !in->failed && is_task(event->tid) && is_task(event->pid);
}

// ---- irq ----

static bool decode_irq(struct decoder *decoder, struct cursor *in, const struct record *head,
		       struct event *event) {
	static const uint16_t kinds[RECORD_KIND_COUNT] = {
		[RECORD_IRQ_ENTRY] = EVENT_IRQ_ENTRY,
		[RECORD_IRQ_EXIT] = EVENT_IRQ_EXIT,
		[RECORD_SOFTIRQ_ENTRY] = EVENT_SOFTIRQ_ENTRY,
		[RECORD_SOFTIRQ_EXIT] = EVENT_SOFTIRQ_EXIT,
	};
	event->kind = kinds[head->kind];
	event->tid = cursor_u32(in);
	event->irq.number = cursor_u32(in);
	if (head->kind == RECORD_IRQ_EXIT)
		event->irq.result = (int32_t)cursor_u32(in);
	if (head->kind == RECORD_IRQ_ENTRY) {
		char name[RECORD_NAME_SIZE];
		cursor_copy(in, name, sizeof(name));
		event->irq.name = name_string(decoder, name);
	}
	return !in->failed && event->tid < TID_OUTSIDE;
}

// ---- points ----

static bool decode_point(struct decoder *decoder, struct cursor *in, const struct record *head,
			 struct event *event) {
	event->kind = EVENT_POINT;
	event->tid = cursor_u32(in);
	event->point.number = cursor_u16(in);
	event->point.small = cursor_u16(in);
	if (in->failed || event->point.number >= POINT_COUNT)
		return false;
	for (uint8_t i = 0; i < points[event->point.number].values; i++)
		event->point.values[i] = cursor_u64(in);
	if (event->point.number == POINT_SYS_ENTER && cursor_left(in))
		event->point.path = strings_add_bytes(decoder->strings, in->at,
						      strnlen((const char *)in->at, cursor_left(in)));
	return !in->failed && event->tid < TID_OUTSIDE;
}

// ---- marker ----

static bool decode_mark(struct decoder *decoder, struct cursor *in, const struct record *head,
			struct event *event) {
	struct record_mark record = {0};
	cursor_copy(in, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	struct cursor text = cursor_slice(in, record.text_size);
	if (in->failed || !record.type || record.type >= MARK_TYPE_COUNT || record.tid >= TID_OUTSIDE ||
	    record.pid >= TID_OUTSIDE)
		return false;
	event->kind = EVENT_MARK;
	event->tid = record.tid;
	event->pid = record.pid;
	memcpy(&event->mark.value, &record.value, sizeof(record.value));
	event->mark.name = strings_add_bytes(decoder->strings, text.at,
					     strnlen((const char *)text.at, cursor_left(&text)));
	event->mark.type = record.type;
	event->mark.no_task = head->flags & MARK_NO_TASK;
	event->mark.cut = head->flags & MARK_CUT;
	return true;
}

// ---- samples ----

// Adds a stack of bare addresses, stored outermost first.
static uint32_t add_addresses(struct decoder *decoder, uint32_t stack, const uint8_t *bytes, uint32_t count,
			      uint32_t kind) {
	while (count--) {
		struct frame frame = {.kind = kind};
		memcpy(&frame.address, bytes + (size_t)count * 8, 8);
		stack = stacks_add(decoder->stacks, stack, stacks_add_frame(decoder->stacks, &frame));
	}
	return stack;
}

// A frame that stands for others.
static uint32_t add_note(struct decoder *decoder, uint32_t stack, const char *text) {
	struct frame frame = {.kind = FRAME_USER, .symbol = strings_add(decoder->strings, text)};
	return stacks_add(decoder->stacks, stack, stacks_add_frame(decoder->stacks, &frame));
}

// The user's half. Of a deep one the frames in the middle are missing.
static uint32_t add_user(struct decoder *decoder, const struct record_sample *record, bool cut,
			 const uint8_t *bytes) {
	char text[64];
	uint32_t depth = record->user_frames, stack = 0;
	snprintf(text, sizeof(text), "[cut at %u frames]", depth);
	if (cut)
		stack = add_note(decoder, stack, text);
	if (depth <= SAMPLE_USER_FRAMES)
		return add_addresses(decoder, stack, bytes, depth, FRAME_USER);
	for (uint32_t i = 1; i <= SAMPLE_OUTER_FRAMES; i++) {
		uint32_t place = (depth - i - SAMPLE_INNER_FRAMES) % SAMPLE_OUTER_FRAMES;
		stack = add_addresses(decoder, stack, bytes + (SAMPLE_INNER_FRAMES + place) * 8, 1,
				      FRAME_USER);
	}
	stack = add_note(decoder, stack, "[frames left out]");
	return add_addresses(decoder, stack, bytes, SAMPLE_INNER_FRAMES, FRAME_USER);
}

// NULL if the data is damaged or cannot be unpacked here.
static const uint8_t *unpack(struct decoder *decoder, const uint8_t *packed, size_t packed_size,
			     size_t size) {
	enum { MOST = (COLLECTOR_COPY_PAGES + 1) * SAMPLE_COPY_PAGE };
	decoder->unpacked.size = 0;
#ifdef HAVE_ZSTD
	if (packed && !decoder->unpacker)
		decoder->unpacker = ZSTD_createDCtx();
	if (packed && size && size <= MOST &&
	    ZSTD_decompressDCtx(decoder->unpacker, buffer_room(&decoder->unpacked, size), size, packed,
				packed_size) == size)
		return decoder->unpacked.data;
#endif
	return NULL;
}

static bool read_copy(struct decoder *decoder, struct cursor *in, bool packed) {
	struct sample_copied copied;
	cursor_copy(in, &copied, sizeof(copied));
	const uint8_t *bytes = cursor_take(in, packed ? copied.packed : copied.size);
	if (packed)
		bytes = unpack(decoder, bytes, copied.packed, copied.size);
	decoder->copy = (struct sample_copy){.pc = copied.pc,
					     .stack = copied.stack,
					     .frame = copied.frame,
					     .first = copied.first,
					     .top = copied.top,
					     .size = bytes ? copied.size : 0,
					     .bytes = bytes ? bytes : in->at};
	return !in->failed;
}

static bool decode_sample(struct decoder *decoder, struct cursor *in, const struct record *head,
			  struct event *event) {
	struct record_sample record = {0};
	cursor_copy(in, (char *)&record + sizeof(struct record), sizeof(record) - sizeof(struct record));
	uint32_t frames = (uint32_t)record.kernel_frames + MIN(record.user_frames, SAMPLE_USER_FRAMES);
	bool copied = head->flags & SAMPLE_STACK_COPIED;
	bool packed = head->flags & SAMPLE_STACK_PACKED;
	const uint8_t *addresses = cursor_take(in, (copied && !packed ? SAMPLE_ADDRESSES : frames) * 8u);
	bool blocked = head->flags & SAMPLE_BLOCKED;
	uint32_t words = blocked && record.period == SAMPLE_WAIT_ENDS ? SAMPLE_WAIT_WORDS : 0;
	if (in->failed || record.kernel_frames < words || record.kernel_frames > SAMPLE_MOST_FRAMES + words ||
	    record.user_frames > SAMPLE_DEEPEST || !is_task(record.tid) || !is_task(record.pid) ||
	    (copied && !read_copy(decoder, in, packed)))
		return false;
	// If the stack was copied, ignore the failed walk.
	const uint8_t *user = addresses + (size_t)record.kernel_frames * 8;
	bool cut = head->flags & SAMPLE_STACK_CUT;
	uint32_t stack = copied ? 0 : add_user(decoder, &record, cut, user);
	event->kind = EVENT_SAMPLE;
	event->tid = record.tid;
	event->pid = record.pid;
	event->sample.weight = record.period;
	const char *in_time = head->flags & SAMPLE_CYCLES ? "cycles" : "cpu-clock";
	bool at_event = head->flags & SAMPLE_EVENT;
	if (at_event) {
		event->sample.weight = 1;
		event->sample.name = stack_event_name(
			decoder->strings, strings_get(decoder->strings, decoder->machine), record.period);
	} else {
		event->sample.name = !blocked && decoder->sample_event
					     ? decoder->sample_event
					     : strings_add(decoder->strings,
							   blocked ? EVENT_OFF_CPU : in_time);
	}
	event->sample.stack = add_addresses(decoder, stack, addresses + words * 8,
					    record.kernel_frames - words, FRAME_KERNEL);
	if (words) {
		struct cursor waited = cursor_of(addresses, words * 8);
		event->sample.weight = cursor_u64(&waited);
		event->sample.ready = cursor_u64(&waited);
	}
	event->sample.copy = copied ? &decoder->copy : NULL;
	event->sample.script = scripts_for(&decoder->scripts, record.tid, event->time);
	event->sample.flags = SAMPLE_RAW | (blocked ? SAMPLE_WAITS : 0) | (words ? SAMPLE_WAITED : 0) |
			      (at_event ? SAMPLE_AT_EVENT : 0);
	if (record.user_frames && !(head->flags & (SAMPLE_STACK_COMPLETE | SAMPLE_STACK_CUT)))
		event->sample.flags |= SAMPLE_BROKEN;
	if (cut || record.user_frames > SAMPLE_USER_FRAMES)
		event->sample.flags |= SAMPLE_CUT;
	return true;
}

static bool (*const record_decoders[RECORD_KIND_COUNT])(struct decoder *, struct cursor *,
							const struct record *, struct event *) = {
	[RECORD_SWITCH] = decode_switch,     [RECORD_WAKING] = decode_waking,
	[RECORD_FORK] = decode_fork,         [RECORD_EXEC] = decode_exec,
	[RECORD_RENAME] = decode_rename,     [RECORD_EXIT] = decode_exit,
	[RECORD_IRQ_ENTRY] = decode_irq,     [RECORD_IRQ_EXIT] = decode_irq,
	[RECORD_SOFTIRQ_ENTRY] = decode_irq, [RECORD_SOFTIRQ_EXIT] = decode_irq,
	[RECORD_MARK] = decode_mark,         [RECORD_SAMPLE] = decode_sample,
	[RECORD_CRASH] = decode_crash,       [RECORD_POINT] = decode_point,
};

// ---- blocks ----

static int push_lost(struct decoder *decoder, uint64_t time, uint32_t cpu, int source, uint64_t count) {
	if (!count)
		return 0;
	decoder->lost[source] += count;
	time = MAX(time, decoder->start);
	return sink_push(decoder->sink,
			 &(struct event){.kind = EVENT_LOST,
					 .time = time,
					 .cpu = cpu,
					 .lost = {.count = count, .source = (uint16_t)source}});
}

// Drops and counts an invalid record.
static int bad_record(struct decoder *decoder) {
	decoder->bad_records++;
	return 0;
}

// A flight recording begins in the middle of a test: events before its start are
// incomplete, and of those only facts about tasks count.
static bool begins_later(const struct decoder *decoder, struct event *event) {
	if (event->time >= decoder->start)
		return false;
	event->time = decoder->start;
	return event->kind != EVENT_FORK && event->kind != EVENT_EXEC && event->kind != EVENT_RENAME &&
	       event->kind != EVENT_EXIT;
}

// ---- counters ----

static int decode_counters(struct decoder *decoder, struct cursor *in) {
	return counts_describe(&decoder->counts, in, decoder->strings) ? 0 : bad_record(decoder);
}

static int decode_counts(struct decoder *decoder, struct cursor *body, const struct record *head,
			 const struct event *place) {
	bool bad = false;
	if (place->time < decoder->start)
		return 0;
	decoder->time = MAX(decoder->time, place->time);
	int error = counts_take(&decoder->counts, head, body, place, decoder->strings, decoder->sink, &bad);
	return bad ? bad_record(decoder) : error;
}

// ---- batches ----

static bool decode_record(struct decoder *decoder, struct cursor *body, const struct record *head,
			  struct event *event) {
	if (head->kind < RECORD_KIND_COUNT && record_decoders[head->kind] &&
	    (event->cpu != CPU_NONE || head->kind == RECORD_MARK) &&
	    record_decoders[head->kind](decoder, body, head, event))
		return true;
	bool bad = true;
	scripts_take(&decoder->scripts, head, body, event->time, &bad);
	decoder->bad_records += bad;
	return false;
}

// For a run that has been checked.
static bool decode_of_run(struct spool_merge *merge, struct record head, const uint8_t *body,
			  struct event *event) {
	struct cursor in = cursor_of(body, (size_t)head.size - sizeof(head));
	return decode_record(CONTAINER_OF(merge, struct decoder, merge), &in, &head, event);
}

// Whether a batch qualifies as a run. Counter records do not: each becomes several events.
static bool is_run(const struct decoder *decoder, const struct batch *batch, struct cursor records,
		   uint64_t *last) {
	struct record head = {0};
	uint32_t delta = 0;
	if (decoder->one_by_one || batch->cpu == BATCH_NO_CPU || batch->base < decoder->start ||
	    !cursor_left(&records))
		return false;
	while (cursor_left(&records)) {
		cursor_copy(&records, &head, sizeof(head));
		cursor_take(&records, (size_t)head.size - sizeof(head));
		if (records.failed || head.size < sizeof(head) || head.delta < delta ||
		    head.kind == RECORD_COUNTS)
			return false;
		delta = head.delta;
	}
	*last = batch->base + delta;
	return true;
}

static bool take_run(struct decoder *decoder, const struct batch *batch, const struct cursor *records) {
	struct spool_run run = {
		.cpu = batch->cpu, .size = batch->size, .bytes = records->at, .base = batch->base};
	if (!is_run(decoder, batch, *records, &run.last) || !spool_merge_take(&decoder->merge, &run))
		return false;
	decoder->time = MAX(decoder->time, run.last);
	return true;
}

static int decode_batch(struct decoder *decoder, struct cursor *in) {
	struct batch batch;
	cursor_copy(in, &batch, sizeof(batch));
	struct cursor records = cursor_slice(in, batch.size);
	bool cpu_is_good = batch.cpu < CPU_COUNT_MOST || batch.cpu == BATCH_NO_CPU;
	if (records.failed || !cpu_is_good || !is_time(batch.base) || !is_time(batch.base + UINT32_MAX))
		return bad_record(decoder);
	int error = 0;
	if (batch.lost_source < RECORD_SOURCE_COUNT)
		error = push_lost(decoder, batch.base, batch.cpu, (int)batch.lost_source, batch.lost);
	if (error || take_run(decoder, &batch, &records))
		return error;
	while (!error && cursor_left(&records)) {
		struct record head;
		cursor_copy(&records, &head, sizeof(head));
		struct cursor body = cursor_slice(&records, (size_t)head.size - sizeof(head));
		if (head.size < sizeof(head) || body.failed)
			return bad_record(decoder); // the rest of the batch has no base time
		struct event event = {.time = batch.base + head.delta, .cpu = batch.cpu};
		if (head.kind == RECORD_COUNTS) {
			error = decode_counts(decoder, &body, &head, &event);
			continue;
		}
		if (!decode_record(decoder, &body, &head, &event))
			continue;
		decoder->time = MAX(decoder->time, event.time);
		if (begins_later(decoder, &event))
			continue;
		error = sink_push(decoder->sink, &event);
	}
	return error;
}

static int decode_watermark(struct decoder *decoder, struct cursor *in) {
	struct event event = {.kind = EVENT_WATERMARK, .cpu = CPU_NONE, .time = cursor_u64(in)};
	if (in->failed || !is_time(event.time))
		return bad_record(decoder);
	decoder->time = MAX(decoder->time, event.time);
	return sink_push(decoder->sink, &event);
}

static int decode_clock(struct decoder *decoder, struct cursor *in) {
	struct spool_clock clock;
	cursor_copy(in, &clock, sizeof(clock));
	struct event event = {.kind = EVENT_CLOCK,
			      .cpu = CPU_NONE,
			      .time = clock.boot,
			      .clock = {.wall = clock.wall, .monotonic = clock.monotonic}};
	bool good = !in->failed && is_time(clock.boot) && is_time(clock.wall) && is_time(clock.monotonic);
	return good ? sink_push(decoder->sink, &event) : bad_record(decoder);
}

static int decode_meta(struct decoder *decoder, struct cursor *in) {
	const char *key = cursor_string(in);
	const char *value = cursor_string(in);
	if (in->failed)
		return bad_record(decoder);
	struct event event = {.kind = EVENT_META,
			      .cpu = CPU_NONE,
			      .time = decoder->time,
			      .meta = {.key = strings_add(decoder->strings, key),
				       .value = strings_add(decoder->strings, value)}};
	if (strcmp(key, SPOOL_SAMPLE_EVENT) == 0)
		decoder->sample_event = event.meta.value;
	if (strcmp(key, "machine") == 0)
		decoder->machine = event.meta.value;
	return sink_push(decoder->sink, &event);
}

static int decode_task(struct decoder *decoder, struct cursor *in) {
	struct spool_task task;
	cursor_copy(in, &task, sizeof(task));
	const char *name = cursor_string(in);
	if (in->failed || !is_task(task.tid) || !is_task(task.pid) || task.parent_pid >= TID_OUTSIDE)
		return bad_record(decoder);
	struct event event = {
		.kind = EVENT_TASK,
		.cpu = CPU_NONE,
		.time = decoder->time,
		.tid = task.tid,
		.pid = task.pid,
		.task = {.parent_pid = task.parent_pid,
			 .name = strings_add(decoder->strings, name),
			 .command_line = strings_add_bytes(decoder->strings, in->at, cursor_left(in))}};
	return sink_push(decoder->sink, &event);
}

// A spool of another version may have fewer sources or more.
static struct spool_lost read_lost(struct cursor *in) {
	struct spool_lost lost = {.time = cursor_u64(in)};
	size_t numbers = cursor_left(in) / sizeof(uint64_t);
	for (size_t source = 0; source + 1 < numbers; source++) {
		uint64_t count = cursor_u64(in);
		if (source < RECORD_SOURCE_COUNT)
			lost.count[source] = count;
	}
	lost.unfollowed = cursor_u64(in);
	return lost;
}

// The totals: reports the losses that batches have not reported.
static int decode_lost(struct decoder *decoder, struct cursor *in) {
	struct spool_lost lost = read_lost(in);
	if (in->failed || !is_time(lost.time))
		return bad_record(decoder);
	int error = 0;
	for (int source = 0; !error && source < RECORD_SOURCE_COUNT; source++)
		if (lost.count[source] > decoder->lost[source])
			error = push_lost(decoder, lost.time, CPU_NONE, source,
					  lost.count[source] - decoder->lost[source]);
	return error ? error : push_lost(decoder, lost.time, CPU_NONE, SOURCE_PROCESS, lost.unfollowed);
}

static int decode_mapping(struct decoder *decoder, struct cursor *in) {
	struct spool_mapping mapping;
	char build_id[41] = "";
	cursor_copy(in, &mapping, sizeof(mapping));
	const char *path = cursor_string(in);
	if (in->failed || !is_time(mapping.time) || !is_task(mapping.pid) ||
	    mapping.start + mapping.size < mapping.start) {
		decoder->bad_records++;
		return 0;
	}
	if (mapping.build_id_size == SPOOL_BUILD_ID_LOST)
		strcpy(build_id, BUILD_ID_LOST);
	else
		for (int i = 0; i < MIN(mapping.build_id_size, 20); i++)
			snprintf(build_id + 2 * i, 3, "%02x", mapping.build_id[i]);
	struct event event = {.kind = EVENT_MAPPING,
			      .cpu = CPU_NONE,
			      .time = MAX(mapping.time, decoder->start),
			      .tid = mapping.pid,
			      .pid = mapping.pid,
			      .mapping = {.start = mapping.start,
					  .size = mapping.size,
					  .offset = mapping.offset,
					  .file = strings_add(decoder->strings, path),
					  .build_id = strings_add(decoder->strings, build_id)}};
	return sink_push(decoder->sink, &event);
}

static int decode_forgotten(struct decoder *decoder, struct cursor *in) {
	struct spool_lost lost = read_lost(in);
	for (int source = 0; !in->failed && source < RECORD_SOURCE_COUNT; source++)
		decoder->lost[source] += lost.count[source];
	return 0;
}

static int decode_crash_stack(struct decoder *decoder, struct cursor *in) {
	struct spool_crash crash;
	cursor_copy(in, &crash, sizeof(crash));
	const char *text = cursor_string(in);
	if (in->failed || !is_task(crash.tid) || !is_time(crash.time + 1))
		return bad_record(decoder);
	// After the crash, whatever the order of CPUs.
	struct event event = {
		.kind = EVENT_CRASH_STACK,
		.cpu = CPU_NONE,
		.time = MAX(decoder->time, crash.time) + 1,
		.tid = crash.tid,
		.crash_stack = {.crash_time = crash.time, .text = strings_add(decoder->strings, text)}};
	return sink_push(decoder->sink, &event);
}

static int decode_reading(struct decoder *decoder, struct cursor *in) {
	struct spool_reading reading;
	cursor_copy(in, &reading, sizeof(reading));
	const char *name = cursor_string(in);
	if (in->failed || !is_task(reading.pid) || !is_time(reading.time))
		return bad_record(decoder);
	struct event event = {.kind = EVENT_MARK,
			      .cpu = CPU_NONE,
			      .time = reading.time,
			      .tid = reading.pid,
			      .pid = reading.pid,
			      .mark = {.value = reading.value,
				       .name = strings_add(decoder->strings, name),
				       .type = MARK_COUNTER}};
	return sink_push(decoder->sink, &event);
}

static int (*const block_decoders[])(struct decoder *, struct cursor *) = {
	[SPOOL_BATCH] = decode_batch,         [SPOOL_WATERMARK] = decode_watermark,
	[SPOOL_CLOCK] = decode_clock,         [SPOOL_META] = decode_meta,
	[SPOOL_TASK] = decode_task,           [SPOOL_LOST] = decode_lost,
	[SPOOL_FORGOTTEN] = decode_forgotten, [SPOOL_MAPPING] = decode_mapping,
	[SPOOL_CRASH] = decode_crash_stack,   [SPOOL_COUNTERS] = decode_counters,
	[SPOOL_READING] = decode_reading,
};

static bool spool_probe(const uint8_t *head, size_t size) {
	return size >= sizeof(SPOOL_MAGIC) && memcmp(head, SPOOL_MAGIC, sizeof(SPOOL_MAGIC)) == 0;
}

static int read_header(struct stream *input, const char *name, struct decoder *decoder) {
	struct spool_header header;
	const uint8_t *bytes = stream_need(input, sizeof(header));
	if (!bytes || !spool_probe(bytes, sizeof(header))) {
		log_error("%s: not a tracelet spool%s", name, bytes ? "" : " (too short)");
		return -EINVAL;
	}
	memcpy(&header, bytes, sizeof(header));
	if (header.version != SPOOL_VERSION || header.header_size != sizeof(header)) {
		log_error("%s: a spool of version %" PRIu32 "; this tracelet reads version %d", name,
			  header.version, SPOOL_VERSION);
		return -EINVAL;
	}
	if (!is_time(header.start)) {
		log_error("%s: a spool with a damaged header", name);
		return -EINVAL;
	}
	decoder->time = decoder->start = header.start;
	stream_consume(input, sizeof(header));
	return sink_push(decoder->sink,
			 &(struct event){.kind = EVENT_START, .cpu = CPU_NONE, .time = header.start});
}

// Takes the next block; false if no complete block is left. `padded` is its size in the file.
static bool next_block(struct stream *input, struct spool_block *block, struct cursor *content,
		       size_t *padded) {
	const uint8_t *bytes = stream_need(input, sizeof(*block));
	if (!bytes)
		return false;
	memcpy(block, bytes, sizeof(*block));
	if (block->size > SPOOL_LARGEST_BLOCK)
		return false;
	*padded = sizeof(*block) + (((size_t)block->size + 7) & ~(size_t)7);
	bytes = stream_need(input, *padded);
	if (bytes)
		*content = cursor_of(bytes + sizeof(*block), block->size);
	return bytes != NULL;
}

// Reports how the input ended after its last complete block.
static int report_end(struct stream *input, const char *name, const struct spool_block *block) {
	size_t left = stream_available(input);
	if (input->error && input->error != -ECANCELED) // if cancelled, the caller knows
		log_error("%s: cannot be read: %s", name, strerror(-input->error));
	else if (left >= sizeof(*block) && block->size > SPOOL_LARGEST_BLOCK)
		log_warning("%s: not a block at offset %" PRIu64 "; ignoring the rest", name, input->offset);
	else if (left)
		log_warning("%s: truncated inside a block; ignoring the last %zu bytes", name, left);
	return input->error;
}

static int read_blocks(struct decoder *decoder, struct stream *input, const char *name) {
	struct spool_block block = {0};
	struct cursor content;
	size_t padded;
	int error = read_header(input, name, decoder);
	while (!error && next_block(input, &block, &content, &padded)) {
		if (block.type < ARRAY_SIZE(block_decoders) && block_decoders[block.type])
			error = block_decoders[block.type](decoder, &content);
		else
			bad_record(decoder);
		stream_consume(input, padded);
	}
	return error ? error : report_end(input, name, &block);
}

static int read_with(struct decoder *decoder, struct stream *input, const char *name, struct tables *tables,
		     struct sink *sink) {
	decoder->strings = tables->strings;
	decoder->stacks = tables->stacks;
	decoder->scripts = (struct scripts){.strings = tables->strings, .stacks = tables->stacks};
	spool_merge_init(&decoder->merge, sink, decode_of_run);
	decoder->sink = &decoder->merge.sink;
	int error = read_blocks(decoder, input, name);
	if (!error)
		error = spool_merge_flush(&decoder->merge);
	spool_merge_free(&decoder->merge);
	buffer_free(&decoder->unpacked);
#ifdef HAVE_ZSTD
	ZSTD_freeDCtx(decoder->unpacker);
#endif
	counts_free(&decoder->counts);
	scripts_free(&decoder->scripts);
	if (decoder->bad_records)
		log_warning("%s: %" PRIu64 " record%s could not be decoded", name, decoder->bad_records,
			    plural(decoder->bad_records));
	return error;
}

static int spool_read(struct stream *input, const char *name, struct tables *tables, struct sink *sink) {
	struct decoder decoder = {0};
	return read_with(&decoder, input, name, tables, sink);
}

int spool_read_one_by_one(struct stream *input, const char *name, struct tables *tables, struct sink *sink) {
	struct decoder decoder = {.one_by_one = true};
	return read_with(&decoder, input, name, tables, sink);
}

const struct reader spool_reader = {
	.name = "spool",
	.extension = "spool",
	.description = "a recording of tracelet run",
	.probe = spool_probe,
	.read = spool_read,
};
