// `tracelet guest import-ktstr STREAM`: needs no guest, only the stream that one has sent.
#include "cli/import_ktstr.h"
#include "base/log.h"
#include "cli/verb.h"
#include "guest/host/ktstr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_CHUNK_TYPE = LETTERS + 1 };

static const struct verb verb_import_ktstr = {
	.name = "guest",
	.options =
		(const struct verb_option[]){
			{"output", 'o', "TRACE", "the output file"},
			{"chunk-type", OPTION_CHUNK_TYPE, "N",
			 "the type of the packets that hold the trace (default: any that begins with WPR)"},
			{0},
		},
	.usage = "tracelet guest import-ktstr [--chunk-type N] STREAM -o TRACE",
	.about = "Extracts the trace from a stream sent by a ktstr guest.",
};

struct import {
	struct ktstr_options options;
	const char *output;
};

static bool take_option(int option, const char *value, void *context) {
	struct import *import = context;
	char *end;
	if (option == 'o') {
		import->output = value;
		return true;
	}
	import->options.chunk_type = (uint32_t)strtoul(value, &end, 0);
	if (!*end && import->options.chunk_type)
		return true;
	log_error("--chunk-type: '%s' is not a number", value);
	return false;
}

int import_ktstr(int argc, char **argv) {
	struct import import = {.options = {.most = (uint64_t)8 << 30}};
	struct ktstr_result result;
	int status = verb_take(argc, argv, &verb_import_ktstr, take_option, &import);
	if (status >= 0)
		return status;
	if (argc - optind != 1 || !import.output) {
		log_error("import-ktstr needs a file with a guest's stream and -o OUTPUT");
		return EXIT_USAGE;
	}
	if (ktstr_import(argv[optind], import.output, &import.options, &result))
		return EXIT_FOUND;
	fprintf(stderr, "tracelet: %s: %" PRIu64 " bytes in %" PRIu64 " packets; %" PRIu64 " other packets\n",
		import.output, result.size, result.chunks, result.others);
	return 0;
}
