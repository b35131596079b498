#include "fuzz.h"

#include "../unit/sample_trace.h"
#include "check/check.h"

static void keep_busy(const struct tl_finding *finding, void *context) {
	*(size_t *)context += strlen(finding->text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct tl_check_result result = {0};
	size_t length = 0;
	struct tl_check_opts options = {.on_finding = keep_busy, .context = &length};
	stream_of_memory(&input, bytes, size);
	check_stream(&input, &options, &result);
	stream_close(&input);
	// A trace that is not walked to its end has a defect that says why.
	if (!result.defects && (result.bytes != size || !result.packets))
		abort();
	return 0;
}

void fuzz_seeds(void) {
	static void (*const parts[])(struct buffer *) = {sample_system, sample_sched, sample_profiles,
							 sample_tracks};
	struct buffer seed = {0};
	sample_trace(&seed);
	fuzz_seed("whole", &seed);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char name[16] = "part-";
		name[5] = (char)('0' + i);
		parts[i](&seed);
		fuzz_seed(name, &seed);
	}
}
