// Where in a function the kernel can stop it cheaply.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Behind how many bytes of a function's code a program is to be put that wants to see it begin. An
// instruction that the kernel does not know how to carry out itself is run by single-stepping, which
// takes ten times as long (10 µs in a virtual machine). Arguments and stack are there as in the
// beginning. 0 if no better place is found.
size_t probe_point(const uint8_t *code, size_t size);
