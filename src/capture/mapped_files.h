// Which file a process has mapped, and its build id. Perf could report the build id, but while any
// reader asks for it the kernel marks other readers' records as if they had asked, too, and perf
// crashes. So we read it from the file, as soon as a mapping is reported: through the mapping while
// the process exists, else through the path, if that still leads to the same device and inode.
// Files are held open, so their numbers cannot be reused, and are read again when their timestamps
// change.
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "format/spool_format.h"

#include <sys/types.h>

struct elf_object;

struct file_number { // as the kernel reports it
	dev_t device;
	ino_t inode; // 0 if not a file
};

struct mapped_file {
	uint64_t content;          // a hash; equal hashes mean equal code
	struct elf_object *object; // from the first look at this content, for the caller to take; or NULL
	uint8_t build_id_size, build_id[20];
	// As of the last look.
	struct file_number number; // as the file itself reports it
	int64_t size, written, changed;
	int held; // a descriptor that keeps this number in use; -1 if none
};

struct reader;

struct mapped_files {
	struct reader *reader; // NULL before the first file
	ARRAY(struct mapped_file) items;
	struct map by_number;
};

// Fills in the mapping's build id. Returns the index of its file in `items` plus 1; 0 if it has
// none, or if the file is gone (then the id's size is SPOOL_BUILD_ID_LOST).
uint32_t mapped_files_look(struct mapped_files *files, struct spool_mapping *mapping,
			   struct file_number number, const char *path);
// Opens the file of a mapping, for the caller to close; negative if it is gone.
int mapped_files_open(const struct spool_mapping *mapping, struct file_number number, const char *path);
void mapped_files_free(struct mapped_files *files);
