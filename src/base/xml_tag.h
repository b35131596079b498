// Where the tags are in the text of an XML file, one after the other, by what XML says of
// them and nothing more: whether it is an XML file is for a parser to tell.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum xml_tag_kind { XML_TAG_START, XML_TAG_EMPTY, XML_TAG_END }; // <a>, <a/>, </a>

struct xml_tag {
	size_t begin, end; // bytes of the text
	const char *name;
	size_t name_size;
	enum xml_tag_kind kind;
};

// The first tag from the byte `at` on, which is inside none, nor inside a comment or the like. In UTF-8,
// or another encoding that ASCII is a part of. False: there is none, or it has no end.
bool xml_tag_next(const char *text, size_t size, size_t at, struct xml_tag *tag);
