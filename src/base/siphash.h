// SipHash-1-3 with a key of zeros: a short stable name for a text, the same as that
// of Rust's SipHasher13. Libraries at hand (libsodium) have SipHash-2-4 only.
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t siphash13(const void *bytes, size_t size);
