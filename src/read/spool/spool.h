// Part of the spool reader.
#pragma once

#include "read/reader.h"
#include "read/spool/merge.h"

// The reader without runs: decodes each record immediately. For tests that compare the two.
int spool_read_one_by_one(struct stream *input, const char *name, struct tables *tables, struct sink *sink);
