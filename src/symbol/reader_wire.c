#include "symbol/reader_wire.h"

#include "base/cursor.h"
#include "symbol/debug_file.h"

// ---- writing ----

enum { NAME_THERE = 1, FILE_THERE = 2, SYMBOL_THERE = 4, LEAST_TEXT = 256 };
enum { HAS_MALLOC = 1, IS_GO = 2, IS_SANITIZED = 4, IS_OTHER_MACHINE = 8 };
enum { HEAD_SIZE = 4 + 4 + 4 + 8, NAMED_SIZE = 1 + 1 + 8 + 8 + 4 };

static void put(struct buffer *out, const void *value, size_t size) {
	buffer_append(out, value, size);
}

#define PUT(out, type, value) put(out, &(type){value}, sizeof(type))

static void begin(struct buffer *out, uint32_t kind, size_t count, uint32_t value, uint64_t address) {
	out->size = 0;
	PUT(out, uint32_t, kind);
	PUT(out, uint32_t, (uint32_t)count);
	PUT(out, uint32_t, value);
	PUT(out, uint64_t, address);
}

void answer_write_hello(struct buffer *out, uint32_t bits) {
	begin(out, ANSWER_HELLO, 0, bits, 0);
}

void answer_write_opened(struct buffer *out, const struct elf_object *object) {
	static const struct elf_object none;
	bool found = object;
	object = found ? object : &none;
	size_t count = MIN(object->segment_count, MOST_SEGMENTS);
	begin(out, ANSWER_OPENED, count, found, object->entry);
	PUT(out, uint16_t, object->machine);
	PUT(out, uint8_t, object->absolute);
	PUT(out, uint8_t, object->eh_frame != NULL);
	PUT(out, uint64_t, object->eh_frame_size);
	put(out, object->build_id, strlen(object->build_id) + 1);
	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *segment = &object->segments[i];
		PUT(out, uint64_t, segment->offset);
		PUT(out, uint64_t, segment->size);
		PUT(out, uint64_t, segment->address);
		PUT(out, uint8_t, segment->executable);
	}
}

// Texts that are longer than anyone would read are cut, so that all fit.
static void put_text(struct buffer *out, const char *text, size_t texts_left) {
	size_t reserved = texts_left * (LEAST_TEXT + NAMED_SIZE);
	size_t room = LARGEST_ANSWER - out->size - MIN(reserved, LARGEST_ANSWER - out->size - 1);
	put(out, text, MIN(strlen(text), room - 1));
	put(out, "", 1);
}

void answer_write_named(struct buffer *out, const struct code_range *range, const struct named *named,
			size_t count) {
	begin(out, ANSWER_NAMED, count, 0, 0);
	put(out, range, sizeof(*range));
	for (size_t i = 0; i < count; i++) {
		const struct named *item = &named[i];
		const char *file = item->at.file;
		PUT(out, uint8_t,
		    (uint8_t)((item->name ? NAME_THERE : 0) | (file ? FILE_THERE : 0) |
			      (item->symbol ? SYMBOL_THERE : 0)));
		PUT(out, uint8_t, (uint8_t)item->kind);
		PUT(out, uint64_t, item->begin);
		PUT(out, uint64_t, item->symbol ? item->symbol->address : 0);
		PUT(out, uint32_t, item->at.line);
		if (item->name)
			put_text(out, item->name, 2 * (count - i) - 1);
		if (file)
			put_text(out, file, 2 * (count - i) - 2);
	}
}

void answer_write_rows(struct buffer *out, const struct code_range *range, uint64_t base,
		       const struct unwind_row *rows, size_t count) {
	begin(out, ANSWER_ROWS, count, 0, base);
	put(out, range, sizeof(*range));
	put(out, rows, count * sizeof(*rows));
}

void answer_write_extents(struct buffer *out, const struct code_range *extents, size_t count) {
	begin(out, ANSWER_EXTENTS, count, 0, 0);
	put(out, extents, count * sizeof(*extents));
}

void answer_write_want(struct buffer *out, uint32_t kind, uint64_t index, const char *text) {
	begin(out, ANSWER_WANT, 0, kind, index);
	put(out, text, MIN(strlen(text), LONGEST_WANTED - 1));
	put(out, "", 1);
}

void answer_write_allocator(struct buffer *out, const struct allocator_symbols *symbols) {
	begin(out, ANSWER_ALLOCATOR, symbols->count,
	      (symbols->has_malloc ? HAS_MALLOC : 0) | (symbols->is_go ? IS_GO : 0) |
		      (symbols->is_sanitized ? IS_SANITIZED : 0) |
		      (symbols->is_other_machine ? IS_OTHER_MACHINE : 0),
	      0);
	for (size_t i = 0; i < symbols->count; i++) {
		PUT(out, uint64_t, symbols->places[i].offset);
		PUT(out, uint8_t, (uint8_t)symbols->places[i].function);
		PUT(out, uint8_t, symbols->places[i].prefixed);
	}
}

