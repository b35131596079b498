// What is counted when a block is allocated and freed. A thread that is interrupted for good in
// between leaves numbers that are too large by one block, never below zero.
//
// With samples, a block is sampled with a probability that depends only on its size: a thread
// draws the number of bytes until the next sample from an exponential distribution (which has no
// memory, so nothing before matters), and a sampled block represents as many blocks as the inverse
// of that probability. Other blocks cost a subtraction, and a free one lookup in a small table
// of counts by address.
#include "heap/preload/heap.h"

#include <errno.h>
#include <string.h>

uint8_t heap_marks[HEAP_MARKS] = {[0 ... HEAP_MARKS - 1] = UINT8_MAX};

// ---- points ----

// Until a point changes, its current values are those at the last peak.
static inline void know_peak(struct heap_point *point) {
	uint64_t peak = __atomic_load_n(&heap_area->peak, __ATOMIC_RELAXED);
	if (point->peak == peak)
		return;
	point->peak_bytes = point->bytes;
	point->peak_blocks = point->blocks;
	point->peak = peak;
}

static inline void know_most(struct heap_point *point) {
	if (point->bytes <= point->most_bytes && point->most_blocks)
		return;
	point->most_bytes = point->bytes;
	point->most_blocks = point->blocks;
}

static inline void grow_whole(uint64_t bytes, uint64_t now) {
	uint64_t all = __atomic_add_fetch(&heap_area->bytes, bytes, __ATOMIC_RELAXED);
	uint64_t most = __atomic_load_n(&heap_area->most_bytes, __ATOMIC_RELAXED);
	while (all > most)
		if (__atomic_compare_exchange_n(&heap_area->most_bytes, &most, all, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			__atomic_store_n(&heap_area->peak_ticks, now, __ATOMIC_RELAXED);
			__atomic_add_fetch(&heap_area->peak, 1, __ATOMIC_RELAXED);
		}
}

static inline uint64_t bytes_of(const struct heap_block *block) {
	return block->size * block->weight;
}

static void end_in_point(const struct heap_block *block, uint64_t now) {
	struct heap_point *point = &heap_area->points[block->point];
	if (!heap_lock(&point->lock))
		return;
	know_peak(point);
	point->bytes -= bytes_of(block);
	point->blocks -= block->weight;
	point->life += now * block->weight;
	heap_unlock(&point->lock);
	__atomic_sub_fetch(&heap_area->bytes, bytes_of(block), __ATOMIC_RELAXED);
}

static bool begin_in_point(const struct heap_block *block) {
	struct heap_point *point = &heap_area->points[block->point];
	if (!heap_lock(&point->lock))
		return false;
	know_peak(point);
	point->total_bytes += bytes_of(block);
	point->total_blocks += block->weight;
	point->bytes += bytes_of(block);
	point->blocks += block->weight;
	point->life -= block->birth * block->weight;
	know_most(point);
	grow_whole(bytes_of(block), block->birth); // before another thread changes the point again
	heap_unlock(&point->lock);
	return true;
}

// As in Valgrind: a resized block counts again, for the stack that allocated it.
static void resize_in_point(const struct heap_block *block, uint64_t size, uint64_t now) {
	struct heap_point *point = &heap_area->points[block->point];
	if (!heap_lock(&point->lock))
		return;
	know_peak(point);
	point->total_bytes += size;
	point->total_blocks++;
	point->bytes += size - block->size;
	know_most(point);
	grow_whole(size - block->size, now);
	heap_unlock(&point->lock);
}

// ---- samples ----

// Nothing may be loaded into the test for the sake of two functions, so libm's are not used. Both
// are exact to about twelve digits. Loops are unrolled, because they take longer and our branches
// would disturb the branch predictions for the program.
static double logarithm(double value) { // of a value between 0 and 1, exclusive
	const double ln2 = 0.69314718055994530942, half_root = 0.70710678118654752440;
	const uint64_t fraction = (UINT64_C(1) << 52) - 1, exponent_of_one = 1023;
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	double exponent = (double)(int64_t)(bits >> 52) - (double)exponent_of_one;
	bits = (bits & fraction) | exponent_of_one << 52;
	memcpy(&value, &bits, sizeof(value)); // from 1 to 2
	double t = (value * half_root - 1) / (value * half_root + 1), s = t * t;
	double series = 1 + s * (1.0 / 3 +
				 s * (1.0 / 5 +
				      s * (1.0 / 7 + s * (1.0 / 9 + s * (1.0 / 11 +
									 s * (1.0 / 13 + s * (1.0 / 15)))))));
	return (exponent + 0.5) * ln2 + 2 * t * series;
}

// 1 / (1 - exp(-x)) for x > 0.
static double inverse_chance(double x) {
	double times = 1, s = x * x, inverse;
	if (x > 40)
		return 1;
	for (; x > 0.5; x /= 2, s = x * x)
		times *= 2;
	inverse = 1 / x + 0.5 + x * (1.0 / 12 - s * (1.0 / 720 - s * (1.0 / 30240 - s * (1.0 / 1209600))));
	for (; times > 1; times /= 2) // the result for 2x from that for x
		inverse = inverse * inverse / (2 * inverse - 1);
	return inverse;
}

// Between 0 and 1, exclusive.
static double random_number(void) {
	uint64_t *state = &heap_self.random;
	if (!*state)
		*state = (heap_ticks() ^ (uint64_t)state) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return ((double)(*state * UINT64_C(0x2545f4914f6cdd1d) >> 12) + 0.5) / (double)(UINT64_C(1) << 52);
}

int64_t heap_draw(void) {
	return (int64_t)(-logarithm(random_number()) * (double)heap_wishes.sample);
}

// How many blocks of its size a sampled block represents: a whole number that is right on average.
// Each block counts one byte more than it has, so that empty blocks are sampled, too.
static uint32_t weight_of(size_t size) {
	if (!heap_wishes.sample)
		return 1;
	double weight = inverse_chance(((double)size + 1) / (double)heap_wishes.sample);
	return weight < UINT32_MAX ? (uint32_t)(weight + random_number()) : UINT32_MAX;
}

void heap_mark(const void *block) {
	uint8_t *count = heap_mark_of(block), before = __atomic_load_n(count, __ATOMIC_RELAXED);
	while (before < UINT8_MAX && !__atomic_compare_exchange_n(count, &before, before + 1, true,
								  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void unmark(const void *block) {
	uint8_t *count = heap_mark_of(block), before = __atomic_load_n(count, __ATOMIC_RELAXED);
	while (before < UINT8_MAX && before && // a saturated count stays
	       !__atomic_compare_exchange_n(count, &before, before - 1, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

// ---- blocks ----

// Adds a block to the table; false if its end will go unnoticed.
static bool keep(const struct heap_block *block, uint64_t now) {
	struct heap_block before;
	int error = errno;
	bool kept = heap_block_put(block, &before);
	errno = error;
	if (before.address)
		end_in_point(&before, now);
	else if (kept && heap_wishes.sample)
		heap_mark((const void *)block->address); // NOLINT: an address
	if (!kept)
		__atomic_add_fetch(&heap_area->missed, 1, __ATOMIC_RELAXED);
	return kept;
}

static bool take(void *address, struct heap_block *block) {
	bool taken = heap_block_take((uint64_t)address, block);
	if (taken && heap_wishes.sample)
		unmark(address);
	return taken;
}

void heap_count_begin(void *address, size_t size, const struct heap_place *caller) {
	struct heap_block block = {.address = (uint64_t)address, .size = size, .birth = heap_ticks()};
	block.weight = weight_of(size);
	block.point = heap_self.thread ? heap_walk(heap_self.thread, caller) : 0;
	heap_self.pending = block.address;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (keep(&block, block.birth) && !begin_in_point(&block))
		take(address, &block);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	heap_self.pending = 0;
}

void heap_count_end(void *address) {
	struct heap_block block;
	if (take(address, &block))
		end_in_point(&block, heap_ticks());
}

bool heap_count_resize(void *old, struct heap_block *block) {
	return take(old, block);
}

void heap_count_resized(struct heap_block *block, void *resized, size_t size) {
	uint64_t now = heap_ticks();
	if (!resized && size) { // the allocator failed
		keep(block, now);
	} else if (!resized || heap_wishes.sample) { // a sample represents blocks of one size
		end_in_point(block, now);
	} else {
		struct heap_block moved = *block;
		moved.address = (uint64_t)resized;
		moved.size = size;
		resize_in_point(block, size, now);
		if (!keep(&moved, now))
			end_in_point(&moved, now);
	}
}
