// One walk over a file for `tracelet info`. Schemas may come after the events
// that need them, so the first record of each type is kept and decoded at the
// end. A stack comes after its event and refers to it by time: the latest events
// are kept in a ring, in time order, and searched.
#include "read/etl/info.h"
#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

enum { RING = 1 << 19, PROGRESS_EVERY = 1 << 20 };

// ---- events that stacks belong to ----

static void remember(struct etl_info *info, const struct etl_record *record, uint32_t type, bool busy) {
	struct etl_seen seen = {
		.time = record->time, .type = type, .cpu = (uint16_t)record->cpu, .busy = busy};
	if (info->seen.count < RING) {
		array_push(&info->seen, seen);
		return;
	}
	info->seen.items[info->seen_next] = seen;
	info->seen_next = (info->seen_next + 1) % RING;
}

static struct etl_seen *seen_at(struct etl_info *info, size_t index) {
	return &info->seen.items[(info->seen_next + index) % info->seen.count];
}

// The event at that time; if there are several, the one on that CPU.
static struct etl_seen *find_seen(struct etl_info *info, uint64_t time, uint32_t cpu) {
	size_t low = 0, high = info->seen.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (seen_at(info, middle)->time < time)
			low = middle + 1;
		else
			high = middle;
	}
	struct etl_seen *found = NULL;
	for (; low < info->seen.count && seen_at(info, low)->time == time; low++) {
		struct etl_seen *seen = seen_at(info, low);
		if (!found || (seen->cpu == cpu && found->cpu != cpu))
			found = seen;
	}
	return found;
}

static void take_stack(struct etl_info *info, const struct etl_record *record, enum etl_role role) {
	struct etl_stack_part part;
	if (!etl_stack_take(record, role, &part))
		return;
	*(role == ROLE_STACK ? &info->direct : &info->references) += 1;
	struct etl_seen *seen = find_seen(info, part.event_time, record->cpu);
	if (!seen)
		return;
	info->matched++;
	while (info->stacks_by_type.count <= seen->type)
		array_push(&info->stacks_by_type, 0);
	info->stacks_by_type.items[seen->type]++;
	if (!seen->has_stack) {
		info->events_with_stack++;
		info->samples_with_stack += seen->busy;
	}
	seen->has_stack = true;
	if (seen->busy && role == ROLE_STACK)
		info->frames += part.count;
	else if (seen->busy)
		++*map_put(&info->pending, part.key);
}

static void take_definition(struct etl_info *info, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	uint64_t key = record->pointer == 4 ? cursor_u32(&in) : cursor_u64(&in);
	if (in.failed)
		return;
	info->definitions++;
	++*map_put(&info->keys, key);
	uint64_t *pending = map_get(&info->pending, key);
	if (!pending)
		return;
	info->frames += *pending * (cursor_left(&in) / record->pointer);
	map_delete(&info->pending, key);
}

// ---- samples ----

static bool take_sample(struct etl_info *info, const struct etl_record *record) {
	struct etl_sample sample;
	if (!etl_sample_take(record, &sample))
		return false;
	info->samples++;
	while (info->by_cpu.count <= record->cpu)
		array_push(&info->by_cpu, 0);
	info->by_cpu.items[record->cpu]++;
	info->dpc += (sample.flags & SAMPLE_IN_DPC) != 0;
	info->isr += (sample.flags & SAMPLE_IN_ISR) != 0;
	if (!sample.tid && !(sample.flags & (SAMPLE_IN_DPC | SAMPLE_IN_ISR))) {
		info->idle++;
		return false;
	}
	uint32_t pid = sample.tid ? etl_state_pid(&info->state, sample.tid) : 0;
	if (pid == ETL_NONE)
		++*map_put(&info->by_tid, sample.tid);
	else
		++*map_put(&info->by_pid, pid);
	// Addresses have 48 bits, or 32; kernel addresses are the same in all processes.
	bool kernel = etl_is_kernel_address(sample.address, record->pointer);
	++*map_put(&info->leaves,
		   (uint64_t)(kernel ? 0xffff : pid & 0xffff) << 48 | (sample.address & 0xffffffffffff));
	return true;
}

// ---- records ----

// Keeps the first record of its type in the file, which need not be the first in time.
static void keep_first(struct etl_type *type, const struct etl_record *record) {
	free(type->first_bytes);
	type->first = *record;
	type->first_bytes = memory_alloc((size_t)record->size + record->items_size + 1);
	if (record->size)
		memcpy(type->first_bytes, record->payload, record->size);
	if (record->items_size)
		memcpy(type->first_bytes + record->size, record->items, record->items_size);
	type->first.payload = type->first_bytes;
	type->first.items = type->first_bytes + record->size;
	type->first.guid = type->first.activity = NULL;
}

