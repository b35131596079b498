// The kernel's own events and a few others whose layouts are built in: a table
// of texts (etl_kernel_table.h), each parsed when its first event comes.
#include "read/etl_format.h"
#include "read/etl_schema.h"

#include <stdio.h>

struct layout {
	uint8_t group, opcode, version;
	const char *name, *fields;
};

struct classic_layout {
	const char *guid;
	uint8_t opcode, version;
	const char *name, *fields;
};

#define SYSTEM_CONFIG_GUID "9b79ee91-b5fd-41c0-a243-4248e266e9d0"
#define IMAGE_ID_GUID      "b3e675d7-2554-4f18-830b-2762732560de"

#include "read/etl_kernel_table.h"

// ---- the old classes of the kernel, and providers known by name ----

static const struct {
	const char *guid;
	uint8_t group;
} kernel_classes[] = {
	{"68fdd900-4a3e-11d1-84f4-0000f80464e3", 0x00}, // EventTrace
	{"3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c", 0x01}, // DiskIO
	{"3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c", 0x02}, // PageFault
	{"3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", 0x03}, // Process
	{"90cbdc39-4a3e-11d1-84f4-0000f80464e3", 0x04}, // FileIO
	{"3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", 0x05}, // Thread
	{"9a280ac0-c8e0-11d1-84e2-00c04fb998a2", 0x06}, // TcpIp
	{"bf3a50c5-a9c9-4988-a005-2df0b7c80f80", 0x08}, // UdpIp
	{"ae53722e-c863-11d2-8659-00c04fa321a1", 0x09}, // Registry
	{"01853a65-418f-4f36-aefc-dc0f1d2fd235", 0x0b}, // SystemConfig
	{"ce1dbfb4-137e-4da6-87b0-3f59aa102cbc", 0x0f}, // PerfInfo
	{"2cb15d1d-5fc1-11d2-abe1-00a0c911f518", 0x14}, // Image
	{"def2fe46-7bd6-4b80-bd94-f57fe20d0ce3", 0x18}, // StackWalk
};

static const struct {
	const char *guid, *name;
} providers[] = {
	{SYSTEM_CONFIG_GUID, "Windows Kernel"},
	{IMAGE_ID_GUID, "KernelTraceControl"},
	{"bbccf6c1-6cd1-48c4-80ff-839482e37671", "KernelTraceControl"},
	{"22bc55fe-2116-5adc-12fb-3fadfd7e360c", "OpenVMM"},
	{"aa5de534-d149-487a-9053-05972ba20a7c", "OpenHCL"},
	{"a3ebb6a4-9a26-4e7a-b909-8a22a07527c3", "WindowsPerf Driver WPP"},
};

// Providers whose manifests are installed with Windows or .NET: a file that holds no schema of theirs
// can still be told by their names.
static const struct {
	const char *guid, *name;
} installed[] = {
	{"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", "Microsoft-Windows-DotNETRuntime"},
	{"a669021c-c450-4609-a035-5af59af4df18", "Microsoft-Windows-DotNETRuntimeRundown"},
	{"763fd754-7086-4dfe-95eb-c01a46faf4ca", "Microsoft-Windows-DotNETRuntimePrivate"},
	{"dd5ef90a-6398-47a4-ad34-4dcecdef795f", "Microsoft-Windows-HttpService"},
	{"7dd42a49-5329-4832-8dfd-43d979153a88", "Microsoft-Windows-Kernel-Network"},
	{"22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", "Microsoft-Windows-Kernel-Process"},
	{"edd08927-9cc4-4e65-b970-c2560fb5c289", "Microsoft-Windows-Kernel-File"},
	{"c7bde69a-e1e0-4177-b6ef-283ad1525271", "Microsoft-Windows-Kernel-Disk"},
	{"d1d93ef7-e1f2-4f45-9943-03d245fe6c00", "Microsoft-Windows-Kernel-Memory"},
	{"70eb4f03-c1de-4f73-a051-33d13d5413bd", "Microsoft-Windows-Kernel-Registry"},
	{"331c3b3a-2005-44c2-ac5e-77220c37d6b4", "Microsoft-Windows-Kernel-Power"},
	{"a68ca8b7-004f-d7b6-a698-07e2de0f1f5d", "Microsoft-Windows-Kernel-General"},
	{"b675ec37-bdb6-4648-bc92-f3fdc74d3ca2", "Microsoft-Windows-Kernel-EventTracing"},
	{"0f67e49f-fe51-4e9f-b490-6f2948cc6027", "Microsoft-Windows-Kernel-Processor-Power"},
	{"2f07e2ee-15db-40f1-90ef-9d7ba282188a", "Microsoft-Windows-TCPIP"},
	{"e53c6823-7bb8-44bb-90dc-3f86090d48a6", "Microsoft-Windows-Winsock-AFD"},
	{"1c95126e-7eea-49a9-a3fe-a378b03ddb4d", "Microsoft-Windows-DNS-Client"},
	{"43d1a55c-76d6-4f7e-995c-64c711e5cafe", "Microsoft-Windows-WinINet"},
	{"7d44233d-3055-4b9c-ba64-0d47ca40a232", "Microsoft-Windows-WinHttp"},
	{"8c416c79-d49b-4f01-a467-e56d3aa8234c", "Microsoft-Windows-Win32k"},
	{"9e9bba3c-2e38-40cb-99f4-9e8281425164", "Microsoft-Windows-Dwm-Core"},
	{"802ec45a-1e99-4b83-9920-87c98277ba9d", "Microsoft-Windows-DxgKrnl"},
	{"ca11c036-0102-4a2d-a6ad-f03cfed5d3c9", "Microsoft-Windows-DXGI"},
	{"6ad52b32-d609-4be9-ae07-ce8dae937e39", "Microsoft-Windows-RPC"},
	{"de7b24ea-73c8-4a09-985d-5bdadcfa9017", "Microsoft-Windows-TaskScheduler"},
	{"a0c1853b-5c40-4b15-8766-3cf1c58f985a", "Microsoft-Windows-PowerShell"},
	{"54849625-5478-4994-a5ba-3e3b0328c30d", "Microsoft-Windows-Security-Auditing"},
};

