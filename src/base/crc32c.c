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

// `crc` is the internal state, the complement of the published value.
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

// ---- in registers, by a multiple of the polynomial that is almost empty ----

// Modulo the polynomial a bit is the sum of those 3, 5, 6 and 8 words and 252, 351 and 608 bits behind it. So
// a word may be taken away if it is added to later ones by a few shifts: what is left are the last ten words,
// with the same checksum. Ten are what a CPU's registers hold. In an emulated one, where each access to
// memory is a search, this takes a third of the time of anything with tables.
enum { BEHIND = 10, ROUND = 8 * BEHIND, IN_REGISTERS_LEAST = 3 * ROUND };

// What words before it add to a word: the one ten words ago, nine, eight, six, five, four and three.
#define ADDED(ten, nine, eight, six, five, four, three)                                                      \
	((ten) >> 32 ^ (nine) << 32 ^ (eight) ^ (six) ^ (six) >> 33 ^ (five) << 31 ^ (five) ^ (four) >> 4 ^  \
	 (three) << 60 ^ (three))

static uint64_t word_at(const uint8_t *bytes, size_t index) {
	uint64_t word;
	memcpy(&word, bytes + 8 * index, 8);
	return word;
}

static uint32_t in_registers(uint32_t crc, const uint8_t *at, size_t size) {
	uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, words[BEHIND];
	const uint8_t *last = at + (size / ROUND - 1) * ROUND, *from = (const uint8_t *)words;
	size_t left = size - (size_t)(last - at);
	memcpy(words, at, ROUND);
	words[0] ^= crc;
	while (at != last) {
		a = word_at(from, 0) ^ ADDED(a, b, c, e, f, g, h);
		b = word_at(from, 1) ^ ADDED(b, c, d, f, g, h, i);
		c = word_at(from, 2) ^ ADDED(c, d, e, g, h, i, j);
		d = word_at(from, 3) ^ ADDED(d, e, f, h, i, j, a);
		e = word_at(from, 4) ^ ADDED(e, f, g, i, j, a, b);
		f = word_at(from, 5) ^ ADDED(f, g, h, j, a, b, c);
		g = word_at(from, 6) ^ ADDED(g, h, i, a, b, c, d);
		h = word_at(from, 7) ^ ADDED(h, i, j, b, c, d, e);
		i = word_at(from, 8) ^ ADDED(i, j, a, c, d, e, f);
		j = word_at(from, 9) ^ ADDED(j, a, b, d, e, f, g);
		from = at += ROUND;
	}
	const uint64_t taken[2 * BEHIND] = {a, b, c, d, e, f, g, h, i, j}, *t = taken;
	for (size_t k = 0; k < BEHIND; k++, t++)
		words[k] = word_at(at, k) ^ ADDED(t[0], t[1], t[2], t[4], t[5], t[6], t[7]);
	crc = by_table(0, (const uint8_t *)words, ROUND);
	return by_table(crc, at + ROUND, left - ROUND);
}

uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size) {
	if (!__atomic_load_n(&tables_made, __ATOMIC_ACQUIRE))
		make_tables();
	return ~(size < IN_REGISTERS_LEAST ? by_table(~crc, bytes, size) : in_registers(~crc, bytes, size));
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

// An emulator may execute the instruction bit by bit, which takes three times as long as the tables. So both
// are timed; the best of several short tries is robust against other load.
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
	static int faster; // 0 if not tried yet
	if (!faster)
		faster = __builtin_cpu_supports("sse4.2") && instruction_is_faster() ? 1 : -1;
	return faster > 0 ? by_instruction(crc, bytes, size) : crc32c_by_table(crc, bytes, size);
}
#else
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size) {
	return crc32c_by_table(crc, bytes, size);
}
#endif
