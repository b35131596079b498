// Nothing is preloaded on Windows: no framework in the table needs it.
#include "process/preload.h"

void preload_words(const char *library, struct words *words) {
}
