// Flame graphs next to a trace: drawn from the events on their way to its writer,
// one for each kind of sample that occurs.
#pragma once

#include "flow/convert.h"

enum picture_kind { PICTURE_CPU, PICTURE_OFF_CPU, PICTURE_EVENTS, PICTURE_COUNT };

struct pictures {
	const char *stem;           // prefix of their paths
	const char *title;          // the test's name
	bool without_waits;         // a trace may have some of them only
	char *paths[PICTURE_COUNT]; // of the pictures that were written, else NULL
};

// Only warns if a picture cannot be drawn: the trace matters more.
struct tap pictures_tap(struct pictures *pictures);

const char *picture_kind_name(enum picture_kind kind); // for the summary

void pictures_drop(struct pictures *pictures); // deletes the pictures that were written
void pictures_free(struct pictures *pictures);
