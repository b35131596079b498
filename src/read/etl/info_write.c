// Writes what `tracelet info` has gathered about an ETL file, as JSON or as text.
// The JSON keys are those of the expected results that the tests compare with.
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "read/etl/format.h"
#include "read/etl/info.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const life_names[] = {
	[LIFE_START] = "Start",         [LIFE_STOP] = "Stop",       [LIFE_RUNDOWN_START] = "DCStart",
	[LIFE_RUNDOWN_STOP] = "DCStop", [LIFE_DEFUNCT] = "Defunct",
};

static const char *clock_name(uint32_t clock) {
	return clock == ETL_CLOCK_SYSTEM ? "systemtime" : clock == ETL_CLOCK_CYCLES ? "cycles" : "qpc";
}

// The buffer's text, NUL-terminated; freed with the scratch buffer.
static const char *scratch_text(struct buffer *scratch) {
	buffer_append(scratch, "", 1);
	scratch->size = 0;
	return (const char *)scratch->data;
}

// ---- named numbers, sorted ----

struct counted {
	uint64_t key, count;
};

static int by_count(const void *a, const void *b) {
	const struct counted *left = a, *right = b;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->key < right->key ? -1 : left->key > right->key;
}

static int by_key(const void *a, const void *b) {
	const struct counted *left = a, *right = b;
	return left->key < right->key ? -1 : left->key > right->key;
}

// The entries of a map; the caller frees them.
static struct counted *entries_of(const struct map *map, int (*order)(const void *, const void *)) {
	struct counted *entries = memory_alloc((map->count + 1) * sizeof(*entries));
	size_t count = 0;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			entries[count++] = (struct counted){map->slots[i].key, map->slots[i].value};
	qsort(entries, count, sizeof(*entries), order);
	return entries;
}

static void write_counts(struct json *json, const char *name, const struct map *map, bool hex) {
	CLEANUP_FREE struct counted *entries = entries_of(map, by_key);
	json_object(json, name);
	for (size_t i = 0; i < map->count; i++) {
		char key[32];
		if (hex)
			snprintf(key, sizeof(key), "0x%" PRIx64, entries[i].key);
		else if (entries[i].key == ETL_NONE)
			snprintf(key, sizeof(key), "?");
		else
			snprintf(key, sizeof(key), "%" PRIu64, entries[i].key);
		json_uint(json, key, entries[i].count);
	}
	json_close_object(json);
}

// ---- JSON, part by part ----

static void write_header(const struct etl_info *info, struct json *json) {
	const struct etl_header *header = &info->file.header;
	char text[16];
	json_object(json, "header");
	json_uint(json, "BufferSize", header->buffer_size);
	// The four bytes of the version, lowest first.
	snprintf(text, sizeof(text), "%08x", header->version);
	json_string(json, "Version", text);
	json_uint(json, "OsBuild", header->build);
	json_uint(json, "Processors", header->processors);
	json_uint(json, "StartTime", header->start_time);
	json_uint(json, "EndTime", header->end_time);
	json_uint(json, "BootTime", header->boot_time);
	json_uint(json, "PerfFreq", header->frequency);
	json_string(json, "Clock", clock_name(header->clock));
	json_uint(json, "TimerResolution", header->timer_resolution);
	json_uint(json, "MaxFileSizeMB", header->maximum_file_size);
	snprintf(text, sizeof(text), "%08x", header->mode);
	json_string(json, "LogFileMode", text);
	json_uint(json, "BuffersWritten", header->buffers_written);
	json_uint(json, "PointerSize", header->pointer_size);
	json_uint(json, "EventsLost", header->events_lost);
	json_uint(json, "BuffersLost", header->buffers_lost);
	json_uint(json, "CpuMHz", header->cpu_mhz);
	json_int(json, "UtcBiasMinutes", header->utc_bias);
	json_string(json, "Session", header->session);
	json_string(json, "LogFile", header->log_file);
	json_uint(json, "HeaderTimestamp", header->time);
	json_close_object(json);
}

// The other files of a recording in several files.
static void write_more(const struct etl_info *info, struct json *json) {
	if (!info->file.next)
		return;
	json_array(json, "more_files");
	for (const struct etl_file *file = info->file.next; file; file = file->next) {
		json_object(json, NULL);
		json_string(json, "file", file->name);
		json_uint(json, "size", file->input->total);
		json_string(json, "Session", file->header.session);
		json_string(json, "LogFile", file->header.log_file);
		json_string(json, "Clock", clock_name(file->header.clock));
		json_bool(json, "placed_by_wall_clock", file->base != NULL);
		json_uint(json, "EventsLost", file->header.events_lost);
		json_uint(json, "BuffersLost", file->header.buffers_lost);
		json_close_object(json);
	}
	json_close_array(json);
}

