// `tracelet guest import-ktstr STREAM`: it needs no guest, only what one has sent.
#include "cli/import_ktstr.h"
#include "base/log.h"
#include "cli/verb.h"
#include "guest/ktstr.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int import_ktstr(int argc, char **argv) {
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'}, {"chunk-type", required_argument, NULL, 't'}, {0}};
	struct ktstr_options wanted = {.most = (uint64_t)8 << 30};
	struct ktstr_result result;
	const char *output = NULL;
	char *end;
	optind = 0; // getopt begins anew
	for (int option; (option = getopt_long(argc, argv, "o:", options, NULL)) != -1;) {
		if (option == 'o') {
			output = optarg;
		} else if (option == 't') {
			wanted.chunk_type = (uint32_t)strtoul(optarg, &end, 0);
			if (*end || !wanted.chunk_type) {
				log_error("--chunk-type: '%s' is not a number", optarg);
				return EXIT_USAGE;
			}
		} else {
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 1 || !output) {
		log_error("import-ktstr needs a file with a guest's stream, and -o OUTPUT");
		return EXIT_USAGE;
	}
	if (ktstr_import(argv[optind], output, &wanted, &result))
		return EXIT_FOUND;
	fprintf(stderr,
		"tracelet: %s: %" PRIu64 " bytes in %" PRIu64 " frames; %" PRIu64 " frames of others\n",
		output, result.size, result.chunks, result.others);
	return 0;
}
