// Flame graphs that are left beside a trace: made from the events on their way to
// its writer, one for each kind of sample that occurs.
#pragma once

#include "event/event.h"

enum picture_kind { PICTURE_CPU, PICTURE_OFF_CPU, PICTURE_EVENTS, PICTURE_COUNT };

struct pictures {
	const char *stem;           // of their paths
	const char *title;          // the test's name
	char *paths[PICTURE_COUNT]; // of those that have been written, else NULL
};

// A sink in front of `next`, which it takes over. What cannot be drawn is a warning:
// the trace is worth more.
struct sink *pictures_new(struct pictures *pictures, struct tables *tables, struct sink *next);

const char *picture_kind_name(enum picture_kind kind); // for the summary

void pictures_drop(struct pictures *pictures); // deletes what has been written
void pictures_free(struct pictures *pictures);
