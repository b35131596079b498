// The layouts of the events of Windows' own providers and of .NET, built into the
// program: for files that were not merged, which contain no descriptions.
//
// tools/etl-providers makes the table from providers.tsv.xz at build time. It is
// searched as it is, so nothing is parsed at start: a GUID by bisection, then the
// events of its provider one after the other, up to some two thousand of a few
// bytes. The reader asks once for each type of event.
//
// The layouts come from other builds of Windows than the file's. A schema from here
// is therefore `exact`: it decodes an event only if it consumes the payload to the
// last byte.
#include "read/etl/schema.h"

// Distances say how many fields earlier the count or length is; 0 if none.
struct provider_field_type {
	uint8_t in, out;
	uint16_t count;
	uint8_t count_distance;
	uint16_t length;
	uint8_t length_distance, members;
};

#include "read/etl/provider_table.h"

enum { LONGEST_STRING = 256 };

// ---- strings ----

// A string is the length that it shares with the one before it, its rest, and a NUL. Bytes from
// PROVIDER_FIRST_PART on stand for frequent parts.
static void take_string(struct cursor *in, char *text) {
	size_t length = cursor_u8(in);
	for (uint8_t byte; (byte = cursor_u8(in)) && length < LONGEST_STRING - 1;) {
		if (byte < PROVIDER_FIRST_PART) {
			text[length++] = (char)byte;
			continue;
		}
		const char *part = provider_parts[byte - PROVIDER_FIRST_PART];
		while (*part && length < LONGEST_STRING - 1)
			text[length++] = *part++;
	}
	text[length] = 0;
}

// The text is valid until the next call with the same memory.
static const char *string_at(uint32_t number, char text[LONGEST_STRING]) {
	uint32_t begin = provider_string_blocks[number / PROVIDER_BLOCK];
	struct cursor in = cursor_of(provider_string_bytes + begin, sizeof(provider_string_bytes) - begin);
	for (uint32_t i = 0; i <= number % PROVIDER_BLOCK; i++)
		take_string(&in, text);
	return text;
}

static char *string_copy(uint32_t number) {
	char text[LONGEST_STRING];
	return *string_at(number, text) ? memory_string(text) : NULL;
}

// ---- providers and events ----

