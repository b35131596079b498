// Turns a payload and its schema into fields. The payload is read through a
// cursor; a field that does not fit ends the decoding, and the fields before it
// count. Text is collected in one buffer that may move while it grows, so until
// the end fields hold offsets into it.
//
// An array becomes one field with its items separated by ", "; so does a list of
// structs.
#include "read/etl/format.h"
#include "read/etl/schema.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_ITEMS = 65536, DEEPEST_STRUCT = 8, MOST_TEXT = 4 << 20 }; // limits for one record

struct decoding {
	struct etl_decoder *decoder;
	struct cursor in;
	const uint8_t *begin;
	uint8_t pointer;
	bool exact; // a string without its end is a failure, unless it is the last field
	bool last;
};

// ---- one value ----

// A value that has been read; text goes to the decoder's buffer.
struct value {
	enum { VALUE_NONE, VALUE_UINT, VALUE_INT, VALUE_HEX, VALUE_REAL, VALUE_BOOL, VALUE_TEXT } type;
	uint64_t number;
	double real;
};

static struct value text_value(void) {
	return (struct value){.type = VALUE_TEXT};
}

static struct value uint_value(uint64_t number) {
	return (struct value){.type = VALUE_UINT, .number = number};
}

static struct value hex_value(uint64_t number) {
	return (struct value){.type = VALUE_HEX, .number = number};
}

static uint64_t take_pointer(struct decoding *decoding) {
	return decoding->pointer == 4 ? cursor_u32(&decoding->in) : cursor_u64(&decoding->in);
}

static struct value take_bytes(struct decoding *decoding, const struct etl_field *field, size_t size) {
	struct buffer *text = &decoding->decoder->text;
	const uint8_t *bytes = cursor_take(&decoding->in, size);
	if (!bytes)
		return (struct value){0};
	if (!decoding->decoder->plain) {
		if (field->out == OUT_IP6 && size == 16) {
			format_ip6(text, bytes);
			return text_value();
		}
		if (field->out == OUT_SOCKET_ADDRESS && format_socket_address(text, bytes, size))
			return text_value();
	}
	format_hex_bytes(text, bytes, size);
	return text_value();
}

static struct value take_utf16(struct decoding *decoding, size_t units) {
	const uint8_t *bytes = cursor_take(&decoding->in, units * 2);
	if (!bytes)
		return (struct value){0};
	struct cursor look = cursor_of(bytes, units * 2);
	size_t count = 0;
	while (count < units && cursor_u16(&look))
		count++;
	format_utf16(&decoding->decoder->text, bytes, count);
	return text_value();
}

static struct value take_ansi(struct decoding *decoding, size_t size) {
	const uint8_t *bytes = cursor_take(&decoding->in, size);
	if (!bytes)
		return (struct value){0};
	buffer_append(&decoding->decoder->text, bytes, strnlen((const char *)bytes, size));
	return text_value();
}

// Whether characters of this width are text: no control characters, and nothing that only a character
// set could explain.
static bool is_plain(const uint8_t *bytes, size_t size, size_t width) {
	for (size_t i = 0; i + width <= size; i += width)
		if (bytes[i] < ' ' || bytes[i] > '~' || (width == 2 && bytes[i + 1]))
			return false;
	return size > 0;
}

// Up to the NUL, or to the end of the payload if there is none.
static struct value take_ansi_terminated(struct decoding *decoding) {
	size_t left = cursor_left(&decoding->in);
	size_t length = strnlen((const char *)decoding->in.at, left);
	if (decoding->exact && length == left && !(decoding->last && is_plain(decoding->in.at, length, 1)))
		decoding->in.failed = true;
	struct value value = take_ansi(decoding, length);
	cursor_take(&decoding->in, length < left);
	return value;
}

static struct value take_sid(struct decoding *decoding) {
	struct buffer *text = &decoding->decoder->text;
	if (format_sid(text, &decoding->in))
		return text_value();
	decoding->in.failed = true;
	return (struct value){0};
}

