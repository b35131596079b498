#include "write/writer.h"

#include <string.h>

#define WRITER_ADDRESS(name) &name##_writer,
static const struct writer *const writers[] = {WRITERS(WRITER_ADDRESS) NULL};

const struct writer *writer_by_name(const char *name) {
	for (size_t i = 0; writers[i]; i++)
		if (strcmp(writers[i]->name, name) == 0)
			return writers[i];
	return NULL;
}

const struct writer *writer_by_extension(const char *path) {
	size_t length = strlen(path);
	for (size_t i = 0; writers[i]; i++) {
		size_t extension = strlen(writers[i]->extension);
		if (length > extension && path[length - extension - 1] == '.' &&
		    strcmp(path + length - extension, writers[i]->extension) == 0)
			return writers[i];
	}
	return NULL;
}

const struct writer *const *writer_list(void) {
	return writers;
}
