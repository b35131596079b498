// TraceLogging events describe themselves: an extended item holds the event's
// name and its fields, each a name, a type, and optional data after the type.
#include "read/etl/format.h"
#include "read/etl/schema.h"

enum {
	TYPE_MASK = 0x1f,
	TYPE_FIXED_COUNT = 0x20,
	TYPE_PREFIXED = 0x40,
	TYPE_CUSTOM = 0x60,
	TYPE_CHAIN = 0x80,
	MOST_FIELDS = 1024,
	DEEPEST = 8,
};

// Up to 18, TraceLogging has its own numbers for output types.
static unsigned shown_as(unsigned out) {
	static const uint8_t outs[] = {
		[2] = OUT_STRING,
		[3] = OUT_BOOLEAN,
		[4] = OUT_HEX_LAST,
		[7] = OUT_PORT,
		[8] = OUT_IP4,
		[9] = OUT_IP6,
		[10] = OUT_SOCKET_ADDRESS,
		[13] = OUT_WIN32_ERROR,
		[14] = OUT_ERROR_LAST,
		[15] = OUT_ERROR_LAST,
		[16] = OUT_DATETIME,
	};
	return out < ARRAY_SIZE(outs) ? outs[out] : out >= 35 ? out : 0;
}

// Tags use seven bits of each byte; the high bit is clear in the last.
static void skip_tags(struct cursor *in) {
	while (!in->failed && cursor_u8(in) & TYPE_CHAIN)
		;
}

static bool add_field(struct etl_schema *schema, struct cursor *in, unsigned depth) {
	const char *name = cursor_string(in);
	unsigned type = cursor_u8(in), out = 0;
	if (type & TYPE_CHAIN) {
		out = cursor_u8(in);
		if (out & TYPE_CHAIN)
			skip_tags(in);
		out &= 0x7f;
	}
	unsigned arrays = type & TYPE_CUSTOM, kind = type & TYPE_MASK;
	uint16_t count = arrays == TYPE_FIXED_COUNT || arrays == TYPE_CUSTOM ? cursor_u16(in) : 0;
	if (arrays == TYPE_CUSTOM)
		cursor_take(in, count);
	if (in->failed || depth > DEEPEST || schema->fields.count >= MOST_FIELDS)
		return false;
	size_t place = schema->fields.count;
	struct etl_field *field = etl_schema_add(schema, name, kind, kind == IN_STRUCT ? 0 : shown_as(out));
	if (kind == IN_BINARY)
		field->flags |= FIELD_SIZED;
	if (arrays == TYPE_FIXED_COUNT) {
		field->flags |= FIELD_IS_ARRAY;
		field->count = count;
	} else if (arrays == TYPE_PREFIXED) {
		field->flags |= FIELD_IS_ARRAY | FIELD_PREFIXED;
	}
	for (unsigned i = 0; kind == IN_STRUCT && i < out; i++) {
		if (!add_field(schema, in, depth + 1))
			return false;
		schema->fields.items[place].members++;
	}
	return true;
}

struct etl_schema *etl_tracelogging_schema(const struct etl_item *item, char **event_name) {
	struct cursor in = cursor_of(item->data, item->size);
	uint16_t size = cursor_u16(&in);
	if (size >= 2 && (size_t)size - 2 < cursor_left(&in))
		in.end = in.at + size - 2;
	skip_tags(&in);
	const char *name = cursor_string(&in);
	if (in.failed)
		return NULL;
	struct etl_schema *schema = memory_alloc(sizeof(*schema));
	schema->tier = TIER_TRACELOGGING;
	*event_name = memory_string(name);
	while (cursor_left(&in) && add_field(schema, &in, 0))
		;
	return schema;
}

char *etl_traits_name(const struct etl_item *item) {
	struct cursor in = cursor_of(item->data, item->size);
	cursor_u16(&in);
	const char *name = cursor_string(&in);
	return in.failed || !*name ? NULL : memory_string(name);
}