// A SID after a TOKEN_USER; zero means none.
static struct value take_token_sid(struct decoding *decoding) {
	struct cursor look = decoding->in;
	if (cursor_u32(&look) == 0) {
		decoding->in = look;
		return (struct value){0};
	}
	cursor_take(&decoding->in, 2u * decoding->pointer);
	return take_sid(decoding);
}

static struct value take_systemtime(struct decoding *decoding) {
	uint16_t parts[8];
	struct buffer *text = &decoding->decoder->text;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		parts[i] = cursor_u16(&decoding->in);
	for (size_t i = 0; decoding->decoder->plain && i < ARRAY_SIZE(parts); i++)
		buffer_printf(text, i ? ", %u" : "%u", parts[i]);
	if (!decoding->decoder->plain)
		format_systemtime(text, parts);
	return text_value();
}

static struct value take_filetime(struct decoding *decoding) {
	uint64_t time = cursor_u64(&decoding->in);
	if (decoding->decoder->plain)
		return uint_value(time);
	format_filetime(&decoding->decoder->text, time);
	return text_value();
}

static struct value take_float(struct decoding *decoding) {
	float value;
	cursor_copy(&decoding->in, &value, sizeof(value));
	return (struct value){.type = VALUE_REAL, .real = (double)value};
}

static struct value take_double(struct decoding *decoding) {
	double value;
	cursor_copy(&decoding->in, &value, sizeof(value));
	return (struct value){.type = VALUE_REAL, .real = value};
}

static struct value take_guid(struct decoding *decoding) {
	const uint8_t *bytes = cursor_take(&decoding->in, sizeof(struct etl_guid));
	if (!bytes)
		return (struct value){0};
	format_guid(&decoding->decoder->text, bytes);
	return text_value();
}

static struct value take_integer(struct decoding *decoding, const struct etl_field *field) {
	static const struct {
		uint8_t size;
		bool sign;
	} integers[] = {
		[IN_INT8] = {1, true},    [IN_UINT8] = {1, false},  [IN_INT16] = {2, true},
		[IN_UINT16] = {2, false}, [IN_INT32] = {4, true},   [IN_UINT32] = {4, false},
		[IN_INT64] = {8, true},   [IN_UINT64] = {8, false}, [IN_BOOLEAN] = {4, false},
		[IN_HEX32] = {4, false},  [IN_HEX64] = {8, false},
	};
	uint64_t number = 0;
	unsigned size = integers[field->in].size;
	cursor_copy(&decoding->in, &number, size);
	if (integers[field->in].sign) {
		unsigned shift = 64 - 8 * size;
		return (struct value){.type = VALUE_INT,
				      .number = (uint64_t)((int64_t)(number << shift) >> shift)};
	}
	if (field->out == OUT_PORT && size == 2)
		return uint_value((number & 0xff) << 8 | number >> 8);
	if (field->out == OUT_IP4 && size == 4) {
		format_ip4(&decoding->decoder->text, (const uint8_t *)&number);
		return text_value();
	}
	if (decoding->decoder->plain)
		return uint_value(number);
	if (field->out == OUT_STRING && size <= 2 && number) { // a character
		format_utf16(&decoding->decoder->text, (const uint8_t *)&number, 1);
		return text_value();
	}
	if (field->in == IN_BOOLEAN || field->out == OUT_BOOLEAN)
		return (struct value){.type = VALUE_BOOL, .number = number};
	if (field->out == OUT_DATETIME && size == 8) {
		format_filetime(&decoding->decoder->text, number);
		return text_value();
	}
	bool hex = field->in == IN_HEX32 || field->in == IN_HEX64 ||
		   (field->out >= OUT_HEX_FIRST && field->out <= OUT_HEX_LAST) ||
		   (field->out >= OUT_ERROR_FIRST && field->out <= OUT_ERROR_LAST) ||
		   field->out == OUT_CODE_POINTER;
	return hex ? hex_value(number) : uint_value(number);
}

