// Ctrl-C while wpr.exe works for us: it has a console of its own and goes on, and what it does has to be
// brought to an end by somebody.
#pragma once

#include <stdbool.h>

// From now on Ctrl-C does nothing to us but set an event of Windows, which this returns. When the console
// is closed, Windows gives everybody some seconds: they are for the trace.
void *interrupt_event(void);
bool interrupted(void);
