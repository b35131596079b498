// Event manifests: the XML in which a provider describes its events. A .NET
// EventSource sends one with its events; others are .man files that the user
// names. expat calls back for each element. Events may come before their
// templates, so a provider's templates are kept and joined with its events at the
// end of the provider.
#include "base/file.h"
#include "read/etl/format.h"
#include "read/etl/schema.h"

#include <errno.h>

#if defined(HAVE_EXPAT) || defined(_WIN32)
#include "base/xml_parser.h"

enum { DEEPEST = 64, MOST_ELEMENTS = 1 << 20, LONGEST_LABEL = 64 };

struct template {
	char *id;
	struct etl_schema schema; // only the fields are used
};

struct event_text {
	char *template, *symbol, *task, *opcode, *message;
	unsigned value, version;
};

struct message {
	char *id, *text;
};

// What Windows shows for a task or an opcode in place of its name.
struct label {
	struct etl_guid provider;
	bool task;
	char *name, *message;
};

struct reading {
	struct etl_schemas *schemas;
	enum etl_tier tier;
	XML_Parser parser;
	struct etl_guid provider;
	char *provider_name;
	bool in_provider;
	ARRAY(struct template) templates;
	ARRAY(struct event_text) events;
	ARRAY(struct message) messages;       // from the string table, which comes last
	struct etl_map *map;                  // the map being filled
	ARRAY(struct etl_map *) maps;         // whose texts may be names of messages
	ARRAY(struct etl_schema *) described; // schemas whose message may be one
	ARRAY(struct label) labels;
	ARRAY(struct etl_schema *) labelled; // schemas with a task or an opcode, if there are labels
	int struct_place;                    // index of the struct being filled; -1 if none
	bool in_template;
	size_t elements;
};