// Of all files together.
struct totals {
	uint64_t buffers, compressed, damaged_bytes, damaged_places, unused_bytes, events_lost, buffers_lost;
	bool cut_off;
};

static struct totals totals_of(const struct etl_info *info) {
	struct totals totals = {0};
	for (const struct etl_file *file = &info->file; file; file = file->next) {
		totals.buffers += file->buffers.count;
		for (size_t i = 0; i < file->buffers.count; i++)
			totals.compressed += (file->buffers.items[i].flags & ETL_FLAG_COMPRESSED) != 0;
		totals.damaged_bytes += file->damaged_bytes;
		totals.damaged_places += file->damaged_places;
		totals.unused_bytes += file->unused_bytes;
		totals.events_lost += file->header.events_lost;
		totals.buffers_lost += file->header.buffers_lost;
		totals.cut_off |= file->cut_off;
	}
	return totals;
}

static void write_buffers(const struct etl_info *info, struct json *json) {
	struct map flags = {0}, types = {0}, states = {0}, cpus = {0};
	const struct totals totals = totals_of(info);
	uint64_t payload = 0;
	for (const struct etl_file *file = &info->file; file; file = file->next)
		for (size_t i = 0; i < file->buffers.count; i++) {
			const struct etl_buffer *buffer = &file->buffers.items[i];
			++*map_put(&flags, buffer->flags);
			++*map_put(&types, buffer->type);
			++*map_put(&states, buffer->state);
			++*map_put(&cpus, buffer->cpu);
			payload += buffer->size - ETL_BUFFER_HEADER;
		}
	json_object(json, "buffers");
	json_uint(json, "count", totals.buffers);
	json_uint(json, "compressed", totals.compressed);
	write_counts(json, "flags", &flags, true);
	write_counts(json, "types", &types, false);
	write_counts(json, "states", &states, false);
	write_counts(json, "cpus", &cpus, false);
	json_uint(json, "payload_bytes_uncompressed", payload);
	json_uint(json, "damaged_bytes", totals.damaged_bytes);
	json_uint(json, "damaged_places", totals.damaged_places);
	json_uint(json, "unused_bytes", totals.unused_bytes);
	json_uint(json, "unreadable_bytes", info->unreadable);
	json_bool(json, "cut_off", totals.cut_off);
	json_close_object(json);
	map_free(&flags);
	map_free(&types);
	map_free(&states);
	map_free(&cpus);
}

static void write_records(const struct etl_info *info, struct json *json) {
	json_object(json, "records");
	json_uint(json, "total", info->total);
	json_object(json, "by_kind");
	for (size_t i = 0; i < ETL_KIND_COUNT; i++)
		if (info->by_kind[i])
			json_uint(json, etl_kind_names[i], info->by_kind[i]);
	json_close_object(json);
	json_object(json, "extended_items");
	for (size_t i = 0; i < ARRAY_SIZE(info->items); i++) {
		char key[24];
		snprintf(key, sizeof(key), "%zu", i);
		if (info->items[i])
			json_uint(json, key, info->items[i]);
	}
	json_close_object(json);
	json_uint(json, "skipped_bytes", info->skipped);
	json_close_object(json);
	json_object(json, "time");
	json_uint(json, "first_raw", info->first_time);
	json_uint(json, "last_raw", info->last_time);
	json_uint(json, "span_ns", etl_file_span(&info->file, info->first_time, info->last_time));
	json_uint(json, "first_filetime", etl_file_filetime(&info->file, info->first_time));
	json_uint(json, "last_filetime", etl_file_filetime(&info->file, info->last_time));
	json_close_object(json);
}

// ---- providers ----

struct provider {
	const struct etl_type *type; // its first type
	uint64_t count, by_tier[TIER_COUNT];
	size_t types;
};

struct providers {
	ARRAY(struct provider) list;
};

static int compare_providers(const struct etl_type *a, const struct etl_type *b) {
	bool left = a->class == CLASS_KERNEL, right = b->class == CLASS_KERNEL;
	return left != right ? (int)right - (int)left
	       : left        ? 0
			     : memcmp(&a->guid, &b->guid, sizeof(a->guid));
}

