// Copies a JSON value from a reader to a writer, well-formed and without spaces.
#pragma once

#include "base/json.h"
#include "base/json_read.h"

// The next value of `from`, of any kind. Invalid JSON makes the reader fail; what was written until then is
// useless.
void json_copy(struct json_reader *from, struct json *to, const char *key);
