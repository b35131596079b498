// The stream from a ktstr guest.
#include "fuzz.h"

#include "guest/host/ktstr.h"

#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct output output;
	struct ktstr_result result;
	output_open(&output, "/dev/null", OUTPUT_REPLACE);
	stream_of_memory(&input, bytes, size);
	ktstr_read(&input, &(struct ktstr_options){.most = 1 << 20}, &output, &result);
	stream_close(&input);
	output_abandon(&output);
	return 0;
}

static void frame(struct buffer *stream, uint32_t type, const char *payload) {
	uint32_t header[4] = {type, (uint32_t)strlen(payload),
			      (uint32_t)crc32(0, (const uint8_t *)payload, (unsigned)strlen(payload)), 0};
	buffer_append(stream, header, sizeof(header));
	buffer_append(stream, payload, strlen(payload));
}

void fuzz_seeds(void) {
	struct buffer seed = {0};
	frame(&seed, KTSTR_FAMILY | 'C', "\n\001x");
	frame(&seed, 0x534f5554, "output");
	frame(&seed, KTSTR_LAST, "\n\001y");
	fuzz_seed("trace", &seed);
	seed = (struct buffer){0};
	frame(&seed, KTSTR_LAST, "");
	fuzz_seed("empty", &seed);
}
