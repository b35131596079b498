// Built-in layouts of the kernel's own events and a few others. tools/etl-kernel
// makes a table of texts from kernel_layouts.txt; each is parsed when its first
// event comes. The text file describes the form of a layout, and which layouts
// count only if they fit exactly.
#include "read/etl/format.h"
#include "read/etl/schema.h"

#include <stdio.h>

struct kernel_class {
	struct etl_guid guid;
	uint16_t group; // from FIRST_CLASSIC on: a class without a group
	const char *provider;
};

// Sorted by group, opcode and version.
struct layout {
	uint16_t group;
	uint8_t opcode, version;
	bool seen;                 // in real files; otherwise it must fit exactly
	const char *name, *fields; // fields: NULL if only the name is known
};

struct named_numbers {
	const char *name, *values;
};

#include "read/etl/kernel_table.h"

// ---- classes and providers known by name ----

static const struct {
	const char *guid, *name;
} providers[] = {
	{"bbccf6c1-6cd1-48c4-80ff-839482e37671", "KernelTraceControl"},
	{"22bc55fe-2116-5adc-12fb-3fadfd7e360c", "OpenVMM"},
	{"aa5de534-d149-487a-9053-05972ba20a7c", "OpenHCL"},
	{"a3ebb6a4-9a26-4e7a-b909-8a22a07527c3", "WindowsPerf Driver WPP"},
};

static bool guid_is(const struct etl_guid *guid, const char *text) {
	struct etl_guid wanted;
	return guid_parse(text, wanted.bytes) && memcmp(guid, &wanted, sizeof(wanted)) == 0;
}

static const struct kernel_class *find_class(const struct etl_guid *guid) {
	for (size_t i = 0; i < ARRAY_SIZE(kernel_classes); i++)
		if (memcmp(guid, &kernel_classes[i].guid, sizeof(*guid)) == 0)
			return &kernel_classes[i];
	return NULL;
}

int etl_kernel_group(const struct etl_guid *guid) {
	const struct kernel_class *class = find_class(guid);
	return class && class->group < FIRST_CLASSIC ? class->group : -1;
}

const char *etl_known_provider(const struct etl_guid *guid) {
	const struct kernel_class *class = find_class(guid);
	if (class && class->group >= FIRST_CLASSIC)
		return class->provider;
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (guid_is(guid, providers[i].guid))
			return providers[i].name;
	return NULL;
}

// ---- from text to schema ----

static const struct {
	const char *name;
	uint16_t in, out, length, flags;
} types[] = {
	{"u8", IN_UINT8, 0, 0, 0},
	{"i8", IN_INT8, 0, 0, 0},
	{"x8", IN_UINT8, OUT_HEX_LAST, 0, 0},
	{"u16", IN_UINT16, 0, 0, 0},
	{"i16", IN_INT16, 0, 0, 0},
	{"x16", IN_UINT16, OUT_HEX_LAST, 0, 0},
	{"u32", IN_UINT32, 0, 0, 0},
	{"i32", IN_INT32, 0, 0, 0},
	{"x32", IN_HEX32, 0, 0, 0},
	{"u64", IN_UINT64, 0, 0, 0},
	{"i64", IN_INT64, 0, 0, 0},
	{"x64", IN_HEX64, 0, 0, 0},
	{"ptr", IN_POINTER, 0, 0, 0},
	{"size", IN_OLD_SIZE, 0, 0, 0},
	{"guid", IN_GUID, 0, 0, 0},
	{"ft", IN_FILETIME, 0, 0, 0},
	{"wstr", IN_UTF16, 0, 0, 0},
	{"astr", IN_ANSI, 0, 0, 0},
	{"sid", IN_OLD_TOKEN_SID, 0, 0, 0},
	{"ip4", IN_UINT32, OUT_IP4, 0, 0},
	{"ip6", IN_BINARY, OUT_IP6, 16, 0},
	{"be16", IN_UINT16, OUT_PORT, 0, 0},
	{"struct", IN_STRUCT, 0, 0, 0},
	{"bytes", IN_BINARY, 0, 0, FIELD_TO_END},
	{"alignptr", IN_ALIGN, 0, 0, 0},
	{"align4", IN_ALIGN, 0, 4, 0},
	{"align8", IN_ALIGN, 0, 8, 0},
};

