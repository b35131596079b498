// Adds up the heap events of a process that the BPF programs report, in the same form in which
// the library inside a test counts (format/heap_format.h), so that the same code makes profiles of both.
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "capture/bpf/heap_record.h"
#include "format/heap_format.h"

#include <sys/types.h>

struct tallied_block {
	uint64_t size, born;
	uint32_t point;
	uint32_t next_free;
};

struct reader;

struct heap_tally {
	struct heap_area *area;
	pid_t process;
	struct reader *reader; // of its files; NULL before the first
	struct map stacks;     // from id to node + 1
	struct map frames;     // from address to frame + 1
	struct map nodes;      // from parent and frame to the node
	struct map blocks;     // from address to index in `pool` + 1
	ARRAY(struct tallied_block) pool;
	uint32_t first_free; // index + 1
	uint64_t until;      // ignore later events; 0 to count everything
	uint64_t cut;        // stacks that do not reach the outermost function
	uint64_t before;     // frees of blocks allocated earlier
	bool modules_stale;
	bool is_other; // it exec'd another program, at `until`
};

int heap_tally_init(struct heap_tally *tally, pid_t process); // 0 or -errno
void heap_tally_free(struct heap_tally *tally);
void heap_tally_take(void *context, const void *record, size_t size); // context: the tally
