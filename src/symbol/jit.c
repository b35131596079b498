#include "symbol/jit.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
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

// ---- reported functions, in order of arrival ----

struct listed {
	struct elf_symbol symbol; // its name is an offset into `names`
	size_t name, order;
};

struct listing {
	ARRAY(struct listed) list;
	struct buffer names;
};

static void list_symbol(struct listing *listing, uint64_t address, uint64_t size, const char *name,
			size_t length) {
	struct listed listed = {.symbol = {.address = address, .size = size},
				.name = listing->names.size,
				.order = listing->list.count};
	buffer_append(&listing->names, name, length);
	buffer_append(&listing->names, "", 1);
	array_push(&listing->list, listed);
}

static int by_address(const void *left, const void *right) {
	const struct listed *a = left, *b = right;
	if (a->symbol.address != b->symbol.address)
		return a->symbol.address < b->symbol.address ? -1 : 1;
	return a->order > b->order ? -1 : 1; // the last one first
}

static struct elf_object *object_of(struct listing *listing) {
	struct elf_object *object = memory_alloc(sizeof(*object));
	object->files[0] = object->files[1] = -1;
	object->absolute = true;
	object->text = (char *)listing->names.data;
	object->symbols = memory_alloc((listing->list.count + 1) * sizeof(*object->symbols));
	if (listing->list.count)
		qsort(listing->list.items, listing->list.count, sizeof(*listing->list.items), by_address);
	for (size_t i = 0; i < listing->list.count; i++) {
		struct listed *listed = &listing->list.items[i];
		if (i && listed->symbol.address == listed[-1].symbol.address)
			continue;
		listed->symbol.name = object->text + listed->name;
		object->symbols[object->symbol_count++] = listed->symbol;
	}
	array_free(&listing->list);
	return object;
}

// ---- lines ----

// A hexadecimal number, with or without "0x" before it, and the blank after it.
static bool take_number(struct cursor *line, uint64_t *number) {
	char digits[LONGEST_NUMBER + 1];
	size_t length = 0;
	if (cursor_left(line) > 2 && line->at[0] == '0' && line->at[1] == 'x')
		cursor_take(line, 2);
	while (cursor_left(line) > length && length < LONGEST_NUMBER && line->at[length] != ' ')
		length++;
	memcpy(digits, line->at, length);
	digits[length] = 0;
	char *end;
	*number = strtoull(digits, &end, 16);
	cursor_take(line, length);
	return length && !*end && cursor_u8(line) == ' ' && !line->failed;
}

// "7f00dc000000 40 name of any kind", "0x00007f00dc000000 0x0000000000000040 the JVM's"
static void take_lines(struct listing *listing, struct cursor in) {
	while (cursor_left(&in)) {
		const uint8_t *end = memchr(in.at, '\n', cursor_left(&in));
		size_t length = end ? (size_t)(end - in.at) : cursor_left(&in);
		struct cursor line = cursor_of(in.at, length);
		uint64_t address, size;
		if (take_number(&line, &address) && take_number(&line, &size) && cursor_left(&line))
			list_symbol(listing, address, size, (const char *)line.at, cursor_left(&line));
		cursor_take(&in, length + (end != NULL));
	}
}

// ---- dumps ----

enum { DUMP_MAGIC = 0x4a695444, DUMP_HEADER = 40, RECORD_HEADER = 16 };
enum { CODE_LOAD, CODE_MOVE };

static bool is_dump(struct cursor in) {
	return cursor_left(&in) >= DUMP_HEADER && cursor_u32(&in) == DUMP_MAGIC;
}

static void take_load(struct listing *listing, struct cursor in) {
	cursor_take(&in, 16); // pid, tid, address as the program sees it
	uint64_t address = cursor_u64(&in), size = cursor_u64(&in);
	cursor_u64(&in); // index of the code
	const char *name = cursor_string(&in);
	if (name)
		list_symbol(listing, address, size, name, strlen(name));
}

// A move is about the last function that was reported at that address.
static void take_move(struct listing *listing, struct cursor in) {
	cursor_take(&in, 16);
	uint64_t from = cursor_u64(&in), to = cursor_u64(&in);
	for (size_t i = listing->list.count; !in.failed && i-- > 0;) {
		struct listed moved = listing->list.items[i];
		if (moved.symbol.address != from)
			continue;
		moved.symbol.address = to;
		moved.order = listing->list.count;
		array_push(&listing->list, moved);
		return;
	}
}

static void take_dump(struct listing *listing, struct cursor in) {
	enum { MOST_MOVES = 10000 }; // each move scans all earlier functions
	cursor_take(&in, 8);
	uint32_t header = cursor_u32(&in), moves = 0;
	cursor_take(&in, header > 12 ? header - 12 : 0);
	while (cursor_left(&in) >= RECORD_HEADER) {
		uint32_t id = cursor_u32(&in), size = cursor_u32(&in);
		cursor_u64(&in); // time
		const uint8_t *body = size < RECORD_HEADER ? NULL : cursor_take(&in, size - RECORD_HEADER);
		if (!body) // the program was killed while it wrote
			return;
		struct cursor record = cursor_of(body, size - RECORD_HEADER);
		if (id == CODE_LOAD)
			take_load(listing, record);
		else if (id == CODE_MOVE && moves++ < MOST_MOVES)
			take_move(listing, record);
	}
}

// ---- files ----

struct elf_object *jit_parse(const void *bytes, size_t size) {
	struct listing listing = {0};
	struct cursor in = cursor_of(bytes, size);
	buffer_append(&listing.names, "", 1);
	if (is_dump(in))
		take_dump(&listing, in);
	else
		take_lines(&listing, in);
	return object_of(&listing);
}

// Any user can create a file there: trust only root's and those of the user for whom we open files, who is
// another one than we are with --user.
int jit_find_file(const char *path) {
	int file = file_open_regular(path, O_RDONLY | O_NOFOLLOW);
	struct stat status;
	uid_t user = (uid_t)setfsuid((uid_t)-1); // changes nothing
	if (file < 0 || (fstat(file, &status) == 0 && (status.st_uid == user || status.st_uid == 0)))
		return file;
	close(file);
	return -EPERM;
}

struct elf_object *jit_open_file(int file) {
	struct stat status;
	struct elf_object *object = NULL;
	if (file < 0)
		return NULL;
	if (fstat(file, &status) == 0 && status.st_size < LARGEST_FILE) {
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
