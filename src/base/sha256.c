#include "base/sha256.h"
#include "base/memory.h"

#include <nettle/sha2.h>

struct sha256 {
	struct sha256_ctx context;
};

struct sha256 *sha256_new(void) {
	struct sha256 *sum = memory_alloc(sizeof(*sum));
	sha256_init(&sum->context);
	return sum;
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t size) {
	sha256_update(&sum->context, size, bytes);
}

void sha256_finish(struct sha256 *sum, uint8_t digest[32]) {
	sha256_digest(&sum->context, SHA256_DIGEST_SIZE, digest);
	free(sum);
}
