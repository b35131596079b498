// The compressions of ETL buffers on the examples in [MS-XCA]: compressed by its
// authors, not by our own test writer.
#include "unit.h"

#include "base/buffer.h"
#include "read/etl/etl.h"

#include <string.h>

static void assert_unpacks(enum etl_compression scheme, const uint8_t *packed, size_t packed_size,
			   const char *expected, size_t size) {
	uint8_t *out = memory_alloc(size + 1);
	assert_int_equal(etl_decompress(scheme, packed, packed_size, out, size), size);
	assert_memory_equal(out, expected, size);
	// No other scheme accepts it.
	for (int other = 0; other < ETL_COMPRESSION_COUNT; other++)
		if (other != (int)scheme)
			assert_int_not_equal(
				etl_decompress((enum etl_compression)other, packed, packed_size, out, size),
				size);
	// Truncated, it gives less; with extra bytes after it, it is rejected.
	for (size_t cut = 0; cut < packed_size - 2; cut++)
		assert_in_range(etl_decompress(scheme, packed, cut, out, size), 0, size);
	uint8_t *longer = memory_alloc(packed_size + 16);
	memcpy(longer, packed, packed_size);
	memset(longer + packed_size, 0x55, 16);
	assert_int_not_equal(etl_decompress(scheme, longer, packed_size + 16, out, size), size);
	free(longer);
	free(out);
}

static void abc(char *text) {
	for (size_t i = 0; i < 300; i++)
		text[i] = "abc"[i % 3];
}

static void test_xpress_literals(void **state) {
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	uint8_t packed[4 + 26] = {0x3f};
	memcpy(packed + 4, letters, 26);
	assert_unpacks(ETL_XPRESS, packed, sizeof(packed), letters, 26);
}

static void test_xpress_long_match(void **state) {
	static const uint8_t packed[] = {0xff, 0xff, 0xff, 0x1f, 'a', 'b', 'c', 0x17, 0, 0x0f, 0xff, 0x26, 1};
	char expected[300];
	abc(expected);
	assert_unpacks(ETL_XPRESS, packed, sizeof(packed), expected, sizeof(expected));
}

// Two matches share the byte with the upper parts of their lengths.
static void test_xpress_shared_half_bytes(void **state) {
	static const uint8_t packed[] = {0xff, 0xff, 0xff, 0x7f, 'x', 7, 0, 0x21, 7, 0};
	char expected[1 + 11 + 12];
	memset(expected, 'x', sizeof(expected));
	assert_unpacks(ETL_XPRESS, packed, sizeof(packed), expected, sizeof(expected));
}

static void test_lznt1(void **state) {
	static const uint8_t packed[] = {
		0x38, 0xb0, 0x88, 0x46, 0x23, 0x20, 0x00, 0x20, 0x47, 0x20, 0x41, 0x00, 0x10, 0xa2, 0x47,
		0x01, 0xa0, 0x45, 0x20, 0x44, 0x00, 0x08, 0x45, 0x01, 0x50, 0x79, 0x00, 0xc0, 0x45, 0x20,
		0x05, 0x24, 0x13, 0x88, 0x05, 0xb4, 0x02, 0x4a, 0x44, 0xef, 0x03, 0x58, 0x02, 0x8c, 0x09,
		0x16, 0x01, 0x48, 0x45, 0x00, 0xbe, 0x00, 0x9e, 0x00, 0x04, 0x01, 0x18, 0x90, 0x00};
	static const char expected[] =
		"F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G F# D E "
		"F# G F# E D E A F# F# G A A G F# E D D E F# E D D";
	assert_unpacks(ETL_LZNT1, packed, sizeof(packed), expected, sizeof(expected));
}

// A chunk that would have grown is stored uncompressed.
static void test_lznt1_plain_chunk(void **state) {
	uint8_t packed[2 + 256];
	char expected[256];
	for (size_t i = 0; i < sizeof(expected); i++)
		packed[2 + i] = (uint8_t)(expected[i] = (char)(i * 7));
	packed[0] = 0xff; // 256 bytes
	packed[1] = 0x30;
	assert_unpacks(ETL_LZNT1, packed, sizeof(packed), expected, sizeof(expected));
}

static void test_huffman_long_match(void **state) {
	// Lengths of codes: a and b three bits, c, the end and the match two bits.
	uint8_t packed[256 + 7] = {[0x30] = 0x30, [0x31] = 0x23, [0x80] = 0x02, [0x8f] = 0x20};
	memcpy(packed + 256, (uint8_t[]){0xa8, 0xdc, 0, 0, 0xff, 0x26, 1}, 7);
	char expected[300];
	abc(expected);
	assert_unpacks(ETL_XPRESS_HUFFMAN, packed, sizeof(packed), expected, sizeof(expected));
}

static void test_nonsense_is_refused(void **state) {
	uint8_t packed[512], out[4096];
	uint32_t seed = 1;
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(packed); i++)
			packed[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
		for (int scheme = 0; scheme < ETL_COMPRESSION_COUNT; scheme++)
			assert_in_range(etl_decompress((enum etl_compression)scheme, packed,
						       sizeof(packed) - round % 300, out, sizeof(out)),
					0, sizeof(out));
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xpress_literals),
		cmocka_unit_test(test_xpress_long_match),
		cmocka_unit_test(test_lznt1),
		cmocka_unit_test(test_xpress_shared_half_bytes),
		cmocka_unit_test(test_lznt1_plain_chunk),
		cmocka_unit_test(test_huffman_long_match),
		cmocka_unit_test(test_nonsense_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
