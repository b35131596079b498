// What is still allocated when a test has ended, less what nobody wants to hear of.
#pragma once

#include "base/buffer.h"
#include "session/heap_profile.h"

// A line of the file is a pattern, as shells have them, for the name of a function, or MODULE!FUNCTION;
// the module is a file, with or without its folder. It hides the leaks with such a frame in their
// stack. A line that begins with ^ is about the innermost frame, and with " < " about its callers, too.
// What comes behind # is a comment. "leak:TEXT", as AddressSanitizer has it, is TEXT anywhere in the name
// of a function or of its module.
struct heap_suppression {
	bool innermost;
	struct heap_pattern {
		char *module, *function;
	} * steps; // innermost first
	size_t step_count;
	unsigned line; // of the file; 0: one of our own
	bool used;     // it has hidden something
};

struct heap_suppressions {
	ARRAY(struct heap_suppression) items;
};

// Those of the file (NULL: none) and our own, about what libc, libstdc++ and the dynamic linker keep to
// their end. 0 or -errno; a failure was said.
int heap_suppressions_load(struct heap_suppressions *suppressions, const char *path);
void heap_suppressions_free(struct heap_suppressions *suppressions);

struct heap_leaks {
	uint64_t bytes, blocks, places;
	uint64_t hidden_bytes, hidden_blocks; // suppressed
	struct buffer text;                   // a paragraph for each place, the largest first
	struct buffer beginning;              // of the first few
};

// Adds those of one process. `whose` begins its part; NULL: there are no others.
void heap_leaks_add(struct heap_leaks *leaks, const struct heap_made *made,
		    struct heap_suppressions *suppressions, const char *whose);
// Lines that have hidden nothing: they may be of the past, or wrong. For who asks to be told more.
void heap_suppressions_tell_unused(const struct heap_suppressions *suppressions, const char *path);
void heap_leaks_free(struct heap_leaks *leaks);