static void add_entry(struct etl_map *map, uint32_t value, const char *text, size_t length) {
	char *copy = memory_alloc(length + 1);
	memcpy(copy, text, length);
	array_push(&map->entries, (struct etl_map_entry){.value = value, .text = copy});
}

static void fill_map(struct etl_map *map, const char *values) {
	for (uint32_t number = 0; *values; number++) {
		size_t length = strcspn(values, " "), number_length = strcspn(values, "=: ");
		bool numbered = number_length < length;
		const char *text = numbered ? values + number_length + 1 : values;
		map->bits = numbered && values[number_length] == ':';
		add_entry(map, numbered ? (uint32_t)strtoul(values, NULL, 0) : number, text,
			  (size_t)(values + length - text));
		values += length + (values[length] == ' ');
	}
}

static const struct etl_map *builtin_map(struct etl_schemas *schemas, const char *name, size_t length) {
	static const struct etl_guid no_provider;
	char text[16];
	snprintf(text, sizeof(text), "%.*s", (int)length, name);
	const struct etl_map *known = etl_schemas_map(schemas, &no_provider, text);
	if (known)
		return known;
	struct etl_map *map = memory_alloc(sizeof(*map));
	map->name = memory_string(text);
	for (uint32_t i = 0; strcmp(text, "wait") == 0 && i < WAIT_REASON_COUNT; i++)
		add_entry(map, i, event_wait_reasons[i], strlen(event_wait_reasons[i]));
	for (size_t i = 0; i < ARRAY_SIZE(named_numbers); i++)
		if (strcmp(named_numbers[i].name, text) == 0)
			fill_map(map, named_numbers[i].values);
	array_push(&schemas->maps, map);
	return map;
}

static int16_t field_index(const struct etl_schema *schema, const char *name, size_t length) {
	for (size_t i = 0; i < schema->fields.count; i++)
		if (strlen(schema->fields.items[i].name) == length &&
		    !strncmp(schema->fields.items[i].name, name, length))
			return (int16_t)i;
	return -1;
}

// Types with a number are bytes, narrow or wide text of that length.
static void set_type(struct etl_field *field, const char *type, size_t length) {
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strlen(types[i].name) == length && strncmp(types[i].name, type, length) == 0) {
			field->in = types[i].in;
			field->out = types[i].out;
			field->length = types[i].length;
			field->flags = types[i].flags;
			return;
		}
	field->in = *type == 'w' ? IN_UTF16 : *type == 'a' ? IN_ANSI : IN_BINARY;
	field->length = (uint16_t)strtoul(type + 1, NULL, 10);
}

static void set_count(const struct etl_schema *schema, struct etl_field *field, const char *text) {
	size_t length = strcspn(text, "]");
	field->flags |= FIELD_IS_ARRAY | (length ? 0 : FIELD_TO_END);
	if (*text >= '0' && *text <= '9')
		field->count = (uint16_t)strtoul(text, NULL, 10);
	else if (length)
		field->count_field = field_index(schema, text, length);
}

static void add_fields(struct etl_schemas *schemas, struct etl_schema *schema, const char *text, size_t size,
		       char separator);

static void add_described(struct etl_schemas *schemas, struct etl_schema *schema, const char *text,
			  size_t length) {
	char name[64];
	const char *colon = memchr(text, ':', length), *end = text + length;
	size_t type_length = strcspn(colon + 1, " ,[]?{=()");
	const char *suffix = colon + 1 + type_length;
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	size_t place = schema->fields.count;
	struct etl_field *field = etl_schema_add(schema, name, IN_BINARY, 0);
	set_type(field, colon + 1, type_length);
	if (suffix >= end)
		return;
	if (*suffix == '{')
		field->map = builtin_map(schemas, suffix + 1, strcspn(suffix + 1, "}"));
	if (*suffix == '?')
		field->flags |= FIELD_OPTIONAL;
	if (*suffix == '=') {
		field->flags |= FIELD_EXPECTED;
		field->expected = (uint16_t)strtoul(suffix + 1, NULL, 10);
	}
	if (*suffix == '[')
		set_count(schema, field, suffix + 1);
	const char *members = memchr(suffix, '(', (size_t)(end - suffix));
	if (!members)
		return;
	add_fields(schemas, schema, members + 1, (size_t)(end - 1 - (members + 1)), ',');
	schema->fields.items[place].members = (uint16_t)(schema->fields.count - place - 1);
}

