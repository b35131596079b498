// Faults in a file, and their positions.
#pragma once

#include "base/array.h"

struct finding {
	unsigned line, column; // from 1; 0 for the file as a whole
	char *text;
};

struct findings {
	ARRAY(struct finding) list;
	size_t more; // number of findings beyond the limit of the list
};

void findings_add(struct findings *findings, unsigned line, unsigned column, const char *format, ...)
	PRINTF_LIKE(4, 5);
void findings_free(struct findings *findings);

// "FILE:LINE:COLUMN: TEXT"; the caller frees it.
char *finding_line(const struct finding *finding, const char *path);