static void count_items(struct etl_info *info, const struct etl_record *record) {
	struct cursor items = cursor_of(record->items, record->items_size);
	struct etl_item item;
	while (cursor_left(&items) && etl_item_next(&items, &item))
		info->items[MIN(item.type, ARRAY_SIZE(info->items) - 1)]++;
}

static void take_description(struct etl_info *info, const struct etl_record *record, struct etl_type *type) {
	if (!etl_schemas_learn(&info->schemas, record))
		etl_state_take(&info->state, record, type);
}

static void take_record(struct etl_info *info, const struct etl_record *record) {
	struct etl_type *type = etl_schemas_type(&info->schemas, record);
	if (!type->count++ || record->offset < type->first.offset ||
	    (record->offset == type->first.offset && record->at < type->first.at))
		keep_first(type, record);
	type->kinds[record->kind]++;
	type->shortest = MIN(type->shortest, record->size);
	type->longest = MAX(type->longest, record->size);
	info->by_kind[record->kind]++;
	info->last_time = MAX(info->last_time, record->time);
	if (!info->total++)
		info->first_time = record->time;
	if (record->items_size)
		count_items(info, record);
	enum etl_role role = etl_role_of(type);
	if (role == ROLE_DESCRIPTION)
		take_description(info, record, type);
	else if (role == ROLE_STACK || role == ROLE_STACK_KEY)
		take_stack(info, record, role);
	else if (role == ROLE_STACK_DEFINITION)
		take_definition(info, record);
	else if (role != ROLE_SAMPLE && role != ROLE_OTHER)
		etl_state_take(&info->state, record, type);
	if (type->schema && type->schema->exact) {
		etl_decode(&info->state.decoder, record, type->schema);
		type->undecoded += info->state.decoder.raw;
	}
	info->switches += role == ROLE_SWITCH;
	bool busy = role == ROLE_SAMPLE && take_sample(info, record);
	if (etl_is_kernel(record) && record->group != 0x18)
		remember(info, record, (uint32_t)(type->number), busy);
}

static void settle(struct etl_info *info) {
	for (size_t i = 0; i < info->by_tid.capacity; i++) {
		const struct map_slot *slot = &info->by_tid.slots[i];
		uint32_t pid = slot->used ? etl_state_pid(&info->state, (uint32_t)slot->key) : ETL_NONE;
		if (slot->used)
			*map_put(&info->by_pid, pid) += slot->value;
	}
	for (size_t i = 0; i < info->schemas.types.count; i++) { // now that all schemas are known
		struct etl_type *type = info->schemas.types.items[i];
		struct etl_record record = type->first;
		record.guid = &type->guid;
		etl_schemas_type(&info->schemas, &record);
	}
}

int etl_info_gather(struct etl_info *info, const struct etl_inputs *inputs, const char *const *manifests) {
	*info = (struct etl_info){.tables = tables_new()};
	etl_schemas_init(&info->schemas);
	int error = etl_manifests_load(&info->schemas, manifests);
	if (!error)
		error = etl_files_open(&info->file, inputs);
	etl_state_init(&info->state, &info->file, &info->schemas, info->tables.strings);
	if (error)
		return error;
	struct etl_walk walk;
	const struct etl_record *record;
	time_t begun = time(NULL);
	etl_walk_begin(&walk, &info->file);
	while ((record = etl_walk_next(&walk))) {
		take_record(info, record);
		if (info->total % PROGRESS_EVERY == 0 && time(NULL) - begun > 1)
			log_progress("reading %s: %" PRIu64 " %%", info->file.name,
				     info->file.input->offset * 100 / info->file.input->total);
	}
	log_progress(NULL);
	info->skipped = walk.skipped;
	info->unreadable = walk.unreadable;
	etl_walk_end(&walk);
	error = etl_files_error(&info->file);
	if (!error)
		settle(info);
	return error;
}

void etl_info_free(struct etl_info *info) {
	etl_state_free(&info->state);
	etl_schemas_free(&info->schemas);
	etl_file_close(&info->file);
	tables_free(&info->tables);
	array_free(&info->by_cpu);
	array_free(&info->seen);
	array_free(&info->stacks_by_type);
	map_free(&info->by_tid);
	map_free(&info->by_pid);
	map_free(&info->leaves);
	map_free(&info->keys);
	map_free(&info->pending);
}
