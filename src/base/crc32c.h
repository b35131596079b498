// CRC-32C (Castagnoli), the checksum of frames on the wire. By hand: zlib has only the other polynomial,
// and all that the libraries which have it do beyond this is to use the CPU's instruction, as is done here.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Continues from `crc`, which is 0 for the first piece.
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size);
uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size); // where the CPU has no instruction
