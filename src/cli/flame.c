// `tracelet flame`: a flame graph as SVG or HTML. It has the options of flamegraph.pl, and more.
#include "analyse/path_samples.h"
#include "base/log.h"
#include "cli/sample_options.h"
#include "cli/verb.h"
#include "flow/pipeline.h"
#include "write/flame/flame.h"

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
	OPTION_PATH,
	OPTION_HTML,
	OPTION_IGNORED,
};

static const struct verb_option own_options[] = {
	{"output", 'o', "FILE", "write to FILE; .html makes a web page"},
	{"html", OPTION_HTML, NULL, "make a web page, whatever the output is called"},
	{"diff", OPTION_DIFF, "BASE", "colour what grew (red) or shrank (blue) since the profile BASE"},
	{"path", OPTION_PATH, NULL,
	 "draw the critical path of a test: only what its end had to wait for, by thread, reason and stack"},
	{"normalize", OPTION_NORMALIZE, NULL, "scale BASE to the same total number of samples"},
	{"negate", OPTION_NEGATE, NULL, "draw the widths of BASE instead of FILE"},
	{"title", OPTION_TITLE, "TEXT", "the title"},
	{"subtitle", OPTION_SUBTITLE, "TEXT", "a second title below it"},
	{"countname", OPTION_COUNT_NAME, "TEXT", "what is counted (default: samples)"},
	{"factor", OPTION_FACTOR, "NUMBER", "multiply the counts that are shown"},
	{"colors", OPTION_COLORS, "THEME",
	 "the colours: hot, mem, io, red, green, blue, aqua, yellow, purple, orange; kind: kernel, user, "
	 "inlined, JIT; "
	 "module: by "
	 "file (default: hot)",
	 "hot mem io red green blue aqua yellow purple orange kind module difference"},
	{"bgcolors", OPTION_BACKGROUND, "COLOUR", "the background"},
	{"palette", OPTION_PALETTE, "FILE", "keep the colours of names in FILE"},
	{"cp", OPTION_CP, NULL, "the same with palette.map"},
	{"inverted", OPTION_INVERTED, NULL, "draw the root on top"},
	{"icicle", OPTION_INVERTED, NULL, "the same"},
	{"reverse", OPTION_REVERSE, NULL, "merge stacks from the innermost function"},
	{"min-width", OPTION_MIN_WIDTH, "PIXELS",
	 "leave out narrower frames; with %, relative to the whole (default: 0.1)"},
	{"width", OPTION_WIDTH, "PIXELS", "width of the picture (default: 1200; in a browser, the window's)"},
	{"height", OPTION_HEIGHT, "PIXELS", "height of a frame (default: 17)"},
	{"fontsize", OPTION_FONT_SIZE, "PIXELS", "size of the font (default: 12)"},
	{"fonttype", OPTION_FONT_TYPE, "NAME", "the font"},
	// Other spellings of flamegraph.pl; and what has no meaning here, or is always so.
	{"minwidth", OPTION_MIN_WIDTH, "PIXELS", NULL},
	{"color", OPTION_COLORS, "THEME", NULL},
	{"hash", OPTION_IGNORED, NULL, NULL},
	{"deterministic", OPTION_IGNORED, NULL, NULL},
	{"encoding", OPTION_IGNORED, "TEXT", NULL},
	{"nametype", OPTION_IGNORED, "TEXT", NULL},
	{"notes", OPTION_IGNORED, "TEXT", NULL},
	{0},
};

struct flame_arguments {
	struct sample_input input;
	struct flame_options options;
	const char *output, *baseline;
	bool path;
};

// ---- values ----

