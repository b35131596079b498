// Which file it is that a process has mapped, and its build id. Perf could tell that id itself, but while
// anybody asks for it the kernel marks the records of others as if they had asked, too, and perf crashes.
// So it is read from the file, as soon as a mapping is told: by what is mapped, while the process is there,
// else by the path, if it still leads to the same device and inode. A file that was looked at is held
// open, so nobody else gets its numbers, and is read again when its times have changed.
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "event/spool_format.h"

#include <sys/types.h>

struct elf_object;

struct file_number { // as the kernel tells it
	dev_t device;
	ino_t inode; // 0: it is no file
};

struct mapped_file {
	uint64_t content;          // a hash: who has the same one has the same code
	struct elf_object *object; // from the first look at this content: who wants it takes it; or NULL
	uint8_t build_id_size, build_id[20];
	// What was seen last.
	struct file_number number; // as the file itself tells it
	int64_t size, written, changed;
	int held; // a descriptor that this stays the number of; -1: none
};

struct mapped_files {
	ARRAY(struct mapped_file) items;
	struct map by_number;
};

// Fills in the mapping's build id. The index of its file in `items`, plus 1; 0: there is none, or it is gone
// (then the id's size is SPOOL_BUILD_ID_LOST).
uint32_t mapped_files_look(struct mapped_files *files, struct spool_mapping *mapping,
			   struct file_number number, const char *path);
void mapped_files_free(struct mapped_files *files);
