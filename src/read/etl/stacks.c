#include "read/etl/stacks.h"
#include "read/etl/format.h"

// One part of a stack, as seen by the walk ahead.
struct etl_part {
	uint64_t event_time, time; // time of the event, and of the part's own record
	uint64_t key;
	uint32_t tid, pid;
	uint32_t stack;  // if there is no key: already built, without callers
	uint32_t before; // number of the previous part with the same event time, + 1
	bool kernel, direct;
	uint8_t pointer;
};

enum { WINDOW_SECONDS = 2, MOST_PARTS = 1 << 18, MOST_DEPTH = 1024, MOST_INLINED = 32 };

// ---- frames ----

// Asks for names in the image's symbols. Returns how many frames there are; 0 if nothing is known.
static size_t symbol_frames(struct etl_stacks *stacks, const struct etl_image *image, struct frame *frame,
			    uint32_t *ids) {
	struct symbolizer *symbolizer = stacks->tables->symbolizer;
	struct strings *strings = stacks->tables->strings;
	const struct etl_symbols *symbols = etl_state_symbols(stacks->state, image);
	struct windows_image known = {.name = strings_get(strings, image->name),
				      .symbols = symbols ? strings_get(strings, symbols->name) : NULL,
				      .time = image->time,
				      .size = (uint32_t)image->size};
	if (symbols && strings_length(strings, symbols->id) < sizeof(known.id))
		strcpy(known.id, strings_get(strings, symbols->id));
	frame->build_id = symbols ? symbols->id : 0;
	return symbolizer ? symbolizer->resolve_image(symbolizer, stacks->tables, frame, &known, ids,
						      MOST_INLINED)
			  : 0;
}

// "ntdll.dll+0x1234", or "ntdll.dll!?" for all functions of a module that have no name.
static void name_place(struct etl_stacks *stacks, const struct etl_image *image, struct frame *frame) {
	const char *name = strings_get(stacks->tables->strings, image->name);
	stacks->name.size = 0;
	buffer_append(&stacks->name, name, strlen(name));
	if (stacks->addresses) {
		buffer_append(&stacks->name, "+", 1);
		format_hex(&stacks->name, frame->address - image->base);
	} else {
		buffer_append(&stacks->name, "!?", 2);
		frame->position = 0;
		if (stacks->tables->addresses != ADDRESSES_ALL)
			frame->address = 0;
	}
	frame->symbol = strings_add_bytes(stacks->tables->strings, stacks->name.data, stacks->name.size);
	frame->exact = NAME_EXACT;
}

// A caller's address is a return address: the call is before it.
static size_t frames_at(struct etl_stacks *stacks, uint32_t pid, uint64_t address, unsigned pointer,
			bool caller, uint32_t *ids) {
	bool kernel = etl_is_kernel_address(address, pointer);
	struct frame frame = {.address = address, .kind = kernel ? FRAME_KERNEL : FRAME_USER};
	const struct etl_method *method = kernel ? NULL : etl_state_method(stacks->state, pid, address);
	const struct etl_image *image = etl_state_image(stacks->state, pid, address, pointer);
	size_t count = 0;
	if (image) {
		frame.module = image->name;
		frame.position = address - image->base - (caller && address > image->base);
	}
	if (method) {
		frame.symbol = method->name;
		frame.kind = FRAME_JIT;
		frame.offset = (uint32_t)(address - method->start);
		frame.position = 0;
	} else if (image) {
		count = symbol_frames(stacks, image, &frame, ids);
		if (!count)
			name_place(stacks, image, &frame);
	}
	if (!count)
		ids[count++] = stacks_add_frame(stacks->tables->stacks, &frame);
	return count;
}

static const struct etl_chain *chain_at(struct etl_stacks *stacks, uint32_t pid, uint64_t address,
					unsigned pointer, bool caller) {
	uint64_t key = (hash_u64(address) ^ (etl_is_kernel_address(address, pointer) ? 0 : pid)) + caller;
	uint64_t *known = map_put(&stacks->frames, key);
	if (!*known) {
		uint32_t ids[MOST_INLINED];
		struct etl_chain chain = {.first = (uint32_t)stacks->ids.count};
		chain.count = (uint32_t)frames_at(stacks, pid, address, pointer, caller, ids);
		for (uint32_t i = 0; i < chain.count; i++)
			array_push(&stacks->ids, ids[i]);
		array_push(&stacks->chains, chain);
		*known = stacks->chains.count;
	}
	return &stacks->chains.items[*known - 1];
}

static uint32_t add_address(struct etl_stacks *stacks, uint32_t caller, uint32_t pid, uint64_t address,
			    unsigned pointer, bool calls) {
	const struct etl_chain *chain = chain_at(stacks, pid, address, pointer, calls);
	for (uint32_t i = chain->count; i-- > 0;)
		caller = stacks_add(stacks->tables->stacks, caller, stacks->ids.items[chain->first + i]);
	return caller;
}

