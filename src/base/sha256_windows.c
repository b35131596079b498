#include "base/sha256.h"
#include "base/memory.h"

#include <windows.h>

#include <bcrypt.h>

struct sha256 {
	BCRYPT_ALG_HANDLE algorithm;
	BCRYPT_HASH_HANDLE hash;
};

struct sha256 *sha256_new(void) {
	struct sha256 *sum = memory_alloc(sizeof(*sum));
	if (BCryptOpenAlgorithmProvider(&sum->algorithm, BCRYPT_SHA256_ALGORITHM, NULL, 0) == 0)
		BCryptCreateHash(sum->algorithm, &sum->hash, NULL, 0, NULL, 0, 0);
	return sum;
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t size) {
	if (sum->hash)
		BCryptHashData(sum->hash, (PUCHAR)(uintptr_t)bytes, (ULONG)size, 0);
}

void sha256_finish(struct sha256 *sum, uint8_t digest[32]) {
	if (sum->hash) {
		BCryptFinishHash(sum->hash, digest, 32, 0);
		BCryptDestroyHash(sum->hash);
	}
	if (sum->algorithm)
		BCryptCloseAlgorithmProvider(sum->algorithm, 0);
	free(sum);
}
