#include "read/etl_stacks.h"
#include "read/etl_format.h"

// One part of a stack, as the walk ahead has met it.
struct etl_part {
	uint64_t event_time, time; // of the event, of the part's own record
	uint64_t key;
	uint32_t tid, pid;
	uint32_t stack;  // where there is no key: made already, with no caller below
	uint32_t before; // the part of the same event time that came before, as a number; + 1
	bool kernel, direct;
	uint8_t pointer;
};

enum { WINDOW_SECONDS = 2, MOST_PARTS = 1 << 18, MOST_DEPTH = 1024 };

// ---- frames ----

bool etl_stacks_symbol(struct etl_state *state, uint32_t pid, uint64_t address, unsigned pointer,
		       struct buffer *out) {
	const struct etl_method *method = etl_state_method(state, pid, address);
	if (method) {
		const char *name = strings_get(state->strings, method->name);
		buffer_append(out, name, strlen(name));
		return true;
	}
	const struct etl_image *image = etl_state_image(state, pid, address, pointer);
	if (!image)
		return false;
	const char *name = strings_get(state->strings, image->name);
	buffer_append(out, name, strlen(name));
	buffer_append(out, "+", 1);
	format_hex(out, address - image->base);
	return true;
}

static uint32_t frame_at(struct etl_stacks *stacks, uint32_t pid, uint64_t address, unsigned pointer) {
	bool kernel = etl_is_kernel_address(address, pointer);
	uint64_t *known = map_put(&stacks->frames, hash_u64(address) ^ (kernel ? 0 : pid));
	if (*known)
		return (uint32_t)(*known - 1);
	struct frame frame = {.address = address, .kind = kernel ? FRAME_KERNEL : FRAME_USER};
	const struct etl_method *method = kernel ? NULL : etl_state_method(stacks->state, pid, address);
	const struct etl_image *image = etl_state_image(stacks->state, pid, address, pointer);
	stacks->name.size = 0;
	if (etl_stacks_symbol(stacks->state, pid, address, pointer, &stacks->name))
		frame.symbol = strings_add_bytes(stacks->tables->strings, stacks->name.data,
						 stacks->name.size);
	if (image)
		frame.module = image->name;
	if (method) {
		frame.kind = FRAME_JIT;
		frame.offset = (uint32_t)(address - method->start);
	}
	uint32_t id = stacks_add_frame(stacks->tables->stacks, &frame);
	*map_put(&stacks->frames, hash_u64(address) ^ (kernel ? 0 : pid)) = (uint64_t)id + 1;
	return id;
}

uint32_t etl_stacks_single(struct etl_stacks *stacks, uint32_t pid, uint64_t address, unsigned pointer) {
	return stacks_add(stacks->tables->stacks, 0, frame_at(stacks, pid, address, pointer));
}

static uint32_t add_addresses(struct etl_stacks *stacks, uint32_t caller, uint32_t pid,
			      const uint64_t *addresses, size_t count, unsigned pointer) {
	for (size_t i = MIN(count, (size_t)MOST_DEPTH); i-- > 0;)
		if (addresses[i])
			caller = stacks_add(stacks->tables->stacks, caller,
					    frame_at(stacks, pid, addresses[i], pointer));
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
		      struct tables *tables) {
	*stacks = (struct etl_stacks){.state = state, .tables = tables, .active = state->stacks_seen > 0};
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
	map_free(&stacks->frames);
	buffer_free(&stacks->name);
}

static struct etl_part *part_at(struct etl_stacks *stacks, size_t number) {
	return &stacks->parts.items[number % MOST_PARTS];
}

// The oldest part goes; so does its entry when it was the latest of its event.
static void drop_first(struct etl_stacks *stacks) {
	uint64_t time = part_at(stacks, stacks->first)->event_time;
	uint64_t *latest = map_get(&stacks->by_event, time);
	stacks->first++;
	stacks->count--;
	if (latest && *latest <= stacks->first)
		map_delete(&stacks->by_event, time);
}

static void take_part(struct etl_stacks *stacks, const struct etl_record *record, enum etl_role role) {
	struct etl_stack_part found;
	if (!etl_stack_take(record, role, &found))
		return;
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
				.direct = role == ROLE_STACK,
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
		}
		stacks->next = etl_walk_next(&stacks->ahead);
	}
}

// ---- putting parts together ----

// The frames of another stack on top of this one.
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
