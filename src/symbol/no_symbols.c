// Where there is no libelf, as on Windows: names are those that a recording brings
// with it. What it does not name stays an address.
#include "symbol/symbolizer.h"

struct symbolizer *symbolizer_new(bool inlined) {
	return NULL;
}

void symbolizer_wait_by(struct symbolizer *symbolizer, void (*wait)(void *context), void *context) {
}

void symbolizer_free(struct symbolizer *symbolizer) {
}
