// JSON written by others: variants of tests.
#include "fuzz.h"

#include "settings/variant.h"

// A canonical text is its own canonical form.
static void check_variant(const char *text) {
	char *once = variant_add(NULL, text), *twice = once ? variant_add(NULL, once) : NULL;
	// KEY=VALUE may contain bytes that JSON does not allow.
	if (once && *text == '{' && (!twice || strcmp(once, twice) != 0))
		abort();
	free(once);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	char *text = memory_format("%.*s", (int)size, size ? (const char *)bytes : "");
	check_variant(text);
	free(text);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"{\"a\":[\"c\",\"b\\u00e9\"],\"d\":{\"z\":-0,\"y\":1.5e3},\"e\":[true,null,[2,1]]}",
		"key=value \"quoted\"",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char name[2] = {(char)('0' + i), 0};
		struct buffer seed = {0};
		buffer_append(&seed, texts[i], strlen(texts[i]));
		fuzz_seed(name, &seed);
	}
}
