// CRC-32C (Castagnoli), the checksum of packets on the wire. Written by hand: zlib only has the other
// polynomial, and the libraries that have this one do no more than use the CPU's instruction, as we do here.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Continues from `crc`, which is 0 for the first piece.
uint32_t crc32c(uint32_t crc, const void *bytes, size_t size);
uint32_t crc32c_by_table(uint32_t crc, const void *bytes, size_t size); // for CPUs without the instruction
