#include "base/crc32c.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

// ---- eight bytes at a time, by tables ----

static uint32_t tables[8][256];
static bool tables_made; // made twice they are the same

static void make_tables(void) {
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
		tables[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int table = 1; table < 8; table++)
			tables[table][i] = tables[table - 1][i] >> 8 ^ tables[0][tables[table - 1][i] & 0xff];
	__atomic_store_n(&tables_made, true, __ATOMIC_RELEASE);
}

// From `crc` as it is kept between bytes, which is the complement of what the world sees.
static uint32_t by_table(uint32_t crc, const uint8_t *at, size_t size) {
	for (; size >= 8; size -= 8, at += 8) {
		uint32_t low, high;
		memcpy(&low, at, 4);
		memcpy(&high, at + 4, 4);
		low ^= crc;
		crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
		      tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
		      tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
	}
	for (; size; size--)
		crc = crc >> 8 ^ tables[0][(crc ^ *at++) & 0xff];
	return crc;
}

// ---- much at once, by a multiple of the polynomial that is almost empty ----

// The polynomial divides x^(64 * FAR) + x^(64 * (FAR - NEAR)) + x^(64 * (FAR - MIDDLE)) + 1; no smaller one
// of four terms, all at whole words, is. So a word may be taken away if it is added to three later ones: what
// comes out is the last FAR words, with the same checksum, and each word before them cost three additions.
enum { NEAR = 767, MIDDLE = 2524, FAR = 5275, BLOCK = 32768, SPARSE_LEAST = 8 * 2 * FAR };

static uint64_t word_at(const uint8_t *bytes, size_t index) {
	uint64_t word;
	memcpy(&word, bytes + 8 * index, 8);
	return word;
}

static uint32_t by_sparse_multiple(uint32_t crc, const uint8_t *at, size_t size) {
	uint64_t taken[FAR + BLOCK], *now = taken + FAR; // the last FAR words taken, and those of this block
	size_t left = size / 8 - FAR;
	memset(taken, 0, FAR * sizeof(*taken));
	taken[0] = crc; // comes back at the first word
	for (size_t count; left; left -= count, at += 8 * count) {
		count = left < BLOCK ? left : BLOCK;
		for (size_t i = 0; i < count; i++)
			now[i] = word_at(at, i) ^ taken[i + FAR - NEAR] ^ taken[i + FAR - MIDDLE] ^ taken[i];
		memmove(taken, taken + count, FAR * sizeof(*taken));
	}
	for (size_t i = 0; i < FAR; i++)
		now[i] = word_at(at, i) ^ taken[i] ^ (i < MIDDLE ? taken[i + FAR - MIDDLE] : 0) ^
			 (i < NEAR ? taken[i + FAR - NEAR] : 0);
	crc = by_table(0, (const uint8_t *)now, FAR * sizeof(*now));
	return by_table(crc, at + 8 * FAR, size % 8);
}

uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size) {
	if (!__atomic_load_n(&tables_made, __ATOMIC_ACQUIRE))
		make_tables();
	return ~(size < SPARSE_LEAST ? by_table(~crc, bytes, size) : by_sparse_multiple(~crc, bytes, size));
}

// ---- by the CPU ----

#if defined(__x86_64__) && defined(__linux__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const void *bytes,
								 size_t size) {
	const uint8_t *at = bytes;
	uint64_t value = ~crc, word;
	for (; size >= 8; size -= 8, at += 8) {
		memcpy(&word, at, 8);
		value = __builtin_ia32_crc32di(value, word);
	}
	for (; size; size--)
		value = __builtin_ia32_crc32qi((uint32_t)value, *at++);
	return ~(uint32_t)value;
}

static uint64_t nanoseconds(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// An emulator may do the instruction bit by bit, which takes three times as long as the tables. The best of
// some short tries tells, whatever else the machine does meanwhile.
static bool instruction_is_faster(void) {
	enum { TRIES = 5 };
	static const uint8_t sample[2048];
	uint64_t best[2] = {UINT64_MAX, UINT64_MAX};
	volatile uint32_t result;
	for (int i = 0; i < 2 * TRIES; i++) {
		uint64_t begin = nanoseconds();
		result = i % 2 ? by_instruction(0, sample, sizeof(sample))
			       : crc32c_by_table(0, sample, sizeof(sample));
		uint64_t took = nanoseconds() - begin;
		best[i % 2] = took < best[i % 2] ? took : best[i % 2];
	}
	(void)result;
	return best[1] < best[0];
}

uint32_t crc32c(uint32_t crc, const void *bytes, size_t size) {
	static int faster; // 0: not tried yet
	if (!faster)
		faster = __builtin_cpu_supports("sse4.2") && instruction_is_faster() ? 1 : -1;
	return faster > 0 ? by_instruction(crc, bytes, size) : crc32c_by_table(crc, bytes, size);
}
#else
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size) {
	return crc32c_by_table(crc, bytes, size);
}
#endif
