// A fuzz target is one file, fuzz_NAME.c, with these two functions, listed in
// meson.build. tests/fuzz/run builds, seeds and runs them.
#pragma once

#include "base/buffer.h"

// libFuzzer's door: one input, which must not crash, leak, hang or overrun.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// Calls fuzz_seed() for each input the fuzzer should start from: a good one and what is near it.
void fuzz_seeds(void);

// One seed, from a buffer which is freed.
void fuzz_seed(const char *name, struct buffer *seed);