bool etl_stacks_symbol(struct etl_stacks *stacks, uint32_t pid, uint64_t address, unsigned pointer,
		       struct buffer *out) {
	const struct etl_image *image = etl_state_image(stacks->state, pid, address, pointer);
	const struct etl_chain *chain = chain_at(stacks, pid, address, pointer, false);
	const struct frame *frame = stacks_frame(stacks->tables->stacks,
						 stacks->ids.items[chain->first + chain->count - 1]);
	if (!frame->symbol)
		return false;
	bool place = frame->exact == NAME_EXACT && image;
	const char *name = strings_get(stacks->tables->strings, place ? image->name : frame->symbol);
	buffer_append(out, name, strlen(name));
	if (place) {
		buffer_append(out, "+", 1);
		format_hex(out, address - image->base);
	}
	return true;
}

uint32_t etl_stacks_single(struct etl_stacks *stacks, uint32_t pid, uint64_t address, unsigned pointer) {
	return add_address(stacks, 0, pid, address, pointer, false);
}

static uint32_t add_addresses(struct etl_stacks *stacks, uint32_t caller, uint32_t pid,
			      const uint64_t *addresses, size_t count, unsigned pointer) {
	for (size_t i = MIN(count, (size_t)MOST_DEPTH); i-- > 0;)
		if (addresses[i])
			caller = add_address(stacks, caller, pid, addresses[i], pointer, i > 0);
	return caller;
}

uint32_t etl_stacks_add(struct etl_stacks *stacks, uint32_t caller, uint32_t pid, const uint8_t *addresses,
			size_t count, unsigned pointer) {
	uint64_t list[MOST_DEPTH];
	struct cursor in = cursor_of(addresses, count * pointer);
	count = MIN(count, (size_t)MOST_DEPTH);
	for (size_t i = 0; i < count; i++)
		list[i] = pointer == 4 ? cursor_u32(&in) : cursor_u64(&in);
	return add_addresses(stacks, caller, pid, list, count, pointer);
}

// ---- the walk ahead ----

void etl_stacks_begin(struct etl_stacks *stacks, struct etl_file *file, struct etl_state *state,
		      struct tables *tables, bool addresses) {
	*stacks = (struct etl_stacks){.state = state,
				      .tables = tables,
				      .active = state->stacks_seen > 0,
				      .addresses = addresses ||
						   (tables->addresses != ADDRESSES_NONE && !tables->places)};
	if (!stacks->active)
		return;
	const struct etl_header *header = &file->header;
	stacks->window = WINDOW_SECONDS * (header->clock == ETL_CLOCK_SYSTEM ? 10000000
					   : header->clock == ETL_CLOCK_CYCLES
						   ? header->cpu_mhz * 1000000ull
						   : MIN(header->frequency, 1ull << 40));
	etl_walk_begin(&stacks->ahead, file);
	stacks->next = etl_walk_next(&stacks->ahead);
}

void etl_stacks_end(struct etl_stacks *stacks) {
	if (stacks->active)
		etl_walk_end(&stacks->ahead);
	array_free(&stacks->parts);
	map_free(&stacks->by_event);
	map_free(&stacks->clr_events);
	map_free(&stacks->frames);
	array_free(&stacks->chains);
	array_free(&stacks->ids);
	buffer_free(&stacks->name);
}

static struct etl_part *part_at(struct etl_stacks *stacks, size_t number) {
	return &stacks->parts.items[number % MOST_PARTS];
}

// Drops the oldest part, and its entry if it was the latest part of its event.
static void drop_first(struct etl_stacks *stacks) {
	uint64_t time = part_at(stacks, stacks->first)->event_time;
	uint64_t *latest = map_get(&stacks->by_event, time);
	stacks->first++;
	stacks->count--;
	if (latest && *latest <= stacks->first)
		map_delete(&stacks->by_event, time);
}

static void add_found(struct etl_stacks *stacks, const struct etl_record *record, enum etl_role role,
		      struct etl_stack_part found) {
	if (stacks->count == MOST_PARTS)
		drop_first(stacks);
	size_t number = stacks->first + stacks->count;
	if (number >= UINT32_MAX - 1)
		return;
	struct etl_part part = {.event_time = found.event_time,
				.time = record->time,
				.key = found.key,
				.tid = found.tid,
				.pid = found.pid,
				.pointer = record->pointer,
				.direct = role != ROLE_STACK_KEY,
				.kernel = role == ROLE_STACK_KEY && record->opcode == 37};
	if (part.direct && found.count) {
		struct cursor in = cursor_of(found.addresses, found.count * record->pointer);
		part.kernel = etl_is_kernel_address(record->pointer == 4 ? cursor_u32(&in) : cursor_u64(&in),
						    record->pointer);
		part.stack = etl_stacks_add(stacks, 0, found.pid, found.addresses, found.count,
					    record->pointer);
	}
	uint64_t *latest = map_put(&stacks->by_event, found.event_time);
	part.before = *latest > stacks->first ? (uint32_t)*latest : 0;
	*latest = number + 1;
	if (stacks->parts.count < MOST_PARTS)
		array_push(&stacks->parts, part);
	else
		*part_at(stacks, number) = part;
	stacks->count++;
}

