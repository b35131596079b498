// Linked into every target: with FUZZ_SEEDS=FOLDER in the environment, it writes
// the target's seeds there in place of fuzzing.
#include "fuzz.h"

#include <stdio.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
const char *__asan_default_options(void);

// With the stacks of allocations and a large quarantine, a run of perf_data's seeds takes twice the CPU time.
// ASAN_OPTIONS=malloc_context_size=30 brings the stacks back for a finding.
const char *__asan_default_options(void) {
	return "malloc_context_size=1:quarantine_size_mb=16";
}

static const char *folder;

void fuzz_seed(const char *name, struct buffer *seed) {
	char *path = memory_format("%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(seed->data, 1, seed->size, file) != seed->size || fclose(file)) {
		perror(path);
		exit(1);
	}
	free(path);
	buffer_free(seed);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
	folder = getenv("FUZZ_SEEDS");
	if (!folder)
		return 0;
	fuzz_seeds();
	exit(0);
}
