// How the sampling program and its loader share what is known about code: which
// file is mapped where in each process, and each file's unwind table.
#pragma once

#include "capture/bpf/kernel_row.h"

enum {
	NO_FILE = 0,            // the number of files that have no table
	UNWIND_PAGE_ROWS = 256, // a power of two
	UNWIND_MOST_FILES = 4096,
	UNWIND_MOST_PAGES = 1 << 14, // 4 million rows in a file
	SPACE_MOST_MAPPINGS = 256,   // a power of two
	SPACE_MOST = 32768,
};

// A table is pages of rows, and before them pages of an index: where each page of rows begins. What a
// search costs is the memory that it touches, which is cold.
enum { UNWIND_PAGE_STARTS = 512 }; // a power of two

struct unwind_page {
	union {
		struct kernel_row
			rows[UNWIND_PAGE_ROWS];      // the last one is filled up with rows behind all code
		uint32_t starts[UNWIND_PAGE_STARTS]; // likewise
	};
};

struct unwind_size {
	uint32_t index_pages;
};

// An executable mapping: addresses in it, less `bias`, are those of the file's table.
struct mapping {
	uint64_t start, end, bias;
	uint32_t file;
	uint32_t unused;
};

// An address space. Processes that forked and did not execute share one.
struct space {
	uint32_t count;
	uint32_t unused;
	struct mapping mappings[SPACE_MOST_MAPPINGS]; // ascending
};
