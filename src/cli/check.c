// `tracelet check`: one line for each defect of a Perfetto trace, or one that it is
// valid.
#include "cli/verb.h"
#include "artifact/landed.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "settings/variant.h"
#include "tracelet/tracelet.h"

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
		text_line(stdout, "%s: byte %" PRIu64 ": %s%s", output->file, finding->offset,
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
		text_line(stdout, "%s: ok, %" PRIu64 " packet%s, %" PRIu64 " event%s, %s", output->file,
			  result->packets, plural(result->packets), result->events, plural(result->events),
			  file_size_words(result->bytes, size));
	else if (result->defects > output->reported)
		text_line(stdout, "%s: and %" PRIu64 " more", output->file,
			  result->defects - output->reported);
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

// A good trace is reported on stdout, as for a file; defects go to stderr.
static int check_landed(struct landed_question *landed, uint64_t min_size, const struct check_output *output,
			int others) {
	static const int statuses[] = {
		[LANDED] = 0, [NOT_LANDED] = EXIT_FOUND, [LANDED_GUEST_FAILED] = EXIT_GUEST_FAILED};
	struct buffer line = {0};
	if (!landed->folder || !landed->test || others || output->json) {
		log_error("--landed DIR and --name NAME belong together and take no files");
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

enum {
	OPTION_JSON = LETTERS + 1,
	OPTION_MIN_SIZE,
	OPTION_LANDED,
	OPTION_NAME,
	OPTION_VARIANT,
	OPTION_REPRO,
};

static const struct verb_option own_options[] = {
	{"quiet", 'q', NULL, "print nothing; only set the exit status"},
	{"json", OPTION_JSON, NULL, "print one JSON object per line for each file"},
	{"min-size", OPTION_MIN_SIZE, "BYTES", "report a smaller file as a defect"},
	{"landed", OPTION_LANDED, "DIR",
	 "instead, check that the newest session of a test left a good trace in DIR"},
	{"name", OPTION_NAME, "NAME", "with --landed: the name of the test"},
	{"variant", OPTION_VARIANT, "KEY=VALUE", "with --landed: the variant of the test; may be repeated"},
	{"repro", OPTION_REPRO, NULL, "with --landed: the second run of a failed test"},
	{0},
};

struct question {
	struct check_output output;
	struct landed_question landed;
	uint64_t min_size;
};

static bool take_option(int option, const char *value, void *context) {
	struct question *question = context;
	switch (option) {
	case 'q':
		question->output.quiet = true;
		return true;
	case OPTION_JSON:
		question->output.json = true;
		return true;
	case OPTION_LANDED:
		question->landed.folder = value;
		return true;
	case OPTION_NAME:
		question->landed.test = value;
		return true;
	case OPTION_VARIANT:
		return take_variant(&question->landed, value);
	case OPTION_REPRO:
		question->landed.repro = true;
		return true;
	default:
		if (parse_size(value, &question->min_size))
			return true;
		log_error("--min-size takes a number of bytes, not '%s'", value);
		return false;
	}
}

static int run_check(int argc, char **argv, const struct verb *verb) {
	struct question question = {0};
	struct check_output *output = &question.output;
	int status = verb_take(argc, argv, verb, take_option, &question);
	if (status >= 0)
		return status;
	if (question.landed.folder || question.landed.test)
		return check_landed(&question.landed, question.min_size, output, argc - optind);
	if (optind == argc) {
		log_error("check needs a FILE; try 'tracelet check --help'");
		return EXIT_USAGE;
	}
	status = 0;
	for (int i = optind; i < argc; i++) {
		output->file = argv[i];
		int result = check_file(output, question.min_size);
		status = MAX(status, result);
	}
	buffer_free(&output->findings);
	if (fflush(stdout) || ferror(stdout)) {
		log_error("cannot write to standard output");
		return EXIT_USAGE;
	}
	return status;
}

const struct verb verb_check = {
	.name = "check",
	.family = FAMILY_RESULTS,
	.options = own_options,
	.summary = "check that a Perfetto trace is valid, or that a test left one",
	.usage = "tracelet check [OPTIONS] FILE...\n"
		 "tracelet check --landed DIR --name NAME [OPTIONS]",
	.about = "Checks every packet of a Perfetto trace up to the end of the file ('-': standard input) "
		 "and prints a line for each defect, with its byte offset.",
	.notes = "Exit status: 0 all good; 1 a defect; 2 a file cannot be read, or bad options; 3 the test's "
		 "virtual machine failed.",
	.run = run_check,
};
