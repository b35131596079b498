// Stores schemas and finds the one for a record: first by the key of its type,
// which is nearly always known. For a type that is new, or that had no schema
// when fewer were known, the sources are searched in the order that the reader's
// documentation gives.
#include "read/etl/schema.h"
#include "read/etl/format.h"

#include <inttypes.h>
#include <stdio.h>

const char *const etl_tier_names[TIER_COUNT] = {
	[TIER_RAW] = "raw",
	[TIER_KERNEL] = "kernel",
	[TIER_KERNEL_FULL] = "kernel-full",
	[TIER_CLASSIC] = "classic",
	[TIER_TRACELOGGING] = "tracelogging",
	[TIER_EVENTSOURCE] = "eventsource",
	[TIER_EMBEDDED] = "embedded-tdh",
	[TIER_MANIFEST] = "man-file",
	[TIER_BUILT_IN] = "built-in",
	[TIER_SCHEMA] = "schema",
	[TIER_WPP] = "wpp-raw",
};

enum { OPCODE_EVENT_INFO = 32, OPCODE_MAP_INFO = 33, EVENT_MANIFEST = 0xfffe };

static const struct etl_guid metadata_guid = {
	{0xc1, 0xf6, 0xcc, 0xbb, 0xd1, 0x6c, 0xc4, 0x48, 0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71}};

static bool same_guid(const struct etl_guid *a, const struct etl_guid *b) {
	return memcmp(a, b, sizeof(*a)) == 0;
}

static uint64_t hash_guid(const struct etl_guid *guid) {
	uint64_t halves[2];
	memcpy(halves, guid, sizeof(halves));
	return hash_u64(halves[0] ^ halves[1] * 0x9e3779b97f4a7c15u);
}

// ---- schemas ----

struct etl_field *etl_schema_add(struct etl_schema *schema, const char *name, unsigned in, unsigned out) {
	array_push(&schema->fields, (struct etl_field){.name = memory_string(name),
						       .in = (uint16_t)in,
						       .out = (uint16_t)out,
						       .count_field = -1,
						       .length_field = -1});
	return &schema->fields.items[schema->fields.count - 1];
}

void etl_schema_free(struct etl_schema *schema) {
	if (!schema)
		return;
	for (size_t i = 0; i < schema->fields.count; i++) {
		free(schema->fields.items[i].name);
		free(schema->fields.items[i].map_name);
	}
	array_free(&schema->fields);
	etl_schema_free(schema->alternative);
	free(schema->provider_name);
	free(schema->name);
	free(schema->task_name);
	free(schema->opcode_name);
	free(schema->message);
	free(schema);
}

static void map_free_one(struct etl_map *map) {
	for (size_t i = 0; i < map->entries.count; i++)
		free(map->entries.items[i].text);
	array_free(&map->entries);
	free(map->name);
	free(map);
}

void etl_schemas_init(struct etl_schemas *schemas) {
	*schemas = (struct etl_schemas){.generation = 1};
	etl_builtin_schemas(schemas);
}

void etl_schemas_free(struct etl_schemas *schemas) {
	for (size_t i = 0; i < schemas->items.count; i++)
		etl_schema_free(schemas->items.items[i]);
	for (size_t i = 0; i < schemas->maps.count; i++)
		map_free_one(schemas->maps.items[i]);
	for (size_t i = 0; i < schemas->types.count; i++) {
		free(schemas->types.items[i]->event_name);
		free(schemas->types.items[i]->first_bytes);
		free(schemas->types.items[i]);
	}
	for (size_t i = 0; i < schemas->names.count; i++)
		free(schemas->names.items[i]);
	for (size_t i = 0; i < schemas->chunks.count; i++)
		buffer_free(&schemas->chunks.items[i]);
	array_free(&schemas->items);
	array_free(&schemas->maps);
	array_free(&schemas->types);
	array_free(&schemas->names);
	array_free(&schemas->chunks);
	map_free(&schemas->by_event);
	map_free(&schemas->type_index);
	map_free(&schemas->providers);
	map_free(&schemas->chunk_index);
	map_free(&schemas->parsed);
	*schemas = (struct etl_schemas){0};
}

