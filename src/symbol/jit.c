#include "symbol/jit.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/cursor.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_FILE = 1 << 30, LONGEST_NUMBER = 16 };

bool jit_is_file(const char *path) {
	const char *name = strrchr(path, '/');
	int map = 0, dump = 0;
	if (!name)
		return false;
	bool is_map = sscanf(path, "/tmp/perf-%*u.map%n", &map) == 0 && map && !path[map];
	return is_map || (sscanf(name, "/jit-%*u.dump%n", &dump) == 0 && dump && !name[dump]);
}

// ---- what is told, in the order of telling ----

struct told {
	struct elf_symbol symbol; // its name is an offset into `names`
	size_t name, order;
};

struct telling {
	ARRAY(struct told) list;
	struct buffer names;
};

static void tell(struct telling *telling, uint64_t address, uint64_t size, const char *name, size_t length) {
	struct told told = {.symbol = {.address = address, .size = size},
			    .name = telling->names.size,
			    .order = telling->list.count};
	buffer_append(&telling->names, name, length);
	buffer_append(&telling->names, "", 1);
	array_push(&telling->list, told);
}

static int by_address(const void *left, const void *right) {
	const struct told *a = left, *b = right;
	if (a->symbol.address != b->symbol.address)
		return a->symbol.address < b->symbol.address ? -1 : 1;
	return a->order > b->order ? -1 : 1; // the last first
}

static struct elf_object *object_of(struct telling *telling) {
	struct elf_object *object = memory_alloc(sizeof(*object));
	object->files[0] = object->files[1] = -1;
	object->absolute = true;
	object->text = (char *)telling->names.data;
	object->symbols = memory_alloc((telling->list.count + 1) * sizeof(*object->symbols));
	if (telling->list.count)
		qsort(telling->list.items, telling->list.count, sizeof(*telling->list.items), by_address);
	for (size_t i = 0; i < telling->list.count; i++) {
		struct told *told = &telling->list.items[i];
		if (i && told->symbol.address == told[-1].symbol.address)
			continue;
		told->symbol.name = object->text + told->name;
		object->symbols[object->symbol_count++] = told->symbol;
	}
	array_free(&telling->list);
	return object;
}

// ---- lines ----

// A hexadecimal number and the blank behind it.
static bool take_number(struct cursor *line, uint64_t *number) {
	char digits[LONGEST_NUMBER + 1];
	size_t length = 0;
	while (cursor_left(line) > length && length < LONGEST_NUMBER && line->at[length] != ' ')
		length++;
	memcpy(digits, line->at, length);
	digits[length] = 0;
	char *end;
	*number = strtoull(digits, &end, 16);
	cursor_take(line, length);
	return length && !*end && cursor_u8(line) == ' ' && !line->failed;
}

// "7f00dc000000 40 name of any kind"
static void take_lines(struct telling *telling, struct cursor in) {
	while (cursor_left(&in)) {
		const uint8_t *end = memchr(in.at, '\n', cursor_left(&in));
		size_t length = end ? (size_t)(end - in.at) : cursor_left(&in);
		struct cursor line = cursor_of(in.at, length);
		uint64_t address, size;
		if (take_number(&line, &address) && take_number(&line, &size) && cursor_left(&line))
			tell(telling, address, size, (const char *)line.at, cursor_left(&line));
		cursor_take(&in, length + (end != NULL));
	}
}

// ---- dumps ----

enum { DUMP_MAGIC = 0x4a695444, DUMP_HEADER = 40, RECORD_HEADER = 16 };
enum { CODE_LOAD, CODE_MOVE };

static bool is_dump(struct cursor in) {
	return cursor_left(&in) >= DUMP_HEADER && cursor_u32(&in) == DUMP_MAGIC;
}

static void take_load(struct telling *telling, struct cursor in) {
	cursor_take(&in, 16); // pid, tid, address in the program's own view
	uint64_t address = cursor_u64(&in), size = cursor_u64(&in);
	cursor_u64(&in); // its number
	const char *name = cursor_string(&in);
	if (name)
		tell(telling, address, size, name, strlen(name));
}

// The function that is moved is the last one that was told to be there.
static void take_move(struct telling *telling, struct cursor in) {
	cursor_take(&in, 16);
	uint64_t from = cursor_u64(&in), to = cursor_u64(&in);
	for (size_t i = telling->list.count; !in.failed && i-- > 0;) {
		struct told moved = telling->list.items[i];
		if (moved.symbol.address != from)
			continue;
		moved.symbol.address = to;
		moved.order = telling->list.count;
		array_push(&telling->list, moved);
		return;
	}
}

static void take_dump(struct telling *telling, struct cursor in) {
	enum { MOST_MOVES = 10000 }; // each looks at all before it
	cursor_take(&in, 8);
	uint32_t header = cursor_u32(&in), moves = 0;
	cursor_take(&in, header > 12 ? header - 12 : 0);
	while (cursor_left(&in) >= RECORD_HEADER) {
		uint32_t id = cursor_u32(&in), size = cursor_u32(&in);
		cursor_u64(&in); // time
		const uint8_t *body = size < RECORD_HEADER ? NULL : cursor_take(&in, size - RECORD_HEADER);
		if (!body) // the program was ended while it wrote
			return;
		struct cursor record = cursor_of(body, size - RECORD_HEADER);
		if (id == CODE_LOAD)
			take_load(telling, record);
		else if (id == CODE_MOVE && moves++ < MOST_MOVES)
			take_move(telling, record);
	}
}

// ---- files ----

struct elf_object *jit_parse(const void *bytes, size_t size) {
	struct telling telling = {0};
	struct cursor in = cursor_of(bytes, size);
	buffer_append(&telling.names, "", 1);
	if (is_dump(in))
		take_dump(&telling, in);
	else
		take_lines(&telling, in);
	return object_of(&telling);
}

// Anybody can put a file there: only our own or root's is believed.
struct elf_object *jit_open(const char *path) {
	int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	struct elf_object *object = NULL;
	if (file < 0)
		return NULL;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < LARGEST_FILE &&
	    (status.st_uid == geteuid() || status.st_uid == 0)) {
		struct buffer content = {0};
		size_t room = (size_t)status.st_size;
		ssize_t got = 1;
		while (got > 0 && content.size < room) {
			got = read(file, buffer_room(&content, room - content.size), room - content.size);
			content.size += got > 0 ? (size_t)got : 0;
		}
		object = jit_parse(content.data, content.size);
		buffer_free(&content);
	}
	close(file);
	return object;
}
