// The limit on what the compressed parts of one input may grow to: a file of kilobytes can unpack to a full
// disk or to hours of work. Every reader that unpacks counts its bytes and asks here.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// In bytes. 0, as in the beginning: what honest recordings need, which is 512 MiB or 32 times the packed
// size, whichever is more.
void unpack_limit_set(uint64_t most);

bool unpack_limit_exceeded(uint64_t unpacked, uint64_t packed);

// Logs one line about the input and returns -EFBIG.
int unpack_limit_report(const char *name, uint64_t packed);