enum { ANY_VERSION = 0x100 };

static uint64_t event_hash(const struct etl_guid *provider, unsigned id, unsigned version) {
	return hash_u64(hash_guid(provider) ^ (uint64_t)id << 16 ^ version);
}

static const struct etl_schema *find_event(const struct etl_schemas *schemas, const struct etl_guid *provider,
					   unsigned id, unsigned version) {
	const uint64_t *found;
	for (uint64_t hash = event_hash(provider, id, version); (found = map_get(&schemas->by_event, hash));
	     hash++) {
		const struct etl_schema *schema = schemas->items.items[*found - 1];
		unsigned own = schema->any_version ? ANY_VERSION : schema->version;
		if (schema->id == id && own == version && same_guid(&schema->provider, provider))
			return schema;
	}
	return NULL;
}

void etl_schema_count_frames(struct etl_schema *schema) {
	size_t count = schema->fields.count;
	if (count < 2)
		return;
	struct etl_field *stack = &schema->fields.items[count - 1];
	if (stack->count == 2 && stack->name && strcmp(stack->name, "Stack") == 0 && stack[-1].name &&
	    strcmp(stack[-1].name, "FrameCount") == 0) {
		stack->count = 0;
		stack->count_field = (int16_t)(count - 2);
	}
}

bool etl_schemas_add(struct etl_schemas *schemas, struct etl_schema *schema) {
	etl_schema_count_frames(schema);
	unsigned version = schema->any_version ? ANY_VERSION : schema->version;
	const struct etl_schema *known = find_event(schemas, &schema->provider, schema->id, version);
	if (known && known->tier <= schema->tier) {
		etl_schema_free(schema);
		return false;
	}
	if (schema->provider_name)
		etl_schemas_name(schemas, &schema->provider, schema->provider_name);
	array_push(&schemas->items, schema);
	schemas->generation++;
	uint64_t hash = event_hash(&schema->provider, schema->id, version);
	while (map_get(&schemas->by_event, hash) &&
	       schemas->items.items[*map_get(&schemas->by_event, hash) - 1] != known)
		hash++;
	*map_put(&schemas->by_event, hash) = schemas->items.count;
	return true;
}

const struct etl_map *etl_schemas_map(const struct etl_schemas *schemas, const struct etl_guid *provider,
				      const char *name) {
	for (size_t i = 0; i < schemas->maps.count; i++) {
		const struct etl_map *map = schemas->maps.items[i];
		if (map->name && same_guid(&map->provider, provider) && strcmp(map->name, name) == 0)
			return map;
	}
	return NULL;
}

void etl_schemas_name(struct etl_schemas *schemas, const struct etl_guid *provider, const char *name) {
	uint64_t *index = map_put(&schemas->providers, hash_guid(provider));
	if (*index)
		return;
	array_push(&schemas->names, memory_string(name));
	*index = schemas->names.count;
}

const char *etl_schemas_provider(const struct etl_schemas *schemas, const struct etl_guid *guid) {
	const uint64_t *index = map_get(&schemas->providers, hash_guid(guid));
	return index ? schemas->names.items[*index - 1] : etl_known_provider(guid);
}

// ---- schemas in the file ----

// An event manifest comes in pieces from one provider, in order. A first piece starts over.
static void learn_manifest(struct etl_schemas *schemas, const struct etl_record *record) {
	enum { MAGIC = 0x5b, MOST = 16 << 20 };
	struct cursor in = cursor_of(record->payload, record->size);
	cursor_take(&in, 3); // format, version
	uint8_t magic = cursor_u8(&in);
	uint16_t total = cursor_u16(&in), number = cursor_u16(&in);
	if (in.failed || magic != MAGIC || number >= total)
		return;
	uint64_t *index = map_put(&schemas->chunk_index, hash_guid(record->guid));
	if (!*index) {
		array_push(&schemas->chunks, (struct buffer){0});
		*index = schemas->chunks.count;
	}
	struct buffer *text = &schemas->chunks.items[*index - 1];
	if (number == 0)
		text->size = 0;
	if (text->size + cursor_left(&in) <= MOST)
		buffer_append(text, in.at, cursor_left(&in));
	if (number + 1 < total)
		return;
	char *reason = NULL;
	if (!etl_manifest_read(schemas, (const char *)text->data, text->size, TIER_EVENTSOURCE, &reason))
		schemas->manifests++;
	free(reason);
	text->size = 0;
}

