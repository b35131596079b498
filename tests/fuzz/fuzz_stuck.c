// What threads waited for: a fact in recordings of others, and the text of saved stacks that it is made from,
// which has names that the test has chosen.
#include "fuzz.h"

#include "format/stuck.h"

static void take_target(void *context, uint32_t pid, const char *target) {
	uint64_t *sum = context;
	*sum += pid + strlen(target);
}

// A fact that is made from stacks has only lines that can be read back.
static void check_made(const char *stacks) {
	struct buffer fact = {0};
	struct stuck stuck;
	size_t lines = 0, known = 0;
	stuck_from_stacks(stacks, &fact);
	for (size_t i = 0; i < fact.size; i++)
		lines += fact.data[i] == '\n';
	buffer_append(&fact, "", 1);
	for (const char *at = (const char *)fact.data; stuck_next(&at, &stuck);)
		known++;
	if (known != lines)
		abort();
	buffer_free(&fact);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	CLEANUP_FREE char *text = memory_format("%.*s", (int)size, size ? (const char *)bytes : "");
	struct stuck stuck;
	uint64_t sum = 0;
	for (const char *at = text; stuck_next(&at, &stuck);)
		sum += stuck.tid + strlen(stuck.words);
	stuck_descriptors(text, take_target, &sum);
	check_made(text);
	return sum == UINT64_MAX; // never: so that all of it is computed
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"10 thread 11\n11 lock 0x4080 12 audit\n12 lock 0x40c0 11 \n13 descriptor 5 read by sh "
		"(16)\n",
		"process 10: ./test\n"
		"  thread 10 \"test\": sleeping in futex_do_wait\n"
		"    waits for the end of thread 11 \"transfer\"\n"
		"  thread 11 \"transfer\": sleeping\n"
		"    waits for the lock 0x55bf7c149080 (bank::lock(int)+8), which is held by thread 12 "
		"\"report\"\n"
		"\nprocess 13: cat\n"
		"  thread 13 \"cat\": sleeping\n"
		"    waits for descriptor 0: pipe:[17]\n"
		"    waits for descriptor 3: /tmp/file: name\n"
		"\ndescriptors\n"
		"  pipe:[17]: read by cat (13), written by test (10)\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char name[] = "text-0";
		struct buffer seed = {0};
		name[5] = (char)('0' + i);
		buffer_append(&seed, texts[i], strlen(texts[i]));
		fuzz_seed(name, &seed);
	}
}
