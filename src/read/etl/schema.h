// What is known about the events of an ETL file: their names and fields.
//
// A *type* represents all events with the same key: a kernel hook, an event class
// and opcode, a provider's event id and version, the name of a TraceLogging
// event. A *schema* describes the payload of a type; it comes from the kernel's
// table, from the event itself, from the file or from an event manifest. If it is
// missing, the payload is shown as bytes.
#pragma once

#include "base/buffer.h"
#include "read/etl/etl.h"

// ---- fields ----

// Payload types use TDH's numbers; TraceLogging uses the same.
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
	IN_OLD_FIRST = 300, // for the old classes
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
	IN_ALIGN, // nothing: skips to a multiple of `length`, or of a pointer's size, from the payload's
		  // begin
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
	FIELD_PREFIXED = 2,  // a two-byte item count precedes the items
	FIELD_TO_END = 4,    // repeats to the end of the payload
	FIELD_OPTIONAL = 8,  // may be missing at the end
	FIELD_SIZED = 16,    // binary data preceded by its size, in two bytes
	FIELD_DOT_NET = 32,  // from an EventSource
	FIELD_EXPECTED = 64, // the layout fits only if the value is `expected`
};

struct etl_field {
	char *name;
	uint16_t in, out;
	uint16_t count;      // for an array of fixed size
	uint16_t length;     // for strings or binary data, in characters or bytes; 0 if up to the terminator
	int16_t count_field; // the field that holds the count; -1 if none
	int16_t length_field;
	uint16_t members; // for a struct: the number of fields after this one that belong to it
	uint16_t flags;
	uint16_t expected;
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
	bool exact;                     // decodes only payloads that it consumes to the last byte
	bool may_be_padded;             // even if it is exact
	bool newer;                     // for an older version than the event's
	struct etl_schema *alternative; // decodes what this exact one does not fit; owned, or NULL
	enum etl_tier tier;
	char *provider_name, *name; // or NULL
	char *task_name, *opcode_name;
	char *message; // its text, with %1 for the first field; or NULL
	ARRAY(struct etl_field) fields;
};

struct etl_field *etl_schema_add(struct etl_schema *schema, const char *name, unsigned in, unsigned out);
void etl_schema_free(struct etl_schema *schema);
// The manifests of .NET give each stack two frames; the field before it has the true number. To be called
// when all fields are there.
void etl_schema_count_frames(struct etl_schema *schema);

// ---- types ----

enum etl_class { CLASS_KERNEL, CLASS_CLASSIC, CLASS_EVENT, CLASS_WPP };

struct etl_type {
	enum etl_class class;
	struct etl_guid guid;
	uint16_t id, version;              // id: group and opcode of a kernel hook, opcode of a class
	const struct etl_schema *schema;   // NULL if none is known (yet)
	const struct etl_schema *built_in; // from the table of Windows' providers; NULL if none
	bool built_in_sought;
	char *event_name; // for TraceLogging
	enum etl_tier tier;
	uint32_t generation;                   // of the schemas when this one was last looked up
	uint32_t provider_string, name_string; // in the pipeline's string table; 0 until first used
	uint32_t number;                       // index among the types
	char guid_text[37];                    // "" until first used
	uint32_t role;                         // enum etl_role; 0 until first looked up
	// Counted for `info`.
	uint64_t count, kinds[ETL_KIND_COUNT];
	uint64_t undecoded; // events whose payload an exact schema did not fit
	uint32_t shortest, longest;
	struct etl_record first; // its payload and items are copies owned by the type
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
	ARRAY(struct buffer) chunks; // incomplete EventSource manifests
	struct map chunk_index;
	uint64_t embedded, manifests, tracelogging; // schemas found in the file
};

void etl_schemas_init(struct etl_schemas *schemas);
void etl_schemas_free(struct etl_schemas *schemas);

// The type of a record; created for the first record of its kind.
struct etl_type *etl_schemas_type(struct etl_schemas *schemas, const struct etl_record *record);

// Learns from a record that is or contains a schema; returns whether it did.
bool etl_schemas_learn(struct etl_schemas *schemas, const struct etl_record *record);

