#include "symbol/go_frames.h"

#include "base/cursor.h"
#include "base/memory.h"
#include "symbol/cfa_operations.h"

#include <string.h>

enum {
	MAGIC_1_18 = 0xfffffff0,
	MAGIC_1_20 = 0xfffffff1,
	MOST_FUNCTIONS = 1 << 22,
	MOST_BYTES = 256 << 20,
	REGISTER_STACK = 7,
	REGISTER_RETURN = 16,
	RETURN_ADDRESS_SIZE = 8,
};

struct go_table {
	struct cursor all;
	uint32_t magic;
	uint64_t count, text, names, numbers, functions; // the last three: offsets of parts of the table
};

// Functions that switch to another stack, and are the outermost there. Go marks the others itself.
static const char *const outermost[] = {"runtime.mcall", "runtime.systemstack", "runtime.morestack",
					"runtime.asmcgocall", "runtime.asmcgocall.abi0"};

static struct cursor part(const struct go_table *table, uint64_t offset) {
	struct cursor in = table->all;
	if (offset > cursor_left(&in))
		in.failed = true;
	cursor_take(&in, in.failed ? 0 : (size_t)offset);
	return in;
}

static bool read_header(struct go_table *table, uint64_t text) {
	enum { HEADER = 8, QUANTUM_X86 = 1, ADDRESS_SIZE = 8 };
	struct cursor in = table->all;
	table->magic = cursor_u32(&in);
	cursor_u16(&in);
	uint8_t quantum = cursor_u8(&in), address = cursor_u8(&in);
	table->count = cursor_u64(&in);
	cursor_u64(&in); // files
	table->text = cursor_u64(&in);
	table->names = cursor_u64(&in);
	cursor_u64(&in); // units
	cursor_u64(&in); // names of files
	table->numbers = cursor_u64(&in);
	table->functions = cursor_u64(&in);
	if (!table->text) // a program that can be anywhere: the linker relocates it
		table->text = text;
	return !in.failed && (table->magic == MAGIC_1_18 || table->magic == MAGIC_1_20) &&
	       quantum == QUANTUM_X86 && address == ADDRESS_SIZE && table->text &&
	       table->count < MOST_FUNCTIONS;
}

// ---- what .debug_frame has ----

static size_t begin_entry(struct buffer *out) {
	size_t at = out->size;
	buffer_append(out, &(uint32_t){0}, 4);
	return at;
}

static void end_entry(struct buffer *out, size_t at) {
	while ((out->size - at - 4) % 8)
		buffer_append(out, &(uint8_t){CFA_NOP}, 1);
	uint32_t size = (uint32_t)(out->size - at - 4);
	memcpy(out->data + at, &size, sizeof(size));
}

static void put_number(struct buffer *out, uint64_t number) {
	do {
		uint8_t byte = (uint8_t)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
		buffer_append(out, &byte, 1);
	} while (number >>= 7);
}

static void put_common(struct buffer *out) {
	static const uint8_t common[] = {0xff,
					 0xff,
					 0xff,
					 0xff, // a CIE
					 1,
					 0,
					 1,
					 0x78,
					 REGISTER_RETURN,
					 CFA_DEF_CFA,
					 REGISTER_STACK,
					 RETURN_ADDRESS_SIZE,
					 CFA_OFFSET | REGISTER_RETURN,
					 1};
	size_t at = begin_entry(out);
	buffer_append(out, common, sizeof(common));
	end_entry(out, at);
}

// ---- functions ----

static bool is_outermost(const struct go_table *table, uint32_t name, uint8_t flags) {
	enum { TOP_FRAME = 1 };
	struct cursor in = part(table, table->names + name);
	const char *text = cursor_string(&in);
	bool found = flags & TOP_FRAME;
	for (size_t i = 0; text && i < ARRAY_SIZE(outermost) && !found; i++)
		found = strcmp(text, outermost[i]) == 0;
	return found;
}

// Pairs of how much the stack pointer's distance changes, and for how many bytes of code it stays so.
static bool put_distances(const struct go_table *table, uint32_t offset, uint32_t size, struct buffer *out) {
	struct cursor in = part(table, table->numbers + offset);
	int64_t distance = -1, before = 0;
	for (uint64_t pc = 0; pc < size;) {
		uint64_t change = cursor_varint(&in);
		if (in.failed || (!change && pc))
			break;
		distance += change & 1 ? -(int64_t)(change >> 1 & INT32_MAX) - 1
				       : (int64_t)(change >> 1 & INT32_MAX);
		uint64_t bytes = cursor_varint(&in);
		if (in.failed || !bytes || bytes > size - pc || distance < 0 || distance > INT32_MAX)
			return false;
		if (distance != before) {
			buffer_append(out, &(uint8_t){CFA_DEF_CFA_OFFSET}, 1);
			put_number(out, (uint64_t)distance + RETURN_ADDRESS_SIZE);
		}
		before = distance;
		pc += bytes;
		buffer_append(out, &(uint8_t){CFA_ADVANCE_LOC4}, 1);
		buffer_append(out, &(uint32_t){(uint32_t)bytes}, 4);
	}
	return !in.failed;
}

static void put_function(const struct go_table *table, uint32_t entry, uint32_t end, uint32_t offset,
			 struct buffer *out) {
	struct cursor in = part(table, table->functions + offset);
	cursor_u32(&in); // its address
	uint32_t name = cursor_u32(&in);
	cursor_take(&in, 8); // arguments, deferred calls
	uint32_t distances = cursor_u32(&in);
	cursor_take(&in, table->magic == MAGIC_1_18 ? 17 : 21); // up to the flags
	uint8_t flags = cursor_u8(&in);
	size_t at = begin_entry(out);
	uint32_t common = 0;
	uint64_t place[2] = {table->text + entry, end - entry};
	buffer_append(out, &common, sizeof(common));
	buffer_append(out, place, sizeof(place));
	if (is_outermost(table, name, flags)) {
		buffer_append(out, &(uint8_t){CFA_UNDEFINED}, 1);
		put_number(out, REGISTER_RETURN);
	} else if (in.failed || !distances || !put_distances(table, distances, end - entry, out)) {
		out->size = at; // nothing is known about it
		return;
	}
	end_entry(out, at);
}

bool go_frames(const uint8_t *bytes, size_t size, uint64_t text, struct buffer *out) {
	struct go_table table = {.all = cursor_of(bytes, size)};
	if (!read_header(&table, text))
		return false;
	put_common(out);
	struct cursor in = part(&table, table.functions);
	uint32_t entry = cursor_u32(&in), offset = cursor_u32(&in);
	for (uint64_t i = 0; i < table.count && !in.failed && out->size < MOST_BYTES; i++) {
		uint32_t next = cursor_u32(&in);
		if (!in.failed && next > entry)
			put_function(&table, entry, next, offset, out);
		entry = next;
		offset = cursor_left(&in) >= 4 ? cursor_u32(&in) : 0; // none after the last address
	}
	return true;
}
