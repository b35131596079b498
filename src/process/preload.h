// Our libraries that are loaded into a test program.
#pragma once

#include "process/words.h"

// The words `env LD_PRELOAD=...` for a library next to the program or where it was installed; keeps what
// the environment preloads already.
void preload_words(const char *library, struct words *words);

// The same for our own environment, for processes started before preload_end(). False if the library does
// not exist.
struct preload {
	char *before[2]; // old values of the variables; NULL if not set
	bool begun;
};
bool preload_begin(struct preload *preload, const char *library);
void preload_end(struct preload *preload);
