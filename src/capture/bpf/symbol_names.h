// Gets names for kernel addresses from the kernel itself, one at a time, while our programs are
// loaded: a few microseconds each. Reading all of /proc/kallsyms takes 33 ms, longer than the rest
// of a short test's end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tracelet; // the skeleton

void symbol_names_choose(struct tracelet *programs, bool wanted); // before loading
void symbol_names_offer(struct tracelet *programs);               // to symbol/kernel.h, if supported
void symbol_names_withdraw(void);

// Takes the kernel's text for an address apart: leaves the name, and sets where the function begins. False if
// it has no name.
bool symbol_text_parse(char *text, uint64_t address, uint64_t *start);
