// Libraries of ours that are put into a test program.
#pragma once

#include "session/words.h"

// The words `env LD_PRELOAD=...` for a library that lies beside the program or where it was
// installed; what the environment preloads already stays.
void preload_words(const char *library, struct words *words);

// The same for our own environment, for what is started until preload_end(). False: there is no such
// library.
struct preload {
	char *before[2]; // what the variables were; NULL: not set
	bool begun;
};
bool preload_begin(struct preload *preload, const char *library);
void preload_end(struct preload *preload);
