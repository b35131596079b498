#include "base/xml_tag.h"
#include "base/system.h"

#include <string.h>

// The end of the first `wanted` from `at` on; 0 if there is none.
static size_t behind(const char *text, size_t size, size_t at, const char *wanted) {
	const char *found = system_find(text + at, size - at, wanted, strlen(wanted));
	return found ? (size_t)(found - text) + strlen(wanted) : 0;
}

// The end of a construct at `at` that begins with "<" and is not a tag; 0 if it is a tag, SIZE_MAX if it has
// no end.
static size_t skip_other(const char *text, size_t size, size_t at) {
	static const struct {
		const char *begin, *end;
	} others[] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		size_t length = strlen(others[i].begin);
		if (size - at < length || memcmp(text + at, others[i].begin, length) != 0)
			continue;
		size_t end = behind(text, size, at + length, others[i].end);
		return end ? end : SIZE_MAX;
	}
	return 0;
}

// The position after the ">" of a tag, which may also be in the value of an attribute; 0 if there is none.
static size_t end_of_tag(const char *text, size_t size, size_t at) {
	char quote = 0;
	for (; at < size; at++) {
		if (quote ? text[at] == quote : text[at] == '"' || text[at] == '\'')
			quote = quote ? 0 : text[at];
		else if (!quote && text[at] == '>')
			return at + 1;
	}
	return 0;
}

static bool ends_name(char byte) {
	return byte == '>' || byte == '/' || byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

bool xml_tag_next(const char *text, size_t size, size_t at, struct xml_tag *tag) {
	const char *found;
	size_t from = at;
	do {
		if (from >= size || !(found = memchr(text + from, '<', size - from)))
			return false;
		at = (size_t)(found - text);
	} while ((from = skip_other(text, size, at)));
	size_t end = end_of_tag(text, size, at);
	if (!end)
		return false;
	bool closing = text[at + 1] == '/';
	*tag = (struct xml_tag){
		.begin = at,
		.end = end,
		.name = text + at + 1 + closing,
		.kind = closing                                ? XML_TAG_END
			: end - at > 2 && text[end - 2] == '/' ? XML_TAG_EMPTY
							       : XML_TAG_START,
	};
	while (!ends_name(tag->name[tag->name_size]))
		tag->name_size++;
	return true;
}
