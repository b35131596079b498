// The shape of the messages of a Perfetto trace, as far as it matters here: the commonly written
// fields, indexed by number, from the public .proto files. A field that is not listed may be
// anything.
#include "check/check.h"

#define RULE(name, ...)                                                                                      \
	static const struct field_rule name##_fields[] = {__VA_ARGS__};                                      \
	const struct message_rule rule_##name = {name##_fields, ARRAY_SIZE(name##_fields)}
#define PRIVATE_RULE(name, ...)                                                                              \
	static const struct field_rule name##_fields[] = {__VA_ARGS__};                                      \
	static const struct message_rule rule_##name = {name##_fields, ARRAY_SIZE(name##_fields)}

// clang-format off
#define UINT          {SHAPE_UINT}
#define UINTS         {SHAPE_UINTS}
#define FIXED         {SHAPE_FIXED}
#define PACKED        {SHAPE_PACKED}
#define BYTES         {SHAPE_BYTES}
#define ID(table)     {SHAPE_UINT, TABLE_##table}
#define IDS(table)    {SHAPE_UINTS, TABLE_##table}
#define MESSAGE(name) {SHAPE_MESSAGE, 0, &rule_##name}
// clang-format on

// A message for which only the wire format is checked.
const struct message_rule rule_any = {NULL, 0};

// The fields of TracePacket that are not messages.
RULE(packet_header, [3] = UINT, [8] = UINT, [10] = UINT, [13] = UINT, [36] = BYTES, [41] = UINT, [42] = UINT,
     [58] = UINT, [79] = UINT, [87] = UINT, [98] = UINT);

// ---- interned data ----

PRIVATE_RULE(interned_string, [1] = UINT, [2] = BYTES);
PRIVATE_RULE(source_location, [1] = UINT, [2] = BYTES, [3] = BYTES, [4] = UINT);
PRIVATE_RULE(mapping, [1] = UINT, [2] = ID(BUILD_IDS), [3] = UINT, [4] = UINT, [5] = UINT, [6] = UINT,
	     [7] = IDS(MAPPING_PATHS), [8] = UINT);
RULE(frame, [1] = UINT, [2] = ID(FUNCTION_NAMES), [3] = ID(MAPPINGS), [4] = UINT, [5] = ID(SOURCE_PATHS),
     [6] = UINT);
PRIVATE_RULE(callstack, [1] = UINT, [2] = IDS(FRAMES));
RULE(interned_data, [TABLE_CATEGORIES] = MESSAGE(interned_string),
     [TABLE_EVENT_NAMES] = MESSAGE(interned_string), [TABLE_ANNOTATION_NAMES] = MESSAGE(interned_string),
     [TABLE_SOURCE_LOCATIONS] = MESSAGE(source_location), [TABLE_FUNCTION_NAMES] = MESSAGE(interned_string),
     [TABLE_FRAMES] = MESSAGE(frame), [TABLE_CALLSTACKS] = MESSAGE(callstack),
     [TABLE_BUILD_IDS] = MESSAGE(interned_string), [TABLE_MAPPING_PATHS] = MESSAGE(interned_string),
     [TABLE_SOURCE_PATHS] = MESSAGE(interned_string), [TABLE_MAPPINGS] = MESSAGE(mapping),
     [TABLE_ANNOTATION_TYPE_NAMES] = MESSAGE(interned_string),
     [TABLE_ANNOTATION_STRINGS] = MESSAGE(interned_string));

PRIVATE_RULE(track_event_defaults, [11] = UINT, [31] = UINTS, [45] = UINTS);
PRIVATE_RULE(perf_sample_defaults, [1] = MESSAGE(any), [2] = UINT, [3] = UINT, [4] = MESSAGE(any));
RULE(packet_defaults, [11] = MESSAGE(track_event_defaults), [12] = MESSAGE(perf_sample_defaults),
     [58] = UINT);

// ---- the system ----

PRIVATE_RULE(clock, [1] = UINT, [2] = UINT, [3] = UINT, [4] = UINT);
RULE(clock_snapshot, [1] = MESSAGE(clock), [2] = UINT);
PRIVATE_RULE(utsname, [1] = BYTES, [2] = BYTES, [3] = BYTES, [4] = BYTES);
RULE(system_info, [1] = MESSAGE(utsname), [2] = BYTES);
RULE(trace_uuid, [1] = UINT, [2] = UINT);
PRIVATE_RULE(process, [1] = UINT, [2] = UINT, [3] = BYTES, [5] = UINT, [6] = UINTS, [7] = UINT);
PRIVATE_RULE(thread, [1] = UINT, [2] = BYTES, [3] = UINT, [4] = UINTS);
RULE(process_tree, [1] = MESSAGE(process), [2] = MESSAGE(thread), [3] = UINT);
RULE(process_stats, [1] = MESSAGE(any), [2] = UINT);
RULE(kernel_task_state, [1] = UINT, [2] = BYTES, [3] = UINT, [4] = UINT, [5] = UINT);
RULE(kernel_process_tree, [1] = MESSAGE(any), [2] = MESSAGE(any));

// ---- scheduling ----

PRIVATE_RULE(compact_sched, [1] = PACKED, [2] = PACKED, [3] = PACKED, [4] = PACKED, [5] = BYTES, [6] = PACKED,
	     [7] = PACKED, [8] = PACKED, [9] = PACKED, [10] = PACKED, [11] = PACKED, [12] = PACKED);