static int by_provider(const void *a, const void *b) {
	const struct etl_type *left = *(struct etl_type *const *)a, *right = *(struct etl_type *const *)b;
	int order = compare_providers(left, right);
	return order ? order : left->number < right->number ? -1 : 1;
}

static int by_events(const void *a, const void *b) {
	const struct provider *left = a, *right = b;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->type->number < right->type->number ? -1 : 1;
}

// An event that an exact schema did not fit is shown raw.
static void add_tiers(const struct etl_type *type, uint64_t tiers[TIER_COUNT]) {
	uint64_t undecoded = type->schema && type->schema->exact ? type->undecoded : 0;
	tiers[type->tier] += type->count - undecoded;
	tiers[TIER_RAW] += undecoded;
}

static void write_tiers(const uint64_t tiers[TIER_COUNT], struct json *json, const char *key) {
	json_object(json, key);
	for (size_t i = 0; i < TIER_COUNT; i++)
		if (tiers[i])
			json_uint(json, etl_tier_names[i], tiers[i]);
	json_close_object(json);
}

// All providers, by number of events, largest first.
static struct providers providers_of(const struct etl_info *info) {
	struct providers providers = {0};
	size_t count = info->schemas.types.count;
	CLEANUP_FREE const struct etl_type **types = memory_alloc((count + 1) * sizeof(*types));
	for (size_t i = 0; i < count; i++)
		types[i] = info->schemas.types.items[i];
	qsort(types, count, sizeof(*types), by_provider);
	for (size_t i = 0; i < count; i++) {
		if (!i || compare_providers(types[i - 1], types[i]))
			array_push(&providers.list, (struct provider){.type = types[i]});
		struct provider *provider = &providers.list.items[providers.list.count - 1];
		provider->count += types[i]->count;
		add_tiers(types[i], provider->by_tier);
		provider->types++;
	}
	if (providers.list.count)
		qsort(providers.list.items, providers.list.count, sizeof(struct provider), by_events);
	return providers;
}

static void write_provider(const struct etl_info *info, const struct provider *provider, struct json *json) {
	const struct etl_type *type = provider->type;
	struct buffer text = {0};
	if (type->class != CLASS_KERNEL)
		format_guid(&text, type->guid.bytes);
	json_object(json, type->class == CLASS_KERNEL ? "(kernel groups)" : scratch_text(&text));
	const char *name = type->class == CLASS_KERNEL  ? "Windows Kernel"
			   : type->class == CLASS_EVENT ? etl_schemas_provider(&info->schemas, &type->guid)
							: NULL;
	if (!name && type->class == CLASS_EVENT && etl_installed_provider(&type->guid, &text))
		name = scratch_text(&text);
	json_string(json, "name", name);
	json_uint(json, "count", provider->count);
	json_close_object(json);
	buffer_free(&text);
}

static void write_values(struct etl_info *info, const struct etl_type *type, struct json *json) {
	struct etl_decoder *decoder = &info->state.decoder;
	if (!type->schema) {
		json_string(json, "values", NULL);
		return;
	}
	etl_decode(decoder, &type->first, type->schema);
	if (decoder->raw) {
		json_string(json, "values", NULL);
		return;
	}
	json_object(json, "values");
	for (size_t i = 0; i < decoder->fields.count; i++) {
		const struct event_field *field = &decoder->fields.items[i];
		if (field->type == FIELD_TEXT)
			json_text(json, field->name, field->text, field->size);
		else if (field->type == FIELD_INT)
			json_int(json, field->name, field->sint);
		else if (field->type == FIELD_DOUBLE)
			json_double(json, field->name, field->real);
		else if (field->type == FIELD_BOOL)
			json_bool(json, field->name, field->uint);
		else
			json_uint(json, field->name, field->uint);
	}
	json_close_object(json);
}

static void write_id(struct json *json, const char *key, uint32_t id, const struct etl_record *record) {
	bool missing = id == ETL_NONE && (record->kind == ETL_PERFINFO32 || record->kind == ETL_PERFINFO64 ||
					  record->kind == ETL_WPP);
	if (missing)
		json_string(json, key, NULL);
	else
		json_uint(json, key, id);
}

