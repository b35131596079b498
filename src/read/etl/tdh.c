// Schemas that merging put into the file: TRACE_EVENT_INFO and EVENT_MAP_INFO,
// the structs that Windows' own decoder returns. All names are offsets of UTF-16
// text from the beginning of the struct.
#include "read/etl/format.h"
#include "read/etl/schema.h"

enum {
	PROPERTY_STRUCT = 1,
	PROPERTY_LENGTH_FIELD = 2,
	PROPERTY_COUNT_FIELD = 4,
	PROPERTY_FIXED_COUNT = 0x20,
	MAP_BITS = 2,
	SOURCE_CLASS = 1,        // origin of a description: an old class
	SOURCE_TRACELOGGING = 3, // or the event itself, which contains it anyway
	MOST_PROPERTIES = 4096,
	MOST_ENTRIES = 65536,
};

// The text at an offset, or NULL; names of tasks and opcodes end with a space.
static char *text_at(const uint8_t *bytes, size_t size, uint32_t offset) {
	if (!offset || offset >= size)
		return NULL;
	struct cursor in = cursor_of(bytes + offset, size - offset);
	struct buffer text = {0};
	format_utf16_terminated(&text, &in);
	while (text.size && text.data[text.size - 1] == ' ')
		text.size--;
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

struct property {
	uint32_t flags, name, map;
	uint16_t in, out, count, length;
};

static struct property property_at(const uint8_t *bytes, size_t size, size_t index) {
	enum { FIRST = 112, SIZE = 24 };
	struct property property = {0};
	size_t offset = FIRST + index * SIZE;
	if (offset > size)
		return property;
	struct cursor in = cursor_of(bytes + offset, size - offset);
	property.flags = cursor_u32(&in);
	property.name = cursor_u32(&in);
	property.in = cursor_u16(&in);
	property.out = cursor_u16(&in);
	property.map = cursor_u32(&in);
	property.count = cursor_u16(&in);
	property.length = cursor_u16(&in);
	return in.failed ? (struct property){0} : property;
}

struct building {
	const uint8_t *bytes;
	size_t size;
	struct etl_schema *schema;
	int16_t *places; // property to field
	size_t count;
};

static void add_property(struct building *building, size_t index, unsigned depth) {
	struct property property = property_at(building->bytes, building->size, index);
	bool is_struct = property.flags & PROPERTY_STRUCT;
	CLEANUP_FREE char *name = text_at(building->bytes, building->size, property.name);
	if (depth > 4 || building->schema->fields.count >= MOST_PROPERTIES)
		return;
	size_t place = building->schema->fields.count;
	struct etl_field *field = etl_schema_add(building->schema, name ? name : "",
						 is_struct ? IN_STRUCT : property.in,
						 is_struct ? 0 : property.out);
	building->places[index] = (int16_t)place;
	if (property.flags & PROPERTY_COUNT_FIELD) {
		field->flags |= FIELD_IS_ARRAY;
		field->count_field = property.count < building->count ? building->places[property.count] : -1;
	} else if (property.count > 1 || property.flags & PROPERTY_FIXED_COUNT) {
		field->flags |= FIELD_IS_ARRAY;
		field->count = property.count;
	}
	if (property.flags & PROPERTY_LENGTH_FIELD)
		field->length_field = property.length < building->count ? building->places[property.length]
									: -1;
	else
		field->length = property.length;
	if (!is_struct) {
		// The length of an IPv6 address follows from its type.
		if (property.in == IN_BINARY && property.out == OUT_IP6 && !field->length &&
		    field->length_field < 0)
			field->length = 16;
		field->map_name = text_at(building->bytes, building->size, property.map);
		return;
	}
	uint16_t first = property.in, members = property.out;
	for (size_t i = first; i < (size_t)first + members && i < building->count; i++) {
		add_property(building, i, depth + 1);
		building->schema->fields.items[place].members++;
	}
}

struct etl_schema *etl_tdh_schema(const uint8_t *bytes, size_t size) {
	struct cursor in = cursor_of(bytes, size);
	struct etl_schema *schema = memory_alloc(sizeof(*schema));
	cursor_copy(&in, &schema->provider, sizeof(schema->provider));
	struct etl_guid class;
	cursor_copy(&in, &class, sizeof(class));
	schema->id = cursor_u16(&in);
	schema->version = cursor_u8(&in);
	cursor_take(&in, 2); // channel, level
	uint8_t opcode_number = cursor_u8(&in);
	cursor_take(&in, 10); // task, keyword
	uint32_t source = cursor_u32(&in);
	if (source == SOURCE_CLASS) { // identified by class and opcode
		schema->provider = class;
		schema->id = opcode_number;
	}
	uint32_t provider = cursor_u32(&in);
	cursor_take(&in, 3 * 4); // names of level, channel, keywords
	uint32_t task = cursor_u32(&in), opcode = cursor_u32(&in);
	uint32_t message = cursor_u32(&in);
	cursor_take(&in, 5 * 4); // the provider's message, binary XML, names of activities
	uint32_t count = cursor_u32(&in), top = cursor_u32(&in);
	if (in.failed || source == SOURCE_TRACELOGGING || count > MOST_PROPERTIES || count * 24 > size) {
		free(schema);
		return NULL;
	}
	schema->tier = TIER_EMBEDDED;
	schema->provider_name = source == SOURCE_CLASS ? NULL : text_at(bytes, size, provider);
	schema->task_name = text_at(bytes, size, task);
	schema->opcode_name = text_at(bytes, size, opcode);
	schema->message = text_at(bytes, size, message);
	struct building building = {.bytes = bytes, .size = size, .schema = schema, .count = count};
	building.places = memory_alloc((count + 1) * sizeof(*building.places));
	for (size_t i = 0; i < count; i++)
		building.places[i] = -1;
	for (size_t i = 0; i < MIN(top, count); i++)
		add_property(&building, i, 0);
	free(building.places);
	return schema;
}

struct etl_map *etl_tdh_map(const uint8_t *bytes, size_t size) {
	struct cursor in = cursor_of(bytes, size);
	struct etl_map *map = memory_alloc(sizeof(*map));
	cursor_copy(&in, &map->provider, sizeof(map->provider));
	const uint8_t *info = in.at;
	size_t info_size = cursor_left(&in);
	uint32_t name = cursor_u32(&in);
	map->bits = cursor_u32(&in) & MAP_BITS;
	uint32_t count = cursor_u32(&in);
	cursor_u32(&in);
	if (in.failed || count > MOST_ENTRIES || cursor_left(&in) / 8 < count) {
		free(map);
		return NULL;
	}
	map->name = text_at(info, info_size, name);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t text = cursor_u32(&in), value = cursor_u32(&in);
		char *words = text_at(info, info_size, text);
		if (words)
			array_push(&map->entries, (struct etl_map_entry){.value = value, .text = words});
	}
	return map;
}
