// Drains the area that tests write their marks to, chunk by chunk: only one thread writes to a chunk, so its
// records are in order. The test writes the content: nothing in it is trusted. A thread that finds a megabyte
// in use wakes us with a futex in the area, so that the test need not hold a descriptor open. A thread of
// ours waits for it and makes an eventfd readable. The test's threads allocate the memory of new chunks
// themselves: that takes 3 us for 200 marks, and a tracer that waits for a CPU would be too late. 16 chunks
// are allocated at the start. A mark's time is read after its space is reserved, so that a thread between the
// two can be seen: while a chunk has an unfinished reservation, the watermark stays at the last time when it
// had none, for a second at most (its thread may have been stopped for good).
#include "capture/marker/marker.h"
#include "base/array.h"
#include "base/log.h"
#include "base/shared_memory.h"

#define TL_MARK_LAYOUT_ONLY
#include "tracelet/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	FIRST_CHUNKS = 16,
	FIRST_CHUNKS_OF_ALL = 512, // if the test cannot add any
	BATCH_BYTES = 64 * 1024,
	PATIENCE_NS = 1000000000,
};

static const size_t area_size = TL_MARK_FIRST_CHUNK + (size_t)TL_MARK_MOST_CHUNKS * TL_MARK_CHUNK_SIZE;

struct chunk_state {
	uint32_t taken; // bytes of its records
	uint64_t
		clear_at; // the last time it was seen without an unfinished reservation; 0 if it has none now
};

struct marker {
	struct tl_mark_area *area;
	struct chunk_state chunks[TL_MARK_MOST_CHUNKS];
	uint64_t lost_reported, torn; // torn: records whose thread died over them, or that make no sense
	uint64_t count;
	struct buffer batch;
	uint64_t base;   // time of the batch's first record
	uint64_t looked; // when all chunks were last looked at
	pthread_t waiter;
	bool waiting;
	int stopping; // the waiter should end
	int fd, event;
};

// ---- making it ----

int marker_create(void) {
	struct tl_mark_area head = {.magic = TL_MARK_MAGIC,
				    .id = clock_boot_now(),
				    .version = TL_MARK_VERSION,
				    .chunk_count = TL_MARK_MOST_CHUNKS};
	if (readlink("/proc/self/ns/pid", head.pid_namespace, sizeof(head.pid_namespace) - 1) < 0)
		return -errno;
	int fd = shared_memory_new("tracelet-marks", area_size, &head, sizeof(head));
	if (fd >= 0 && fallocate(fd, 0, 0, TL_MARK_FIRST_CHUNK)) {
		int error = -errno;
		close(fd);
		return error;
	}
	return fd;
}

void marker_name(int fd, pid_t holder, char name[MARKER_NAME_SIZE]) {
	struct tl_mark_area head = {.id = 0};
	if (pread(fd, &head, offsetof(struct tl_mark_area, owners), 0) < 0)
		head.id = 0;
	snprintf(name, MARKER_NAME_SIZE, "/proc/%d/fd/%d:%" PRIx64, (int)holder, fd, head.id);
}

static struct tl_mark_chunk *chunk_at(const struct marker *marker, uint32_t index) {
	return (struct tl_mark_chunk *)((uint8_t *)marker->area + TL_MARK_FIRST_CHUNK +
					(size_t)index * TL_MARK_CHUNK_SIZE);
}

static uint64_t new_epoch(struct marker *marker) {
	return (uint64_t)__atomic_add_fetch(&marker->area->epoch, 1, __ATOMIC_RELAXED) << 32;
}

static bool give_memory(struct marker *marker, uint32_t index, uint32_t count) {
	return fallocate(marker->fd, 0, TL_MARK_FIRST_CHUNK + (off_t)index * TL_MARK_CHUNK_SIZE,
			 (off_t)count * TL_MARK_CHUNK_SIZE) == 0;
}

static void make_first_chunks(struct marker *marker) {
	uint32_t count = FIRST_CHUNKS;
	if (madvise(marker->area, TL_MARK_CHUNK_SIZE, MADV_POPULATE_WRITE))
		count = FIRST_CHUNKS_OF_ALL; // Linux before 5.14, or larger pages
	count = give_memory(marker, 0, count) ? count : 0;
	for (uint32_t i = 0; i < count; i++)
		chunk_at(marker, i)->reserved = new_epoch(marker);
	for (uint32_t i = count; i < TL_MARK_MOST_CHUNKS; i++)
		marker->area->owners[i] = TL_MARK_NEW;
}

