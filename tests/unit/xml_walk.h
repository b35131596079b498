// Whether xml_tag_next() finds the same tags as expat, at the same bytes.
#pragma once

#include "base/xml_parser.h"
#include "base/xml_tag.h"

#include <stdint.h>

struct xml_walk {
	XML_Parser parser;
	const char *text;
	size_t size, tags;
	struct xml_tag tag;
	bool differs;
};

static void xml_walk_tag(struct xml_walk *walk) {
	size_t begin = (size_t)XML_GetCurrentByteIndex(walk->parser);
	size_t end = begin + (size_t)XML_GetCurrentByteCount(walk->parser);
	walk->differs |= !xml_tag_next(walk->text, walk->size, walk->tag.end, &walk->tag) ||
			 walk->tag.begin != begin || walk->tag.end != end;
	walk->tags++;
}

static void xml_walk_begin(void *context, const char *name, const char **attributes) {
	xml_walk_tag(context);
}

static void xml_walk_end(void *context, const char *name) {
	struct xml_walk *walk = context;
	if (walk->tag.kind == XML_TAG_EMPTY)
		walk->tag.kind = XML_TAG_START; // it has ended
	else
		xml_walk_tag(walk);
}

// The number of tags; SIZE_MAX if one is elsewhere. expat must accept the text.
static inline size_t xml_walk(const char *text, size_t size) {
	struct xml_walk walk = {.parser = XML_ParserCreate(NULL), .text = text, .size = size};
	XML_SetUserData(walk.parser, &walk);
	XML_SetElementHandler(walk.parser, xml_walk_begin, xml_walk_end);
	walk.differs |= XML_Parse(walk.parser, text, (int)size, 1) != XML_STATUS_OK;
	XML_ParserFree(walk.parser);
	return walk.differs ? SIZE_MAX : walk.tags;
}
