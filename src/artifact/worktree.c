// The index is a list of entries sorted by path (versions 2 to 4), then extensions. The one named TREE says
// which directories are as in the commit; an entry count of -1 for the root means that something was staged.
#include "artifact/worktree.h"
#include "base/cursor.h"
#include "base/memory.h"
#include "base/system.h"

#include <errno.h>
#include <time.h>

enum { LONGEST_PATH = 4096, HASH = 20, LIMIT_NS = 5000000, LOOK_EVERY = 32 };

enum {
	ASSUME_VALID = 0x8000,
	EXTENDED = 0x4000,
	STAGE = 0x3000,
	SKIP_WORKTREE = 0x4000,
	INTENT_TO_ADD = 0x2000,
	FILE_MODE = 0100000,
	TYPE_MASK = 0170000
};

struct entry {
	uint32_t modified, mode, size; // seconds; bytes, modulo 2^32
	uint16_t flags, more;
};

struct index {
	struct cursor cursor;
	uint32_t version, count;
	char path[LONGEST_PATH]; // of the last entry: version 4 says how the next one differs
};

static uint32_t take_32(struct cursor *cursor) {
	uint8_t bytes[4];
	cursor_copy(cursor, bytes, sizeof(bytes));
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint16_t take_16(struct cursor *cursor) {
	uint8_t bytes[2];
	cursor_copy(cursor, bytes, sizeof(bytes));
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

// Git's own numbers: the most significant part first, each step adds one.
static size_t take_number(struct cursor *cursor) {
	uint8_t byte = cursor_u8(cursor);
	size_t value = byte & 0x7f;
	while (byte & 0x80 && value < LONGEST_PATH) {
		byte = cursor_u8(cursor);
		value = (value + 1) << 7 | (byte & 0x7f);
	}
	return value;
}

// The path up to its NUL; false if it is too long.
static bool take_path(struct index *index, const uint8_t *begin) {
	struct cursor *cursor = &index->cursor;
	size_t kept = 0;
	if (index->version == 4) {
		size_t before = strlen(index->path), dropped = take_number(cursor);
		if (dropped > before)
			return false;
		kept = before - dropped;
	}
	const uint8_t *end = memchr(cursor->at, 0, cursor_left(cursor));
	size_t length = end ? (size_t)(end - cursor->at) : LONGEST_PATH;
	if (kept + length >= LONGEST_PATH)
		return false;
	cursor_copy(cursor, index->path + kept, length + 1);
	if (index->version < 4) // 1 to 8 NULs
		cursor_take(cursor, 7 - (size_t)(cursor->at - begin - 1) % 8);
	return !cursor->failed;
}

static bool take_entry(struct index *index, struct entry *entry) {
	struct cursor *cursor = &index->cursor;
	const uint8_t *begin = cursor->at;
	cursor_take(cursor, 8); // when the inode changed
	entry->modified = take_32(cursor);
	cursor_take(cursor, 12); // nanoseconds, device, inode
	entry->mode = take_32(cursor);
	cursor_take(cursor, 8); // owner
	entry->size = take_32(cursor);
	cursor_take(cursor, HASH);
	entry->flags = take_16(cursor);
	entry->more = entry->flags & EXTENDED && index->version >= 3 ? take_16(cursor) : 0;
	return !cursor->failed && take_path(index, begin);
}

// A size of 0 in the index may mean that git has not looked since the file was written.
static bool differs(const char *folder, const char *path, const struct entry *entry) {
	CLEANUP_FREE char *file = memory_format("%s/%s", folder, path);
	struct stat status;
	if (entry->flags & STAGE || entry->more & INTENT_TO_ADD)
		return true;
	if (entry->flags & ASSUME_VALID || entry->more & SKIP_WORKTREE ||
	    (entry->mode & TYPE_MASK) != FILE_MODE)
		return false;
	if (system_link_stat(file, &status))
		return errno == ENOENT;
	return (entry->size && (uint32_t)status.st_size != entry->size) ||
	       status.st_mtime > (time_t)entry->modified;
}

// "TREE" begins with the root: an empty name, then how many entries it has.
static bool is_staged(struct cursor *cursor) {
	bool staged = false;
	while (cursor_left(cursor) > HASH + 8) {
		char name[4];
		cursor_copy(cursor, name, sizeof(name));
		struct cursor content = cursor_slice(cursor, take_32(cursor));
		if (memcmp(name, "link", sizeof(name)) == 0) // the entries are in another file, too
			return false;
		if (memcmp(name, "TREE", sizeof(name)) == 0 && cursor_left(&content) > 3)
			staged = memcmp(content.at, "\0-1", 3) == 0;
	}
	return staged && !cursor->failed;
}

static int64_t now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

bool worktree_is_dirty(const char *folder, const void *content, size_t size) {
	struct index index = {.cursor = cursor_of(content, size)};
	struct entry entry;
	char magic[4];
	int64_t limit = now() + LIMIT_NS;
	cursor_copy(&index.cursor, magic, sizeof(magic));
	index.version = take_32(&index.cursor);
	index.count = take_32(&index.cursor);
	if (memcmp(magic, "DIRC", sizeof(magic)) != 0 || index.version < 2 || index.version > 4)
		return false;
	for (uint32_t i = 0; i < index.count; i++) {
		if (!take_entry(&index, &entry) || (i % LOOK_EVERY == LOOK_EVERY - 1 && now() > limit))
			return false;
		if (differs(folder, index.path, &entry))
			return true;
	}
	return is_staged(&index.cursor);
}
