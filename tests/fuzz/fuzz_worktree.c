// Git's index, which comes with a folder that others may have made.
#include "fuzz.h"

#include "artifact/worktree.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	worktree_is_dirty("/nonexistent", bytes, size);
	return 0;
}

static void put(struct buffer *out, uint32_t value, int bytes) {
	for (int i = bytes - 1; i >= 0; i--)
		buffer_append(out, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

// An entry that git does not look at, so that the next one is read, too.
static void put_entry(struct buffer *out, uint32_t version, const char *path) {
	static const uint8_t zeros[40];
	enum { SUBMODULE = 0160000, HEAD = 62 };
	size_t length = strlen(path);
	buffer_append(out, zeros, 24);
	put(out, SUBMODULE, 4);
	buffer_append(out, zeros, 12 + 20);
	put(out, (uint32_t)length, 2);
	if (version == 4)
		put(out, 0, 1);
	buffer_append(out, path, length + 1);
	if (version < 4)
		buffer_append(out, zeros, 7 - (HEAD + length) % 8);
}

void fuzz_seeds(void) {
	for (uint32_t version = 2; version <= 4; version++) {
		char name[2] = {(char)('0' + version), 0};
		struct buffer seed = {0};
		buffer_text(&seed, "DIRC");
		put(&seed, version, 4);
		put(&seed, 2, 4);
		put_entry(&seed, version, "folder/one");
		put_entry(&seed, version, "two");
		buffer_text(&seed, "TREE");
		put(&seed, 7, 4);
		buffer_append(&seed, "\0-1 0\n\0", 7);
		buffer_append(&seed, (uint8_t[32]){0}, 32);
		fuzz_seed(name, &seed);
	}
}
