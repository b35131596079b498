// Where in a function the kernel can place a cheap probe.
#pragma once

#include <stddef.h>
#include <stdint.h>

// How many bytes into a function's code to place a probe that sees its start. An instruction that the kernel
// cannot emulate is single-stepped, which takes ten times as long (10 µs in a virtual machine). Arguments and
// stack are still as at the start. 0 if there is no better place.
size_t probe_point(const uint8_t *code, size_t size);
