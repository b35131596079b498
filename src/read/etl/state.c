#include "read/etl/state.h"
#include "read/etl/format.h"

// ---- roles ----

static const struct {
	uint8_t group, opcode, role;
} kernel_roles[] = {
	{0x00, 0, ROLE_HEADER},
	{0x00, 5, ROLE_DESCRIPTION},
	{0x00, 8, ROLE_DESCRIPTION},
	{0x00, 32, ROLE_DESCRIPTION},
	{0x00, 64, ROLE_DESCRIPTION},
	{0x00, 66, ROLE_DESCRIPTION},
	{0x00, 80, ROLE_DESCRIPTION},
	{0x01, 10, ROLE_DISK},
	{0x01, 11, ROLE_DISK},
	{0x01, 14, ROLE_DISK},
	{0x02, 32, ROLE_HARD_FAULT},
	{0x03, 1, ROLE_PROCESS},
	{0x03, 2, ROLE_PROCESS},
	{0x03, 3, ROLE_PROCESS},
	{0x03, 4, ROLE_PROCESS},
	{0x03, 39, ROLE_PROCESS},
	{0x03, 10, ROLE_IMAGE},
	{0x03, 33, ROLE_RUNDOWN},
	{0x04, 0, ROLE_FILE_NAME},
	{0x04, 32, ROLE_FILE_NAME},
	{0x04, 35, ROLE_FILE_NAME},
	{0x04, 36, ROLE_FILE_NAME},
	{0x05, 1, ROLE_THREAD},
	{0x05, 2, ROLE_THREAD},
	{0x05, 3, ROLE_THREAD},
	{0x05, 4, ROLE_THREAD},
	{0x05, 36, ROLE_SWITCH},
	{0x05, 50, ROLE_READY},
	{0x05, 72, ROLE_THREAD_NAME},
	{0x0f, 34, ROLE_MARK},
	{0x0f, 46, ROLE_SAMPLE},
	{0x0f, 47, ROLE_PMC_SAMPLE},
	{0x0f, 48, ROLE_COUNTER_NAMES},
	{0x0f, 51, ROLE_SYSTEM_CALL},
	{0x0f, 66, ROLE_DPC},
	{0x0f, 67, ROLE_ISR},
	{0x0f, 68, ROLE_DPC},
	{0x0f, 69, ROLE_DPC},
	{0x0f, 73, ROLE_INTERVAL},
	{0x0f, 74, ROLE_INTERVAL},
	{0x11, 32, ROLE_OBJECT},
	{0x11, 33, ROLE_OBJECT},
	{0x11, 34, ROLE_OBJECT},
	{0x11, 36, ROLE_OBJECT_TYPE},
	{0x11, 37, ROLE_OBJECT_TYPE},
	{0x11, 38, ROLE_OBJECT},
	{0x11, 39, ROLE_OBJECT},
	{0x11, 48, ROLE_OBJECT},
	{0x11, 49, ROLE_OBJECT},
	{0x14, 2, ROLE_IMAGE},
	{0x14, 3, ROLE_IMAGE},
	{0x14, 4, ROLE_IMAGE},
	{0x14, 10, ROLE_IMAGE},
	{0x14, 33, ROLE_DESCRIPTION},
	{0x14, 34, ROLE_DESCRIPTION},
	{0x18, 32, ROLE_STACK},
	{0x18, 35, ROLE_STACK_DEFINITION},
	{0x18, 36, ROLE_STACK_DEFINITION},
	{0x18, 37, ROLE_STACK_KEY},
	{0x18, 38, ROLE_STACK_KEY},
};

