// From one format to another: a reader, the orderer, a writer.
#pragma once

#include "event/tally.h"
#include "read/reader.h"
#include "session/case_traces.h"
#include "session/heap_children.h"
#include "session/pictures.h"
#include "write/writer.h"

// Both wait for others, who write the input.
struct growing {
	int (*more)(void *context, uint64_t offset); // as a stream's `wait`
	void (*end)(void *context);                  // until nothing will be added any more
	void *context;
};

struct conversion {
	const char *input, *output;  // "-" for standard input and output
	const struct reader *reader; // NULL: by content
	const struct writer *writer; // NULL: by the output's extension
	enum output_mode mode;
	const char *const *manifests;  // ends with NULL; or NULL
	struct case_traces *cases;     // also a trace for each case; NULL: only the whole
	struct heap_execs *execs;      // notes who was started; or NULL
	struct pictures *pictures;     // flame graphs beside the output; NULL: none
	bool summed;                   // the output's SHA-256 is wanted, too
	bool progress;                 // a line on the terminal for anything over a second
	const struct growing *growing; // the input still grows; NULL: it does not
};

struct conversion_result {
	struct tally tally;
	uint64_t size; // of the output
	char sha256[65];
	uint64_t late; // events that could not be put in order
};

// 0 or -errno; a failure has been said in one line, and no output is left.
int convert(const struct conversion *conversion, struct conversion_result *result);
