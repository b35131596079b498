// `tracelet check`: a line for each defect of a Perfetto trace, or one that
// says it is good.
#include "cli/verb.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "session/landed.h"
#include "session/variant.h"
#include "tracelet/tracelet.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

struct check_output {
	const char *file;
	bool quiet, json;
	struct buffer findings; // JSON objects, each with a comma before it
	uint64_t reported;
};

static void take_finding(const struct tl_finding *finding, void *context) {
	struct check_output *output = context;
	output->reported += !finding->note;
	if (output->json) {
		struct json json = json_into(&output->findings);
		buffer_append(&output->findings, ",", output->findings.size ? 1 : 0);
		json_object(&json, NULL);
		json_uint(&json, "offset", finding->offset);
		json_string(&json, "kind", finding->kind);
		json_bool(&json, "note", finding->note);
		json_string(&json, "text", finding->text);
		json_close_object(&json);
	} else if (!output->quiet) {
		printf("%s: byte %" PRIu64 ": %s%s\n", output->file, finding->offset,
		       finding->note ? "note: " : "", finding->text);
	}
}

static void print_line(struct buffer *line) {
	buffer_append(line, "\n", 1);
	fwrite(line->data, 1, line->size, stdout);
	buffer_free(line);
}

static void print_json(const struct check_output *output, const struct tl_check_result *result) {
	struct buffer line = {0};
	struct json json = json_into(&line);
	json_object(&json, NULL);
	json_string(&json, "file", output->file);
	json_bool(&json, "ok", !result->defects);
	json_uint(&json, "bytes", result->bytes);
	json_uint(&json, "packets", result->packets);
	json_uint(&json, "events", result->events);
	json_uint(&json, "defects", result->defects);
	json_array(&json, "findings");
	buffer_append(&line, output->findings.data, output->findings.size);
	json_close_array(&json);
	json_close_object(&json);
	print_line(&line);
}

static void print_json_error(const char *file, const char *reason) {
	struct buffer line = {0};
	struct json json = json_into(&line);
	json_object(&json, NULL);
	json_string(&json, "file", file);
	json_bool(&json, "ok", false);
	json_string(&json, "error", reason);
	json_close_object(&json);
	print_line(&line);
}

static void print_summary(const struct check_output *output, const struct tl_check_result *result) {
	char size[16];
	if (!result->defects)
		printf("%s: ok, %" PRIu64 " packets, %" PRIu64 " events, %s\n", output->file, result->packets,
		       result->events, file_size_words(result->bytes, size));
	else if (result->defects > output->reported)
		printf("%s: and %" PRIu64 " more\n", output->file, result->defects - output->reported);
}

static int check_file(struct check_output *output, uint64_t min_size) {
	struct tl_check_result result = TL_INIT(result);
	struct tl_check_opts options = {
		.size = sizeof(options), .on_finding = take_finding, .context = output, .min_size = min_size};
	output->findings.size = 0;
	output->reported = 0;
	int error = tl_check_trace(output->file, &options, &result);
	if (error) {
		if (output->json)
			print_json_error(output->file, strerror(-error));
		log_error("cannot read %s: %s", output->file, strerror(-error));
		return EXIT_USAGE;
	}
	if (output->json)
		print_json(output, &result);
	else if (!output->quiet)
		print_summary(output, &result);
	return result.defects ? EXIT_FOUND : 0;
}

static bool parse_size(const char *text, uint64_t *size) {
	char *end;
	*size = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == 0;
}

static bool take_variant(struct landed_question *landed, const char *text) {
	char *variant = variant_add(landed->variant, text);
	free((char *)(uintptr_t)landed->variant);
	landed->variant = variant;
	if (!variant)
		log_error("--variant: '%s' is not %s", text, VARIANT_WANTED);
	return variant;
}

// A good trace is told on stdout, as that of a file is; what is wrong goes to whoever reads errors.
static int check_landed(struct landed_question *landed, uint64_t min_size, const struct check_output *output,
			int others) {
	static const int statuses[] = {
		[LANDED] = 0, [NOT_LANDED] = EXIT_FOUND, [LANDED_GUEST_FAILED] = EXIT_GUEST_FAILED};
	struct buffer line = {0};
	if (!landed->folder || !landed->test || others || output->json) {
		log_error("check --landed DIR --name NAME takes no files, and both are needed");
		return EXIT_USAGE;
	}
	enum landed result = landed_check(landed, min_size, &line);
	if (result != LANDED)
		log_error("%.*s", (int)line.size, (char *)line.data);
	else if (!output->quiet)
		printf("%.*s\n", (int)line.size, (char *)line.data);
	buffer_free(&line);
	free((char *)(uintptr_t)landed->variant);
	return statuses[result];
}

static int run_check(int argc, char **argv, const struct verb *verb) {
	static const struct option options[] = {{"quiet", no_argument, NULL, 'q'},
						{"json", no_argument, NULL, 'j'},
						{"min-size", required_argument, NULL, 'm'},
						{"landed", required_argument, NULL, 'l'},
						{"name", required_argument, NULL, 'n'},
						{"variant", required_argument, NULL, 'v'},
						{"repro", no_argument, NULL, 'r'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct check_output output = {0};
	struct landed_question landed = {0};
	uint64_t min_size = 0;
	int option, status = 0;
	while ((option = getopt_long(argc, argv, "qh", options, NULL)) != -1) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == 'q')
			output.quiet = true;
		else if (option == 'j')
			output.json = true;
		else if (option == 'l')
			landed.folder = optarg;
		else if (option == 'n')
			landed.test = optarg;
		else if (option == 'r')
			landed.repro = true;
		else if (option == 'v') {
			if (!take_variant(&landed, optarg))
				return EXIT_USAGE;
		} else if (option != 'm')
			return verb_bad_usage(verb);
		else if (!parse_size(optarg, &min_size)) {
			log_error("--min-size takes a number of bytes, not '%s'", optarg);
			return EXIT_USAGE;
		}
	}
	if (landed.folder || landed.test)
		return check_landed(&landed, min_size, &output, argc - optind);
	if (optind == argc) {
		log_error("check needs a FILE; try 'tracelet check --help'");
		return EXIT_USAGE;
	}
	for (int i = optind; i < argc; i++) {
		output.file = argv[i];
		int result = check_file(&output, min_size);
		status = MAX(status, result);
	}
	buffer_free(&output.findings);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output");
		return EXIT_USAGE;
	}
	return status;
}

const struct verb verb_check = {
	.name = "check",
	.summary = "is this file a Perfetto trace that importers will take whole?",
	.help = "Usage: tracelet check [OPTIONS] FILE...\n"
		"       tracelet check --landed DIR --name NAME [OPTIONS]\n\n"
		"Walks every packet of a Perfetto trace to the end of the file ('-': standard input)\n"
		"and prints a line for each defect, with the byte it is at.\n\n"
		"  -q, --quiet          print nothing, only exit\n"
		"      --json           one JSON object per file, a line each\n"
		"      --min-size BYTES a smaller file is a defect\n"
		"      --landed DIR     has the newest session of a test left a good trace in this folder?\n"
		"      --name NAME      of that test\n"
		"      --variant KEY=VALUE  and which variant of it; may be repeated\n"
		"      --repro          the run after a failed one\n"
		"  -h, --help           this text\n\n"
		"Exit status: 0 all good, 1 a defect, 2 a file cannot be read or bad options, 3 the virtual\n"
		"machine of the test failed.\n",
	.run = run_check,
};
