// Adds artifacts to a JUnit file. The parser reports where in the file each test case begins and
// ends and whether it has a <system-out>; the lines are inserted at those bytes, and all others are
// copied unchanged: comments, order of attributes, line ends. A document with a DOCTYPE is rejected,
// because text from an entity has no position in the file; so is UTF-16, because the inserted text is
// ASCII.
#include "artifact/artifact.h"
#include "artifact/junit.h"
#include "base/array.h"
#include "base/xml_parser.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

struct place {
	size_t begin, end; // of a start tag
	bool there, empty; // empty: <tag/>
};

struct found_case {
	char *names[3];     // class and name, suite and name, name
	struct place tag;   // <testcase>
	struct place out;   // its <system-out>
	size_t out_close;   // where </system-out> begins
	size_t error;       // where <system-err> begins, or 0
	size_t close;       // where </testcase> begins
	struct buffer text; // what is in <system-out> already
	const struct junit_record *record;
};

struct reading {
	XML_Parser parser;
	const char *text;
	struct {
		struct found_case *items;
		size_t count, capacity;
	} cases;
	struct buffer suite; // the name of the innermost one
	unsigned depth;      // of elements
	unsigned case_depth; // that of the <testcase> we are in, or 0
	bool in_out, doctype;
	bool lost; // the parser does not know where it is
};

// ---- names ----

static bool is_separator(char byte) {
	return !((unsigned char)byte >= 0x80 || isalnum((unsigned char)byte));
}

// Text in which a run of separators is one. A Python module has its extension in a test's name and not
// in JUnit.
static void add_folded(struct buffer *key, const char *text, size_t length) {
	for (const char *at = text, *end = text + length; at < end; at++) {
		if (strncmp(at, ".py::", 5) == 0 || strncmp(at, ".py__", 5) == 0)
			at += 3;
		if (!is_separator(*at))
			buffer_append(key, at, 1);
		else if (key->size && key->data[key->size - 1] != '_')
			buffer_append(key, "_", 1);
	}
}

static char *end_key(struct buffer *key) {
	buffer_append(key, "", 1);
	return (char *)key->data;
}

// The name itself, however class and name are joined.
static char *exact_key(const char *name) {
	struct buffer key = {0};
	for (const char *at = name; *at; at++)
		if (strncmp(at, "::", 2) == 0)
			at++, buffer_append(&key, ".", 1);
		else
			buffer_append(&key, at, 1);
	return end_key(&key);
}

// Frameworks write the way to a test with different separators, but not its parameter.
static char *parameter_key(const char *name) {
	struct buffer key = {0};
	size_t length = strcspn(name, "[");
	add_folded(&key, name, length);
	buffer_append(&key, name + length, strlen(name + length));
	return end_key(&key);
}

// As artifacts' names are made safe: all that old manifests have.
static char *loose_key(const char *name) {
	char safe[ARTIFACT_NAME_SIZE];
	struct buffer key = {0};
	artifact_safe_name(name, safe);
	add_folded(&key, safe, strlen(safe));
	while (key.size && key.data[key.size - 1] == '_')
		key.size--;
	return end_key(&key);
}

typedef char *name_key(const char *name);

static name_key *const levels[] = {exact_key, parameter_key, loose_key};

// ---- what the parser finds ----

