// Variants of one test: the same program with another scheduler, another kernel, other
// arguments. A variant is a JSON object in one canonical form (compact, keys in byte order,
// lists of texts sorted), so that its hash depends on nothing else.
#pragma once

#include <stdbool.h>

enum { VARIANT_HASH_SIZE = 17 }; // 16 hexadecimal digits and NUL

// For the error message about an addition that is neither.
#define VARIANT_WANTED "KEY=VALUE or a JSON object"

// Adds KEY=VALUE (a text), or all of a JSON object, to a variant (NULL if empty). A repeated key
// replaces the value. Returns the new canonical text, to be freed by the caller, or NULL if the
// addition is neither.
char *variant_add(const char *variant, const char *addition);

// SipHash-1-3 over the canonical text.
void variant_hash(const char *variant, char digits[VARIANT_HASH_SIZE]);
