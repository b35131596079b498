// The text of an event, as its manifest words it: "%1" stands for the value of its first field.
#include "read/etl/schema.h"

#include <string.h>

enum { LONGEST = 4096 }; // a message that repeats a long value could be huge

// Usually the decoded fields are those of the schema, in its order, and have the very same names.
static const struct event_field *value_of(const struct etl_decoder *decoder, const struct etl_schema *schema,
					  unsigned number) {
	if (!number || number > schema->fields.count)
		return NULL;
	const char *name = schema->fields.items[number - 1].name;
	bool same = number <= decoder->fields.count && decoder->fields.items[number - 1].name == name;
	return same ? &decoder->fields.items[number - 1] : etl_decoded_field(decoder, name);
}

// Handles what follows a percent sign and returns what follows that. A number may have a format, as in
// "%1!u!", which does not matter here; one that no field has stays as it is.
static const char *put_insert(const char *at, const struct etl_decoder *decoder,
			      const struct etl_schema *schema, struct buffer *out) {
	static const char marks[] = "ntr", texts[] = "\n\t";
	const char *mark = *at ? strchr(marks, *at) : NULL;
	if (mark) {
		buffer_append(out, &texts[mark - marks], *mark != 'r');
		return at + 1;
	}
	size_t digits = strspn(at, "0123456789");
	unsigned number = digits && digits <= 2 ? (unsigned)strtoul(at, NULL, 10) : 0;
	const struct event_field *field = value_of(decoder, schema, number);
	if (!field) {
		bool escaped = *at && strchr("%!. b", *at);
		if (!escaped)
			buffer_append(out, "%", 1);
		else
			buffer_append(out, *at == 'b' ? " " : at, 1);
		return at + escaped;
	}
	field_print(out, field);
	at += digits;
	const char *end = *at == '!' ? strchr(at + 1, '!') : NULL;
	return end ? end + 1 : at;
}

bool etl_message_text(const struct etl_decoder *decoder, const struct etl_schema *schema,
		      struct buffer *out) {
	out->size = 0;
	if (!schema || !schema->message || decoder->raw || decoder->failed)
		return false;
	for (const char *at = schema->message; *at && out->size < LONGEST;) {
		size_t plain = strcspn(at, "%");
		buffer_append(out, at, plain);
		at += plain;
		if (*at)
			at = put_insert(at + 1, decoder, schema, out);
	}
	out->size = MIN(out->size, (size_t)LONGEST);
	while (out->size && strchr(" \r\n\t", out->data[out->size - 1]))
		out->size--;
	bool found = out->size;
	buffer_append(out, "", 1);
	return found;
}