static long futex(uint32_t *word, int operation, uint32_t value) {
	return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

static void *wait_for_wake(void *context) {
	struct marker *marker = context;
	uint32_t seen = 0;
	while (!__atomic_load_n(&marker->stopping, __ATOMIC_ACQUIRE)) {
		uint32_t now = __atomic_load_n(&marker->area->wake, __ATOMIC_ACQUIRE);
		if (now == seen) {
			futex(&marker->area->wake, FUTEX_WAIT, now);
			continue;
		}
		seen = now;
		eventfd_write(marker->event, 1);
	}
	return NULL;
}

int marker_open(struct marker **result, int fd) {
	void *area = mmap(NULL, area_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED)
		return -errno;
	struct marker *marker = memory_alloc(sizeof(*marker));
	marker->area = area;
	marker->fd = fd;
	marker->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	make_first_chunks(marker);
	*result = marker;
	return 0;
}

void marker_watch(struct marker *marker) {
	if (marker->waiting)
		return;
	// Signals are for the thread that runs the tracer.
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	marker->waiting = pthread_create(&marker->waiter, NULL, wait_for_wake, marker) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void marker_close(struct marker *marker) {
	if (!marker)
		return;
	__atomic_store_n(&marker->area->recording, 0, __ATOMIC_RELEASE);
	if (marker->waiting) {
		__atomic_store_n(&marker->stopping, 1, __ATOMIC_RELEASE);
		__atomic_add_fetch(&marker->area->wake, 1, __ATOMIC_RELEASE);
		futex(&marker->area->wake, FUTEX_WAKE, INT32_MAX);
		pthread_join(marker->waiter, NULL);
	}
	munmap(marker->area, area_size);
	close(marker->event);
	close(marker->fd);
	buffer_free(&marker->batch);
	free(marker);
}

void marker_start(struct marker *marker) {
	marker->looked = clock_boot_now();
	__atomic_store_n(&marker->area->recording, 1, __ATOMIC_RELEASE);
}

int marker_wait_fd(const struct marker *marker) {
	return marker->event;
}

uint64_t marker_count(const struct marker *marker) {
	return marker->count;
}

// ---- from records of the area to those of the spool ----

static void flush_batch(struct marker *marker, struct spool *spool) {
	if (marker->batch.size) {
		struct batch head = {.base = marker->base,
				     .cpu = BATCH_NO_CPU,
				     .size = (uint32_t)(marker->batch.size - sizeof(head))};
		memcpy(marker->batch.data, &head, sizeof(head));
		spool_append(spool, SPOOL_BATCH, marker->batch.data, marker->batch.size);
	}
	marker->batch.size = 0;
}

static void report_losses(struct marker *marker, struct spool *spool) {
	uint64_t lost = __atomic_load_n(&marker->area->lost, __ATOMIC_RELAXED) + marker->torn;
	if (lost <= marker->lost_reported)
		return;
	struct batch head = {.base = clock_boot_now(), .cpu = BATCH_NO_CPU};
	head.lost = (uint32_t)MIN(lost - marker->lost_reported, UINT32_MAX);
	head.lost_source = SOURCE_MARKER;
	marker->lost_reported = lost;
	spool_append(spool, SPOOL_BATCH, &head, sizeof(head));
}

static void take_record(struct marker *marker, struct spool *spool, uint64_t owner, uint32_t state,
			const struct tl_mark_record *record) {
	struct tl_mark_record mark;
	shared_copy(&mark, record, sizeof(mark));
	uint32_t room = TL_MARK_SIZE(state) - (uint32_t)sizeof(mark);
	uint16_t text_size = (uint16_t)MIN(mark.text_size, room);
	size_t size = (sizeof(struct record_mark) + text_size + 7) & ~(size_t)7;
	if (marker->batch.size && (mark.time < marker->base || mark.time - marker->base > UINT32_MAX ||
				   marker->batch.size + size > BATCH_BYTES))
		flush_batch(marker, spool);
	if (!marker->batch.size) {
		marker->base = mark.time;
		buffer_append(&marker->batch, &(struct batch){0}, sizeof(struct batch));
	}
	uint8_t flags = (state & TL_MARK_CUT ? MARK_CUT : 0) |
			(state & TL_MARK_ABOUT_ALL || owner & TL_MARK_FOREIGN ? MARK_NO_TASK : 0);
	struct record_mark out = {.head = {.delta = (uint32_t)(mark.time - marker->base),
					   .kind = RECORD_MARK,
					   .flags = flags,
					   .size = (uint16_t)size},
				  .tid = (uint32_t)owner,
				  .pid = (uint32_t)(owner >> 32 & INT32_MAX),
				  .type = (uint8_t)TL_MARK_TYPE(state),
				  .text_size = text_size};
	memcpy(&out.value, &mark.value, sizeof(out.value));
	uint8_t *room_for = buffer_room(&marker->batch, size);
	memset(room_for + size - 8, 0, 8);
	memcpy(room_for, &out, sizeof(out));
	memcpy(room_for + sizeof(out), record + 1, text_size);
	marker->batch.size += size;
	marker->count++;
}

// ---- chunks ----

// Takes the finished records of a chunk. `dead`: its thread will not finish the others. Returns true if no
// more will come.
static bool take_chunk(struct marker *marker, struct spool *spool, uint32_t index, uint64_t owner,
		       bool dead) {
	struct tl_mark_chunk *chunk = chunk_at(marker, index);
	uint32_t *taken = &marker->chunks[index].taken;
	uint32_t reserved = (uint32_t)__atomic_load_n(&chunk->reserved, __ATOMIC_ACQUIRE);
	uint32_t limit = MIN(reserved, (uint32_t)TL_MARK_CHUNK_ROOM);
	while (*taken < limit) {
		const struct tl_mark_record *record = (const void *)(chunk->records + *taken);
		uint32_t state = __atomic_load_n(&record->state, __ATOMIC_ACQUIRE);
		uint32_t size = TL_MARK_SIZE(state), type = TL_MARK_TYPE(state);
		bool done = state & TL_MARK_DONE;
		if (!done && !(dead && state))
			break;
		if (size > TL_MARK_CHUNK_ROOM - *taken || size < 8 || size % 8 ||
		    type >= TL_MARK_TYPE_COUNT || (size < sizeof(*record) && type != TL_MARK_CHUNK_END)) {
			marker->torn++;
			*taken = TL_MARK_CHUNK_ROOM; // the start of the next one is unknown
			break;
		}
		if (!done)
			marker->torn++;
		else if (type != TL_MARK_SKIPPED && type != TL_MARK_CHUNK_END)
			take_record(marker, spool, owner, state, record);
		*taken += size;
	}
	flush_batch(marker, spool);
	return dead || *taken >= TL_MARK_CHUNK_ROOM;
}

// 0 if it has no owner.
static uint64_t owner_of(const struct marker *marker, uint32_t index) {
	uint64_t owner = __atomic_load_n(&marker->area->owners[index], __ATOMIC_ACQUIRE);
	return owner & TL_MARK_NEW ? 0 : owner;
}

static bool unfinished(const struct marker *marker, uint32_t index) {
	uint32_t reserved = (uint32_t)__atomic_load_n(&chunk_at(marker, index)->reserved, __ATOMIC_ACQUIRE);
	return marker->chunks[index].taken < MIN(reserved, (uint32_t)TL_MARK_CHUNK_ROOM);
}

// The space must be zeroed, and the new epoch set, before another thread may take it.
static void give_back(struct marker *marker, uint32_t index) {
	struct tl_mark_chunk *chunk = chunk_at(marker, index);
	uint64_t reserved = __atomic_load_n(&chunk->reserved, __ATOMIC_ACQUIRE), owner = 0;
	memset(chunk->records, 0, MIN((uint32_t)reserved, (uint32_t)TL_MARK_CHUNK_ROOM));
	// Its owner may have died before it allocated the memory.
	if (!(reserved >> 32) && !give_memory(marker, index, 1))
		owner = TL_MARK_UNUSABLE;
	uint64_t next = new_epoch(marker);
	while (!__atomic_compare_exchange_n(&chunk->reserved, &reserved, next, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	marker->chunks[index] = (struct chunk_state){0};
	__atomic_store_n(&marker->area->owners[index], owner, __ATOMIC_RELEASE);
}

static bool is_dead(uint64_t owner) {
	pid_t pid = (pid_t)(owner >> 32), tid = (pid_t)owner;
	return !(owner & TL_MARK_FOREIGN) && pid > 0 && tid > 0 && syscall(SYS_tgkill, pid, tid, 0) &&
	       errno == ESRCH;
}

// Returns the latest possible watermark of the spool. Also frees chunks of dead threads.
static uint64_t take_all(struct marker *marker, struct spool *spool) {
	uint64_t now = clock_boot_now(), limit = now;
	uint32_t used = 0;
	bool given_back = false;
	for (uint32_t i = 0; i < TL_MARK_MOST_CHUNKS; i++) {
		uint64_t owner = owner_of(marker, i);
		struct chunk_state *state = &marker->chunks[i];
		if (!owner)
			continue;
		used++;
		bool over = take_chunk(marker, spool, i, owner, false);
		if (!over && is_dead(owner))
			over = take_chunk(marker, spool, i, owner, true);
		if (over || !unfinished(marker, i))
			state->clear_at = 0;
		else if (!state->clear_at)
			state->clear_at = marker->looked;
		if (state->clear_at && now - state->clear_at < PATIENCE_NS)
			limit = MIN(limit, state->clear_at);
		if (over)
			give_back(marker, i);
		used -= over;
		given_back |= over;
	}
	__atomic_store_n(&marker->area->used, used, __ATOMIC_RELAXED);
	if (given_back)
		__atomic_add_fetch(&marker->area->freed, 1, __ATOMIC_RELEASE);
	report_losses(marker, spool);
	marker->looked = now;
	return limit;
}

// ---- draining ----

void marker_drain(struct marker *marker, struct spool *spool) {
	eventfd_t woken;
	if (eventfd_read(marker->event, &woken) == 0)
		take_all(marker, spool);
}

void marker_sync(struct marker *marker, struct spool *spool) {
	spool->watermark_limit = take_all(marker, spool);
}

void marker_stop(struct marker *marker, struct spool *spool, struct capture_totals *totals) {
	__atomic_store_n(&marker->area->recording, 0, __ATOMIC_SEQ_CST);
	marker_sync(marker, spool);
	// A mark that is still being written is too late.
	for (uint32_t i = 0; i < TL_MARK_MOST_CHUNKS; i++)
		if (owner_of(marker, i))
			marker->torn += unfinished(marker, i);
	report_losses(marker, spool);
	totals->lost[SOURCE_MARKER] = marker->lost_reported;
}