void answer_write_python(struct buffer *out, const struct python_symbols *symbols) {
	begin(out, ANSWER_PYTHON, 0, symbols->found, symbols->runtime);
	PUT(out, uint64_t, symbols->code_type);
}

// ---- reading ----

static bool is_build_id(const char *text) {
	size_t length = text ? strlen(text) : BUILD_ID_TEXT;
	return length < BUILD_ID_TEXT && strspn(text, "0123456789abcdef") == length;
}

static void read_opened(struct cursor *in, struct answer *answer) {
	static const uint8_t something[1];
	struct elf_object *object = &answer->opened;
	*object = (struct elf_object){.files = {-1, -1}, .entry = answer->address};
	object->machine = cursor_u16(in);
	object->absolute = cursor_u8(in) != 0;
	object->eh_frame = cursor_u8(in) ? something : NULL;
	object->eh_frame_size = cursor_u64(in);
	const char *build_id = cursor_string(in);
	if (!is_build_id(build_id) || answer->count > MOST_SEGMENTS) {
		in->failed = true;
		return;
	}
	strcpy(object->build_id, build_id);
	for (uint32_t i = 0; i < answer->count; i++) {
		struct elf_segment *segment = &answer->segments[i];
		segment->offset = cursor_u64(in);
		segment->size = cursor_u64(in);
		segment->address = cursor_u64(in);
		segment->executable = cursor_u8(in) != 0;
	}
	object->segments = answer->segments;
	object->segment_count = answer->count;
}

static void read_named(struct cursor *in, struct answer *answer) {
	cursor_copy(in, &answer->range, sizeof(answer->range));
	in->failed |= answer->count > MOST_NAMED;
	for (uint32_t i = 0; i < answer->count && !in->failed; i++) {
		struct named *item = &answer->named[i];
		*item = (struct named){.name = NULL};
		uint8_t there = cursor_u8(in), kind = cursor_u8(in);
		in->failed |= kind > FRAME_JIT || kind == FRAME_KERNEL;
		item->kind = kind;
		item->begin = cursor_u64(in);
		answer->symbols[i].known = there & SYMBOL_THERE;
		answer->symbols[i].address = cursor_u64(in);
		item->at.line = cursor_u32(in);
		item->name = there & NAME_THERE ? cursor_string(in) : NULL;
		item->at.file = there & FILE_THERE ? cursor_string(in) : NULL;
	}
}

static void read_rows(struct cursor *in, struct answer *answer) {
	cursor_copy(in, &answer->range, sizeof(answer->range));
	if (answer->count > ROWS_IN_ANSWER)
		in->failed = true;
	else
		cursor_copy(in, answer->rows, answer->count * sizeof(*answer->rows));
}

static void read_extents(struct cursor *in, struct answer *answer) {
	if (answer->count > EXTENTS_IN_ANSWER)
		in->failed = true;
	else
		cursor_copy(in, answer->extents, answer->count * sizeof(*answer->extents));
}

static void read_allocator(struct cursor *in, struct answer *answer) {
	struct allocator_symbols *symbols = &answer->allocator;
	symbols->has_malloc = answer->value & HAS_MALLOC;
	symbols->is_go = answer->value & IS_GO;
	symbols->is_sanitized = answer->value & IS_SANITIZED;
	symbols->is_other_machine = answer->value & IS_OTHER_MACHINE;
	in->failed |= answer->count > MOST_ALLOCATOR_PLACES;
	for (symbols->count = 0; symbols->count < answer->count && !in->failed; symbols->count++) {
		struct allocator_place *place = &symbols->places[symbols->count];
		place->offset = cursor_u64(in);
		uint8_t function = cursor_u8(in);
		in->failed |= function == HEAP_CALL_NONE || function > HEAP_CALL_LAST;
		place->function = function;
		place->prefixed = cursor_u8(in) != 0;
	}
}

bool answer_read(const void *packet, size_t size, struct answer *answer) {
	struct cursor in = cursor_of(packet, size);
	answer->kind = cursor_u32(&in);
	answer->count = cursor_u32(&in);
	answer->value = cursor_u32(&in);
	answer->address = cursor_u64(&in);
	switch (answer->kind) {
	case ANSWER_HELLO:
		break;
	case ANSWER_OPENED:
		read_opened(&in, answer);
		break;
	case ANSWER_NAMED:
		read_named(&in, answer);
		break;
	case ANSWER_ROWS:
		read_rows(&in, answer);
		break;
	case ANSWER_EXTENTS:
		read_extents(&in, answer);
		break;
	case ANSWER_ALLOCATOR:
		read_allocator(&in, answer);
		break;
	case ANSWER_PYTHON:
		answer->python = (struct python_symbols){answer->value != 0, answer->address,
							 cursor_u64(&in)};
		break;
	case ANSWER_WANT:
		answer->wanted = cursor_string(&in);
		in.failed |= answer->value > DEBUG_LAST;
		break;
	default:
		in.failed = true;
	}
	return !in.failed && !cursor_left(&in);
}