static const struct {
	const char *guid;
	uint16_t first, last; // ids or opcodes
	uint8_t role;
} provider_roles[] = {
	{"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 143, 143, ROLE_METHOD},  // CLR: MethodLoadVerbose
	{"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 82, 82, ROLE_CLR_STACK}, // the CLR's own stacks
	{"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 190, 190, ROLE_RUNDOWN}, // lines of methods
	{"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 0, 65535, ROLE_CLR},
	{"a669021c-c450-4609-a035-5af59af4df18", 143, 144, ROLE_METHOD}, // CLR rundown
	{"a669021c-c450-4609-a035-5af59af4df18", 0, 65535, ROLE_RUNDOWN},
	{"22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", 1, 2, ROLE_PROVIDER_PROCESS},
	{"22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", 3, 4, ROLE_PROVIDER_THREAD},
	{"22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", 5, 6, ROLE_PROVIDER_IMAGE},
	{"b3e675d7-2554-4f18-830b-2762732560de", 0, 255, ROLE_IMAGE_ID},
	{"9b79ee91-b5fd-41c0-a243-4248e266e9d0", 0, 255, ROLE_DESCRIPTION},
	{"bbccf6c1-6cd1-48c4-80ff-839482e37671", 0, 255, ROLE_DESCRIPTION},
	{"6afccf81-3a0c-411e-a4aa-c4cf02eb840d", 1, 1, ROLE_PMU},
	{"9b15b4b5-6979-4ba7-9b26-00c630a4d7b3", 1, 1, ROLE_PMU},
};

enum etl_role etl_role_of(struct etl_type *type) {
	if (type->role)
		return (enum etl_role)type->role;
	type->role = ROLE_OTHER;
	int group = type->class == CLASS_KERNEL ? type->id >> 8 : etl_kernel_group(&type->guid);
	for (size_t i = 0; group >= 0 && i < ARRAY_SIZE(kernel_roles); i++)
		if (kernel_roles[i].group == group && kernel_roles[i].opcode == (type->id & 0xff))
			type->role = kernel_roles[i].role;
	if (group == 0x0b || (type->class == CLASS_EVENT && type->id == 0xfffe))
		type->role = ROLE_DESCRIPTION;
	struct etl_guid guid;
	for (size_t i = 0;
	     type->role == ROLE_OTHER && type->class != CLASS_WPP && i < ARRAY_SIZE(provider_roles); i++)
		if (type->id >= provider_roles[i].first && type->id <= provider_roles[i].last &&
		    guid_parse(provider_roles[i].guid, guid.bytes) &&
		    memcmp(&guid, &type->guid, sizeof(guid)) == 0)
			type->role = provider_roles[i].role;
	return (enum etl_role)type->role;
}

// ---- processes and threads ----

static uint64_t number(const struct etl_state *state, const char *name) {
	uint64_t value = 0;
	etl_decoded_number(&state->decoder, name, &value);
	return value;
}

static uint32_t text(const struct etl_state *state, const char *name) {
	const struct event_field *field = etl_decoded_field(&state->decoder, name);
	return field && field->type == FIELD_TEXT
		       ? strings_add_bytes(state->strings, field->text, field->size)
		       : 0;
}

static uint64_t pointer(struct cursor *in, const struct etl_record *record) {
	return record->pointer == 4 ? cursor_u32(in) : cursor_u64(in);
}

struct etl_process *etl_state_process(struct etl_state *state, uint32_t pid) {
	const uint64_t *index = map_get(&state->live, pid);
	return index ? &state->processes.items[*index - 1] : NULL;
}

static uint32_t base_name(struct etl_state *state, uint32_t path) {
	const char *whole = strings_get(state->strings, path), *slash = strrchr(whole, '\\');
	return slash ? strings_add(state->strings, slash + 1) : path;
}

// The kernel's events and those of its provider call things differently.
static void take_process(struct etl_state *state, const struct etl_record *record,
			 const struct etl_type *type) {
	enum { MOST_EVENTS = 1000 }; // events listed at most
	etl_decode(&state->decoder, record, type->schema);
	bool provider = type->role == ROLE_PROVIDER_PROCESS;
	uint64_t found;
	if (!etl_decoded_number(&state->decoder, provider ? "ProcessID" : "ProcessId", &found))
		return;
	uint32_t pid = (uint32_t)found;
	struct etl_process *process = etl_state_process(state, pid);
	bool again = process && record->opcode == LIFE_START && process->end;
	if (!process || again) {
		array_push(&state->processes, (struct etl_process){.pid = pid});
		*map_put(&state->live, pid) = state->processes.count;
		process = &state->processes.items[state->processes.count - 1];
	}
	if (process->events.count < MOST_EVENTS)
		array_push(&process->events, record->opcode);
	if (process->events.count == 1) {
		process->parent = (uint32_t)number(state, provider ? "ParentProcessID" : "ParentId");
		process->name = provider ? base_name(state, text(state, "ImageName"))
					 : text(state, "ImageFileName");
		process->command_line = text(state, "CommandLine");
	}
	if (record->opcode == LIFE_START)
		process->begin = record->time;
	if (record->opcode == LIFE_STOP) {
		process->end = record->time;
		process->exit_status = (int32_t)number(state, provider ? "ExitCode" : "ExitStatus");
	}
}

bool etl_thread_take(const struct etl_record *record, struct cursor *in, uint32_t *pid, uint32_t *tid) {
	bool thread_first = record->version == 0 && etl_is_kernel(record);
	uint32_t first = cursor_u32(in), second = cursor_u32(in);
	*pid = thread_first ? second : first;
	*tid = thread_first ? first : second;
	return !in->failed;
}

static void take_thread(struct etl_state *state, const struct etl_record *record,
			const struct etl_type *type) {
	uint32_t pid, tid;
	struct cursor in = cursor_of(record->payload, record->size);
	if (!etl_thread_take(record, &in, &pid, &tid))
		return;
	// Keep a thread after its end: its samples and stacks may come a little later.
	uint64_t *known = map_put(&state->threads, tid);
	if (!*known && record->opcode != LIFE_START)
		array_push(&state->at_start, (struct etl_thread){.tid = tid, .pid = pid});
	if (!*known || record->opcode == LIFE_START || record->opcode == LIFE_RUNDOWN_START)
		*known = (uint64_t)pid + 1;
	if (type->role == ROLE_THREAD && type->version >= 3) {
		// The name is the last field, if present.
		cursor_take(&in, 7u * record->pointer + 8);
		struct buffer name = {0};
		if (!in.failed && cursor_left(&in) >= 4) {
			format_utf16_terminated(&name, &in);
			if (name.size)
				*map_put(&state->thread_names, tid) = strings_add_bytes(state->strings,
											name.data, name.size);
		}
		buffer_free(&name);
	}
}

static void take_thread_name(struct etl_state *state, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	cursor_u32(&in);
	uint32_t tid = cursor_u32(&in);
	struct buffer name = {0};
	if (!in.failed) {
		format_utf16_terminated(&name, &in);
		*map_put(&state->thread_names, tid) = strings_add_bytes(state->strings, name.data, name.size);
	}
	buffer_free(&name);
}

uint32_t etl_state_pid(const struct etl_state *state, uint32_t tid) {
	const uint64_t *pid = map_get(&state->threads, tid);
	return pid ? (uint32_t)(*pid - 1) : ETL_NONE;
}

// ---- images ----

static void take_image(struct etl_state *state, const struct etl_record *record,
		       const struct etl_type *type) {
	static const uint8_t slots[] = {
		[LIFE_STOP] = 2, [LIFE_RUNDOWN_START] = 0, [LIFE_RUNDOWN_STOP] = 3, [LIFE_LOAD] = 1};
	bool provider = type->role == ROLE_PROVIDER_IMAGE;
	uint8_t opcode = provider ? (type->id == 5 ? LIFE_LOAD : LIFE_STOP) : record->opcode;
	if (opcode < ARRAY_SIZE(slots))
		state->image_events[slots[opcode]]++;
	etl_decode(&state->decoder, record, type->schema);
	struct etl_image image = {.pid = (uint32_t)number(state, provider ? "ProcessID" : "ProcessId"),
				  .base = number(state, "ImageBase"),
				  .size = number(state, "ImageSize"),
				  .time = (uint32_t)number(state, "TimeDateStamp"),
				  .path = text(state, provider ? "ImageName" : "FileName")};
	if (!image.size)
		return;
	image.name = base_name(state, image.path);
	uint64_t *index = map_put(&state->image_index, hash_u64(image.base) ^ image.pid);
	struct etl_image *known = *index ? &state->images.items[*index - 1] : NULL;
	if (known && known->path == image.path && known->base == image.base && known->pid == image.pid) {
		if (opcode == LIFE_STOP)
			known->end = record->time;
		return;
	}
	if (opcode == LIFE_LOAD)
		image.begin = record->time;
	if (opcode == LIFE_STOP)
		image.end = record->time;
	array_push(&state->images, image);
	*index = state->images.count;
	state->sorted = false;
}

// DbgID_RSDS: the image's base and process, the GUID and age of its PDB file, and the name of that.
static void take_image_id(struct etl_state *state, const struct etl_record *record) {
	enum { OF_PDB = 36 };
	struct cursor in = cursor_of(record->payload, record->size);
	uint64_t base = pointer(&in, record);
	uint32_t pid = cursor_u32(&in);
	const uint8_t *guid = cursor_take(&in, 16);
	uint32_t age = cursor_u32(&in);
	const char *name = cursor_string(&in);
	if (record->opcode != OF_PDB || in.failed)
		return;
	struct buffer text = {0}, id = {0};
	format_guid(&text, guid);
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] != '-')
			buffer_append(&id, &text.data[i], 1);
	buffer_printf(&id, "%x", age);
	buffer_free(&text);
	struct etl_symbols symbols = {.name = strings_add(state->strings, name),
				      .id = strings_add_bytes(state->strings, id.data, id.size)};
	buffer_free(&id);
	array_push(&state->symbols, symbols);
	*map_put(&state->symbols_index, hash_u64(base) ^ pid) = state->symbols.count;
}

const struct etl_symbols *etl_state_symbols(const struct etl_state *state, const struct etl_image *image) {
	const uint64_t *index = map_get(&state->symbols_index, hash_u64(image->base) ^ image->pid);
	return index ? &state->symbols.items[*index - 1] : NULL;
}

// ---- .NET methods ----

static void take_method(struct etl_state *state, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	cursor_take(&in, 16); // ids of the method and of its module
	struct etl_method method = {.pid = record->pid};
	method.start = cursor_u64(&in);
	method.size = cursor_u32(&in);
	cursor_take(&in, 8); // token, flags
	if (in.failed || !method.size)
		return;
	struct buffer name = {0};
	format_utf16_terminated(&name, &in);
	if (name.size)
		buffer_append(&name, ".", 1);
	format_utf16_terminated(&name, &in);
	method.name = strings_add_bytes(state->strings, name.data, name.size);
	buffer_free(&name);
	uint64_t *index = map_put(&state->method_index, hash_u64(method.start) ^ method.pid);
	if (*index) {
		state->methods.items[*index - 1] = method; // replaced code, or a repeated event
		return;
	}
	array_push(&state->methods, method);
	*index = state->methods.count;
	state->sorted = false;
}

// ---- stacks ----

bool etl_stack_take(const struct etl_record *record, enum etl_role role, struct etl_stack_part *part) {
	struct cursor in = cursor_of(record->payload, record->size);
	*part = (struct etl_stack_part){.event_time = cursor_u64(&in)};
	part->pid = cursor_u32(&in);
	part->tid = cursor_u32(&in);
	if (role == ROLE_STACK_KEY) {
		part->key = pointer(&in, record);
		return !in.failed;
	}
	part->addresses = in.at;
	part->count = cursor_left(&in) / record->pointer;
	return !in.failed;
}

// Stores equal lists once.
static uint32_t add_list(struct etl_state *state, struct cursor *in, const struct etl_record *record) {
	size_t count = cursor_left(in) / record->pointer;
	size_t place = state->addresses.count;
	array_push(&state->addresses, count);
	for (size_t i = 0; i < count; i++)
		array_push(&state->addresses, pointer(in, record));
	const uint64_t *list = state->addresses.items + place;
	uint64_t hash = hash_bytes(list, (count + 1) * sizeof(*list));
	const uint64_t *known;
	for (; (known = map_get(&state->list_index, hash)); hash++) {
		const uint64_t *other = state->addresses.items + *known - 1;
		if (*other == count && memcmp(other, list, (count + 1) * sizeof(*list)) == 0) {
			state->addresses.count = place;
			return (uint32_t)(*known - 1);
		}
	}
	*map_put(&state->list_index, hash) = place + 1;
	return (uint32_t)place;
}

static void take_definition(struct etl_state *state, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	uint64_t key = pointer(&in, record);
	if (in.failed || state->addresses.count > UINT32_MAX / 2)
		return;
	struct etl_definition definition = {
		.key = key, .time = record->time, .list = add_list(state, &in, record)};
	array_push(&state->definitions, definition);
	uint64_t *last = map_put(&state->last_definition, key);
	if (*last)
		state->definitions.items[*last - 1].next = (uint32_t)state->definitions.count;
	else
		*map_put(&state->first_definition, key) = state->definitions.count;
	*last = state->definitions.count;
}

// Definitions before `now` are no longer needed: the next search begins after them.
const uint64_t *etl_state_stack(struct etl_state *state, uint64_t key, uint64_t time, uint64_t now,
				size_t *count) {
	uint64_t *first = map_get(&state->first_definition, key);
	const struct etl_definition *definition = first ? &state->definitions.items[*first - 1] : NULL;
	while (definition && definition->time < time && definition->next) {
		if (definition->time < now)
			*first = definition->next;
		definition = &state->definitions.items[definition->next - 1];
	}
	if (!definition || definition->time < time)
		return NULL;
	*count = (size_t)state->addresses.items[definition->list];
	return &state->addresses.items[definition->list + 1];
}

// ---- samples ----

bool etl_sample_take(const struct etl_record *record, struct etl_sample *sample) {
	struct cursor in = cursor_of(record->payload, record->size);
	sample->address = pointer(&in, record);
	sample->tid = cursor_u32(&in);
	sample->count = cursor_u16(&in);
	sample->flags = cursor_u16(&in);
	return !in.failed;
}

// ---- addresses ----

bool etl_is_kernel_address(uint64_t address, unsigned width) {
	return width == 4 ? address >= 0x80000000u : address >= 0x8000000000000000u;
}

static int compare_images(const void *a, const void *b) {
	const struct etl_image *left = a, *right = b;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->base < right->base ? -1 : left->base > right->base;
}

static int compare_methods(const void *a, const void *b) {
	const struct etl_method *left = a, *right = b;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->start < right->start ? -1 : left->start > right->start;
}

static void sort_all(struct etl_state *state) {
	if (state->sorted)
		return;
	if (state->images.count)
		qsort(state->images.items, state->images.count, sizeof(struct etl_image), compare_images);
	if (state->methods.count)
		qsort(state->methods.items, state->methods.count, sizeof(struct etl_method), compare_methods);
	map_free(&state->image_index); // the images have moved
	map_free(&state->method_index);
	state->sorted = true;
}

const struct etl_image *etl_state_image(struct etl_state *state, uint32_t pid, uint64_t address,
					unsigned width) {
	sort_all(state);
	if (etl_is_kernel_address(address, width))
		pid = 0;
	size_t low = 0, high = state->images.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct etl_image *image = &state->images.items[middle];
		if (image->pid < pid || (image->pid == pid && image->base <= address))
			low = middle + 1;
		else
			high = middle;
	}
	const struct etl_image *image = low ? &state->images.items[low - 1] : NULL;
	return image && image->pid == pid && address - image->base < image->size ? image : NULL;
}

const struct etl_method *etl_state_method(struct etl_state *state, uint32_t pid, uint64_t address) {
	sort_all(state);
	size_t low = 0, high = state->methods.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct etl_method *method = &state->methods.items[middle];
		if (method->pid < pid || (method->pid == pid && method->start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	const struct etl_method *method = low ? &state->methods.items[low - 1] : NULL;
	return method && method->pid == pid && address - method->start < method->size ? method : NULL;
}

// ---- records ----

static void take_file_name(struct etl_state *state, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	uint64_t object = pointer(&in, record);
	struct buffer name = {0};
	format_utf16_terminated(&name, &in);
	if (!in.failed && name.size)
		*map_put(&state->files, object) = strings_add_bytes(state->strings, name.data, name.size);
	buffer_free(&name);
}

static void take_object_type(struct etl_state *state, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	uint16_t number = cursor_u16(&in);
	struct buffer name = {0};
	cursor_u16(&in); // reserved
	format_utf16_terminated(&name, &in);
	if (!in.failed && name.size)
		*map_put(&state->object_types, number) = strings_add_bytes(state->strings, name.data,
									   name.size);
	buffer_free(&name);
}

static void forget_counter_names(struct etl_state *state) {
	for (size_t i = 0; i < state->counters.count; i++)
		free(state->counters.items[i]);
	state->counters.count = 0;
}

static void take_interval(struct etl_state *state, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	uint32_t source = cursor_u32(&in), interval = cursor_u32(&in);
	if (!in.failed && source == 0 && interval)
		state->interval = interval;
}

// In the order of the values at events. The last session's count.
static void take_counter_names(struct etl_state *state, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	uint32_t count = cursor_u32(&in);
	if (in.failed || count > ETL_MOST_COUNTERS)
		return;
	forget_counter_names(state);
	for (uint32_t i = 0; i < count && cursor_left(&in) >= 2; i++) {
		struct buffer name = {0};
		format_utf16_terminated(&name, &in);
		buffer_append(&name, "", 1);
		array_push(&state->counters, (char *)name.data);
	}
}

void etl_state_take(struct etl_state *state, const struct etl_record *record, struct etl_type *type) {
	enum etl_role role = etl_role_of(type);
	switch (role) {
	case ROLE_PROCESS:
		state->kernel_processes = true;
		take_process(state, record, type);
		break;
	case ROLE_PROVIDER_PROCESS:
		if (!state->kernel_processes)
			take_process(state, record, type);
		break;
	case ROLE_THREAD:
	case ROLE_PROVIDER_THREAD:
		if (role == ROLE_THREAD || !state->kernel_processes)
			take_thread(state, record, type);
		break;
	case ROLE_THREAD_NAME:
		take_thread_name(state, record);
		break;
	case ROLE_IMAGE:
	case ROLE_PROVIDER_IMAGE:
		state->kernel_images |= role == ROLE_IMAGE;
		if (role == ROLE_IMAGE || !state->kernel_images)
			take_image(state, record, type);
		break;
	case ROLE_IMAGE_ID:
		take_image_id(state, record);
		break;
	case ROLE_INTERVAL:
		take_interval(state, record);
		break;
	case ROLE_METHOD:
		if (state->keep & KEEP_METHODS)
			take_method(state, record);
		break;
	case ROLE_FILE_NAME:
		if (state->keep & KEEP_FILES)
			take_file_name(state, record);
		break;
	case ROLE_OBJECT_TYPE:
		take_object_type(state, record);
		break;
	case ROLE_STACK_DEFINITION:
		if (state->keep & KEEP_DEFINITIONS)
			take_definition(state, record);
		break;
	case ROLE_STACK:
	case ROLE_STACK_KEY:
	case ROLE_CLR_STACK:
		state->stacks_seen++;
		break;
	case ROLE_COUNTER_NAMES:
		take_counter_names(state, record);
		break;
	case ROLE_DESCRIPTION:
		etl_machine_take(&state->machine, &state->decoder, state->strings, record, type);
		break;
	default:
		break;
	}
}

void etl_state_init(struct etl_state *state, struct etl_file *file, struct etl_schemas *schemas,
		    struct strings *strings) {
	*state = (struct etl_state){.file = file, .schemas = schemas, .strings = strings, .interval = 10000};
	state->decoder.plain = true;
}

void etl_state_free(struct etl_state *state) {
	for (size_t i = 0; i < state->processes.count; i++)
		array_free(&state->processes.items[i].events);
	array_free(&state->processes);
	array_free(&state->at_start);
	array_free(&state->images);
	array_free(&state->symbols);
	map_free(&state->symbols_index);
	array_free(&state->methods);
	array_free(&state->definitions);
	array_free(&state->addresses);
	map_free(&state->live);
	map_free(&state->threads);
	map_free(&state->thread_names);
	map_free(&state->image_index);
	map_free(&state->method_index);
	map_free(&state->files);
	map_free(&state->object_types);
	map_free(&state->first_definition);
	map_free(&state->last_definition);
	map_free(&state->list_index);
	forget_counter_names(state);
	array_free(&state->counters);
	etl_machine_free(&state->machine);
	etl_decoder_free(&state->decoder);
}
