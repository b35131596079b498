// What is wrong with a file, and where.
#pragma once

#include "base/array.h"

struct finding {
	unsigned line, column; // from 1; 0: of the file as a whole
	char *text;
};

struct findings {
	ARRAY(struct finding) list;
	size_t more; // found, and not in the list: it is long already
};

void findings_add(struct findings *findings, unsigned line, unsigned column, const char *format, ...)
	PRINTF_LIKE(4, 5);
void findings_free(struct findings *findings);

// "FILE:LINE:COLUMN: TEXT"; the caller's to free.
char *finding_line(const struct finding *finding, const char *path);