static size_t length_of(const struct decoding *decoding, const struct etl_field *field) {
	return field->length_field >= 0 && (size_t)field->length_field < decoding->decoder->numbers.count
		       ? (size_t)MIN(decoding->decoder->numbers.items[field->length_field],
				     (uint64_t)UINT32_MAX)
		       : field->length;
}

// A string ends with a NUL. Some providers leave it out at the end of a payload; then what is there
// must at least be text.
static bool ends_well(const struct decoding *decoding) {
	struct cursor look = decoding->in;
	while (cursor_left(&look) >= 2)
		if (!cursor_u16(&look))
			return true;
	return decoding->last && !cursor_left(&look) &&
	       is_plain(decoding->in.at, cursor_left(&decoding->in), 2);
}

// Strings with an explicit length; reversed strings have the length in network byte order.
static struct value take_string(struct decoding *decoding, const struct etl_field *field) {
	size_t left = cursor_left(&decoding->in), length;
	switch (field->in) {
	case IN_UTF16:
		length = length_of(decoding, field);
		if (length || field->length_field >= 0)
			return take_utf16(decoding, decoding->exact ? length : MIN(length, left / 2));
		if (decoding->exact && !ends_well(decoding))
			decoding->in.failed = true;
		format_utf16_terminated(&decoding->decoder->text, &decoding->in);
		return text_value();
	case IN_ANSI:
		length = length_of(decoding, field);
		return length || field->length_field >= 0
			       ? take_ansi(decoding, decoding->exact ? length : MIN(length, left))
			       : take_ansi_terminated(decoding);
	case IN_COUNTED_UTF16:
	case IN_OLD_COUNTED_UTF16:
		return take_utf16(decoding, cursor_u16(&decoding->in) / 2u);
	case IN_COUNTED_ANSI:
	case IN_OLD_COUNTED_ANSI:
		return take_ansi(decoding, cursor_u16(&decoding->in));
	case IN_OLD_REVERSED_UTF16:
		return take_utf16(decoding, __builtin_bswap16(cursor_u16(&decoding->in)) / 2u);
	case IN_OLD_REVERSED_ANSI:
		return take_ansi(decoding, __builtin_bswap16(cursor_u16(&decoding->in)));
	case IN_OLD_REST_UTF16:
		return take_utf16(decoding, left / 2);
	case IN_OLD_REST_ANSI:
		return take_ansi(decoding, left);
	case IN_OLD_CHAR16:
		return take_utf16(decoding, 1);
	default:
		return take_ansi(decoding, 1);
	}
}

static void skip_to_boundary(struct decoding *decoding, size_t boundary) {
	size_t at = (size_t)(decoding->in.at - decoding->begin);
	cursor_take(&decoding->in, (boundary - at % boundary) % boundary);
}

static struct value take_value(struct decoding *decoding, const struct etl_field *field) {
	size_t size;
	switch (field->in) {
	case IN_INT8 ... IN_UINT64:
	case IN_BOOLEAN:
	case IN_HEX32:
	case IN_HEX64:
		return take_integer(decoding, field);
	case IN_POINTER:
		return decoding->decoder->plain ? uint_value(take_pointer(decoding))
						: hex_value(take_pointer(decoding));
	case IN_OLD_SIZE:
		return uint_value(take_pointer(decoding));
	case IN_FLOAT:
		return take_float(decoding);
	case IN_DOUBLE:
		return take_double(decoding);
	case IN_GUID:
		return take_guid(decoding);
	case IN_FILETIME:
		return take_filetime(decoding);
	case IN_SYSTEMTIME:
		return take_systemtime(decoding);
	case IN_SID:
		return take_sid(decoding);
	case IN_OLD_TOKEN_SID:
		return take_token_sid(decoding);
	case IN_COUNTED_BINARY:
		size = cursor_u16(&decoding->in);
		return take_bytes(decoding, field, size);
	case IN_BINARY:
	case IN_OLD_HEXDUMP:
		if (field->in == IN_OLD_HEXDUMP)
			size = cursor_u32(&decoding->in);
		else if (field->flags & FIELD_SIZED)
			size = cursor_u16(&decoding->in);
		else if (field->flags & FIELD_TO_END)
			size = cursor_left(&decoding->in);
		else
			size = length_of(decoding, field);
		return take_bytes(decoding, field, size);
	case IN_ALIGN:
		skip_to_boundary(decoding, field->length ? field->length : decoding->pointer);
		return (struct value){0};
	case IN_NULL:
		return (struct value){0};
	default:
		return take_string(decoding, field);
	}
}

