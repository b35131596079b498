// `tracelet flame`: a flame graph as SVG or HTML, for those who have used
// flamegraph.pl so far; it has that program's options, and others.
#include "base/log.h"
#include "cli/profile_options.h"
#include "cli/verb.h"
#include "session/profile.h"
#include "write/flame.h"

#include <string.h>

enum {
	OPTION_TITLE = OPTION_OF_VERB,
	OPTION_SUBTITLE,
	OPTION_WIDTH,
	OPTION_HEIGHT,
	OPTION_MIN_WIDTH,
	OPTION_FONT_TYPE,
	OPTION_FONT_SIZE,
	OPTION_COUNT_NAME,
	OPTION_COLORS,
	OPTION_BACKGROUND,
	OPTION_PALETTE,
	OPTION_CP,
	OPTION_REVERSE,
	OPTION_INVERTED,
	OPTION_NEGATE,
	OPTION_NORMALIZE,
	OPTION_FACTOR,
	OPTION_DIFF,
	OPTION_HTML,
	OPTION_IGNORED,
};

static const struct option long_options[] = {
	PROFILE_LONG_OPTIONS,
	{"output", required_argument, NULL, 'o'},
	{"html", no_argument, NULL, OPTION_HTML},
	{"diff", required_argument, NULL, OPTION_DIFF},
	{"title", required_argument, NULL, OPTION_TITLE},
	{"subtitle", required_argument, NULL, OPTION_SUBTITLE},
	{"width", required_argument, NULL, OPTION_WIDTH},
	{"height", required_argument, NULL, OPTION_HEIGHT},
	{"min-width", required_argument, NULL, OPTION_MIN_WIDTH},
	{"minwidth", required_argument, NULL, OPTION_MIN_WIDTH},
	{"fonttype", required_argument, NULL, OPTION_FONT_TYPE},
	{"fontsize", required_argument, NULL, OPTION_FONT_SIZE},
	{"countname", required_argument, NULL, OPTION_COUNT_NAME},
	{"colors", required_argument, NULL, OPTION_COLORS},
	{"color", required_argument, NULL, OPTION_COLORS},
	{"bgcolors", required_argument, NULL, OPTION_BACKGROUND},
	{"palette", required_argument, NULL, OPTION_PALETTE},
	{"cp", no_argument, NULL, OPTION_CP},
	{"reverse", no_argument, NULL, OPTION_REVERSE},
	{"inverted", no_argument, NULL, OPTION_INVERTED},
	{"icicle", no_argument, NULL, OPTION_INVERTED},
	{"negate", no_argument, NULL, OPTION_NEGATE},
	{"normalize", no_argument, NULL, OPTION_NORMALIZE},
	{"factor", required_argument, NULL, OPTION_FACTOR},
	// What is always so here, or has no meaning here.
	{"hash", no_argument, NULL, OPTION_IGNORED},
	{"deterministic", no_argument, NULL, OPTION_IGNORED},
	{"encoding", required_argument, NULL, OPTION_IGNORED},
	{"nametype", required_argument, NULL, OPTION_IGNORED},
	{"notes", required_argument, NULL, OPTION_IGNORED},
	{0},
};

struct flame_arguments {
	struct profile_input input;
	struct flame_options options;
	const char *output, *baseline;
};

// ---- values ----

static int bad_value(const char *option, const char *value) {
	log_error("--%s: '%s' makes no sense here", option, value);
	return EXIT_USAGE;
}

static bool parse_unsigned(const char *text, unsigned least, unsigned most, unsigned *value) {
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || number < least || number > most)
		return false;
	*value = (unsigned)number;
	return true;
}

static bool parse_real(const char *text, double *value, const char **end) {
	char *behind;
	*value = strtod(text, &behind);
	*end = behind;
	return behind != text && *value >= 0 && *value < 1e9;
}

static int take_min_width(struct flame_options *options, const char *value) {
	const char *end;
	double width;
	if (!parse_real(value, &width, &end) || (*end && strcmp(end, "%") != 0))
		return bad_value("min-width", value);
	options->min_width = *end ? -width : width;
	return 0;
}

static int take_theme(struct flame_options *options, const char *value) {
	options->theme = flame_theme_name(value);
	if (options->theme)
		return 0;
	log_error("--colors: there is no theme '%s'; 'tracelet flame --help' lists them", value);
	return EXIT_USAGE;
}

static int take_number(struct flame_options *options, int option, const char *value) {
	const char *end;
	switch (option) {
	case OPTION_WIDTH:
		return parse_unsigned(value, 100, 100000, &options->width) ? 0 : bad_value("width", value);
	case OPTION_HEIGHT:
		return parse_unsigned(value, 8, 100, &options->frame_height) ? 0 : bad_value("height", value);
	case OPTION_FONT_SIZE:
		return parse_unsigned(value, 4, 60, &options->font_size) ? 0 : bad_value("fontsize", value);
	case OPTION_FACTOR:
		return parse_real(value, &options->factor, &end) && !*end ? 0 : bad_value("factor", value);
	default:
		return take_min_width(options, value);
	}
}

