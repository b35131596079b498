#include "base/file.h"
#include "base/log.h"
#include "cli/look.h"
#include "cli/verb.h"
#include "write/info.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

static int describe_any(struct look *look, const struct read_options *options, struct buffer *out) {
	struct tables tables = tables_new();
	struct info info;
	uint64_t size = look->input.total;
	int error = look_read(look, options, &tables, info_init(&info, &tables));
	if (!error)
		info_write(&info, look->path, look->reader->name, size ? size : look->input.offset,
			   options->json, out);
	info_free(&info);
	tables_free(&tables);
	return error;
}

static int tell_about(const char *path, const struct read_options *options) {
	struct look look;
	struct buffer out = {0};
	if (look_open(&look, path))
		return EXIT_USAGE;
	int error = look.reader->describe ? look.reader->describe(&look.input, path, options, &out)
					  : describe_any(&look, options, &out);
	look_close(&look);
	if (!error && (error = file_write_all(STDOUT_FILENO, out.data, out.size)))
		log_error("standard output: cannot be written: %s", strerror(-error));
	buffer_free(&out);
	return error ? EXIT_USAGE : 0;
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
			array_free(&manifests);
			return verb_print_help(verb);
		default:
			array_free(&manifests);
			return verb_bad_usage(verb);
		}
	}
	if (argc - optind != 1) {
		log_error("info needs one file");
		array_free(&manifests);
		return verb_bad_usage(verb);
	}
	array_push(&manifests, NULL);
	options.manifests = manifests.items;
	int status = tell_about(argv[optind], &options);
	array_free(&manifests);
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