static bool guid_is(const struct etl_guid *guid, const char *text) {
	struct etl_guid wanted;
	return guid_parse(text, wanted.bytes) && memcmp(guid, &wanted, sizeof(wanted)) == 0;
}

int etl_kernel_group(const struct etl_guid *guid) {
	for (size_t i = 0; i < ARRAY_SIZE(kernel_classes); i++)
		if (guid_is(guid, kernel_classes[i].guid))
			return kernel_classes[i].group;
	return -1;
}

const char *etl_known_provider(const struct etl_guid *guid) {
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++)
		if (guid_is(guid, providers[i].guid))
			return providers[i].name;
	return NULL;
}

const char *etl_installed_provider(const struct etl_guid *guid) {
	for (size_t i = 0; i < ARRAY_SIZE(installed); i++)
		if (guid_is(guid, installed[i].guid))
			return installed[i].name;
	return NULL;
}

// ---- from text to schema ----

static const struct {
	const char *name;
	uint16_t in, out, length;
} types[] = {
	{"u8", IN_UINT8, 0, 0},           {"i8", IN_INT8, 0, 0},          {"u16", IN_UINT16, 0, 0},
	{"i16", IN_INT16, 0, 0},          {"u32", IN_UINT32, 0, 0},       {"i32", IN_INT32, 0, 0},
	{"u64", IN_UINT64, 0, 0},         {"i64", IN_INT64, 0, 0},        {"x32", IN_HEX32, 0, 0},
	{"ptr", IN_POINTER, 0, 0},        {"size", IN_OLD_SIZE, 0, 0},    {"guid", IN_GUID, 0, 0},
	{"ft", IN_FILETIME, 0, 0},        {"wstr", IN_UTF16, 0, 0},       {"astr", IN_ANSI, 0, 0},
	{"sid", IN_OLD_TOKEN_SID, 0, 0},  {"ip4", IN_UINT32, OUT_IP4, 0}, {"ip6", IN_BINARY, OUT_IP6, 16},
	{"be16", IN_UINT16, OUT_PORT, 0},
};

// Names of numbers, parted by spaces; those of bits are "bit:name".
static const struct {
	const char *name, *values;
} named_numbers[] = {
	{"state", "Initialized Ready Running Standby Terminated Waiting Transition DeferredReady"},
	{"mode", "Kernel User"},
	{"memory", "0x1000:Commit 0x2000:Reserve 0x4000:Decommit 0x8000:Release 0x80000:Reset "
		   "0x100000:TopDown 0x20000000:LargePages"},
};

static void add_entry(struct etl_map *map, uint32_t value, const char *text, size_t length) {
	char *copy = memory_alloc(length + 1);
	memcpy(copy, text, length);
	array_push(&map->entries, (struct etl_map_entry){.value = value, .text = copy});
}