static int take_option(struct flame_arguments *arguments, int option, const char *value) {
	struct flame_options *options = &arguments->options;
	const struct {
		int option;
		const char **text;
		bool *flag;
	} plain[] = {
		{OPTION_TITLE, &options->title, NULL},
		{OPTION_SUBTITLE, &options->subtitle, NULL},
		{OPTION_FONT_TYPE, &options->font, NULL},
		{OPTION_COUNT_NAME, &options->unit, NULL},
		{OPTION_BACKGROUND, &options->background, NULL},
		{OPTION_PALETTE, &options->palette, NULL},
		{OPTION_DIFF, &arguments->baseline, NULL},
		{'o', &arguments->output, NULL},
		{OPTION_REVERSE, NULL, &options->reversed},
		{OPTION_INVERTED, NULL, &options->inverted},
		{OPTION_NEGATE, NULL, &options->negate},
		{OPTION_NORMALIZE, NULL, &options->normalize},
		{OPTION_HTML, NULL, &options->html},
	};
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (plain[i].option == option) {
			if (plain[i].text)
				*plain[i].text = value;
			else
				*plain[i].flag = true;
			return 0;
		}
	if (option == OPTION_COLORS)
		return take_theme(options, value);
	if (option == OPTION_CP)
		options->palette = "palette.map";
	if (option == OPTION_CP || option == OPTION_IGNORED)
		return 0;
	if (option > OPTION_OF_VERB)
		return take_number(options, option, value);
	return profile_option(&arguments->input, option, value);
}

// ---- drawing ----

static int draw(const struct flame_arguments *arguments, const char *path, struct output *output) {
	struct tables tables = profile_tables_new(&arguments->input.options);
	struct flame_options options = arguments->options;
	options.profile = arguments->input.options;
	struct sink *sink = flame_open(output, &tables, &options);
	const struct reader *reader = arguments->input.reader;
	int error = arguments->baseline ? profile_read_baseline(arguments->baseline, reader, &tables, sink)
					: 0;
	if (!error)
		error = profile_read(path, reader, &tables, sink);
	if (!error)
		error = sink_finish(sink);
	sink_destroy(sink);
	profile_tables_free(&tables);
	return error;
}

static int flame(struct flame_arguments *arguments, const char *path) {
	const char *name = arguments->output;
	size_t length = strlen(name);
	if (length > 5 && strcmp(name + length - 5, ".html") == 0)
		arguments->options.html = true;
	struct output output;
	int error = output_open(&output, name, OUTPUT_REPLACE);
	if (error) {
		log_error("%s: cannot be written: %s", name, strerror(-error));
		return EXIT_USAGE;
	}
	error = draw(arguments, path, &output);
	if (output.error || !error) {
		error = output.error ? output.error : output_commit(&output);
		if (error)
			log_error("%s: cannot be written: %s", name, strerror(-error));
	}
	output_abandon(&output);
	return error ? EXIT_USAGE : 0;
}

static int run(int argc, char **argv, const struct verb *verb) {
	struct flame_arguments arguments = {.options = flame_defaults, .output = "-"};
	for (int option; (option = getopt_long(argc, argv, "o:qh", long_options, NULL)) != -1;) {
		if (option == 'h')
			return verb_print_help(verb);
		if (option == '?')
			return verb_bad_usage(verb);
		if (take_option(&arguments, option, optarg))
			return EXIT_USAGE;
	}
	if (argc - optind > 1) {
		log_error("flame takes one FILE; to compare two, use --diff");
		return EXIT_USAGE;
	}
	if (file_is_terminal(arguments.output)) {
		log_error("this is a terminal; name a file with -o OUT.svg");
		return EXIT_USAGE;
	}
	return flame(&arguments, optind < argc ? argv[optind] : "-");
}

const struct verb verb_flame = {
	.name = "flame",
	.summary = "a flame graph to click on, from any profile",
	.help = "Usage: tracelet flame [OPTIONS] [FILE] -o OUT.svg|OUT.html\n\n"
		"Draws a profile as a flame graph: a picture that opens in a browser, where one can\n"
		"zoom, search, turn it round and change its colours. Reads folded stacks, what perf\n"
		"script prints, and everything else that has samples; '-' or no FILE is standard input.\n\n"
		"  -o, --output FILE       write to FILE; .html makes a web page\n"
		"      --html              a web page, whatever it is called\n"
		"      --diff BASE         colour what grew (red) or shrank (blue) since the profile BASE\n"
		"      --normalize         as if BASE had as many samples in all\n"
		"      --negate            widths of BASE in place of FILE\n"
		"      --title TEXT        the title\n"
		"      --subtitle TEXT     and one below it\n"
		"      --countname TEXT    what is counted (samples)\n"
		"      --factor NUMBER     multiply the counts that are shown\n"
		"      --colors THEME      hot, mem, io, red, green, blue, aqua, yellow, purple, orange;\n"
		"                          kind: kernel, user, inlined, JIT; module: by file\n"
		"      --bgcolors COLOUR   the background\n"
		"      --palette FILE      keep the colours of names in FILE (--cp: in palette.map)\n"
		"      --cp\n"
		"      --inverted          the root on top (also --icicle)\n"
		"      --icicle\n"
		"      --reverse           merge from the innermost function\n"
		"      --min-width PIXELS  leave out what is narrower (0.1), or so many %\n"
		"      --width PIXELS      of the picture (1200, and with scripts that of the window)\n"
		"      --height PIXELS     of a frame (17)\n"
		"      --fontsize PIXELS   (12)\n"
		"      --fonttype NAME     the font\n" PROFILE_OPTIONS_HELP "\nExample:\n"
		"  perf record -F 999 -a -g -- ./test && perf script | tracelet flame -o cpu.svg\n",
	.run = run,
};
