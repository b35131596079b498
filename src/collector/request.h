// The one place that looks at what clients send.
#pragma once

#include "format/collector_wire.h"

#include <stddef.h>

// Is it a whole request with as many descriptors as its type needs? 0 (COLLECTOR_ACCEPTED), with a copy of it
// in `request`, or the reason why not.
enum collector_refusal request_check(const void *bytes, size_t size, size_t descriptors,
				     struct collector_request *request);
