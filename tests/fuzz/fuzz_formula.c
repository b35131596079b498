#include "fuzz.h"

#include "capture/pmu/formula.h"

static double length_of(const char *name, void *context) {
	return (double)strlen(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct formula formula;
	char why[FORMULA_WHY_SIZE] = "";
	char *text = memory_alloc(size + 1);
	double left, right;
	memcpy(text, bytes, size);
	if (formula_parse(&formula, text, why) == 0) {
		formula_holds(&formula, length_of, NULL, &left, &right);
		formula_free(&formula);
	} else if (!*why) {
		abort();
	}
	free(text);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"instructions / cycles", "100 * (1 - a-b / c:u) * max(2, min(x.y, -3e6)) + 0.5",
		"instructions:u<5e6",    "a >= b != c",
		"((((((1))))))",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char name[2] = {(char)('0' + i), 0};
		struct buffer seed = {0};
		buffer_printf(&seed, "%s", texts[i]);
		fuzz_seed(name, &seed);
	}
}