static void take_part(struct etl_stacks *stacks, const struct etl_record *record, enum etl_role role) {
	struct etl_stack_part found;
	if (etl_stack_take(record, role, &found))
		add_found(stacks, record, role, found);
}

// The .NET runtime writes the stack of an event after it, in the same thread: how many frames, and the
// addresses.
static void take_clr(struct etl_stacks *stacks, const struct etl_record *record) {
	static const uint8_t runtime[16] = {0x23, 0x0d, 0x3c, 0xe1, 0xbc, 0xcc, 0x12, 0x4e,
					    0x93, 0x1b, 0xd9, 0xcc, 0x2e, 0xee, 0x27, 0xe4};
	if (memcmp(record->guid, runtime, sizeof(runtime)) != 0)
		return;
	enum etl_role role = etl_role_of(etl_schemas_type(stacks->state->schemas, record));
	if (role != ROLE_CLR_STACK) {
		if (role == ROLE_CLR || role == ROLE_METHOD)
			*map_put(&stacks->clr_events, record->tid) = record->time;
		return;
	}
	struct cursor in = cursor_of(record->payload, record->size);
	const uint64_t *time = map_get(&stacks->clr_events, record->tid);
	cursor_take(&in, 4); // which runtime in the process
	size_t count = cursor_u32(&in);
	struct etl_stack_part found = {.pid = record->pid, .tid = record->tid, .addresses = in.at};
	found.count = MIN(count, cursor_left(&in) / record->pointer);
	if (in.failed || !time)
		return;
	found.event_time = *time;
	add_found(stacks, record, role, found);
}

void etl_stacks_advance(struct etl_stacks *stacks, uint64_t time) {
	while (stacks->active && stacks->count && part_at(stacks, stacks->first)->time < time)
		drop_first(stacks);
	while (stacks->active && stacks->next &&
	       (stacks->next->time <= time || stacks->next->time - time <= stacks->window)) {
		const struct etl_record *record = stacks->next;
		if (etl_is_kernel(record) && record->group == 0x18) {
			if (record->opcode == 32)
				take_part(stacks, record, ROLE_STACK);
			else if (record->opcode == 37 || record->opcode == 38)
				take_part(stacks, record, ROLE_STACK_KEY);
		} else if (record->kind == ETL_EVENT64 || record->kind == ETL_EVENT32) {
			take_clr(stacks, record);
		}
		stacks->next = etl_walk_next(&stacks->ahead);
	}
}

// ---- joining the parts ----

// Puts the frames of another stack on top of this one.
static uint32_t on_top(struct etl_stacks *stacks, uint32_t caller, uint32_t top) {
	uint32_t frames[MOST_DEPTH];
	size_t count = 0;
	const struct stack *stack = stacks_get(stacks->tables->stacks, top);
	for (; stack && count < MOST_DEPTH; stack = stacks_get(stacks->tables->stacks, stack->caller))
		frames[count++] = stack->frame;
	while (count)
		caller = stacks_add(stacks->tables->stacks, caller, frames[--count]);
	return caller;
}

static uint32_t add_part(struct etl_stacks *stacks, uint32_t caller, const struct etl_part *part) {
	if (part->direct)
		return caller ? on_top(stacks, caller, part->stack) : part->stack;
	size_t count;
	const uint64_t *addresses = etl_state_stack(stacks->state, part->key, part->time, part->event_time,
						    &count);
	return addresses ? add_addresses(stacks, caller, part->pid, addresses, count, part->pointer) : caller;
}

uint32_t etl_stacks_of(struct etl_stacks *stacks, uint64_t time, uint32_t tid) {
	const uint64_t *latest = stacks->active ? map_get(&stacks->by_event, time) : NULL;
	const struct etl_part *kernel = NULL, *user = NULL;
	for (uint64_t number = latest ? *latest : 0; number > stacks->first;
	     number = part_at(stacks, number - 1)->before) {
		const struct etl_part *part = part_at(stacks, number - 1);
		if (part->event_time != time || (tid != ETL_NONE && part->tid != tid))
			continue;
		*(part->kernel ? &kernel : &user) = part;
	}
	uint32_t stack = user ? add_part(stacks, 0, user) : 0;
	return kernel ? add_part(stacks, stack, kernel) : stack;
}
