// Answers of the process that reads symbol files: it has read hostile files, and may say anything.
#include "fuzz.h"

#include "base/array.h"
#include "symbol/reader_wire.h"

// What is taken from an answer is within its bounds, and texts end.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static struct answer answer;
	size_t texts = 0;
	if (!answer_read(bytes, size, &answer))
		return 0;
	if (answer.kind == ANSWER_OPENED &&
	    (strlen(answer.opened.build_id) >= BUILD_ID_TEXT || answer.opened.segment_count > MOST_SEGMENTS))
		abort();
	for (uint32_t i = 0; answer.kind == ANSWER_NAMED && i < answer.count; i++) {
		const struct named *named = &answer.named[i];
		texts += (named->name ? strlen(named->name) : 0) +
			 (named->at.file ? strlen(named->at.file) : 0);
	}
	if (answer.kind == ANSWER_WANT)
		texts += strlen(answer.wanted);
	for (size_t i = 0; answer.kind == ANSWER_ALLOCATOR && i < answer.count; i++)
		if (answer.allocator.places[i].function > HEAP_CALL_LAST)
			abort();
	if (texts > size)
		abort();
	return 0;
}

void fuzz_seeds(void) {
	struct elf_segment segments[] = {{0, 0x1000, 0x400000, true}, {0x1000, 0x10, 0x402000, false}};
	const struct elf_object object = {
		.segments = segments, .segment_count = 2, .entry = 0x400100, .build_id = "0123456789abcdef"};
	struct elf_symbol symbol = {.address = 0x400100};
	const struct named named[] = {{.name = "inner", .at = {"a.c", 7}, .kind = FRAME_INLINED},
				      {.name = "outer", .symbol = &symbol}};
	const struct unwind_row row = {.cfa = CFA_REGISTER, .cfa_register = 7, .cfa_offset = 8};
	struct buffer seed = {0};
	answer_write_hello(&seed, 0);
	fuzz_seed("hello", &seed);
	answer_write_opened(&seed, &object);
	fuzz_seed("opened", &seed);
	answer_write_named(&seed, &(struct code_range){0x400100, 0x400110}, named, ARRAY_SIZE(named));
	fuzz_seed("named", &seed);
	answer_write_rows(&seed, &(struct code_range){0x400100, 0x400110}, 0x400000, &row, 1);
	fuzz_seed("rows", &seed);
	answer_write_extents(&seed, &(struct code_range){0x400100, 0x400110}, 1);
	fuzz_seed("extents", &seed);
	answer_write_want(&seed, 0, 0, "0123456789abcdef");
	fuzz_seed("want", &seed);
	static const struct allocator_symbols symbols = {
		.has_malloc = true,
		.count = 2,
		.places = {{0x100, HEAP_CALL_SIZE, false}, {0x200, HEAP_CALL_FREE, true}}};
	answer_write_allocator(&seed, &symbols);
	fuzz_seed("allocator", &seed);
}