static void write_event(struct etl_info *info, const struct etl_type *type, struct json *json) {
	struct buffer text = {0};
	etl_type_key(type, &text);
	json_object(json, scratch_text(&text));
	etl_type_name(&info->schemas, type, &text);
	json_string(json, "name", scratch_text(&text));
	etl_type_title(type, &text);
	json_string(json, "title", scratch_text(&text));
	json_uint(json, "count", type->count);
	json_uint(json, "min_len", type->shortest);
	json_uint(json, "max_len", type->longest);
	json_object(json, "kinds");
	for (size_t i = 0; i < ETL_KIND_COUNT; i++)
		if (type->kinds[i])
			json_uint(json, etl_kind_names[i], type->kinds[i]);
	json_close_object(json);
	uint64_t tiers[TIER_COUNT] = {0};
	add_tiers(type, tiers);
	write_tiers(tiers, json, "tiers");
	json_object(json, "first");
	json_uint(json, "ts", type->first.time);
	json_uint(json, "filetime", etl_file_filetime(&info->file, type->first.time));
	json_uint(json, "cpu", type->first.cpu);
	write_id(json, "pid", type->first.pid, &type->first);
	write_id(json, "tid", type->first.tid, &type->first);
	json_uint(json, "len", type->first.size);
	write_values(info, type, json);
	json_close_object(json);
	json_close_object(json);
	buffer_free(&text);
}