static bool bad_value(const char *option, const char *value) {
	log_error("--%s: invalid value '%s'", option, value);
	return false;
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

static bool take_min_width(struct flame_options *options, const char *value) {
	const char *end;
	double width;
	if (!parse_real(value, &width, &end) || (*end && strcmp(end, "%") != 0))
		return bad_value("min-width", value);
	options->min_width = *end ? -width : width;
	return true;
}

static bool take_theme(struct flame_options *options, const char *value) {
	options->theme = flame_theme_name(value);
	if (options->theme)
		return true;
	log_error("--colors: unknown theme '%s'; 'tracelet flame --help' lists them", value);
	return false;
}

static bool take_number(struct flame_options *options, int option, const char *value) {
	const char *end;
	switch (option) {
	case OPTION_WIDTH:
		return parse_unsigned(value, 100, 100000, &options->width) || bad_value("width", value);
	case OPTION_HEIGHT:
		return parse_unsigned(value, 8, 100, &options->frame_height) || bad_value("height", value);
	case OPTION_FONT_SIZE:
		return parse_unsigned(value, 4, 60, &options->font_size) || bad_value("fontsize", value);
	case OPTION_FACTOR:
		return (parse_real(value, &options->factor, &end) && !*end) || bad_value("factor", value);
	default:
		return take_min_width(options, value);
	}
}

static bool take_option(int option, const char *value, void *context) {
	struct flame_arguments *arguments = context;
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
		{OPTION_PATH, NULL, &arguments->path},
	};
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (plain[i].option == option) {
			if (plain[i].text)
				*plain[i].text = value;
			else
				*plain[i].flag = true;
			return true;
		}
	if (option == OPTION_COLORS)
		return take_theme(options, value);
	if (option == OPTION_CP)
		options->palette = "palette.map";
	if (option == OPTION_CP || option == OPTION_IGNORED)
		return true;
	if (option > OPTION_OF_VERB)
		return take_number(options, option, value);
	return sample_option(&arguments->input, option, value);
}

// ---- drawing ----

// The samples of one recording, or the pieces of its critical path.
static int read_profile(const struct flame_arguments *arguments, const char *const *paths, size_t count,
			uint32_t flags, struct tables *tables, struct sink *sink) {
	const struct reader *reader = arguments->input.reader;
	if (!arguments->path)
		return sample_input_read(&arguments->input, paths, count, flags, tables, sink);
	struct sink *pieces = path_samples_new(tables, flags, sink);
	int error = pipeline_samples(paths, count, reader, 0, tables, pieces);
	if (!error) {
		error = sink_finish(pieces);
		if (*path_samples_error(pieces))
			log_error("%s: %s", paths[0], path_samples_error(pieces));
	}
	sink_destroy(pieces);
	return error;
}

static int draw(const struct flame_arguments *arguments, const char *const *paths, size_t count,
		struct output *output) {
	struct tables tables = pipeline_tables(!arguments->input.options.no_inline);
	struct flame_options options = arguments->options;
	options.profile = arguments->input.options;
	struct sink *sink = flame_open(output, &tables, &options);
	int error = arguments->baseline
			    ? read_profile(arguments, &arguments->baseline, 1, SAMPLE_BASELINE, &tables, sink)
			    : 0;
	if (!error)
		error = read_profile(arguments, paths, count, 0, &tables, sink);
	if (!error)
		error = sink_finish(sink);
	sink_destroy(sink);
	pipeline_tables_free(&tables);
	return error;
}

static int flame(struct flame_arguments *arguments, const char *const *paths, size_t count) {
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
	error = draw(arguments, paths, count, &output);
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
	int status = verb_take(argc, argv, verb, take_option, &arguments);
	if (status >= 0)
		return status;
	if (arguments.input.wakeups && arguments.options.title == flame_defaults.title)
		arguments.options.title = "Waits and what ended them";
	if (arguments.path && arguments.options.title == flame_defaults.title)
		arguments.options.title = "Critical path";
	static const char *const standard_input[] = {"-"};
	const char *const *paths = optind < argc ? (const char *const *)argv + optind : standard_input;
	size_t count = (size_t)MAX(argc - optind, 1);
	if (count > 1 && pipeline_together(paths, count) != count) {
		log_error("flame takes one FILE; to compare two, use --diff");
		return EXIT_USAGE;
	}
	if (file_is_terminal(arguments.output)) {
		log_error("refusing to write a picture to a terminal; give a file with -o OUT.svg");
		return EXIT_USAGE;
	}
	return flame(&arguments, paths, count);
}

const struct verb verb_flame = {
	.name = "flame",
	.family = FAMILY_UNDERSTAND,
	.settings = OF_READING,
	.options = own_options,
	.sample_options = sample_options,
	.summary = "draw an interactive flame graph from any profile",
	.usage = "tracelet flame [OPTIONS] [FILE...] -o OUT.svg|OUT.html",
	.about = "Draws a profile as a flame graph: a picture that opens in a browser, with zoom, search, "
		 "inversion and "
		 "several colour themes. Reads traces of 'tracelet run --sample', folded stacks, the output "
		 "of perf script, and everything else that has samples; '-' or no FILE is standard input. "
		 "Several FILEs are ETL files of one recording.",
	.notes = "Example:\n"
		 "  tracelet run --sample --name parser -- ./unit_tests\n"
		 "  tracelet flame \"$(tracelet artifact parser)\" -o parser.html",
	.run = run,
};