static int find_provider(const struct etl_guid *guid) {
	size_t low = 0, high = PROVIDER_COUNT;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = memcmp(guid, provider_guids + middle * sizeof(*guid), sizeof(*guid));
		if (!order)
			return (int)middle;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

bool etl_installed_guid(size_t index, struct etl_guid *guid) {
	if (index < PROVIDER_COUNT)
		memcpy(guid, provider_guids + index * sizeof(*guid), sizeof(*guid));
	return index < PROVIDER_COUNT;
}

bool etl_installed_provider(const struct etl_guid *guid, struct buffer *out) {
	char text[LONGEST_STRING];
	int provider = find_provider(guid);
	if (provider < 0)
		return false;
	string_at(provider_names[provider], text);
	buffer_append(out, text, strlen(text));
	return true;
}

struct listed_event {
	uint32_t id, version, layout, task, opcode; // task, opcode: strings; layout: 0 if unknown
	enum { OPCODE_NONE, OPCODE_START, OPCODE_STOP, OPCODE_NAMED } opcode_kind;
};

// Moves on to the next event. Bits of its first byte: 0-2 how much its id is greater (7: the rest
// follows), 3 a version follows, 4 and 5 same layout, same task as the event before, 6-7 the opcode.
static void take_event(struct cursor *in, struct listed_event *event) {
	uint8_t first = cursor_u8(in);
	event->id += first & 7;
	if ((first & 7) == 7)
		event->id += (uint32_t)cursor_varint(in);
	event->version = first & 8 ? cursor_u8(in) : 0;
	if (!(first & 16))
		event->layout = (uint32_t)cursor_varint(in);
	if (!(first & 32))
		event->task = (uint32_t)cursor_varint(in);
	event->opcode_kind = first >> 6;
	event->opcode = event->opcode_kind == OPCODE_NAMED ? (uint32_t)cursor_varint(in) : 0;
}

// The layouts for this version, or for the newest if all that are known are older; at most `most`.
static size_t find_events(int provider, unsigned id, unsigned version, struct listed_event *found,
			  size_t most) {
	uint32_t begin = provider_events[provider], end = provider_events[provider + 1];
	struct cursor in = cursor_of(provider_event_bytes + begin, end - begin);
	struct listed_event event = {0};
	size_t count = 0;
	bool newer = false;
	while (cursor_left(&in) && event.id <= id) {
		take_event(&in, &event);
		if (event.id != id)
			continue;
		newer |= event.version > version;
		if (event.version > version)
			continue;
		if (count && found[count - 1].version != event.version)
			count = 0;
		if (count < most)
			found[count++] = event;
	}
	return count && newer && found[0].version != version ? 0 : count;
}

// ---- layouts ----

static void add_field(struct etl_schema *schema, uint32_t number) {
	char name[LONGEST_STRING];
	const struct provider_field_type *type = &provider_field_types[provider_field_kinds[number]];
	int place = (int)schema->fields.count;
	struct etl_field *field = etl_schema_add(schema, string_at(provider_field_names[number], name),
						 type->in, type->out);
	field->count = type->count;
	field->length = type->length;
	field->members = type->members;
	if (type->count_distance)
		field->count_field = (int16_t)(place - type->count_distance);
	if (type->length_distance)
		field->length_field = (int16_t)(place - type->length_distance);
	if (type->count || type->count_distance)
		field->flags |= FIELD_IS_ARRAY;
}

static void add_fields(struct etl_schema *schema, uint32_t list) {
	uint32_t begin = provider_list_blocks[list / PROVIDER_BLOCK];
	struct cursor in = cursor_of(provider_list_bytes + begin, sizeof(provider_list_bytes) - begin);
	for (uint32_t i = 0; i < list % PROVIDER_BLOCK; i++)
		for (uint64_t left = cursor_varint(&in); left; left--)
			cursor_varint(&in);
	for (uint64_t left = cursor_varint(&in); left; left--)
		add_field(schema, (uint32_t)cursor_varint(&in));
}

static struct etl_schema *schema_of(const struct etl_guid *guid, int provider, unsigned version,
				    const struct listed_event *event) {
	static const char *const opcodes[] = {[OPCODE_START] = "Start", [OPCODE_STOP] = "Stop"};
	struct etl_schema *schema = memory_alloc(sizeof(*schema));
	schema->provider = *guid;
	schema->id = (uint16_t)event->id;
	schema->version = (uint8_t)event->version;
	schema->tier = TIER_BUILT_IN;
	schema->exact = true;
	schema->newer = event->version < version;
	schema->provider_name = string_copy(provider_names[provider]);
	schema->task_name = string_copy(event->task);
	if (event->opcode_kind == OPCODE_NAMED)
		schema->opcode_name = string_copy(event->opcode);
	else if (event->opcode_kind != OPCODE_NONE)
		schema->opcode_name = memory_string(opcodes[event->opcode_kind]);
	if (event->layout)
		add_fields(schema, event->layout - 1);
	etl_schema_count_frames(schema);
	return schema;
}

struct etl_schema *etl_provider_schema(const struct etl_guid *guid, unsigned id, unsigned version) {
	enum { MOST_LAYOUTS = 8 };
	struct listed_event events[MOST_LAYOUTS];
	struct etl_schema *first = NULL, **next = &first;
	int provider = find_provider(guid);
	size_t count = provider < 0 ? 0 : find_events(provider, id, version, events, MOST_LAYOUTS);
	for (size_t i = 0; i < count; i++) {
		*next = schema_of(guid, provider, version, &events[i]);
		next = &(*next)->alternative;
	}
	return first;
}