static const char *attribute(const char **attributes, const char *name) {
	for (; *attributes; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return "";
}

static size_t current_place(struct reading *reading) {
	long long place = XML_GetCurrentByteIndex(reading->parser);
	reading->lost |= place < 0;
	return place < 0 ? 0 : (size_t)place;
}

static struct place place_of_tag(struct reading *reading) {
	struct place place = {.there = true, .begin = current_place(reading)};
	place.end = place.begin + (size_t)XML_GetCurrentByteCount(reading->parser);
	place.empty = place.end - place.begin > 2 && reading->text[place.end - 2] == '/';
	return place;
}

static struct found_case *current_case(struct reading *reading) {
	return reading->case_depth ? &reading->cases.items[reading->cases.count - 1] : NULL;
}

static void begin_case(struct reading *reading, const char **attributes) {
	const char *class_name = attribute(attributes, "classname"), *name = attribute(attributes, "name");
	char *full = memory_format("%s.%s", class_name, name);
	char *in_suite = memory_format("%.*s.%s", (int)reading->suite.size, (char *)reading->suite.data,
				       name);
	array_push(&reading->cases, (struct found_case){.names = {full, in_suite, memory_string(name)},
							.tag = place_of_tag(reading)});
	reading->case_depth = reading->depth;
}

static void begin_element(void *context, const char *name, const char **attributes) {
	struct reading *reading = context;
	struct found_case *in = current_case(reading);
	reading->depth++;
	if (strcmp(name, "testsuite") == 0) {
		const char *suite = attribute(attributes, "name");
		reading->suite.size = 0;
		buffer_append(&reading->suite, suite, strlen(suite));
	} else if (strcmp(name, "testcase") == 0 && !in) {
		begin_case(reading, attributes);
	} else if (in && reading->depth == reading->case_depth + 1) {
		if (strcmp(name, "system-out") == 0 && !in->out.there) {
			in->out = place_of_tag(reading);
			reading->in_out = true;
		} else if (strcmp(name, "system-err") == 0 && !in->error) {
			in->error = current_place(reading);
		}
	}
}

static void end_element(void *context, const char *name) {
	struct reading *reading = context;
	struct found_case *in = current_case(reading);
	size_t at = current_place(reading);
	if (in && reading->depth == reading->case_depth) {
		in->close = at;
		reading->case_depth = 0;
	} else if (in && reading->depth == reading->case_depth + 1 && reading->in_out) {
		in->out_close = at;
		reading->in_out = false;
	}
	reading->depth--;
}

static void take_text(void *context, const char *text, int size) {
	struct reading *reading = context;
	struct found_case *in = current_case(reading);
	if (in && reading->in_out)
		buffer_append(&in->text, text, (size_t)size);
}

static void begin_doctype(void *context, const char *name, const char *system, const char *public,
			  int subset) {
	struct reading *reading = context;
	reading->doctype = true;
	XML_StopParser(reading->parser, XML_FALSE);
}

static int read_cases(struct reading *reading, size_t size, char why[256]) {
	if (size >= INT_MAX) {
		snprintf(why, 256, "too large");
		return -EINVAL;
	}
	if (size >= 2 &&
	    (memchr(reading->text, 0, MIN(size, (size_t)4)) || (uint8_t)reading->text[0] >= 0xfe)) {
		snprintf(why, 256, "neither UTF-8 nor another encoding that extends ASCII");
		return -EINVAL;
	}
	reading->parser = XML_ParserCreate(NULL);
	if (!reading->parser)
		memory_exhausted();
	XML_SetUserData(reading->parser, reading);
	XML_SetElementHandler(reading->parser, begin_element, end_element);
	XML_SetCharacterDataHandler(reading->parser, take_text);
	XML_SetStartDoctypeDeclHandler(reading->parser, begin_doctype);
	bool good = XML_Parse(reading->parser, reading->text, (int)size, 1) == XML_STATUS_OK;
	if (!good && reading->doctype)
		snprintf(why, 256, "it has a DOCTYPE, which JUnit files do not need");
	else if (!good)
		snprintf(why, 256, "line %lu: %s", XML_GetCurrentLineNumber(reading->parser),
			 XML_ErrorString(XML_GetErrorCode(reading->parser)));
	else if (reading->lost)
		snprintf(why, 256, "its tags cannot be located in its encoding");
	else if (!reading->cases.count)
		snprintf(why, 256, "it has no test cases (<testcase>)");
	XML_ParserFree(reading->parser);
	return good && !reading->lost && reading->cases.count ? 0 : -EINVAL;
}

// ---- which record belongs to which case ----

struct keyed {
	char *key;
	size_t index;
};

static int compare_keyed(const void *one, const void *other) {
	const struct keyed *left = one, *right = other;
	int order = strcmp(left->key, right->key);
	return order ? order : (left->index > right->index) - (left->index < right->index);
}

// The first of those with this key; *same is how many there are.
static const struct keyed *find_key(const struct keyed *sorted, size_t count, const char *key, size_t *same) {
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(sorted[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (*same = 0; low + *same < count && strcmp(sorted[low + *same].key, key) == 0; ++*same)
		;
	return &sorted[low];
}

static void free_keys(struct keyed *keys, size_t count) {
	for (size_t i = 0; i < count; i++)
		free(keys[i].key);
	free(keys);
}

// The cases by their names of one kind: class and name, suite and name, name.
static struct keyed *keys_of_cases(const struct reading *reading, name_key *key, size_t kind) {
	size_t count = reading->cases.count;
	struct keyed *keys = memory_alloc((count + 1) * sizeof(*keys));
	for (size_t i = 0; i < count; i++)
		keys[i] = (struct keyed){key(reading->cases.items[i].names[kind]), i};
	qsort(keys, count, sizeof(*keys), compare_keyed);
	return keys;
}

static const char *true_name(const struct junit_record *record) {
	return record->name ? record->name : record->test;
}

// Gives the records that are `open` to cases whose names are equal on this level.
static void match_level(struct reading *reading, name_key *key, const struct junit_record *records,
			size_t count, bool *open) {
	struct keyed *kinds[3], *wanted = memory_alloc((count + 1) * sizeof(*wanted));
	size_t wanted_count = 0, case_count = reading->cases.count;
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		kinds[kind] = keys_of_cases(reading, key, kind);
	for (size_t i = 0; i < count; i++)
		if (open[i])
			wanted[wanted_count++] = (struct keyed){key(true_name(&records[i])), i};
	qsort(wanted, wanted_count, sizeof(*wanted), compare_keyed);
	for (size_t i = 0, alike; i < wanted_count; i += alike) {
		size_t same = 0;
		const struct keyed *first = NULL;
		find_key(wanted + i, wanted_count - i, wanted[i].key, &alike);
		for (size_t kind = 0; kind < ARRAY_SIZE(kinds) && !same; kind++)
			first = find_key(kinds[kind], case_count, wanted[i].key, &same);
		// Two tests that are alike here cannot be told apart.
		if (alike > 1 || same != 1 || reading->cases.items[first->index].record)
			continue;
		reading->cases.items[first->index].record = &records[wanted[i].index];
		open[wanted[i].index] = false;
	}
	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		free_keys(kinds[kind], case_count);
	free_keys(wanted, wanted_count);
}

// Of several runs of one test only the last is open.
static void open_last_runs(const struct junit_record *records, size_t count, bool *open) {
	struct keyed *names = memory_alloc((count + 1) * sizeof(*names));
	for (size_t i = 0; i < count; i++)
		names[i] = (struct keyed){memory_string(true_name(&records[i])), i};
	qsort(names, count, sizeof(*names), compare_keyed);
	for (size_t i = 0; i < count; i++)
		open[names[i].index] = i + 1 == count || strcmp(names[i].key, names[i + 1].key) != 0;
	free_keys(names, count);
}

static void match(struct reading *reading, const struct junit_record *records, size_t count,
		  struct junit_attached *attached) {
	bool *open = memory_alloc((count + 1) * sizeof(*open));
	open_last_runs(records, count, open);
	for (size_t level = 0; level < ARRAY_SIZE(levels); level++)
		match_level(reading, levels[level], records, count, open);
	for (size_t i = 0; i < count; i++)
		attached->unmatched += open[i];
	free(open);
}

// ---- putting it together ----

// As character references where it is not plain: right in every encoding. False: XML cannot say it.
static bool add_text(struct buffer *out, const char *path) {
	size_t before = out->size;
	for (const uint8_t *at = (const uint8_t *)path; *at; at++) {
		if (*at < 0x20)
			goto refuse;
		if (*at < 0x80 && !strchr("<>&", *at)) {
			buffer_append(out, at, 1);
			continue;
		}
		uint32_t code = *at;
		int more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc0 ? 1 : -1;
		if (more > 0)
			code &= 0x3fu >> more;
		for (; more > 0; more--) {
			if ((*++at & 0xc0) != 0x80)
				goto refuse;
			code = code << 6 | (*at & 0x3f);
		}
		if (more < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
		    (code & 0xfffe) == 0xfffe)
			goto refuse;
		buffer_printf(out, "&#x%x;", code);
	}
	return true;
refuse:
	out->size = before;
	return false;
}

// A function or thread may have any name: it must not name a file to attach.
static void add_why(const struct found_case *test, struct buffer *lines) {
	const char *why = test->record->why;
	if (!why || strstr(why, "[[") || strstr((char *)test->text.data, why))
		return;
	buffer_printf(lines, "\n");
	if (add_text(lines, why))
		buffer_printf(lines, "\n");
	else
		lines->size = 0;
}

// The lines that are not in the case's output yet.
static void lines_for(struct found_case *test, struct buffer *lines) {
	buffer_append(&test->text, "", 1);
	add_why(test, lines);
	for (size_t i = 0; i < test->record->artifact_count; i++) {
		const char *path = test->record->artifacts[i].path;
		CLEANUP_FREE char *line = memory_format("[[ATTACHMENT|%s]]", path);
		if (strstr((char *)test->text.data, line))
			continue;
		size_t before = lines->size;
		buffer_printf(lines, "\n[[ATTACHMENT|");
		if (add_text(lines, path))
			buffer_printf(lines, "]]\n");
		else
			lines->size = before;
	}
}

struct copying {
	const char *text;
	size_t copied;
	struct buffer *out;
};

static void copy_to(struct copying *copying, size_t end) {
	buffer_append(copying->out, copying->text + copying->copied, end - copying->copied);
	copying->copied = end;
}

static void add_to_case(struct copying *copying, struct found_case *test) {
	struct buffer lines = {0};
	if (test->record)
		lines_for(test, &lines);
	if (!lines.size)
		return;
	buffer_append(&lines, "", 1);
	const char *text = (char *)lines.data;
	if (test->tag.empty) {
		copy_to(copying, test->tag.end - 2);
		buffer_printf(copying->out, "><system-out>%s</system-out></testcase>", text);
		copying->copied = test->tag.end;
	} else if (test->out.there && test->out.empty) {
		copy_to(copying, test->out.end - 2);
		buffer_printf(copying->out, ">%s</system-out>", text);
		copying->copied = test->out.end;
	} else if (test->out.there) {
		copy_to(copying, test->out_close);
		buffer_printf(copying->out, "%s", text);
	} else {
		copy_to(copying, test->error ? test->error : test->close);
		buffer_printf(copying->out, "<system-out>%s</system-out>", text);
	}
	buffer_free(&lines);
}

int junit_attach(const char *text, size_t size, const struct junit_record *records, size_t count,
		 struct buffer *out, struct junit_attached *attached, char why[256]) {
	struct reading reading = {.text = text};
	struct copying copying = {.text = text, .out = out};
	*attached = (struct junit_attached){0};
	int error = read_cases(&reading, size, why);
	if (!error) {
		match(&reading, records, count, attached);
		for (size_t i = 0; i < reading.cases.count; i++) {
			add_to_case(&copying, &reading.cases.items[i]);
			attached->matched += reading.cases.items[i].record != NULL;
		}
		copy_to(&copying, size);
		attached->cases = reading.cases.count;
	}
	for (size_t i = 0; i < reading.cases.count; i++) {
		for (size_t kind = 0; kind < 3; kind++)
			free(reading.cases.items[i].names[kind]);
		buffer_free(&reading.cases.items[i].text);
	}
	array_free(&reading.cases);
	buffer_free(&reading.suite);
	return error;
}
