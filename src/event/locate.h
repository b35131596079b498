// A sink that resolves raw addresses: it follows what processes map, and gives samples
// with bare addresses stacks of modules, positions and, with the tables' symbolizer,
// names.
#pragma once

#include "event/event.h"

struct sink *locate_new(struct tables *tables, struct sink *next);
