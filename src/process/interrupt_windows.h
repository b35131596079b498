// Ctrl-C while wpr.exe works for us: it has its own console and continues, and we have to finish what it
// started.
#pragma once

#include <stdbool.h>

// From now on Ctrl-C only sets the Windows event that this returns. When the console is closed, Windows
// gives processes a few seconds, which we use for the trace.
void *interrupt_event(void);
bool interrupted(void);