// ---- maps ----

static bool append_map(struct buffer *text, const struct etl_map *map, uint64_t number) {
	size_t begin = text->size;
	for (size_t i = 0; i < map->entries.count; i++) {
		const struct etl_map_entry *entry = &map->entries.items[i];
		bool set = map->bits ? entry->value && (number & entry->value) == entry->value
				     : number == entry->value;
		if (!set)
			continue;
		if (text->size > begin)
			buffer_append(text, "|", 1);
		buffer_append(text, entry->text, strlen(entry->text));
		if (!map->bits)
			return true;
		number &= ~(uint64_t)entry->value;
	}
	if (map->bits && number && text->size > begin) {
		buffer_append(text, "|", 1);
		format_hex(text, number);
	}
	return text->size > begin;
}

// ---- fields ----

static void append_value(struct buffer *text, const struct value *value) {
	switch (value->type) {
	case VALUE_UINT:
		format_uint(text, value->number);
		break;
	case VALUE_INT:
		if ((int64_t)value->number < 0)
			buffer_append(text, "-", 1);
		format_uint(text, (int64_t)value->number < 0 ? -value->number : value->number);
		break;
	case VALUE_HEX:
		format_hex(text, value->number);
		break;
	case VALUE_REAL:
		buffer_printf(text, "%g", value->real);
		break;
	case VALUE_BOOL:
		buffer_append(text, value->number ? "true" : "false", value->number ? 4 : 5);
		break;
	case VALUE_TEXT: // already in the buffer
	case VALUE_NONE:
		break;
	}
}

// Until the end of the record, a text field holds the offset where its text begins.
static void push_text(struct etl_decoder *decoder, char *name, size_t begin) {
	array_push(&decoder->fields, (struct event_field){.name = name,
							  .type = FIELD_TEXT,
							  .text = (const char *)(uintptr_t)begin,
							  .size = decoder->text.size - begin});
}

static void push_value(struct etl_decoder *decoder, const struct etl_field *field, const struct value *value,
		       size_t begin) {
	struct event_field out = {.name = field->name, .uint = value->number};
	bool number = value->type == VALUE_UINT || value->type == VALUE_INT || value->type == VALUE_HEX;
	if (number && field->map && !decoder->plain &&
	    append_map(&decoder->text, field->map, value->number)) {
		push_text(decoder, field->name, begin);
		return;
	}
	switch (value->type) {
	case VALUE_NONE:
		return;
	case VALUE_TEXT:
		push_text(decoder, field->name, begin);
		return;
	case VALUE_UINT:
		out.type = FIELD_UINT;
		break;
	case VALUE_INT:
		out.type = FIELD_INT;
		break;
	case VALUE_HEX:
		out.type = FIELD_HEX;
		break;
	case VALUE_REAL:
		out.type = FIELD_DOUBLE;
		out.real = value->real;
		break;
	case VALUE_BOOL:
		out.type = FIELD_BOOL;
		break;
	}
	array_push(&decoder->fields, out);
}

