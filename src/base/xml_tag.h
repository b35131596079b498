// Finds the tags in the text of an XML file, one after the other. It does not check that
// the file is well-formed: that is the parser's job.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum xml_tag_kind { XML_TAG_START, XML_TAG_EMPTY, XML_TAG_END }; // <a>, <a/>, </a>

struct xml_tag {
	size_t begin, end; // offsets in the text
	const char *name;
	size_t name_size;
	enum xml_tag_kind kind;
};

// The first tag from byte `at` on, which must not be inside a tag, a comment or the like. The text is in
// UTF-8 or another superset of ASCII. False if there is no tag, or it has no end.
bool xml_tag_next(const char *text, size_t size, size_t at, struct xml_tag *tag);
