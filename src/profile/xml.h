// The elements of a small XML file as a tree in two arrays. Text between elements
// is not kept. A DOCTYPE is rejected, and with it every entity that a file defines or
// fetches; depth and number of elements are limited.
#pragma once

#include "base/buffer.h"
#include "profile/findings.h"

struct xml_node {
	const char *name; // set after everything is read, like those of attributes
	uint32_t name_place, attributes, attribute_count;
	uint32_t parent, first_child, next; // 0 if none
	unsigned line, column;
};

struct xml_attribute {
	const char *name, *value;
	uint32_t name_place, value_place;
};

struct xml {
	ARRAY(struct xml_node) nodes; // [0] is the document
	ARRAY(struct xml_attribute) attributes;
	struct buffer texts;
};

// False if it is invalid: one finding has been added, and nothing needs to be freed.
bool xml_parse(struct xml *xml, const void *bytes, size_t size, struct findings *findings);
void xml_free(struct xml *xml);

// The value of an attribute; NULL if there is none of that name.
const char *xml_value(const struct xml *xml, uint32_t node, const char *name);

static inline const struct xml_node *xml_node(const struct xml *xml, uint32_t node) {
	return &xml->nodes.items[node];
}

static inline bool xml_is(const struct xml *xml, uint32_t node, const char *name) {
	return strcmp(xml->nodes.items[node].name, name) == 0;
}

#define XML_EACH_CHILD(child, xml, node)                                                                     \
	for (uint32_t child = xml_node(xml, node)->first_child; child; child = xml_node(xml, child)->next)
