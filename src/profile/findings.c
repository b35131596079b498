#include "profile/findings.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_FINDINGS = 100, LONGEST_TEXT = 400 };

void findings_add(struct findings *findings, unsigned line, unsigned column, const char *format, ...) {
	char text[LONGEST_TEXT];
	va_list arguments;
	if (findings->list.count == MOST_FINDINGS) {
		findings->more++;
		return;
	}
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	array_push(&findings->list, (struct finding){line, column, memory_string(text)});
}

void findings_free(struct findings *findings) {
	for (size_t i = 0; i < findings->list.count; i++)
		free(findings->list.items[i].text);
	array_free(&findings->list);
	findings->more = 0;
}

char *finding_line(const struct finding *finding, const char *path) {
	return finding->line
		       ? memory_format("%s:%u:%u: %s", path, finding->line, finding->column, finding->text)
		       : memory_format("%s: %s", path, finding->text);
}
