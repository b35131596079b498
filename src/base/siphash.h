// SipHash-1-3 with a key of zeros: a short stable hash of a text, the same as Rust's
// SipHasher13. The libraries at hand (libsodium) only have SipHash-2-4.
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t siphash13(const void *bytes, size_t size);