static void add_fields(struct etl_schemas *schemas, struct etl_schema *schema, const char *text, size_t size,
		       char separator) {
	for (const char *end = text + size; text < end;) {
		const char *next = memchr(text, separator, (size_t)(end - text));
		add_described(schemas, schema, text, (size_t)((next ? next : end) - text));
		text = next ? next + 1 : end;
	}
}

static struct etl_schema *parse(struct etl_schemas *schemas, const char *name, const char *fields,
				enum etl_tier tier) {
	struct etl_schema *schema = memory_alloc(sizeof(*schema));
	schema->tier = tier;
	schema->name = memory_string(name);
	add_fields(schemas, schema, fields, strlen(fields), ' ');
	return schema;
}

// ---- finding a layout ----

// The first layout of an opcode, and how many there are.
static const struct layout *find_layouts(unsigned group, unsigned opcode, size_t *count) {
	size_t low = 0, high = ARRAY_SIZE(layouts);
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct layout *layout = &layouts[middle];
		if (layout->group < group || (layout->group == group && layout->opcode < opcode))
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < ARRAY_SIZE(layouts); high++)
		if (layouts[high].group != group || layouts[high].opcode != opcode)
			break;
	*count = high - low;
	return &layouts[low];
}

// The layouts for a version, or for the nearest lower one, which must then fit exactly. So must one that has
// never been seen, and all but the last of several.
static struct etl_schema *parse_layouts(struct etl_schemas *schemas, const struct layout *layout,
					size_t count, bool newer, enum etl_tier tier) {
	struct etl_schema *first = NULL, **next = &first;
	for (size_t i = 0; i < count; i++) {
		struct etl_schema *schema = parse(schemas, layout[i].name, layout[i].fields, tier);
		schema->exact = newer || !layout[i].seen || count > 1;
		schema->newer = newer;
		schema->may_be_padded = true;
		*next = schema;
		next = &schema->alternative;
	}
	return first;
}

static const struct etl_schema *find_schema(struct etl_schemas *schemas, unsigned group, unsigned opcode,
					    unsigned version, enum etl_tier tier) {
	size_t count, first = 0, same = 0;
	const struct layout *list = find_layouts(group, opcode, &count);
	for (size_t i = 0; i < count && list[i].version <= version; i++) {
		if (!list[i].fields)
			continue;
		if (!same || list[i].version != list[first].version) {
			first = i;
			same = 0;
		}
		same++;
	}
	if (!same)
		return NULL;
	bool newer = list[first].version < version;
	uint64_t number = (uint64_t)(list + first - layouts) << 1 | newer; // parsed once per file
	uint64_t *index = map_put(&schemas->parsed, number);
	if (!*index) {
		array_push(&schemas->items, parse_layouts(schemas, list + first, same, newer, tier));
		*index = schemas->items.count;
	}
	return schemas->items.items[*index - 1];
}

const struct etl_schema *etl_kernel_schema(struct etl_schemas *schemas, unsigned group, unsigned opcode,
					   unsigned version) {
	return find_schema(schemas, group, opcode, version, TIER_KERNEL);
}

const struct etl_schema *etl_classic_schema(struct etl_schemas *schemas, const struct etl_guid *guid,
					    unsigned opcode, unsigned version) {
	const struct kernel_class *class = find_class(guid);
	return class ? find_schema(schemas, class->group, opcode, version, TIER_CLASSIC) : NULL;
}

const char *etl_kernel_name(unsigned group, unsigned opcode) {
	size_t count;
	const struct layout *list = find_layouts(group, opcode, &count);
	return count ? list->name : NULL;
}

// ---- manifests installed elsewhere ----

void etl_builtin_schemas(struct etl_schemas *schemas) {
	static const struct {
		const char *guid, *provider, *fields;
	} events[] = {
		{"6afccf81-3a0c-411e-a4aa-c4cf02eb840d", "WindowsPerf App",
		 "Core:u64 Event:wstr EventIdx:x32 EventNote:wstr Value:u64"},
		{"9b15b4b5-6979-4ba7-9b26-00c630a4d7b3", "WindowsPerf Driver",
		 "Core:u64 Event:x32 GPCIdx:u32 Value:u64"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		struct etl_schema *schema = parse(schemas, "ReadGPC", events[i].fields, TIER_BUILT_IN);
		guid_parse(events[i].guid, schema->provider.bytes);
		schema->id = 1;
		schema->any_version = true;
		schema->provider_name = memory_string(events[i].provider);
		etl_schemas_add(schemas, schema);
	}
}
