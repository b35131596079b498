// What is known about the events of an ETL file: their names and fields.
//
// A *type* stands for all events that have the same key: a kernel hook, an event
// class and opcode, a provider's event id and version, the name of a TraceLogging
// event. A *schema* says what the payload of a type holds; it comes from the
// kernel's table, from the event itself, from the file, from a manifest, or it
// is missing, and then the payload is shown as bytes.
#pragma once

#include "base/buffer.h"
#include "read/etl.h"

// ---- fields ----

// Types in payloads have the numbers that TDH gives them; TraceLogging has the same.
enum etl_in {
	IN_NULL,
	IN_UTF16,
	IN_ANSI,
	IN_INT8,
	IN_UINT8,
	IN_INT16,
	IN_UINT16,
	IN_INT32,
	IN_UINT32,
	IN_INT64,
	IN_UINT64,
	IN_FLOAT,
	IN_DOUBLE,
	IN_BOOLEAN,
	IN_BINARY,
	IN_GUID,
	IN_POINTER,
	IN_FILETIME,
	IN_SYSTEMTIME,
	IN_SID,
	IN_HEX32,
	IN_HEX64,
	IN_COUNTED_UTF16,
	IN_COUNTED_ANSI,
	IN_STRUCT, // TraceLogging's number for it
	IN_COUNTED_BINARY,
	IN_OLD_FIRST = 300, // of the old classes
	IN_OLD_COUNTED_UTF16 = 300,
	IN_OLD_COUNTED_ANSI,
	IN_OLD_REVERSED_UTF16,
	IN_OLD_REVERSED_ANSI,
	IN_OLD_REST_UTF16,
	IN_OLD_REST_ANSI,
	IN_OLD_CHAR16,
	IN_OLD_CHAR8,
	IN_OLD_SIZE,
	IN_OLD_HEXDUMP,
	IN_OLD_TOKEN_SID,
};

enum etl_out {
	OUT_DATETIME = 2,
	OUT_STRING = 1,
	OUT_BOOLEAN = 13,
	OUT_HEX_FIRST = 15,
	OUT_HEX_LAST = 19,
	OUT_PORT = 22,
	OUT_IP4,
	OUT_IP6,
	OUT_SOCKET_ADDRESS,
	OUT_ERROR_FIRST = 29,
	OUT_WIN32_ERROR,
	OUT_ERROR_LAST = 32,
	OUT_UTF8 = 35,
	OUT_CODE_POINTER = 37,
};

struct etl_map_entry {
	uint32_t value;
	char *text;
};

struct etl_map {
	struct etl_guid provider;
	char *name;
	bool bits;
	ARRAY(struct etl_map_entry) entries;
};

enum {
	FIELD_IS_ARRAY = 1,
	FIELD_PREFIXED = 2, // the number of items stands before them, in two bytes
	FIELD_TO_END = 4,   // as many items as there are
	FIELD_OPTIONAL = 8, // may be missing at the end
	FIELD_SIZED = 16,   // binary with its size before it, in two bytes
	FIELD_DOT_NET = 32, // of an EventSource
};

struct etl_field {
	char *name;
	uint16_t in, out;
	uint16_t count;      // of an array of fixed size
	uint16_t length;     // of a string or of binary data, in characters or bytes; 0: by its end
	int16_t count_field; // or the field that says it; -1: none
	int16_t length_field;
	uint16_t members; // of a struct: the fields behind this one
	uint16_t flags;
	char *map_name; // or NULL
	const struct etl_map *map;
};

enum etl_tier {
	TIER_RAW,
	TIER_KERNEL,
	TIER_KERNEL_FULL, // the same layouts in records of the old classes
	TIER_CLASSIC,
	TIER_TRACELOGGING,
	TIER_EVENTSOURCE,
	TIER_EMBEDDED,
	TIER_MANIFEST,
	TIER_BUILT_IN,
	TIER_SCHEMA, // the event is itself a schema
	TIER_WPP,
	TIER_COUNT
};
extern const char *const etl_tier_names[TIER_COUNT];

struct etl_schema {
	struct etl_guid provider;
	uint16_t id;
	uint8_t version;
	bool any_version;
	enum etl_tier tier;
	char *provider_name, *name; // or NULL
	char *task_name, *opcode_name;
	ARRAY(struct etl_field) fields;
};

struct etl_field *etl_schema_add(struct etl_schema *schema, const char *name, unsigned in, unsigned out);
void etl_schema_free(struct etl_schema *schema);

// ---- types ----

enum etl_class { CLASS_KERNEL, CLASS_CLASSIC, CLASS_EVENT, CLASS_WPP };

