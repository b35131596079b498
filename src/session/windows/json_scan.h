// Reading JSON, one value after the other, from text that may be anything. There is
// no json-c for mingw in Debian, and the parser that Windows has is not for C.
#pragma once

#include "base/memory.h"

struct json_scan {
	const char *at, *end;
	bool bad; // it is no JSON: nothing more is taken
	unsigned depth;
};

// Calls `take` behind each key of the object that begins here; it takes the value, or leaves it.
void json_scan_object(struct json_scan *scan,
		      void (*take)(struct json_scan *scan, const char *key, void *context), void *context);

// The same for each item of an array.
void json_scan_array(struct json_scan *scan, void (*take)(struct json_scan *scan, void *context),
		     void *context);

char *json_scan_string(struct json_scan *scan);   // to be freed; NULL: it is none
bool json_scan_at_string(struct json_scan *scan); // is the next value one?
bool json_scan_true(struct json_scan *scan);      // takes any value: is it true?
bool json_scan_number(struct json_scan *scan, double *number);
void json_scan_skip(struct json_scan *scan); // any value
