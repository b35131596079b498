#include "profile/xml.h"

#if defined(HAVE_EXPAT) || defined(_WIN32)
#include "base/xml_parser.h"

enum {
	DEEPEST = 64,
	MOST_ELEMENTS = 1 << 20,
	MOST_ATTRIBUTES = 64,
	LONGEST_VALUE = 32 << 10,
	LARGEST = 64 << 20
};

struct reading {
	struct xml *xml;
	struct findings *findings;
	XML_Parser parser;
	uint32_t open[DEEPEST + 1], last[DEEPEST + 1]; // open elements, and the last child of each
	unsigned depth;
	bool stopped;
};

static void stop(struct reading *reading, const char *why) {
	if (reading->stopped)
		return;
	findings_add(reading->findings, (unsigned)XML_GetCurrentLineNumber(reading->parser),
		     (unsigned)XML_GetCurrentColumnNumber(reading->parser) + 1, "%s", why);
	reading->stopped = true;
	XML_StopParser(reading->parser, XML_FALSE);
}

// Replaces line breaks that were written as references: they would break our own lines.
static uint32_t keep_text(struct xml *xml, const char *text) {
	uint32_t place = (uint32_t)xml->texts.size;
	buffer_append(&xml->texts, text, strlen(text) + 1);
	for (uint8_t *at = xml->texts.data + place; *at; at++)
		if (*at < ' ')
			*at = ' ';
	return place;
}

static const char *local_name(const char *name) {
	const char *colon = strrchr(name, ':');
	return colon ? colon + 1 : name;
}

static void start_element(void *context, const char *name, const char **attributes) {
	struct reading *reading = context;
	struct xml *xml = reading->xml;
	if (reading->depth == DEEPEST || xml->nodes.count == MOST_ELEMENTS) {
		stop(reading, reading->depth == DEEPEST ? "elements are nested too deeply"
							: "there are too many elements");
		return;
	}
	if (reading->stopped)
		return;
	uint32_t node = (uint32_t)xml->nodes.count, parent = reading->open[reading->depth];
	struct xml_node made = {.name_place = keep_text(xml, local_name(name)),
				.attributes = (uint32_t)xml->attributes.count,
				.parent = parent,
				.line = (unsigned)XML_GetCurrentLineNumber(reading->parser),
				.column = (unsigned)XML_GetCurrentColumnNumber(reading->parser) + 1};
	for (; attributes[0]; attributes += 2, made.attribute_count++) {
		if (made.attribute_count == MOST_ATTRIBUTES || strlen(attributes[1]) > LONGEST_VALUE) {
			stop(reading, "an element has too many attributes, or one that is too long");
			return;
		}
		array_push(&xml->attributes,
			   (struct xml_attribute){.name_place = keep_text(xml, attributes[0]),
						  .value_place = keep_text(xml, attributes[1])});
	}
	array_push(&xml->nodes, made);
	if (reading->last[reading->depth])
		xml->nodes.items[reading->last[reading->depth]].next = node;
	else
		xml->nodes.items[parent].first_child = node;
	reading->last[reading->depth] = node;
	reading->open[++reading->depth] = node;
	reading->last[reading->depth] = 0;
}

static void end_element(void *context, const char *name) {
	struct reading *reading = context;
	if (!reading->stopped)
		reading->depth--;
}

static void start_doctype(void *context, const char *name, const char *system, const char *public_id,
			  int internal) {
	stop(context, "DOCTYPE is not allowed: profiles need no entities");
}

static void set_names(struct xml *xml) {
	const char *texts = (const char *)xml->texts.data;
	xml->nodes.items[0].name = "";
	for (size_t i = 1; i < xml->nodes.count; i++)
		xml->nodes.items[i].name = texts + xml->nodes.items[i].name_place;
	for (size_t i = 0; i < xml->attributes.count; i++) {
		xml->attributes.items[i].name = texts + xml->attributes.items[i].name_place;
		xml->attributes.items[i].value = texts + xml->attributes.items[i].value_place;
	}
}

bool xml_parse(struct xml *xml, const void *bytes, size_t size, struct findings *findings) {
	*xml = (struct xml){0};
	struct reading reading = {.xml = xml, .findings = findings, .parser = XML_ParserCreate(NULL)};
	if (!reading.parser)
		memory_exhausted();
	if (size > LARGEST) {
		findings_add(findings, 0, 0, "larger than 64 MB, the limit for a profile");
		XML_ParserFree(reading.parser);
		return false;
	}
	array_push(&xml->nodes, (struct xml_node){.name = ""});
	XML_SetUserData(reading.parser, &reading);
	XML_SetElementHandler(reading.parser, start_element, end_element);
	XML_SetStartDoctypeDeclHandler(reading.parser, start_doctype);
	if (XML_Parse(reading.parser, bytes, (int)size, 1) != XML_STATUS_OK)
		stop(&reading, XML_ErrorString(XML_GetErrorCode(reading.parser)));
	XML_ParserFree(reading.parser);
	set_names(xml);
	if (reading.stopped)
		xml_free(xml);
	return !reading.stopped;
}
#else
bool xml_parse(struct xml *xml, const void *bytes, size_t size, struct findings *findings) {
	*xml = (struct xml){0};
	findings_add(findings, 0, 0, "this tracelet was built without expat and cannot read .wprp files");
	return false;
}
#endif

void xml_free(struct xml *xml) {
	array_free(&xml->nodes);
	array_free(&xml->attributes);
	buffer_free(&xml->texts);
}

const char *xml_value(const struct xml *xml, uint32_t node, const char *name) {
	const struct xml_node *element = xml_node(xml, node);
	for (uint32_t i = 0; i < element->attribute_count; i++)
		if (strcmp(xml->attributes.items[element->attributes + i].name, name) == 0)
			return xml->attributes.items[element->attributes + i].value;
	return NULL;
}
