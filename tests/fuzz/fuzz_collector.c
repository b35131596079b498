// Arbitrary bytes from a client of the collector: the only thing of its users' that it looks at.
#include "fuzz.h"

#include "collector/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct collector_request request;
	for (size_t descriptors = 0; descriptors < 3; descriptors++) {
		if (request_check(bytes, size, descriptors, &request))
			continue;
		bool has_one = request.head.type == COLLECTOR_OPEN || request.head.type == COLLECTOR_FOLLOW;
		if (size != sizeof(request) || request.head.version != COLLECTOR_VERSION ||
		    request.head.type >= COLLECTOR_REQUESTS_END || descriptors != has_one)
			abort();
	}
	return 0;
}

void fuzz_seeds(void) {
	for (int type = COLLECTOR_OPEN; type < COLLECTOR_REQUESTS_END; type++) {
		char name[2] = {(char)('0' + type), 0};
		struct collector_request request = {.head = {.version = COLLECTOR_VERSION,
							     .type = (uint16_t)type,
							     .size = sizeof(request)}};
		struct buffer seed = {0};
		buffer_append(&seed, &request, sizeof(request));
		fuzz_seed(name, &seed);
	}
}