static void fill_map(struct etl_map *map, const char *values) {
	for (uint32_t number = 0; *values; number++) {
		size_t length = strcspn(values, " ");
		const char *colon = memchr(values, ':', length), *text = colon ? colon + 1 : values;
		map->bits = colon != NULL;
		add_entry(map, colon ? (uint32_t)strtoul(values, NULL, 0) : number, text,
			  (size_t)(values + length - text));
		values += length + (values[length] == ' ');
	}
}

static const struct etl_map *builtin_map(struct etl_schemas *schemas, const char *name, size_t length) {
	static const struct etl_guid nobody;
	char text[16];
	snprintf(text, sizeof(text), "%.*s", (int)length, name);
	const struct etl_map *known = etl_schemas_map(schemas, &nobody, text);
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

static void add_described(struct etl_schemas *schemas, struct etl_schema *schema, const char *text,
			  size_t length) {
	char name[64];
	const char *colon = memchr(text, ':', length), *end = text + length;
	size_t type_length = strcspn(colon + 1, " []?{");
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	struct etl_field *field = etl_schema_add(schema, name, IN_BINARY, 0);
	if (colon[1] == 'b' && colon[2] != 'e')
		field->length = (uint16_t)atoi(colon + 2);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (strlen(types[i].name) != type_length ||
		    strncmp(types[i].name, colon + 1, type_length) != 0)
			continue;
		field->in = types[i].in;
		field->out = types[i].out;
		field->length = types[i].length;
	}
	const char *suffix = colon + 1 + type_length;
	if (suffix < end && *suffix == '{')
		field->map = builtin_map(schemas, suffix + 1, strcspn(suffix + 1, "}"));
	if (suffix < end && *suffix == '?')
		field->flags |= FIELD_OPTIONAL;
	if (suffix < end && *suffix == '[') {
		size_t count_length = strcspn(suffix + 1, "]");
		field->flags |= FIELD_IS_ARRAY | (count_length ? 0 : FIELD_TO_END);
		field->count_field = count_length ? field_index(schema, suffix + 1, count_length) : -1;
	}
}

static struct etl_schema *parse(struct etl_schemas *schemas, const char *name, const char *fields,
				enum etl_tier tier) {
	struct etl_schema *schema = memory_alloc(sizeof(*schema));
	schema->tier = tier;
	schema->name = memory_string(name);
	for (const char *at = fields; *at;) {
		size_t length = strcspn(at, " ");
		add_described(schemas, schema, at, length);
		at += length + (at[length] == ' ');
	}
	return schema;
}

// Parsed once for each file: the number of the layout is its key.
static const struct etl_schema *parsed(struct etl_schemas *schemas, size_t number, const char *name,
				       const char *fields, enum etl_tier tier) {
	if (!fields)
		return NULL;
	uint64_t *index = map_put(&schemas->parsed, number);
	if (!*index) {
		array_push(&schemas->items, parse(schemas, name, fields, tier));
		*index = schemas->items.count;
	}
	return schemas->items.items[*index - 1];
}

const struct etl_schema *etl_kernel_schema(struct etl_schemas *schemas, unsigned group, unsigned opcode,
					   unsigned version) {
	const struct layout *best = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].group == group && layouts[i].opcode == opcode &&
		    layouts[i].version <= version && (!best || layouts[i].version > best->version))
			best = &layouts[i];
	return best ? parsed(schemas, (size_t)(best - layouts), best->name, best->fields, TIER_KERNEL) : NULL;
}

const struct etl_schema *etl_classic_schema(struct etl_schemas *schemas, const struct etl_guid *guid,
					    unsigned opcode, unsigned version) {
	for (size_t i = 0; i < ARRAY_SIZE(classic_layouts); i++)
		if (classic_layouts[i].opcode == opcode && classic_layouts[i].version <= version &&
		    guid_is(guid, classic_layouts[i].guid))
			return parsed(schemas, ARRAY_SIZE(layouts) + i, classic_layouts[i].name,
				      classic_layouts[i].fields, TIER_CLASSIC);
	return NULL;
}

const char *etl_kernel_name(unsigned group, unsigned opcode) {
	// Image loads have a hook of their own among those of processes.
	if (group == 0x14 && opcode == 10)
		group = 0x03;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].group == group && layouts[i].opcode == opcode)
			return layouts[i].name;
	return NULL;
}

// ---- manifests that are installed elsewhere ----

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