struct etl_type {
	enum etl_class class;
	struct etl_guid guid;
	uint16_t id, version;            // id: group and opcode of a kernel hook, opcode of a class
	const struct etl_schema *schema; // NULL: none is known (yet)
	char *event_name;                // of TraceLogging
	enum etl_tier tier;
	uint32_t generation;                   // of the schemas when this one was looked for
	uint32_t provider_string, name_string; // of the pipeline, 0 until first used
	uint32_t number;                       // among the types
	char guid_text[37];                    // "" until first used
	uint32_t role;                         // what etl_state.c makes of it; 0 until asked
	// Counted by `info`.
	uint64_t count, kinds[ETL_KIND_COUNT];
	uint32_t shortest, longest;
	struct etl_record first; // its payload and items are the type's own
	uint8_t *first_bytes;
};

struct etl_schemas {
	ARRAY(struct etl_schema *) items;
	ARRAY(struct etl_map *) maps;
	ARRAY(struct etl_type *) types;
	struct map by_event;   // hash of provider, id, version to index + 1
	struct map type_index; // hash of the key to index + 1
	uint32_t generation;   // changes when a schema is added
	struct map parsed;     // number of a built-in layout to index + 1 in `items`
	struct map providers;  // hash of a GUID to index + 1 in `names`
	ARRAY(char *) names;
	ARRAY(struct buffer) chunks; // of EventSource manifests that are not complete
	struct map chunk_index;
	uint64_t embedded, manifests, tracelogging; // schemas found in the file
};

void etl_schemas_init(struct etl_schemas *schemas);
void etl_schemas_free(struct etl_schemas *schemas);

// The type of a record, made when it is the first of its kind.
struct etl_type *etl_schemas_type(struct etl_schemas *schemas, const struct etl_record *record);

// Takes a record that is itself a schema, or holds one; true if it was.
bool etl_schemas_learn(struct etl_schemas *schemas, const struct etl_record *record);

// Takes over the schema; the first one known for an event stays.
void etl_schemas_add(struct etl_schemas *schemas, struct etl_schema *schema);
const struct etl_map *etl_schemas_map(const struct etl_schemas *schemas, const struct etl_guid *provider,
				      const char *name);
void etl_schemas_name(struct etl_schemas *schemas, const struct etl_guid *provider, const char *name);
const char *etl_schemas_provider(const struct etl_schemas *schemas, const struct etl_guid *guid); // or NULL

// The key of a type in `info --json`, its full name there, and its short name for people.
void etl_type_key(const struct etl_type *type, struct buffer *out);
void etl_type_name(const struct etl_schemas *schemas, const struct etl_type *type, struct buffer *out);
void etl_type_title(const struct etl_type *type, struct buffer *out);
void etl_type_provider(const struct etl_schemas *schemas, const struct etl_type *type, struct buffer *out);

// ---- where schemas come from ----

const struct etl_schema *etl_kernel_schema(struct etl_schemas *schemas, unsigned group, unsigned opcode,
					   unsigned version);
const struct etl_schema *etl_classic_schema(struct etl_schemas *schemas, const struct etl_guid *guid,
					    unsigned opcode, unsigned version);
int etl_kernel_group(const struct etl_guid *guid);               // of an old class of the kernel's; -1: none
const char *etl_kernel_name(unsigned group, unsigned opcode);    // "DiskIO/Read", or NULL
const char *etl_known_provider(const struct etl_guid *guid);     // or NULL
const char *etl_installed_provider(const struct etl_guid *guid); // a name for people; or NULL
void etl_builtin_schemas(struct etl_schemas *schemas);

struct etl_schema *etl_tracelogging_schema(const struct etl_item *item, char **event_name); // or NULL
char *etl_traits_name(const struct etl_item *item);                                         // or NULL
struct etl_schema *etl_tdh_schema(const uint8_t *bytes, size_t size);                       // or NULL
struct etl_map *etl_tdh_map(const uint8_t *bytes, size_t size);                             // or NULL

// XML: -EINVAL and a reason when it is not well-formed.
int etl_manifest_read(struct etl_schemas *schemas, const char *text, size_t size, enum etl_tier tier,
		      char **reason);
int etl_manifest_load(struct etl_schemas *schemas, const char *path); // says its own errors

// ---- decoding ----

struct etl_decoder {
	bool plain; // numbers stay numbers: no maps, no dates, no hexadecimal
	ARRAY(struct event_field) fields;
	struct buffer text;
	ARRAY(uint64_t) numbers; // value of each field of the schema, for counts and lengths
	size_t left;             // bytes that the schema does not describe
	bool failed;             // the payload ended inside a field
};

// The fields of a record until the next call. Without a schema: its payload as bytes.
void etl_decode(struct etl_decoder *decoder, const struct etl_record *record,
		const struct etl_schema *schema);
void etl_decoder_free(struct etl_decoder *decoder);

// The numeric value of a decoded field by name; false: there is none.
bool etl_decoded_number(const struct etl_decoder *decoder, const char *name, uint64_t *value);
const struct event_field *etl_decoded_field(const struct etl_decoder *decoder, const char *name);
