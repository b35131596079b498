// What the programs are told when they are loaded.
#pragma once

#include <stdint.h>

uint64_t boot_offset_now(void); // CLOCK_BOOTTIME minus CLOCK_MONOTONIC

// Index of an entry in the auxiliary vector: the same in our process as in any other.
uint32_t auxiliary_index(uint64_t key);

// Where struct r_debug is in the dynamic linker that this program was started with; 0 if with none.
uint64_t linker_debug_offset(void);
