#include "base/file.h"
#include "base/log.h"
#include "cli/verb.h"
#include "read/reader.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

static int describe(struct stream *input, const char *path, const struct read_options *options, struct buffer *out) {
	const struct reader *reader = reader_by_content(input);
	if (!reader) {
		if (input->error)
			log_error("%s: cannot be read: %s", path, strerror(-input->error));
		else
			log_error("%s: %s", path, stream_available(input) ? "of no format that tracelet reads" : "is empty");
		return EXIT_USAGE;
	}
	return reader->describe(input, path, options, out) ? EXIT_USAGE : 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	static const struct option known[] = {
		{"json", no_argument, NULL, 'j'},
		{"manifest", required_argument, NULL, 'm'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	ARRAY(const char *) manifests = {0};
	struct read_options options = {0};
	for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
		switch (option) {
		case 'j':
			options.json = true;
			break;
		case 'm':
			array_push(&manifests, optarg);
			break;
		case 'h':
			return verb_print_help(verb);
		default:
			return verb_bad_usage(verb);
		}
	}
	if (argc - optind != 1) {
		log_error("info needs one file");
		return verb_bad_usage(verb);
	}
	array_push(&manifests, NULL);
	options.manifests = manifests.items;
	struct stream input;
	struct buffer out = {0};
	const char *path = argv[optind];
	int error = stream_open(&input, path);
	if (error) {
		log_error("%s: cannot be read: %s", path, strerror(-error));
		array_free(&manifests);
		return EXIT_USAGE;
	}
	int status = describe(&input, path, &options, &out);
	stream_close(&input);
	array_free(&manifests);
	if (!status && file_write_all(STDOUT_FILENO, out.data, out.size))
		status = EXIT_USAGE;
	buffer_free(&out);
	return status;
}

const struct verb verb_info = {
	.name = "info",
	.summary = "tell what is in a recording",
	.help = "Usage: tracelet info [OPTIONS] FILE\n\n"
		"Tells what a recording holds: where it was made, how long it is, what it lost, who\n"
		"speaks in it and how often.\n\n"
		"  --json           as JSON\n"
		"  --manifest FILE  a .man file that describes events (ETL); may be repeated\n"
		"  --help           this text\n",
	.run = run,
};
