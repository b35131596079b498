#include "capture/copies.h"

#include <string.h>
#include <zstd.h>

// Stacks are small and full of zeros: below 0 there is no entropy coding, which takes most of the time.
enum { LEVEL = -3 };

// A sample comes in a batch of its own. False if this is not one, or has no copied stack.
static bool find_copy(const struct batch *batch, struct record_sample *sample, struct sample_copied *copied) {
	const size_t addresses = SAMPLE_ADDRESSES * sizeof(uint64_t);
	const uint8_t *records = (const uint8_t *)(batch + 1);
	if (batch->size < sizeof(*sample) + addresses + sizeof(*copied))
		return false;
	memcpy(sample, records, sizeof(*sample));
	memcpy(copied, records + sizeof(*sample) + addresses, sizeof(*copied));
	return sample->head.kind == RECORD_SAMPLE && sample->head.flags & SAMPLE_STACK_COPIED &&
	       sample->kernel_frames <= SAMPLE_MOST_FRAMES + SAMPLE_WAIT_WORDS &&
	       batch->size >= sizeof(*sample) + addresses + sizeof(*copied) + copied->size;
}

const struct batch *copies_pack(struct copies *copies, const struct batch *batch) {
	struct record_sample sample;
	struct sample_copied copied;
	if (!find_copy(batch, &sample, &copied))
		return batch;
	const uint8_t *addresses = (const uint8_t *)(batch + 1) + sizeof(sample);
	const uint8_t *bytes = addresses + SAMPLE_ADDRESSES * sizeof(uint64_t) + sizeof(copied);
	size_t kernel = sample.kernel_frames * sizeof(uint64_t);
	size_t head = sizeof(*batch) + sizeof(sample) + kernel + sizeof(copied);
	size_t room = ZSTD_compressBound(copied.size);
	copies->batch.size = 0;
	uint8_t *out = memset(buffer_room(&copies->batch, head + room + 8), 0, head + room + 8);
	if (!copies->compressor)
		copies->compressor = ZSTD_createCCtx();
	size_t packed = ZSTD_compressCCtx(copies->compressor, out + head, room, bytes, copied.size, LEVEL);
	size_t size = (head - sizeof(*batch) + packed + 7) & ~(size_t)7;
	if (ZSTD_isError(packed) || size > UINT16_MAX)
		return batch;
	struct batch changed = *batch;
	changed.size = (uint32_t)size;
	sample.head.size = (uint16_t)size;
	sample.head.flags |= SAMPLE_STACK_PACKED;
	sample.user_frames = 0;
	copied.packed = (uint32_t)packed;
	memcpy(out, &changed, sizeof(changed));
	memcpy(out + sizeof(changed), &sample, sizeof(sample));
	memcpy(out + sizeof(changed) + sizeof(sample), addresses, kernel);
	memcpy(out + head - sizeof(copied), &copied, sizeof(copied));
	return (const struct batch *)out;
}

void copies_free(struct copies *copies) {
	ZSTD_freeCCtx(copies->compressor);
	buffer_free(&copies->batch);
}
