// What the sampling program and its loader share about code: which file is mapped where in each
// process, and each file's unwind table.
#pragma once

#include "capture/bpf/kernel_row.h"

enum {
	NO_FILE = 0,            // stands for files without a table
	UNWIND_PAGE_ROWS = 256, // a power of two
	UNWIND_MOST_FILES = 4096,
	UNWIND_MOST_PAGES = 1 << 14, // 4 million rows in a file
	SPACE_MOST_MAPPINGS = 256,   // a power of two
	SPACE_MOST = 32768,
};

// A table is pages of rows, preceded by index pages that say where each page of rows begins. A
// search costs as much as the cold memory it touches.
enum { UNWIND_PAGE_STARTS = 512 }; // a power of two

struct unwind_page {
	union {
		struct kernel_row rows[UNWIND_PAGE_ROWS]; // the last page is padded with rows past all code
		uint32_t starts[UNWIND_PAGE_STARTS];      // likewise
	};
};

struct unwind_size {
	uint32_t index_pages;
};

// An executable mapping: an address in it, minus `bias`, is an address in the file's table.
struct mapping {
	uint64_t start, end, bias;
	uint32_t file;
	uint32_t unused;
};

// An address space, shared by processes that forked and have not exec'd.
struct space {
	uint32_t count;
	uint32_t unused;
	struct mapping mappings[SPACE_MOST_MAPPINGS]; // ascending
};