// Takes ownership of the schema; the first schema for an event wins: false if it was another one.
bool etl_schemas_add(struct etl_schemas *schemas, struct etl_schema *schema);
const struct etl_map *etl_schemas_map(const struct etl_schemas *schemas, const struct etl_guid *provider,
				      const char *name);
void etl_schemas_name(struct etl_schemas *schemas, const struct etl_guid *provider, const char *name);
const char *etl_schemas_provider(const struct etl_schemas *schemas, const struct etl_guid *guid); // or NULL

// The type's key in `info --json`, its full name there, and its short name for people.
void etl_type_key(const struct etl_type *type, struct buffer *out);
void etl_type_name(const struct etl_schemas *schemas, const struct etl_type *type, struct buffer *out);
void etl_type_title(const struct etl_type *type, struct buffer *out);
void etl_type_provider(const struct etl_schemas *schemas, const struct etl_type *type, struct buffer *out);

// ---- where schemas come from ----

const struct etl_schema *etl_kernel_schema(struct etl_schemas *schemas, unsigned group, unsigned opcode,
					   unsigned version);
const struct etl_schema *etl_classic_schema(struct etl_schemas *schemas, const struct etl_guid *guid,
					    unsigned opcode, unsigned version);
int etl_kernel_group(const struct etl_guid *guid); // group of one of the kernel's old classes; -1 if none
const char *etl_kernel_name(unsigned group, unsigned opcode); // "DiskIO/Read", or NULL
const char *etl_known_provider(const struct etl_guid *guid);  // or NULL
void etl_builtin_schemas(struct etl_schemas *schemas);

// Providers that are installed with Windows or .NET: appends the name; false if it is none of them.
bool etl_installed_provider(const struct etl_guid *guid, struct buffer *out);
bool etl_installed_guid(size_t index, struct etl_guid *guid); // false if there are no more
// Their layouts; the newest if all known ones are older than the version. NULL if there is none.
struct etl_schema *etl_provider_schema(const struct etl_guid *guid, unsigned id, unsigned version);

struct etl_schema *etl_tracelogging_schema(const struct etl_item *item, char **event_name); // or NULL
char *etl_traits_name(const struct etl_item *item);                                         // or NULL
struct etl_schema *etl_tdh_schema(const uint8_t *bytes, size_t size);                       // or NULL
struct etl_map *etl_tdh_map(const uint8_t *bytes, size_t size);                             // or NULL

// Parses XML; -EINVAL and a reason if it is not well-formed.
int etl_manifest_read(struct etl_schemas *schemas, const char *text, size_t size, enum etl_tier tier,
		      char **reason);
int etl_manifest_load(struct etl_schemas *schemas, const char *path, char **reason);
// Those that the user names (NULL-terminated, or NULL), then those in the user's folder. Logs its errors.
int etl_manifests_load(struct etl_schemas *schemas, const char *const *named);

// ---- decoding ----

struct etl_decoder {
	bool plain; // keep numbers as they are: no maps, no dates, no hexadecimal
	ARRAY(struct event_field) fields;
	struct buffer text;
	ARRAY(uint64_t) numbers; // value of each field of the schema, for counts and lengths
	size_t left;             // bytes beyond what the schema describes
	bool failed;             // the payload ended inside a field
	bool raw;                // shown as bytes
};

// Decodes a record's fields, valid until the next call. Without a schema, or if an exact one does not
// fit: the payload as bytes.
void etl_decode(struct etl_decoder *decoder, const struct etl_record *record,
		const struct etl_schema *schema);
void etl_decoder_free(struct etl_decoder *decoder);

// The event's message with the values of the decoded fields, NUL-terminated; false if it has none.
bool etl_message_text(const struct etl_decoder *decoder, const struct etl_schema *schema, struct buffer *out);

// The numeric value of the decoded field with this name; false if none.
bool etl_decoded_number(const struct etl_decoder *decoder, const char *name, uint64_t *value);
const struct event_field *etl_decoded_field(const struct etl_decoder *decoder, const char *name);
