// What S3 answers to ListObjectsV2: a page of a list, in XML.
#pragma once

#include "store/objects.h"

enum { OBJECTS_LONGEST_TOKEN = 2048 };

struct objects_list {
	const char *prefix; // of all our keys; entries are delivered without it
	void (*take)(void *context, const struct objects_entry *entry);
	void *context;
	char token[OBJECTS_LONGEST_TOKEN]; // for the next page; "" if this is the last
	size_t entries;                    // on this page, also those of others
};

bool objects_list_read(struct objects_list *list, const void *bytes, size_t size); // false if it is none
