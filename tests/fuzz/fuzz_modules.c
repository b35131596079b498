// The list of a process's modules, which the collector's programs read from the memory of the test and a
// client turns into mappings: nothing in it can be trusted, least of all the names of files.
#include "fuzz.h"

#include "capture/collector_code.h"
#include "symbol/elf.h"
#include "symbol/reader.h"

#include <stdio.h>
#include <string.h>

// What is in the files is fuzzed elsewhere. Here no other process reads them.
struct reader *reader_new(void) {
	return NULL;
}

void reader_free(struct reader *reader) {
}

struct elf_object *reader_open_code(struct reader *reader, const char *path) {
	return elf_open_code(path);
}

// What is written into the spool has to be whole: a reader takes it for granted that paths end.
static void check_blocks(const struct buffer *written, size_t at) {
	struct spool_block block;
	for (; at < written->size; at += sizeof(block) + ((block.size + 7) & ~7u)) {
		memcpy(&block, written->data + at, sizeof(block));
		const uint8_t *content = written->data + at + sizeof(block);
		if (block.type != SPOOL_MAPPING || block.size <= sizeof(struct spool_mapping) ||
		    at + sizeof(block) + block.size > written->size || content[block.size - 1] != 0)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static struct collector_code *code;
	size = size & ~(size_t)7; // as of every batch
	if (!code)
		code = collector_code_new();
	struct batch *batch = memory_alloc(sizeof(*batch) + size);
	struct spool spool;
	*batch = (struct batch){.base = 1000, .size = (uint32_t)size};
	memcpy(batch + 1, bytes, size);
	spool_open(&spool, -1, 0);
	size_t begin = spool.pending.size;
	collector_code_modules(code, &spool, batch);
	check_blocks(&spool.pending, begin);
	spool.pending.size = 0;
	spool_close(&spool);
	free(batch);
	return 0;
}

static void seed(const char *name, uint32_t modules, const char *const *names) {
	enum { SELF = 1 };
	struct record_crash record = {.pid = SELF, .entry = 0x401000, .module_count = modules};
	size_t size = offsetof(struct record_crash, modules) + modules * sizeof(struct crash_module);
	struct buffer bytes = {0};
	snprintf(record.program, sizeof(record.program), "/bin/true");
	record.head = (struct record){.kind = RECORD_MODULES, .size = (uint16_t)size};
	for (uint32_t i = 0; i < modules; i++) {
		record.modules[i].bias = 0x7f0000000000 + i * 0x1000000ull;
		snprintf(record.modules[i].name, sizeof(record.modules[i].name), "%s", names[i]);
	}
	buffer_append(&bytes, &record, size);
	fuzz_seed(name, &bytes);
}

void fuzz_seeds(void) {
	static const char *const names[] = {"",
					    "linux-vdso.so.1",
					    "/lib/x86_64-linux-gnu/libc.so.6",
					    "/proc/self/exe",
					    "/dev/zero",
					    "libc.so.6",
					    "../../.."};
	seed("none", 0, names);
	seed("some", 3, names);
	seed("strange", ARRAY_SIZE(names), names);
}
