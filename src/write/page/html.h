// The frame of a page: head with its policy, style, and the code at the end.
#pragma once

#include "base/buffer.h"

// `title` may come from anywhere. Between the two calls comes the content of <main>.
void page_begin(struct buffer *out, const char *title);
// `bulk`: what the code does not wait for; or NULL.
void page_end(struct buffer *out, const struct buffer *bulk);

void page_text(struct buffer *out, const char *text);                  // escaped, for elements and attributes
void page_cell(struct buffer *out, const char *tag, const char *text); // <tag>text</tag>

// A file to be saved from the page; `name` is what it is saved as.
void page_file(struct buffer *out, const char *name, const uint8_t *bytes, size_t size);

// Generated from src/write/page/ by the build.
extern const char page_code[], page_loader[], page_style[], page_policy[];
