// What is still allocated when a test has ended and cannot be reached any more, without suppressed leaks.
// Where that is not known (the test ended by _exit(), or only some blocks were sampled), all of it.
#pragma once

#include "base/buffer.h"
#include "heap/profile.h"

// A line of the file is a shell pattern for the name of a function, or MODULE!FUNCTION; the module is a file
// name, with or without its directory. It hides leaks with such a frame in their stack. A line that begins
// with ^ matches only the innermost frame, and " < " adds its callers. # starts a comment. "leak:TEXT", as in
// AddressSanitizer, matches TEXT anywhere in the name of a function or its module.
struct heap_suppression {
	bool innermost;
	struct heap_pattern {
		char *module, *function;
	} * steps; // innermost first
	size_t step_count;
	unsigned line; // in the file; 0 if built in
	bool used;     // it has hidden something
};

struct heap_suppressions {
	ARRAY(struct heap_suppression) items;
};

// Loads the patterns of the file (NULL if none) and the built-in ones, about memory that libc, libstdc++ and
// the dynamic linker keep until the end. 0, or -errno after an error message.
int heap_suppressions_load(struct heap_suppressions *suppressions, const char *path);
void heap_suppressions_free(struct heap_suppressions *suppressions);

struct heap_leaks {
	uint64_t bytes, blocks, places;
	uint64_t hidden_bytes, hidden_blocks;   // suppressed
	uint64_t reached_bytes, reached_blocks; // no leaks: the program could still reach them
	struct buffer text;                     // one paragraph for each allocation site, largest first
	struct buffer beginning;                // its first few paragraphs
};

// Adds the leaks of one process. `whose` is the heading of its part, or NULL if there is only one process.
void heap_leaks_add(struct heap_leaks *leaks, const struct heap_made *made,
		    struct heap_suppressions *suppressions, const char *whose);
// Reports lines that hid nothing (they may be outdated or wrong), with --verbose only.
void heap_suppressions_report_unused(const struct heap_suppressions *suppressions, const char *path);
// Appends the sums, and the places of the largest leaks; nothing if all was freed.
void heap_leaks_describe(const struct heap_leaks *leaks, struct buffer *words);
void heap_leaks_free(struct heap_leaks *leaks);
