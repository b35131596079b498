// Identifiers that sort by the time at which they were made: UUIDs of version 7.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { UUID_SIZE = 37 }; // of the text, with its end

void uuid_new(char text[UUID_SIZE]);
bool uuid_is(const char *text); // whether it has the form of a UUID, in lower case
