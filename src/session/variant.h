// Variants of one test: the same program with another scheduler, another kernel, other
// arguments. What makes a variant is a JSON object, in one canonical form: compact, keys in
// the order of their bytes, lists of texts sorted, so that its hash depends on nothing else.
#pragma once

#include <stdbool.h>

enum { VARIANT_HASH_SIZE = 17 }; // 16 hexadecimal digits and NUL

// What is said of an addition that is not taken: that it is not this.
#define VARIANT_WANTED "KEY=VALUE or a JSON object"

// Adds KEY=VALUE, a text, or all of a JSON object to a variant (NULL: there is none yet). The
// same key again replaces the value. Returns the new canonical text, the caller's to free, or
// NULL: the addition is neither.
char *variant_add(const char *variant, const char *addition);

// SipHash-1-3 over the canonical text.
void variant_hash(const char *variant, char digits[VARIANT_HASH_SIZE]);