bool etl_schemas_learn(struct etl_schemas *schemas, const struct etl_record *record) {
	if ((record->kind == ETL_FULL32 || record->kind == ETL_FULL64) &&
	    same_guid(record->guid, &metadata_guid)) {
		struct etl_schema *schema = record->opcode == OPCODE_EVENT_INFO
						    ? etl_tdh_schema(record->payload, record->size)
						    : NULL;
		struct etl_map *map = record->opcode == OPCODE_MAP_INFO
					      ? etl_tdh_map(record->payload, record->size)
					      : NULL;
		if (schema) {
			schemas->embedded++;
			etl_schemas_add(schemas, schema);
		}
		if (map && map->name && etl_schemas_map(schemas, &map->provider, map->name))
			map_free_one(map);
		else if (map) {
			array_push(&schemas->maps, map);
			schemas->generation++;
		}
		return true;
	}
	if ((record->kind == ETL_EVENT32 || record->kind == ETL_EVENT64) && record->id == EVENT_MANIFEST) {
		learn_manifest(schemas, record);
		return true;
	}
	return false;
}

// ---- types ----

// What identifies a type; the hash of a TraceLogging event is that of its description.
struct key {
	enum etl_class class;
	const struct etl_guid *guid;
	uint16_t id, version;
	struct etl_item description;
	uint64_t hash;
};

static struct key key_of(const struct etl_record *record) {
	static const struct etl_guid no_guid;
	struct key key = {
		.guid = record->guid ? record->guid : &no_guid, .id = record->id, .version = record->version};
	switch (record->kind) {
	case ETL_SYSTEM32 ... ETL_PERFINFO64:
		key.class = CLASS_KERNEL;
		key.id = (uint16_t)(record->group << 8 | record->opcode);
		key.hash = (uint64_t)key.id << 16 | key.version;
		return key;
	case ETL_FULL32 ... ETL_INSTANCE64:
		key.class = CLASS_CLASSIC;
		key.id = record->opcode;
		break;
	case ETL_WPP:
		key.class = CLASS_WPP;
		key.version = 0;
		break;
	default:
		key.class = CLASS_EVENT;
		if (record->items_size && etl_item_find(record, ETL_ITEM_TRACELOGGING, &key.description))
			key.hash = hash_bytes(key.description.data, key.description.size);
		else
			key.description.size = 0;
	}
	key.hash ^= hash_guid(key.guid) ^ (uint64_t)key.class << 60 ^ (uint64_t)key.id << 16 ^ key.version;
	return key;
}

// Two descriptions with the same event name are one type, as long as the names agree.
static bool is_type(const struct etl_type *type, const struct key *key) {
	return type->class == key->class && type->id == key->id && type->version == key->version &&
	       same_guid(&type->guid, key->guid);
}

static void resolve_maps(struct etl_schemas *schemas, const struct etl_schema *schema) {
	for (size_t i = 0; schema && i < schema->fields.count; i++) {
		struct etl_field *field = &schema->fields.items[i];
		if (field->map_name && !field->map)
			field->map = etl_schemas_map(schemas, &schema->provider, field->map_name);
	}
}

// Looked up once for each type.
static const struct etl_schema *built_in_schema(struct etl_schemas *schemas, struct etl_type *type) {
	if (!type->built_in_sought) {
		struct etl_schema *schema = etl_provider_schema(&type->guid, type->id, type->version);
		if (schema)
			array_push(&schemas->items, schema);
		type->built_in = schema;
		type->built_in_sought = true;
	}
	return type->built_in;
}

