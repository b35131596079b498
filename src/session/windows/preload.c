// Nothing is put into programs here: no framework of the table wants it.
#include "session/preload.h"

void preload_words(const char *library, struct words *words) {
}
