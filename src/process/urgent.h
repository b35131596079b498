// Priority over the test for the thread that empties the kernel's buffers.
#pragma once

#include <stdbool.h>

// From now on the calling thread runs before ordinary ones, whatever scheduler group they are in; threads
// and processes that it starts do not. False if the system does not allow it.
bool urgent_begin(void);
void urgent_end(void);

// When memory runs out, the kernel kills this process before the test.
void urgent_offer_memory(void);
