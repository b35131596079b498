// Variants are JSON, for which there is no library here yet: they are refused. What landed is found by the
// same manifest as elsewhere, but not looked for here.
#include "session/variant.h"

#include "base/log.h"
#include "session/landed.h"

char *variant_add(const char *variant, const char *addition) {
	log_warning("variants are for Linux: '%s' is not taken", addition);
	return NULL;
}

void variant_hash(const char *variant, char digits[VARIANT_HASH_SIZE]) {
	digits[0] = 0;
}

enum landed landed_check(const struct landed_question *question, uint64_t min_size, struct buffer *line) {
	buffer_printf(line, "%s: what landed can be looked for on Linux only", question->folder);
	return NOT_LANDED;
}