static const char *attribute(const char **attributes, const char *name) {
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

static char *copy(const char *text) {
	return text ? memory_string(text) : NULL;
}

// Strips a namespace prefix (win:, ms:), which does not matter here.
static const char *local_name(const char *name) {
	const char *colon = strrchr(name, ':');
	return colon ? colon + 1 : name;
}

static const struct {
	const char *name;
	uint16_t in;
} in_types[] = {
	{"UnicodeString", IN_UTF16},
	{"AnsiString", IN_ANSI},
	{"Int8", IN_INT8},
	{"UInt8", IN_UINT8},
	{"Int16", IN_INT16},
	{"UInt16", IN_UINT16},
	{"Int32", IN_INT32},
	{"UInt32", IN_UINT32},
	{"Int64", IN_INT64},
	{"UInt64", IN_UINT64},
	{"Float", IN_FLOAT},
	{"Double", IN_DOUBLE},
	{"Boolean", IN_BOOLEAN},
	{"Binary", IN_BINARY},
	{"GUID", IN_GUID},
	{"Pointer", IN_POINTER},
	{"FILETIME", IN_FILETIME},
	{"SYSTEMTIME", IN_SYSTEMTIME},
	{"SID", IN_SID},
	{"HexInt32", IN_HEX32},
	{"HexInt64", IN_HEX64},
	{"CountedUnicodeString", IN_COUNTED_UTF16},
	{"CountedAnsiString", IN_COUNTED_ANSI},
	{"CountedBinary", IN_COUNTED_BINARY},
};

static const struct {
	const char *name;
	uint16_t out;
} out_types[] = {
	{"dateTime", OUT_DATETIME},
	{"boolean", OUT_BOOLEAN},
	{"HexInt8", 16},
	{"HexInt16", 17},
	{"HexInt32", 18},
	{"HexInt64", 19},
	{"Port", OUT_PORT},
	{"IPv4", OUT_IP4},
	{"IPv6", OUT_IP6},
	{"SocketAddress", OUT_SOCKET_ADDRESS},
	{"ErrorCode", 29},
	{"Win32Error", 30},
	{"NTSTATUS", 31},
	{"HResult", 32},
};

static int16_t field_named(const struct etl_schema *schema, const char *name) {
	for (size_t i = schema->fields.count; i-- > 0;)
		if (strcmp(schema->fields.items[i].name, name) == 0)
			return (int16_t)i;
	return -1;
}

// A length or count is a number or the name of an earlier field.
static void take_extent(const struct etl_schema *schema, const char *text, uint16_t *number, int16_t *field) {
	if (*text >= '0' && *text <= '9')
		*number = (uint16_t)strtoul(text, NULL, 0);
	else
		*field = field_named(schema, text);
}

static void take_data(struct reading *reading, const char **attributes, bool is_struct) {
	struct etl_schema *schema = &reading->templates.items[reading->templates.count - 1].schema;
	const char *name = attribute(attributes, "name"), *in = attribute(attributes, "inType");
	const char *out = attribute(attributes, "outType"), *count = attribute(attributes, "count");
	const char *length = attribute(attributes, "length");
	struct etl_field extents = {.count_field = -1, .length_field = -1};
	if (count)
		take_extent(schema, count, &extents.count, &extents.count_field);
	if (length)
		take_extent(schema, length, &extents.length, &extents.length_field);
	struct etl_field *field = etl_schema_add(schema, name ? name : "", is_struct ? IN_STRUCT : IN_NULL,
						 0);
	for (size_t i = 0; in && i < ARRAY_SIZE(in_types); i++)
		if (strcmp(in_types[i].name, local_name(in)) == 0)
			field->in = in_types[i].in;
	for (size_t i = 0; out && i < ARRAY_SIZE(out_types); i++)
		if (strcmp(out_types[i].name, local_name(out)) == 0)
			field->out = out_types[i].out;
	field->count = extents.count;
	field->count_field = extents.count_field;
	field->length = extents.length;
	field->length_field = extents.length_field;
	field->flags = count && strcmp(count, "1") != 0 ? FIELD_IS_ARRAY : 0;
	field->map_name = copy(attribute(attributes, "map"));
	if (field->in == IN_BINARY && field->out == OUT_IP6 && !length)
		field->length = 16;
	if (is_struct)
		reading->struct_place = (int)schema->fields.count - 1;
	else if (reading->struct_place >= 0)
		schema->fields.items[reading->struct_place].members++;
}

static void take_map_entry(struct reading *reading, const char **attributes) {
	const char *value = attribute(attributes, "value"), *text = attribute(attributes, "message");
	if (!text)
		text = attribute(attributes, "symbol");
	if (reading->map && value && text)
		array_push(&reading->map->entries,
			   (struct etl_map_entry){.value = (uint32_t)strtoul(value, NULL, 0),
						  .text = memory_string(text)});
}

static void take_event(struct reading *reading, const char **attributes) {
	const char *value = attribute(attributes, "value"), *version = attribute(attributes, "version");
	if (value)
		array_push(&reading->events,
			   (struct event_text){.template = copy(attribute(attributes, "template")),
					       .symbol = copy(attribute(attributes, "symbol")),
					       .task = copy(attribute(attributes, "task")),
					       .opcode = copy(attribute(attributes, "opcode")),
					       .message = copy(attribute(attributes, "message")),
					       .value = (unsigned)strtoul(value, NULL, 0),
					       .version = version ? (unsigned)strtoul(version, NULL, 0) : 0});
}

static void take_label(struct reading *reading, const char **attributes, bool task) {
	const char *name = attribute(attributes, "name"), *message = attribute(attributes, "message");
	// A manifest of an EventSource has the same names as messages.
	if (name && message && reading->tier == TIER_MANIFEST)
		array_push(&reading->labels, (struct label){.provider = reading->provider,
							    .task = task,
							    .name = memory_string(local_name(name)),
							    .message = memory_string(message)});
}

static void begin_provider(struct reading *reading, const char **attributes) {
	const char *guid = attribute(attributes, "guid");
	reading->in_provider = guid && guid_parse(guid, reading->provider.bytes);
	free(reading->provider_name);
	reading->provider_name = copy(attribute(attributes, "name"));
}

static void begin_map(struct reading *reading, const char *name, const char **attributes) {
	reading->map = memory_alloc(sizeof(*reading->map));
	reading->map->provider = reading->provider;
	reading->map->name = copy(attribute(attributes, "name"));
	reading->map->bits = strcmp(name, "bitMap") == 0;
	array_push(&reading->schemas->maps, reading->map);
	array_push(&reading->maps, reading->map);
}

static void XMLCALL begin(void *context, const char *name, const char **attributes) {
	struct reading *reading = context;
	name = local_name(name);
	if (++reading->elements > MOST_ELEMENTS) {
		XML_StopParser(reading->parser, XML_FALSE);
		return;
	}
	if (strcmp(name, "provider") == 0) {
		begin_provider(reading, attributes);
	} else if (strcmp(name, "string") == 0) {
		const char *id = attribute(attributes, "id"), *value = attribute(attributes, "value");
		if (id && value)
			array_push(&reading->messages,
				   (struct message){.id = memory_string(id), .text = memory_string(value)});
	} else if (!reading->in_provider) {
		return;
	} else if (strcmp(name, "template") == 0) {
		array_push(&reading->templates, (struct template){.id = copy(attribute(attributes, "tid"))});
		reading->struct_place = -1;
		reading->in_template = true;
	} else if (reading->in_template && (strcmp(name, "data") == 0 || strcmp(name, "struct") == 0)) {
		take_data(reading, attributes, *name == 's');
	} else if (strcmp(name, "event") == 0) {
		take_event(reading, attributes);
	} else if (strcmp(name, "valueMap") == 0 || strcmp(name, "bitMap") == 0) {
		begin_map(reading, name, attributes);
	} else if (strcmp(name, "map") == 0) {
		take_map_entry(reading, attributes);
	} else if (strcmp(name, "task") == 0 || strcmp(name, "opcode") == 0) {
		take_label(reading, attributes, *name == 't');
	}
}

static const struct template *template_named(const struct reading *reading, const char *id) {
	for (size_t i = 0; id && i < reading->templates.count; i++)
		if (reading->templates.items[i].id && strcmp(reading->templates.items[i].id, id) == 0)
			return &reading->templates.items[i];
	return NULL;
}

static void add_schema(struct reading *reading, const struct event_text *event) {
	struct etl_schema *schema = memory_alloc(sizeof(*schema));
	schema->provider = reading->provider;
	schema->id = (uint16_t)event->value;
	schema->version = (uint8_t)event->version;
	schema->tier = reading->tier;
	schema->provider_name = copy(reading->provider_name);
	schema->name = copy(event->symbol);
	schema->task_name = copy(event->task);
	schema->opcode_name = event->opcode ? memory_string(local_name(event->opcode)) : NULL;
	const struct template *template = template_named(reading, event->template);
	for (size_t i = 0; template && i < template->schema.fields.count; i++) {
		struct etl_field field = template->schema.fields.items[i];
		field.name = memory_string(field.name);
		field.map_name = copy(field.map_name);
		if (field.in == IN_BOOLEAN && reading->tier == TIER_EVENTSOURCE)
			field.flags |= FIELD_DOT_NET;
		array_push(&schema->fields, field);
	}
	schema->message = copy(event->message);
	if (!etl_schemas_add(reading->schemas, schema))
		return;
	if (schema->message)
		array_push(&reading->described, schema);
	if (reading->tier == TIER_MANIFEST && (schema->task_name || schema->opcode_name))
		array_push(&reading->labelled, schema);
}

static void forget_provider(struct reading *reading) {
	for (size_t i = 0; i < reading->templates.count; i++) {
		struct template *template = &reading->templates.items[i];
		for (size_t k = 0; k < template->schema.fields.count; k++) {
			free(template->schema.fields.items[k].name);
			free(template->schema.fields.items[k].map_name);
		}
		array_free(&template->schema.fields);
		free(template->id);
	}
	for (size_t i = 0; i < reading->events.count; i++) {
		free(reading->events.items[i].template);
		free(reading->events.items[i].symbol);
		free(reading->events.items[i].task);
		free(reading->events.items[i].opcode);
		free(reading->events.items[i].message);
	}
	reading->templates.count = reading->events.count = 0;
	reading->in_provider = false;
}

static void XMLCALL end(void *context, const char *name) {
	struct reading *reading = context;
	name = local_name(name);
	if (strcmp(name, "template") == 0) {
		reading->in_template = false;
	} else if (strcmp(name, "struct") == 0) {
		reading->struct_place = -1;
	} else if (strcmp(name, "valueMap") == 0 || strcmp(name, "bitMap") == 0) {
		reading->map = NULL;
	} else if (strcmp(name, "provider") == 0 && reading->in_provider) {
		for (size_t i = 0; i < reading->events.count; i++)
			add_schema(reading, &reading->events.items[i]);
		if (reading->provider_name)
			etl_schemas_name(reading->schemas, &reading->provider, reading->provider_name);
		forget_provider(reading);
	}
}

// Replaces $(string.NAME) with the message from the string table; of several languages the first counts.
static void put_message(const struct reading *reading, const struct map *by_name, char **text) {
	static const char reference[] = "$(string.";
	size_t prefix = sizeof(reference) - 1;
	if (strncmp(*text, reference, prefix) != 0)
		return;
	size_t length = strcspn(*text + prefix, ")");
	const uint64_t *index = map_get(by_name, hash_bytes(*text + prefix, length));
	const struct message *message = index ? &reading->messages.items[*index - 1] : NULL;
	if (!message || strlen(message->id) != length || strncmp(message->id, *text + prefix, length) != 0)
		return;
	free(*text);
	*text = memory_string(message->text);
}

// Messages that are sentences, or parts of one, are no names.
static bool is_name(const char *text) {
	return *text && strlen(text) <= LONGEST_LABEL && !strpbrk(text, "%$\n\t");
}

static uint64_t label_key(const struct etl_guid *provider, bool task, const char *name) {
	return hash_bytes(name, strlen(name)) ^ hash_bytes(provider, sizeof(*provider)) ^ hash_u64(task);
}

static void put_label(const struct map *labels, const struct etl_guid *provider, bool task, char **name) {
	uint64_t *label = *name ? map_get(labels, label_key(provider, task, *name)) : NULL;
	if (!label)
		return;
	free(*name);
	*name = memory_string((const char *)(uintptr_t)*label);
}

static void put_labels(struct reading *reading, const struct map *by_name) {
	struct map labels = {0};
	for (size_t i = reading->labels.count; i-- > 0;) {
		struct label *label = &reading->labels.items[i];
		put_message(reading, by_name, &label->message);
		if (is_name(label->message))
			*map_put(&labels, label_key(&label->provider, label->task,
						    label->name)) = (uintptr_t)label->message;
	}
	for (size_t i = 0; i < reading->labelled.count; i++) {
		struct etl_schema *schema = reading->labelled.items[i];
		put_label(&labels, &schema->provider, true, &schema->task_name);
		put_label(&labels, &schema->provider, false, &schema->opcode_name);
	}
	map_free(&labels);
}

static void put_messages(struct reading *reading) {
	struct map by_name = {0};
	for (size_t i = reading->messages.count; i-- > 0;)
		*map_put(&by_name, hash_bytes(reading->messages.items[i].id,
					      strlen(reading->messages.items[i].id))) = i + 1;
	for (size_t i = 0; i < reading->maps.count; i++)
		for (size_t k = 0; k < reading->maps.items[i]->entries.count; k++)
			put_message(reading, &by_name, &reading->maps.items[i]->entries.items[k].text);
	for (size_t i = 0; i < reading->described.count; i++)
		put_message(reading, &by_name, &reading->described.items[i]->message);
	put_labels(reading, &by_name);
	map_free(&by_name);
}

int etl_manifest_read(struct etl_schemas *schemas, const char *text, size_t size, enum etl_tier tier,
		      char **reason) {
	struct reading reading = {
		.schemas = schemas, .tier = tier, .struct_place = -1, .parser = XML_ParserCreate(NULL)};
	XML_SetUserData(reading.parser, &reading);
	XML_SetElementHandler(reading.parser, begin, end);
	int error = 0;
	if (size > INT32_MAX || XML_Parse(reading.parser, text, (int)size, 1) != XML_STATUS_OK) {
		*reason = memory_format("line %lu: %s",
					(unsigned long)XML_GetCurrentLineNumber(reading.parser),
					XML_ErrorString(XML_GetErrorCode(reading.parser)));
		error = -EINVAL;
	}
	put_messages(&reading);
	forget_provider(&reading);
	schemas->generation++;
	for (size_t i = 0; i < reading.messages.count; i++) {
		free(reading.messages.items[i].id);
		free(reading.messages.items[i].text);
	}
	for (size_t i = 0; i < reading.labels.count; i++) {
		free(reading.labels.items[i].name);
		free(reading.labels.items[i].message);
	}
	array_free(&reading.labels);
	array_free(&reading.labelled);
	array_free(&reading.templates);
	array_free(&reading.events);
	array_free(&reading.messages);
	array_free(&reading.maps);
	array_free(&reading.described);
	free(reading.provider_name);
	XML_ParserFree(reading.parser);
	return error;
}

#else

int etl_manifest_read(struct etl_schemas *schemas, const char *text, size_t size, enum etl_tier tier,
		      char **reason) {
	*reason = memory_string("this tracelet was built without expat and cannot read manifests");
	return -ENOTSUP;
}

#endif

int etl_manifest_load(struct etl_schemas *schemas, const char *path, char **reason) {
	struct input input;
	int error = input_open(&input, path);
	if (error) {
		*reason = memory_format("cannot be read: %s", strerror(-error));
		return error;
	}
	char *why = NULL;
	error = etl_manifest_read(schemas, (const char *)input.data, input.size, TIER_MANIFEST, &why);
	input_close(&input);
	if (error)
		*reason = memory_format("cannot parse the manifest: %s", why);
	free(why);
	return error;
}
