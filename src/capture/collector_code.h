// What a client of the collector has to find out about the stacks that it gets: which files a process had
// loaded where, from the modules that come before its first stack, and the names of kernel functions.
#pragma once

#include "capture/spool.h"
#include "format/collector_wire.h"

struct collector_code;

// From now on symbol/kernel.h resolves kernel functions as the collector names them.
struct collector_code *collector_code_new(void);
void collector_code_free(struct collector_code *code);

// Writes the process's mappings into the spool; the batch has a RECORD_MODULES.
void collector_code_modules(struct collector_code *code, struct spool *spool, const struct batch *batch);
// Writes what else the process has that is code, such as that of a JIT compiler; the batch has a
// RECORD_SAMPLE and is written after it.
void collector_code_stack(struct collector_code *code, struct spool *spool, const struct batch *batch);
void collector_code_name(struct collector_code *code, const struct collector_name *name);
