// Names for the kernel's addresses from the kernel itself, one by one, while our programs are loaded: a
// few microseconds each. To read all of /proc/kallsyms takes 33 ms, more than the rest of a short test's end.
#pragma once

#include <stdbool.h>

struct tracelet; // the skeleton

void symbol_names_choose(struct tracelet *programs, bool wanted); // before they are loaded
void symbol_names_offer(struct tracelet *programs);               // to symbol/kernel.h, if this kernel can
void symbol_names_withdraw(void);