PRIVATE_RULE(ftrace_event, [1] = UINT, [2] = UINT, [3] = MESSAGE(any), [4] = MESSAGE(any), [5] = UINT);
RULE(ftrace_bundle, [1] = UINT, [2] = MESSAGE(ftrace_event), [3] = UINT, [4] = MESSAGE(compact_sched),
     [5] = UINT, [6] = UINT, [7] = UINT, [8] = UINT);
PRIVATE_RULE(etw_event, [1] = UINT, [2] = MESSAGE(any), [3] = MESSAGE(any), [4] = UINT, [5] = UINT);
RULE(etw_bundle, [1] = UINT, [2] = MESSAGE(etw_event));

// ---- track events ----

PRIVATE_RULE(process_descriptor, [1] = UINT, [2] = BYTES, [6] = BYTES);
RULE(thread_descriptor, [1] = UINT, [2] = UINT, [5] = BYTES);
PRIVATE_RULE(counter_descriptor, [1] = UINT, [2] = BYTES, [3] = UINT, [4] = UINT, [5] = UINT, [6] = BYTES);
RULE(track_descriptor, [1] = UINT, [2] = BYTES, [3] = MESSAGE(process_descriptor),
     [4] = MESSAGE(thread_descriptor), [5] = UINT, [6] = MESSAGE(any), [7] = MESSAGE(any),
     [8] = MESSAGE(counter_descriptor), [9] = UINT, [10] = BYTES, [11] = UINT, [12] = UINT, [13] = BYTES,
     [14] = BYTES);

static const struct message_rule rule_nested_value, rule_annotation;
PRIVATE_RULE(nested_value, [1] = UINT, [2] = BYTES, [3] = MESSAGE(nested_value), [4] = MESSAGE(nested_value),
	     [5] = UINT, [6] = FIXED, [7] = UINT, [8] = BYTES);
PRIVATE_RULE(annotation, [1] = ID(ANNOTATION_NAMES), [2] = UINT, [3] = UINT, [4] = UINT, [5] = FIXED,
	     [6] = BYTES, [7] = UINT, [8] = MESSAGE(nested_value), [9] = BYTES, [10] = BYTES,
	     [11] = MESSAGE(annotation), [12] = MESSAGE(annotation), [13] = ID(ANNOTATION_TYPE_NAMES),
	     [14] = BYTES, [16] = BYTES, [17] = ID(ANNOTATION_STRINGS));
PRIVATE_RULE(legacy_event, [1] = ID(EVENT_NAMES), [2] = UINT, [3] = UINT, [4] = UINT);
PRIVATE_RULE(inline_frame, [1] = BYTES, [2] = BYTES, [3] = UINT);
PRIVATE_RULE(inline_callstack, [1] = MESSAGE(inline_frame));
RULE(track_event, [1] = UINT, [3] = IDS(CATEGORIES), [4] = MESSAGE(annotation), [5] = MESSAGE(any),
     [6] = MESSAGE(legacy_event), [9] = UINT, [10] = ID(EVENT_NAMES), [11] = UINT, [12] = UINTS, [16] = UINT,
     [22] = BYTES, [23] = BYTES, [30] = UINT, [31] = UINTS, [34] = ID(SOURCE_LOCATIONS), [36] = UINTS,
     [42] = UINTS, [44] = FIXED, [45] = UINTS, [46] = FIXED, [47] = FIXED, [48] = FIXED, [52] = UINT,
     [53] = BYTES, [54] = UINT, [55] = MESSAGE(inline_callstack), [56] = ID(CALLSTACKS));

// ---- profiles ----

RULE(perf_sample, [1] = UINT, [2] = UINT, [3] = UINT, [4] = ID(CALLSTACKS), [5] = UINT, [6] = UINT,
     [16] = UINT, [17] = UINT, [18] = UINT);
RULE(stack_sample, [1] = MESSAGE(any), [2] = UINT, [3] = MESSAGE(any), [4] = UINT, [5] = MESSAGE(callstack),
     [6] = ID(CALLSTACKS), [7] = BYTES, [8] = UINT, [9] = MESSAGE(any), [10] = UINT, [11] = UINT);
PRIVATE_RULE(heap_sample, [1] = ID(CALLSTACKS), [2] = UINT, [3] = UINT, [4] = UINT, [5] = UINT, [6] = UINT,
	     [7] = UINT, [8] = UINT);
PRIVATE_RULE(process_heap, [1] = UINT, [2] = MESSAGE(heap_sample), [3] = UINT, [4] = UINT, [5] = MESSAGE(any),
	     [6] = UINT, [7] = UINT, [8] = UINT, [9] = UINT);
RULE(profile_packet, [1] = MESSAGE(interned_string), [2] = MESSAGE(frame), [3] = MESSAGE(callstack),
     [4] = MESSAGE(mapping), [5] = MESSAGE(process_heap), [6] = UINT, [7] = UINT);
RULE(streaming_profile, [1] = IDS(CALLSTACKS), [2] = UINTS, [3] = UINT);
PRIVATE_RULE(line, [1] = BYTES, [2] = BYTES, [3] = UINT);
PRIVATE_RULE(address_symbols, [1] = UINT, [2] = MESSAGE(line));
RULE(module_symbols, [1] = BYTES, [2] = BYTES, [3] = MESSAGE(address_symbols));
