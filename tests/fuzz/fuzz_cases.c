#include "fuzz.h"

#include "suite/cases.h"

static case_parser *const parsers[] = {
	cases_from_gtest,  cases_from_catch2, cases_from_doctest, cases_from_libtest, cases_from_go,
	cases_from_pytest, cases_from_ctest,  cases_from_lines,   cases_from_tap,     cases_from_words};

// The first byte selects the format.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct cases cases = {0};
	if (!size)
		return 0;
	// A copy of the exact size: reading past its end is detected.
	char *text = memory_alloc(MAX(size - 1, 1));
	memcpy(text, bytes + 1, size - 1);
	parsers[*bytes % ARRAY_SIZE(parsers)](text, size - 1, &cases);
	cases_resolve_meson(text, size - 1, &cases);
	for (size_t i = 0; i < cases.count; i++)
		if (!*cases.items[i].name)
			abort();
	cases_free(&cases);
	free(text);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[ARRAY_SIZE(parsers)] = {
		"A.\n  b\n  C/0  # GetParam() = 1\n",
		"one\n\"#two\"\n",
		"[doctest]\n==========\na, b\n==========\n",
		"a::b: test\nc: benchmark\n",
		"TestA\nBenchmarkB\n",
		"t.py::a[b]\n\n1 test collected\n",
		"{\"tests\":[{\"name\":\"a\",\"properties\":[{\"name\":\"DISABLED\",\"value\":true}]}]}",
		"a\nb\n",
		"1..2\nok 1 - a # SKIP b\nnot ok 2 c\n",
		"A.b A.c\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char name[2] = {(char)('0' + i), 0};
		struct buffer seed = {0};
		buffer_printf(&seed, "%c%s", (int)i, texts[i]);
		fuzz_seed(name, &seed);
	}
}