static int by_pid(const void *a, const void *b) {
	const struct etl_process *left = *(struct etl_process *const *)a,
				 *right = *(struct etl_process *const *)b;
	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static void write_processes(const struct etl_info *info, struct json *json) {
	size_t count = info->state.processes.count;
	CLEANUP_FREE const struct etl_process **sorted = memory_alloc((count + 1) * sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = &info->state.processes.items[i];
	qsort(sorted, count, sizeof(*sorted), by_pid);
	json_array(json, "processes");
	for (size_t i = 0; i < count; i++) {
		json_object(json, NULL);
		json_uint(json, "pid", sorted[i]->pid);
		json_uint(json, "ppid", sorted[i]->parent);
		json_string(json, "name", strings_get(info->tables.strings, sorted[i]->name));
		json_string(json, "cmdline", strings_get(info->tables.strings, sorted[i]->command_line));
		json_array(json, "events");
		for (size_t k = 0; k < sorted[i]->events.count; k++)
			json_string(json, NULL, life_names[sorted[i]->events.items[k]]);
		json_close_array(json);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_images_and_threads(const struct etl_info *info, struct json *json) {
	static const char *const names[] = {"DCStart", "Load", "Unload", "DCStop"};
	json_object(json, "image_events");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (info->state.image_events[i])
			json_uint(json, names[i], info->state.image_events[i]);
	json_close_object(json);
	json_uint(json, "threads_seen", info->state.threads.count);
}

// Leaves are counted by process and address; now their modules are known.
static struct map leaf_modules(struct etl_info *info) {
	struct map modules = {0};
	for (size_t i = 0; i < info->leaves.capacity; i++) {
		const struct map_slot *slot = &info->leaves.slots[i];
		if (!slot->used)
			continue;
		bool kernel = slot->key >> 48 == 0xffff;
		uint64_t address = slot->key & 0xffffffffffff;
		bool narrow = info->file.header.pointer_size == 4;
		if (kernel && !narrow)
			address |= 0xffffull << 48;
		const struct etl_image *image = etl_state_image(
			&info->state, kernel ? 0 : (uint32_t)(slot->key >> 48), address, narrow ? 4 : 8);
		*map_put(&modules, image ? image->name : 0) += slot->value;
	}
	return modules;
}

static void write_samples(struct etl_info *info, struct json *json) {
	enum { MOST_MODULES = 25 };
	json_object(json, "cpu_samples");
	json_uint(json, "total", info->samples);
	json_uint(json, "idle_thread0_not_dpc_isr", info->idle);
	json_uint(json, "dpc", info->dpc);
	json_uint(json, "isr", info->isr);
	write_counts(json, "by_pid", &info->by_pid, false);
	struct map modules = leaf_modules(info);
	CLEANUP_FREE struct counted *entries = entries_of(&modules, by_count);
	json_object(json, "leaf_module_non_idle");
	for (size_t i = 0; i < MIN(modules.count, (size_t)MOST_MODULES); i++)
		json_uint(json,
			  entries[i].key ? strings_get(info->tables.strings, (uint32_t)entries[i].key) : "?",
			  entries[i].count);
	json_close_object(json);
	map_free(&modules);
	json_object(json, "by_cpu");
	for (size_t i = 0; i < info->by_cpu.count; i++) {
		char key[24];
		snprintf(key, sizeof(key), "%zu", i);
		if (info->by_cpu.items[i])
			json_uint(json, key, info->by_cpu.items[i]);
	}
	json_close_object(json);
	json_close_object(json);
}

static void write_stacks(struct etl_info *info, struct json *json) {
	uint64_t again = 0;
	struct buffer text = {0};
	for (size_t i = 0; i < info->keys.capacity; i++)
		again += info->keys.slots[i].used && info->keys.slots[i].value > 1;
	json_object(json, "stacks");
	json_object(json, "stats");
	json_uint(json, "defs", info->definitions);
	json_uint(json, "keys", info->keys.count);
	json_uint(json, "keys with >1 def", again);
	json_uint(json, "refs", info->references);
	json_uint(json, "direct", info->direct);
	json_uint(json, "stack events matched", info->matched);
	json_uint(json, "events with stack", info->events_with_stack);
	json_close_object(json);
	json_object(json, "by_event");
	for (size_t i = 0; i < info->stacks_by_type.count; i++) {
		if (!info->stacks_by_type.items[i])
			continue;
		etl_type_name(&info->schemas, info->schemas.types.items[i], &text);
		json_uint(json, scratch_text(&text), info->stacks_by_type.items[i]);
	}
	json_close_object(json);
	json_uint(json, "samples_with_stack", info->samples_with_stack);
	json_uint(json, "frames_of_non_idle_samples", info->frames);
	json_close_object(json);
	buffer_free(&text);
}

void etl_info_json(struct etl_info *info, struct buffer *out) {
	struct json json = json_into(out);
	uint64_t tiers[TIER_COUNT] = {0};
	json_object(&json, NULL);
	json_string(&json, "file", info->file.name);
	json_string(&json, "format", "etl");
	json_uint(&json, "size", info->file.input->total);
	write_header(info, &json);
	write_more(info, &json);
	etl_info_machine_json(info, &json);
	write_buffers(info, &json);
	write_records(info, &json);
	for (size_t i = 0; i < info->schemas.types.count; i++)
		add_tiers(info->schemas.types.items[i], tiers);
	write_tiers(tiers, &json, "decode_tiers");
	json_object(&json, "providers");
	struct providers providers = providers_of(info);
	for (size_t i = 0; i < providers.list.count; i++)
		write_provider(info, &providers.list.items[i], &json);
	array_free(&providers.list);
	json_close_object(&json);
	if (info->state.processes.count)
		write_processes(info, &json);
	write_images_and_threads(info, &json);
	if (info->samples)
		write_samples(info, &json);
	if (info->direct + info->references)
		write_stacks(info, &json);
	json_object(&json, "events");
	for (size_t i = 0; i < info->schemas.types.count; i++)
		write_event(info, info->schemas.types.items[i], &json);
	json_close_object(&json);
	json_close_object(&json);
	buffer_append(out, "\n", 1);
}

// ---- text ----

// How the provider's events were decoded: the most frequent way first, with counts if there are
// several.
static void text_tiers(const struct provider *provider, struct buffer *out) {
	uint64_t left[TIER_COUNT];
	memcpy(left, provider->by_tier, sizeof(left));
	for (unsigned shown = 0;; shown++) {
		size_t most = 0;
		for (size_t i = 1; i < TIER_COUNT; i++)
			most = left[i] > left[most] ? i : most;
		if (!left[most])
			return;
		buffer_printf(out, "%s%s", shown ? ", " : "", etl_tier_names[most]);
		if (left[most] != provider->count)
			buffer_printf(out, " %" PRIu64, left[most]);
		left[most] = 0;
	}
}

// Several GUIDs may share a name: show them as one.
static void join_by_name(const struct etl_info *info, struct providers *providers) {
	struct map index = {0};
	struct buffer name = {0};
	size_t count = 0;
	for (size_t i = 0; i < providers->list.count; i++) {
		const struct provider *provider = &providers->list.items[i];
		name.size = 0;
		etl_type_provider(&info->schemas, provider->type, &name);
		uint64_t *place = map_put(&index, hash_bytes(name.data, name.size));
		if (!*place) {
			providers->list.items[count++] = *provider;
			*place = count;
			continue;
		}
		struct provider *whole = &providers->list.items[*place - 1];
		whole->count += provider->count;
		whole->types += provider->types;
		for (size_t k = 0; k < TIER_COUNT; k++)
			whole->by_tier[k] += provider->by_tier[k];
	}
	providers->list.count = count;
	qsort(providers->list.items, count, sizeof(struct provider), by_events);
	map_free(&index);
	buffer_free(&name);
}

static void text_providers(const struct etl_info *info, struct buffer *out) {
	struct providers providers = providers_of(info);
	struct buffer name = {0};
	if (providers.list.count)
		join_by_name(info, &providers);
	buffer_printf(out, "providers\n");
	for (size_t i = 0; i < providers.list.count; i++) {
		const struct provider *provider = &providers.list.items[i];
		name.size = 0;
		etl_type_provider(&info->schemas, provider->type, &name);
		text_plain_from(&name, 0);
		buffer_printf(out, "  %9" PRIu64 "  %-48.*s %3zu %s  ", provider->count, (int)name.size,
			      (char *)name.data, provider->types, provider->types == 1 ? "kind " : "kinds");
		text_tiers(provider, out);
		buffer_append(out, "\n", 1);
	}
	array_free(&providers.list);
	buffer_free(&name);
}

static void text_losses(const struct etl_info *info, struct buffer *out) {
	const struct totals totals = totals_of(info);
	buffer_printf(out, "lost       %" PRIu64 " event%s, %" PRIu64 " buffer%s\n", totals.events_lost,
		      plural(totals.events_lost), totals.buffers_lost, plural(totals.buffers_lost));
	if (totals.cut_off)
		buffer_printf(out, "           the file ends inside a buffer\n");
	if (totals.unused_bytes)
		buffer_printf(out, "unused     %" PRIu64 " bytes are zeros, room for buffers\n",
			      totals.unused_bytes);
	if (totals.damaged_bytes)
		buffer_printf(out, "damaged    %" PRIu64 " bytes in %" PRIu64 " %s are in no buffer\n",
			      totals.damaged_bytes, totals.damaged_places,
			      totals.damaged_places == 1 ? "place" : "places");
	if (info->skipped + info->unreadable)
		buffer_printf(out,
			      "skipped    %" PRIu64 " bytes that are no record, %" PRIu64
			      " that could not be decompressed\n",
			      info->skipped, info->unreadable);
}

void etl_info_text(struct etl_info *info, struct buffer *out) {
	const struct etl_header *header = &info->file.header;
	const struct totals totals = totals_of(info);
	char size[16];
	double seconds = (double)etl_file_span(&info->file, info->first_time, info->last_time) / 1e9;
	for (const struct etl_file *file = &info->file; file; file = file->next) {
		text_append_line(out, "file       %s, ETL, %s%s", file->name,
				 file_size_words(file->input->total, size),
				 file->base ? ", placed by the wall clock" : "");
		text_append_line(out, "session    %s, log file %s", file->header.session,
				 file->header.log_file);
	}
	buffer_printf(out, "system     Windows %u.%u build %u, %u CPU%s at %u MHz, %u-bit\n",
		      header->version & 0xff, header->version >> 8 & 0xff, header->build, header->processors,
		      plural(header->processors), header->cpu_mhz, header->pointer_size * 8);
	etl_info_machine_text(info, out);
	buffer_printf(out, "time       ");
	format_filetime(out, etl_file_filetime(&info->file, info->first_time));
	buffer_printf(out, ", %.6f s, clock %s\n", seconds, clock_name(header->clock));
	buffer_printf(out, "buffers    %" PRIu64 " of %u kB%s\n", totals.buffers, header->buffer_size / 1024,
		      totals.compressed ? ", compressed" : "");
	buffer_printf(out, "events     %" PRIu64 "\n", info->total);
	text_losses(info, out);
	if (info->state.processes.count + info->state.threads.count + info->state.images.count)
		buffer_printf(out, "tasks      %zu process%s, %zu thread%s, %zu image%s\n",
			      info->state.processes.count, info->state.processes.count == 1 ? "" : "es",
			      info->state.threads.count, plural(info->state.threads.count),
			      info->state.images.count, plural(info->state.images.count));
	if (info->samples)
		buffer_printf(out,
			      "samples    %" PRIu64 ", of the idle thread %" PRIu64 ", with stacks %" PRIu64
			      "\n",
			      info->samples, info->idle, info->samples_with_stack);
	if (info->switches)
		buffer_printf(out, "switches   %" PRIu64 "\n", info->switches);
	text_providers(info, out);
}
