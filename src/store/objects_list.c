#include "store/objects_list.h"
#include "base/xml_parser.h"

#include <limits.h>
#include <stdio.h>

struct page {
	struct objects_list *list;
	unsigned depth;
	bool inside, bad; // inside <Contents>
	struct buffer text;
	char key[1200];
	uint64_t size;
	time_t changed;
};

static void XMLCALL begin_element(void *context, const char *name, const char **attributes) {
	struct page *page = context;
	page->text.size = 0;
	if (++page->depth == 2 && strcmp(name, "Contents") == 0) {
		page->inside = true;
		page->key[0] = 0;
		page->size = 0;
		page->changed = 0;
	}
}

static void XMLCALL take_text(void *context, const char *text, int size) {
	struct page *page = context;
	if (page->text.size + (size_t)size < OBJECTS_LONGEST_TOKEN)
		buffer_append(&page->text, text, (size_t)size);
	else
		page->bad = true;
}

static void XMLCALL refuse_doctype(void *context, const char *name, const char *system, const char *public_id,
				   int internal) {
	((struct page *)context)->bad = true;
}

// 2026-11-16T01:02:03.000Z
static time_t read_time(const char *text) {
	struct tm time = {0};
	return strptime(text, "%Y-%m-%dT%H:%M:%S", &time) ? timegm(&time) : 0;
}

static void deliver(struct page *page) {
	struct objects_list *list = page->list;
	size_t prefix = strlen(list->prefix);
	struct objects_entry entry = {page->key + prefix, page->size, page->changed};
	page->inside = false;
	list->entries++;
	if (strncmp(page->key, list->prefix, prefix) == 0 && page->key[prefix])
		list->take(list->context, &entry);
}

// A key that is cut is none of ours, and none that may be deleted.
static void take_key(struct page *page, const char *text) {
	if (strlen(text) < sizeof(page->key))
		snprintf(page->key, sizeof(page->key), "%s", text);
	else
		page->bad = true;
}

static void XMLCALL end_element(void *context, const char *name) {
	struct page *page = context;
	buffer_append(&page->text, "", 1);
	const char *text = (char *)page->text.data;
	if (page->depth == 2 && strcmp(name, "Contents") == 0)
		deliver(page);
	else if (page->depth == 2 && strcmp(name, "NextContinuationToken") == 0)
		snprintf(page->list->token, sizeof(page->list->token), "%s", text);
	else if (page->inside && strcmp(name, "Key") == 0)
		take_key(page, text);
	else if (page->inside && strcmp(name, "Size") == 0)
		page->size = strtoull(text, NULL, 10);
	else if (page->inside && strcmp(name, "LastModified") == 0)
		page->changed = read_time(text);
	page->text.size = 0;
	page->depth--;
}

bool objects_list_read(struct objects_list *list, const void *bytes, size_t size) {
	struct page page = {.list = list};
	XML_Parser parser = size <= INT_MAX ? XML_ParserCreate("UTF-8") : NULL;
	list->token[0] = 0;
	list->entries = 0;
	if (!parser)
		return false;
	XML_SetUserData(parser, &page);
	XML_SetElementHandler(parser, begin_element, end_element);
	XML_SetCharacterDataHandler(parser, take_text);
	XML_SetStartDoctypeDeclHandler(parser, refuse_doctype);
	bool good = XML_Parse(parser, bytes, (int)size, XML_TRUE) == XML_STATUS_OK;
	XML_ParserFree(parser);
	buffer_free(&page.text);
	return good && !page.bad;
}
