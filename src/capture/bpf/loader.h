// Opens and loads the programs, quicker than the skeleton's own functions.
#pragma once

#include <stdbool.h>

struct tracelet;

// As tracelet__open() and tracelet__load(), for one object at a time.
struct tracelet *programs_open(void);
int programs_load(struct tracelet *programs);
// Loading has failed. True: the object is to be destroyed, opened and loaded once more; libbpf does all by
// itself then, and says what is wrong.
bool programs_load_otherwise(int error);
