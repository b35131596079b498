// The expression is the first line, the name is the rest.
#include "fuzz.h"

#include "suite/name_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	enum { LONGEST_NAME = 1000 }; // time grows with both
	char why[NAME_FILTER_WHY_SIZE] = "";
	CLEANUP_FREE char *text = memory_alloc(size + 1);
	if (size)
		memcpy(text, bytes, size);
	char *name = strchr(text, '\n');
	if (name)
		*name++ = 0;
	if (name && strlen(name) > LONGEST_NAME)
		name[LONGEST_NAME] = 0;
	struct name_filter *filter = name_filter_new(text, why);
	if (filter) {
		name_filter_fits(filter, name ? name : "");
		name_filter_free(filter);
	} else if (!*why) {
		abort();
	}
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"^Parser\\.(Deep|Skips)$\nParser.Deep",
		"(a*)*b{2,5}[^[:alpha:]a-c]\naaab",
		"\\w+|[]a-]?.\n-",
		"((a{100}){3}|){2}\na",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char name[2] = {(char)('0' + i), 0};
		struct buffer seed = {0};
		buffer_printf(&seed, "%s", texts[i]);
		fuzz_seed(name, &seed);
	}
}
