// Adds up what the programs in the kernel tell of a process's heap, in the form in which the
// library in a test counts (event/heap_format.h), so that one and the same makes profiles of it.
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "capture/bpf/heap_record.h"
#include "event/heap_format.h"

#include <sys/types.h>

struct tallied_block {
	uint64_t size, born;
	uint32_t point;
	uint32_t next_free;
};

struct heap_tally {
	struct heap_area *area;
	pid_t process;
	struct map stacks; // id to one more than the node
	struct map frames; // address to one more than the frame
	struct map nodes;  // parent and frame to the node
	struct map blocks; // address to one more than the index in `pool`
	ARRAY(struct tallied_block) pool;
	uint32_t first_free; // one more than its index
	uint64_t until;      // what is later does not count; 0: everything does
	uint64_t cut;        // stacks that do not reach the outermost function
	uint64_t before;     // frees of blocks that were there before
	bool modules_stale;
	bool is_other; // it has become another program: `until` is when
};

int heap_tally_init(struct heap_tally *tally, pid_t process); // 0 or -errno
void heap_tally_free(struct heap_tally *tally);
void heap_tally_take(void *context, const void *record, size_t size); // context: the tally
