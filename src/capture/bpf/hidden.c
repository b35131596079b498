#include "capture/bpf/hidden.h"
#include "base/siphash.h"
#include "capture/spool.h"
#include "event/points.h"
#include "symbol/kernel.h"

#include <string.h>
#include <sys/random.h>

void hidden_begin(struct hidden *hidden) {
	hidden->slide = kernel_text_address() - HIDDEN_TEXT;
	// Even if the kernel was not moved, other pointers have to be replaced.
	if (getrandom(&hidden->secret, sizeof(hidden->secret), 0) != sizeof(hidden->secret) ||
	    !hidden->secret)
		hidden->secret = clock_boot_now();
}

static uint64_t replaced(const struct hidden *hidden, uint64_t pointer) {
	uint64_t both[2] = {hidden->secret, pointer};
	return siphash13(both, sizeof(both)) & UINT32_MAX;
}

static void hide_in_sample(const struct hidden *hidden, uint8_t *at, size_t size) {
	struct record_sample sample;
	if (size < sizeof(sample))
		return;
	memcpy(&sample, at, sizeof(sample));
	size_t count = MIN(sample.kernel_frames, (size - sizeof(sample)) / sizeof(uint64_t));
	bool wait_ends = sample.head.flags & SAMPLE_BLOCKED && sample.period == SAMPLE_WAIT_ENDS;
	for (size_t i = wait_ends ? SAMPLE_WAIT_WORDS : 0; i < count; i++) {
		uint64_t address;
		memcpy(&address, at + sizeof(sample) + i * sizeof(address), sizeof(address));
		address -= hidden->slide;
		memcpy(at + sizeof(sample) + i * sizeof(address), &address, sizeof(address));
	}
}

// A record has only as many values as its point; a path may follow them.
static void hide_in_point(const struct hidden *hidden, uint8_t *at, size_t size) {
	struct record_point record = {0};
	size = MIN(size, sizeof(record));
	memcpy(&record, at, size);
	const struct point *point = &points[MIN(record.point, POINT_COUNT - 1)];
	for (size_t i = 0; i < POINT_MOST_FIELDS && point->fields[i].name; i++) {
		const struct point_field *field = &point->fields[i];
		uint64_t *value = &record.values[field->place % POINT_VALUES];
		bool pointer = field->place < POINT_VALUES && *value >> 63;
		if (pointer && field->type == POINT_CODE)
			*value -= hidden->slide;
		else if (pointer && field->type == POINT_HEX)
			*value = replaced(hidden, *value);
	}
	memcpy(at, &record, size);
}

const struct batch *hidden_batch(struct hidden *hidden, const struct batch *batch) {
	if (!hidden->secret)
		return batch;
	hidden->batch.size = 0;
	buffer_append(&hidden->batch, batch, sizeof(*batch) + batch->size);
	uint8_t *at = hidden->batch.data + sizeof(*batch), *end = at + batch->size;
	struct record head = {0};
	for (; (size_t)(end - at) >= sizeof(head); at += head.size) {
		memcpy(&head, at, sizeof(head));
		// A sample is alone in its batch; with a copied stack its size may not fit in the
		// head.
		if (head.kind == RECORD_SAMPLE)
			hide_in_sample(hidden, at, (size_t)(end - at));
		if (head.kind == RECORD_SAMPLE || head.size < sizeof(head) || head.size > end - at)
			break;
		if (head.kind == RECORD_POINT)
			hide_in_point(hidden, at, head.size);
	}
	return (const struct batch *)hidden->batch.data;
}

void hidden_free(struct hidden *hidden) {
	buffer_free(&hidden->batch);
}
