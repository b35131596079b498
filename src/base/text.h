// Text from elsewhere, made fit for the place where it is shown. Names of functions, threads, files and
// test cases come from recordings and from tests, and may hold anything.
#pragma once

#include "base/buffer.h"

#include <stdio.h>

// ---- for people, on a terminal or in the log of a CI system ----

// Appends `text` as part of one line. Escapes (\n, \x1b, \u202e) replace control characters, characters that
// end a line or change its direction, and bytes that are not UTF-8. CI systems take orders from what is
// printed: GitHub from lines that begin with "::", after spaces too; Azure, TeamCity and GitHub from
// "##vso[", "##teamcity[" and "##[" anywhere in a line. One character of these is escaped.
void text_plain(struct buffer *out, const char *text, size_t size);
void text_plain_from(struct buffer *out, size_t begin); // the same in place, for what follows `begin`
char *text_plain_copy(const char *text);                // to be freed

// printf() for one whole line: made plain, then ended.
void text_line(FILE *out, const char *format, ...) PRINTF_LIKE(2, 3);
void text_append_line(struct buffer *out, const char *format, ...) PRINTF_LIKE(2, 3);

// A path on a line of its own, which scripts read as well: printed exactly, also where it is not UTF-8,
// unless it holds control characters or is an order to a CI system.
void text_path_line(FILE *out, const char *path);

// What a noun needs after this number: "1 event", "2 events".
static inline const char *plural(uint64_t count) {
	return count == 1 ? "" : "s";
}

size_t text_width(const void *text, size_t size); // in characters

// ---- for formats whose strings are UTF-8 ----

void text_utf8(struct buffer *out, const char *text, size_t size); // U+FFFD for each byte that is not

// ---- for XML and HTML: in elements, and in attributes between double quotes ----

// XML 1.0 has no way to write most control characters: they become U+FFFD, as do bytes that are not UTF-8.
void text_xml(struct buffer *out, const char *text, size_t size);
void text_xml_cut(struct buffer *out, const char *text, size_t size, size_t most); // "…" ends a longer one
