// Tells python.bpf.c which processes run Python, and where their interpreter has its frames.
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "capture/mapped_files.h"
#include "format/python_layout.h"

struct tracelet;

struct python_file { // a file that looks like the interpreter
	bool found;
	struct python_process places; // counted from its mapping
};

struct pythons {
	ARRAY(struct python_file) files;
	struct map by_number; // of the mapped file → index + 1
};

// Whether a mapping is the interpreter's code: index in `files` plus 1, or 0. `reader` is made if needed.
uint32_t pythons_look(struct pythons *pythons, struct reader **reader, const struct spool_mapping *mapping,
		      struct file_number number, const char *path);
// The process runs the file that pythons_look() has found.
void pythons_begin(const struct pythons *pythons, const struct tracelet *programs, uint32_t file,
		   const struct spool_mapping *mapping);
void pythons_end(const struct tracelet *programs, uint32_t pid); // it ends, or executes another program
void pythons_free(struct pythons *pythons);
