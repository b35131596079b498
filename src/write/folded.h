// Folded stacks: "name;name;name weight" on a line each, sorted.
#pragma once

#include "write/profile.h"
#include "write/writer.h"

struct sink *folded_open(struct output *output, struct tables *tables, const struct profile_options *options);
