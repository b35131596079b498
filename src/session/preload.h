// Libraries of ours that are put into a test program.
#pragma once

#include "session/words.h"

// The words `env LD_PRELOAD=...` for a library that lies beside the program or where it was
// installed; what the environment preloads already stays.
void preload_words(const char *library, struct words *words);