static size_t items_of(struct decoding *decoding, const struct etl_field *field) {
	size_t count = field->count;
	if (field->flags & FIELD_PREFIXED)
		count = cursor_u16(&decoding->in);
	else if (field->count_field >= 0 && (size_t)field->count_field < decoding->decoder->numbers.count)
		count = (size_t)MIN(decoding->decoder->numbers.items[field->count_field],
				    (uint64_t)MOST_ITEMS);
	else if (field->flags & FIELD_TO_END)
		count = MOST_ITEMS;
	return count;
}

static void append_struct(struct decoding *decoding, const struct etl_schema *schema, size_t index,
			  unsigned depth);

// Appends one item of a list as text.
static void append_item(struct decoding *decoding, const struct etl_schema *schema, size_t index,
			unsigned depth) {
	const struct etl_field *field = &schema->fields.items[index];
	struct buffer *text = &decoding->decoder->text;
	if (field->in == IN_STRUCT) {
		append_struct(decoding, schema, index, depth);
		return;
	}
	struct value value = take_value(decoding, field);
	if (value.type < VALUE_REAL)
		decoding->decoder->numbers.items[index] = value.number;
	bool number = value.type == VALUE_UINT || value.type == VALUE_INT || value.type == VALUE_HEX;
	if (!(number && field->map && !decoding->decoder->plain &&
	      append_map(text, field->map, value.number)))
		append_value(text, &value);
}

static void append_list(struct decoding *decoding, const struct etl_schema *schema, size_t index,
			unsigned depth) {
	const struct etl_field *field = &schema->fields.items[index];
	size_t count = items_of(decoding, field);
	for (size_t i = 0; i < count && !decoding->in.failed &&
			   (cursor_left(&decoding->in) || !(field->flags & FIELD_TO_END));
	     i++) {
		// An item without a size (an empty struct) could repeat forever.
		const uint8_t *before = decoding->in.at;
		if (i)
			buffer_append(&decoding->decoder->text, ", ", 2);
		append_item(decoding, schema, index, depth);
		decoding->in.failed |= decoding->decoder->text.size > MOST_TEXT;
		if (decoding->in.at == before)
			break;
	}
}

static size_t skip_members(const struct etl_schema *schema, size_t index) {
	size_t left = 1;
	while (left && index < schema->fields.count) {
		left += schema->fields.items[index].in == IN_STRUCT ? schema->fields.items[index].members : 0;
		left--;
		index++;
	}
	return index;
}

static void append_struct(struct decoding *decoding, const struct etl_schema *schema, size_t index,
			  unsigned depth) {
	struct buffer *text = &decoding->decoder->text;
	size_t members = schema->fields.items[index].members, at = index + 1;
	buffer_append(text, "{", 1);
	for (size_t i = 0;
	     i < members && at < schema->fields.count && depth < DEEPEST_STRUCT && !decoding->in.failed;
	     i++) {
		const struct etl_field *member = &schema->fields.items[at];
		if (i)
			buffer_append(text, " ", 1);
		buffer_append(text, member->name, strlen(member->name));
		buffer_append(text, "=", 1);
		if (member->flags & FIELD_IS_ARRAY)
			append_list(decoding, schema, at, depth + 1);
		else
			append_item(decoding, schema, at, depth + 1);
		at = skip_members(schema, at);
	}
	buffer_append(text, "}", 1);
}

static void take_field(struct decoding *decoding, const struct etl_schema *schema, size_t index) {
	struct etl_decoder *decoder = decoding->decoder;
	const struct etl_field *field = &schema->fields.items[index];
	size_t begin = decoder->text.size;
	if (field->flags & FIELD_OPTIONAL && !cursor_left(&decoding->in))
		return;
	if (field->flags & FIELD_IS_ARRAY || field->in == IN_STRUCT) {
		if (field->flags & FIELD_IS_ARRAY)
			append_list(decoding, schema, index, 0);
		else
			append_struct(decoding, schema, index, 0);
		push_text(decoder, field->name, begin);
		return;
	}
	struct value value = take_value(decoding, field);
	if (field->flags & FIELD_EXPECTED && value.number != field->expected)
		decoding->in.failed = true;
	if (decoding->in.failed)
		return;
	if (value.type < VALUE_REAL)
		decoder->numbers.items[index] = value.number;
	push_value(decoder, field, &value, begin);
}

