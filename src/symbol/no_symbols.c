// Without libelf, as on Windows: the only names are those in the recording. Everything else stays an address.
#include "symbol/symbolizer.h"
#include "symbol/windows/symbol_path.h"

struct symbolizer *symbolizer_new(bool inlined) {
	return NULL;
}

void symbolizer_wait_by(struct symbolizer *symbolizer, void (*wait)(void *context), void *context) {
}

void symbolizer_free(struct symbolizer *symbolizer) {
}

void symbol_path_set(const char *path) {
}

void symbolizer_sources(const struct symbol_sources *sources) {
}

void symbolizer_usual_kallsyms(const char *path) {
}