static void look_for_schema(struct etl_schemas *schemas, struct etl_type *type) {
	const struct etl_schema *schema = NULL;
	int group;
	switch (type->class) {
	case CLASS_KERNEL:
		schema = etl_kernel_schema(schemas, type->id >> 8, type->id & 0xff, type->version);
		break;
	case CLASS_CLASSIC:
		group = etl_kernel_group(&type->guid);
		schema = group >= 0 ? etl_kernel_schema(schemas, (unsigned)group, type->id, type->version)
				    : etl_classic_schema(schemas, &type->guid, type->id, type->version);
		type->schema = schema ? schema : find_event(schemas, &type->guid, type->id, type->version);
		type->tier = same_guid(&type->guid, &metadata_guid) ? TIER_SCHEMA
			     : schema       ? group >= 0 ? TIER_KERNEL_FULL : TIER_CLASSIC
			     : type->schema ? type->schema->tier
					    : TIER_RAW;
		return;
	case CLASS_WPP:
		type->tier = TIER_WPP;
		return;
	case CLASS_EVENT:
		if (type->id == EVENT_MANIFEST) {
			type->tier = TIER_SCHEMA;
			return;
		}
		schema = find_event(schemas, &type->guid, type->id, type->version);
		if (!schema)
			schema = find_event(schemas, &type->guid, type->id, ANY_VERSION);
		if (!schema)
			schema = built_in_schema(schemas, type);
		resolve_maps(schemas, schema);
	}
	type->schema = schema;
	type->tier = schema ? schema->tier : TIER_RAW;
}

static struct etl_type *add_type(struct etl_schemas *schemas, const struct etl_record *record,
				 const struct key *key) {
	struct etl_type *type = memory_alloc(sizeof(*type));
	*type = (struct etl_type){.class = key->class,
				  .guid = *key->guid,
				  .id = key->id,
				  .version = key->version,
				  .shortest = UINT32_MAX,
				  .number = (uint32_t)schemas->types.count};
	array_push(&schemas->types, type);
	*map_put(&schemas->type_index, key->hash) = schemas->types.count;
	struct etl_item traits;
	if (key->class == CLASS_EVENT && etl_item_find(record, ETL_ITEM_TRAITS, &traits)) {
		CLEANUP_FREE char *name = etl_traits_name(&traits);
		if (name)
			etl_schemas_name(schemas, key->guid, name);
	}
	struct etl_schema *schema = key->description.size
					    ? etl_tracelogging_schema(&key->description, &type->event_name)
					    : NULL;
	if (schema) {
		array_push(&schemas->items, schema);
		schemas->tracelogging++;
		type->schema = schema;
		type->tier = TIER_TRACELOGGING;
	}
	return type;
}

struct etl_type *etl_schemas_type(struct etl_schemas *schemas, const struct etl_record *record) {
	struct key key = key_of(record);
	const uint64_t *found;
	struct etl_type *type = NULL;
	for (; (found = map_get(&schemas->type_index, key.hash)); key.hash++) {
		type = schemas->types.items[*found - 1];
		if (is_type(type, &key))
			break;
		type = NULL;
	}
	if (!type)
		type = add_type(schemas, record, &key);
	if (type->generation != schemas->generation && type->tier != TIER_TRACELOGGING) {
		type->generation = schemas->generation;
		look_for_schema(schemas, type);
	}
	return type;
}

// ---- names ----

static void append_text(struct buffer *out, const char *text) {
	buffer_append(out, text, strlen(text));
}

void etl_type_key(const struct etl_type *type, struct buffer *out) {
	switch (type->class) {
	case CLASS_KERNEL:
		buffer_printf(out, "kernel/%02x/%u/v%u", type->id >> 8, type->id & 0xff, type->version);
		break;
	case CLASS_CLASSIC:
		append_text(out, "classic/");
		format_guid(out, type->guid.bytes);
		buffer_printf(out, "/op%u/v%u", type->id, type->version);
		break;
	case CLASS_WPP:
		append_text(out, "wpp/");
		format_guid(out, type->guid.bytes);
		buffer_printf(out, "/%u", type->id);
		break;
	case CLASS_EVENT:
		append_text(out, "event/");
		format_guid(out, type->guid.bytes);
		buffer_printf(out, "/%u/v%u", type->id, type->version);
		if (type->event_name)
			buffer_printf(out, "/%s", type->event_name);
		break;
	}
}

