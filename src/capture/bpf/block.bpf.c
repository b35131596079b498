/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Requests of block devices, and the block I/O that they are made of: programs as in points.bpf.c.
#include "capture/bpf/point.h"

// ---- the kernel's types ----

struct gendisk {
	int major, first_minor;
} KERNEL_TYPE;

struct request_queue {
	struct gendisk *disk;
} KERNEL_TYPE;

struct request {
	struct request_queue *q;
	uint32_t cmd_flags;
	uint32_t __data_len;
	uint64_t __sector;
} KERNEL_TYPE;

struct block_device {
	uint32_t bd_dev;
	struct gendisk *bd_disk;
} KERNEL_TYPE;

struct bvec_iter {
	uint64_t bi_sector;
	unsigned int bi_size;
} KERNEL_TYPE;

struct bio {
	struct block_device *bi_bdev;
	uint32_t bi_opf;
	struct bvec_iter bi_iter;
} KERNEL_TYPE;

struct owners owners SEC(".maps");

// ---- requests ----

enum { SYNC = 1 << 11, META = 1 << 12, FUA = 1 << 17, PREFLUSH = 1 << 18, AHEAD = 1 << 19 };
enum { OPERATION_FLUSH = 2 };

// A flush that a task asks for is issued by a worker, together with those that others ask for meanwhile. So
// the task of the test that last asked is kept for each disk, until the disk's next flush is issued.
struct asker {
	uint32_t slot, tid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, uint64_t);
	__type(value, struct asker);
} flush_askers SEC(".maps");

// The kernel has removed the flag by now if the disk needs no flushes.
SEC("tp_btf/block_bio_queue")
int on_flush_asked(uint64_t *context) {
	struct bio *bio = (void *)context[0];
	if (!(bio->bi_opf & PREFLUSH) || system_slot != NO_SLOT)
		return 0;
	struct asker asker = {.slot = slot_here(), .tid = bpf_get_current_task_btf()->pid};
	uint64_t disk = (uint64_t)bio->bi_bdev->bd_disk;
	if (asker.slot != NO_SLOT)
		bpf_map_update_elem(&flush_askers, &disk, &asker, BPF_ANY);
	return 0;
}

static __always_inline struct asker asker_of(struct request *request) {
	struct asker asker = {.slot = slot_here(), .tid = bpf_get_current_task_btf()->pid};
	if (asker.slot != NO_SLOT || (request->cmd_flags & 0xff) != OPERATION_FLUSH)
		return asker;
	uint64_t disk = (uint64_t)request->q->disk;
	struct asker *found = bpf_map_lookup_elem(&flush_askers, &disk);
	if (found)
		asker = *found;
	bpf_map_delete_elem(&flush_askers, &disk);
	return asker;
}

// The operation, in the letters that the kernel prints.
static __always_inline uint64_t letters_of(uint32_t flags) {
	uint32_t operation = flags & 0xff;
	uint64_t text = 0;
	int at = 0;
	if (flags & PREFLUSH)
		text |= (uint64_t)'F' << 8 * at++;
	text |= (uint64_t)(operation == 0   ? 'R'
			   : operation == 1 ? 'W'
			   : operation == 2 ? 'F'
			   : operation == 3 ? 'D'
					    : 'N')
		<< 8 * at++;
	if (flags & FUA)
		text |= (uint64_t)'F' << 8 * at++;
	if (flags & AHEAD)
		text |= (uint64_t)'A' << 8 * at++;
	if (flags & SYNC)
		text |= (uint64_t)'S' << 8 * at++;
	if (flags & META)
		text |= (uint64_t)'M' << 8 * at++;
	return text;
}

static __always_inline int on_block(struct request *request, struct asker asker, enum point_number point,
				    uint32_t bytes) {
	union any_record record = begin(point);
	record.point.tid = asker.tid;
	struct gendisk *disk = request->q->disk;
	uint32_t operation = request->cmd_flags & 0xff;
	record.point.values[0] = (uint64_t)disk->major << 20 | disk->first_minor;
	record.point.values[1] = operation == OPERATION_FLUSH ? 0
							      : request->__sector; // a flush has no sector
	record.point.values[2] = bytes;
	record.point.values[3] = letters_of(request->cmd_flags);
	return end(&record, asker.slot, point);
}

SEC("tp_btf/block_rq_issue")
int on_block_issue(uint64_t *context) {
	struct request *request = (void *)context[0];
	struct asker asker = asker_of(request);
	if (asker.slot == NO_SLOT) {
		disown(request); // it may have been the test's, whose end was not seen
		return 0;
	}
	own(request, asker.slot);
	return on_block(request, asker, POINT_BLOCK_ISSUE, request->__data_len);
}

// A request may complete in parts; its length here is what remains.
SEC("tp_btf/block_rq_complete")
int on_block_complete(uint64_t *context) {
	struct request *request = (void *)context[0];
	uint32_t bytes = context[2];
	struct asker owner = {.slot = owner_of(request), .tid = bpf_get_current_task_btf()->pid};
	if (owner.slot == NO_SLOT || bytes < request->__data_len)
		return 0;
	disown(request);
	return on_block(request, owner, POINT_BLOCK_COMPLETE, bytes);
}

// ---- block I/O before it becomes requests ----

static __always_inline int on_bio(struct bio *bio, uint64_t sectors, enum point_number point) {
	uint32_t slot = slot_here();
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(point);
	record.point.values[0] = bio->bi_bdev->bd_dev;
	record.point.values[1] = bio->bi_iter.bi_sector;
	record.point.values[2] = sectors;
	record.point.values[3] = letters_of(bio->bi_opf);
	return end(&record, slot, point);
}

SEC("tp_btf/block_bio_queue")
int on_bio_queue(uint64_t *context) {
	struct bio *bio = (void *)context[0];
	return on_bio(bio, bio->bi_iter.bi_size >> 9, POINT_BIO_QUEUE);
}

SEC("tp_btf/block_split")
int on_bio_split(uint64_t *context) {
	return on_bio((void *)context[0], (uint32_t)context[1], POINT_BIO_SPLIT);
}
