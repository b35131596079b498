// SHA-256 from the system's library: nettle, or bcrypt on Windows.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sha256;

struct sha256 *sha256_new(void);
void sha256_add(struct sha256 *sum, const void *bytes, size_t size);
void sha256_finish(struct sha256 *sum, uint8_t digest[32]); // and frees it
