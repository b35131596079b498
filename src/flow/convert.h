// Converts one format to another: a pipeline whose sink is a writer.
#pragma once

#include "flow/pipeline.h"
#include "write/writer.h"

struct conversion {
	const char *input, *output; // "-" for standard input and output
	const char *const *more;    // other inputs of the same recording
	size_t more_count;
	const struct reader *reader; // NULL to recognise it by content
	const struct writer *writer;
	enum output_mode mode;
	const int *over;                // a file that the output may take over (base/file.h); or NULL
	const char *const *manifests;   // NULL-terminated; or NULL
	struct tap taps[PIPELINE_TAPS]; // see conversion_tap()
	bool summed;                    // also compute the output's SHA-256
	bool progress;                  // show a progress line on the terminal if it takes over a second
	const struct growing *growing;  // NULL unless the input still grows
};

struct conversion_result {
	struct tally tally;
	uint64_t size; // size of the output
	char sha256[65];
};

void conversion_tap(struct conversion *conversion, struct tap tap); // adds a tap

// Returns 0, or -errno with the error logged and no output left behind.
int convert(const struct conversion *conversion, struct conversion_result *result);