static void fix_texts(struct etl_decoder *decoder) {
	buffer_room(&decoder->text, 1); // so that even an empty text has an address
	for (size_t i = 0; i < decoder->fields.count; i++)
		if (decoder->fields.items[i].type == FIELD_TEXT)
			decoder->fields.items[i].text = (const char *)decoder->text.data +
							(uintptr_t)decoder->fields.items[i].text;
}

static void decode_raw(struct etl_decoder *decoder, const struct etl_record *record) {
	static char payload_name[] = "Payload";
	decoder->fields.count = 0;
	decoder->text.size = 0;
	decoder->raw = true;
	if (!record->size)
		return;
	format_hex_bytes(&decoder->text, record->payload, record->size);
	push_text(decoder, payload_name, 0);
	fix_texts(decoder);
}

// What a provider wrote after the fields that it describes.
static void push_rest(struct decoding *decoding) {
	static char rest_name[] = "Rest";
	struct buffer *text = &decoding->decoder->text;
	size_t begin = text->size;
	format_hex_bytes(text, decoding->in.at, cursor_left(&decoding->in));
	push_text(decoding->decoder, rest_name, begin);
}

// The kernel writes structs as they are in memory, with padding at their end.
static bool is_padding(size_t left, size_t size) {
	return left < 8 && size % 4 == 0;
}

// Whether the schema fits.
static bool decode_with(struct etl_decoder *decoder, const struct etl_record *record,
			const struct etl_schema *schema) {
	struct decoding decoding = {.decoder = decoder,
				    .in = cursor_of(record->payload, record->size),
				    .begin = record->payload,
				    .pointer = record->pointer,
				    .exact = schema->exact};
	decoder->fields.count = 0;
	decoder->text.size = 0;
	array_reserve(&decoder->numbers, schema->fields.count);
	decoder->numbers.count = schema->fields.count;
	for (size_t i = 0; i < decoder->numbers.count; i++)
		decoder->numbers.items[i] = 0;
	for (size_t i = 0; i < schema->fields.count && !decoding.in.failed; i = skip_members(schema, i)) {
		decoding.last = i + 1 == schema->fields.count && !schema->newer;
		take_field(&decoding, schema, i);
	}
	decoder->failed = decoding.in.failed;
	decoder->left = decoding.in.failed ? 0 : cursor_left(&decoding.in);
	if (decoder->left && schema->may_be_padded && is_padding(decoder->left, record->size))
		decoder->left = 0;
	if (schema->exact)
		return !decoder->failed && !decoder->left;
	if (decoder->left)
		push_rest(&decoding);
	return true;
}

void etl_decode(struct etl_decoder *decoder, const struct etl_record *record,
		const struct etl_schema *schema) {
	decoder->failed = decoder->raw = false;
	decoder->left = 0;
	while (schema && !decode_with(decoder, record, schema))
		schema = schema->alternative;
	if (schema)
		fix_texts(decoder);
	else
		decode_raw(decoder, record);
}

void etl_decoder_free(struct etl_decoder *decoder) {
	array_free(&decoder->fields);
	array_free(&decoder->numbers);
	buffer_free(&decoder->text);
}

const struct event_field *etl_decoded_field(const struct etl_decoder *decoder, const char *name) {
	for (size_t i = 0; i < decoder->fields.count; i++)
		if (strcmp(decoder->fields.items[i].name, name) == 0)
			return &decoder->fields.items[i];
	return NULL;
}

bool etl_decoded_number(const struct etl_decoder *decoder, const char *name, uint64_t *value) {
	const struct event_field *field = etl_decoded_field(decoder, name);
	if (!field || field->type == FIELD_TEXT || field->type == FIELD_DOUBLE)
		return false;
	*value = field->uint;
	return true;
}
