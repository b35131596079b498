// The machine that an ETL file comes from, as the kernel describes it at the end of
// a session: names, CPUs, memory, disks, and which drive letter a device has.
#pragma once

#include "read/etl/schema.h"

struct etl_disk {
	uint32_t number, name; // name: a string
	uint64_t size;         // in bytes
};

struct etl_volume {
	uint32_t letter, file_system; // strings
	uint64_t size, free;          // in bytes
};

// What paths of the kernel begin with, and what users call it.
struct etl_mapping {
	char *from, *to; // without a backslash at the end
};

struct etl_machine {
	uint32_t computer, domain, processor, manufacturer, product; // strings; 0 if unknown
	uint32_t windows, build;                                     // strings
	uint64_t memory;                                             // in bytes
	ARRAY(struct etl_disk) disks;
	ARRAY(struct etl_volume) volumes;
	ARRAY(struct etl_mapping) mappings;
};

// Takes a record that describes the machine, and ignores others.
void etl_machine_take(struct etl_machine *machine, struct etl_decoder *decoder, struct strings *strings,
		      const struct etl_record *record, const struct etl_type *type);

// Makes C:\file of \Device\HarddiskVolume2\file, in place: returns where the text begins now, at or after
// `path`, and its new size.
char *etl_machine_path(const struct etl_machine *machine, char *path, size_t *size);

void etl_machine_free(struct etl_machine *machine);
