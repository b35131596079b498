// A fuzz target is one file, fuzz_NAME.c, with these two functions, listed in
// meson.build. tests/fuzz/run builds, seeds and runs them.
#pragma once

#include "base/buffer.h"

// libFuzzer's entry point: one input, which must not cause a crash, leak, hang or overrun.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// Calls fuzz_seed() for each input the fuzzer should start from: a valid one and similar ones.
void fuzz_seeds(void);

// A target may define libFuzzer's function for mutations that know the format
// (LLVMFuzzerCustomMutator); this one changes bytes. Returns the new size.
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

// Writes one seed from a buffer and frees the buffer.
void fuzz_seed(const char *name, struct buffer *seed);
