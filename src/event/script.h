// Frames of an interpreter in place of its C functions.
#pragma once

#include "event/tables.h"

struct scripted {
	struct map known;  // stack, script and lines, hashed → mixed stack + 1
	uint32_t function; // string: the interpreter's C function
};

// A sample of a thread that runs Python has two stacks: that of the machine, where all Python code is one C
// function of the interpreter, and that of the interpreter (`script`), where a frame without a name comes
// after the frames that one call of this function runs. Returns the stack in which these stand for those
// calls; the given one if the two do not agree. `lines`: frames have the line of their code.
uint32_t scripted_stack(struct scripted *scripted, struct tables *tables, uint32_t stack, uint32_t script,
			bool lines);
void scripted_free(struct scripted *scripted);