void etl_type_provider(const struct etl_schemas *schemas, const struct etl_type *type, struct buffer *out) {
	const char *name = type->class == CLASS_KERNEL || (type->class == CLASS_CLASSIC &&
							   etl_kernel_group(&type->guid) >= 0)
				   ? "Windows Kernel"
				   : etl_schemas_provider(schemas, &type->guid);
	if (name)
		append_text(out, name);
	else if (type->class != CLASS_EVENT || !etl_installed_provider(&type->guid, out))
		format_guid(out, type->guid.bytes);
}

static void kernel_title(unsigned group, unsigned opcode, struct buffer *out) {
	const char *name = etl_kernel_name(group, opcode);
	if (name)
		append_text(out, name);
	else
		buffer_printf(out, "%02x/%u", group, opcode);
}

// `plain`: without the opcode prefix that all providers have, and without "Info", the default for
// events without another opcode.
static void append_title(const struct etl_type *type, struct buffer *out, bool plain) {
	const struct etl_schema *schema = type->schema;
	int group = type->class == CLASS_CLASSIC ? etl_kernel_group(&type->guid) : -1;
	if ((type->class == CLASS_KERNEL || group >= 0) && schema)
		append_text(out, schema->name); // several versions of an opcode may be different events
	else if (type->class == CLASS_KERNEL || group >= 0)
		kernel_title(group >= 0 ? (unsigned)group : type->id >> 8, type->id & 0xff, out);
	else if (type->event_name)
		append_text(out, type->event_name);
	else if (type->tier == TIER_SCHEMA && type->class == CLASS_EVENT)
		append_text(out, "ManifestData");
	else if (type->tier == TIER_SCHEMA)
		append_text(out,
			    type->id == OPCODE_EVENT_INFO ? "MetaData/EventInfo" : "MetaData/EventMapInfo");
	else if (schema && (schema->tier == TIER_EMBEDDED || schema->tier == TIER_BUILT_IN) &&
		 schema->task_name) {
		append_text(out, schema->task_name);
		const char *opcode = schema->opcode_name;
		if (opcode && plain && strncmp(opcode, "win:", 4) == 0)
			opcode = strcmp(opcode + 4, "Info") == 0 ? NULL : opcode + 4;
		if (opcode)
			buffer_printf(out, "/%s", opcode);
	} else if (schema && schema->name)
		append_text(out, schema->name);
	else if (type->class == CLASS_CLASSIC && etl_known_provider(&type->guid))
		buffer_printf(out, "SysConfig/Opcode(%u)", type->id);
	else if (schema && schema->task_name && *schema->task_name)
		buffer_printf(out, schema->opcode_name ? "%s/%s" : "%s", schema->task_name,
			      schema->opcode_name);
	else
		buffer_printf(out,
			      type->class == CLASS_CLASSIC ? "op%u"
			      : type->class == CLASS_WPP   ? "message %u"
							   : "event %u",
			      type->id);
}

void etl_type_title(const struct etl_type *type, struct buffer *out) {
	append_title(type, out, true);
}

// The same names as in the expected results: an event without a name is shown by its numbers.
void etl_type_name(const struct etl_schemas *schemas, const struct etl_type *type, struct buffer *out) {
	const struct etl_schema *schema = type->schema;
	if (type->class == CLASS_WPP) {
		append_text(out, "WPP/");
		format_guid(out, type->guid.bytes);
		return;
	}
	bool unknown = type->tier == TIER_RAW && !schema && !type->event_name && type->class == CLASS_EVENT;
	if (unknown) {
		format_guid(out, type->guid.bytes);
		buffer_printf(out, "/%u.%u", type->id, type->version);
		return;
	}
	etl_type_provider(schemas, type, out);
	append_text(out, "/");
	if (schema && !schema->name && (schema->tier == TIER_EVENTSOURCE || schema->tier == TIER_MANIFEST))
		buffer_printf(out, "%u", type->id);
	else
		append_title(type, out, false);
}
