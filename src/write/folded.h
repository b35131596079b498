// Folded stacks: one "name;name;name weight" per line, sorted.
#pragma once

#include "event/sample_tree.h"
#include "write/writer.h"

struct sink *folded_open(struct output *output, struct tables *tables, const struct sample_options *options);
