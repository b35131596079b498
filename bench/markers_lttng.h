// The tracepoint that represents LTTng-UST in bench/markers.c.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "markers_lttng.h"

#if !defined(MARKERS_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define MARKERS_LTTNG_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, mark, LTTNG_UST_TP_ARGS(const char *, text),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)))

#endif

#include <lttng/tracepoint-event.h>
