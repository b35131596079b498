// Makes getopt's tables from a verb's description of its options.
#include "base/log.h"
#include "base/memory.h"
#include "base/unpack_limit.h"
#include "cli/verb.h"
#include "read/reader.h"
#include "symbol/symbolizer.h"
#include "symbol/windows/symbol_path.h"

#include <strings.h>

enum { SETTING_FLAG = 1 << 16 }; // plus the setting's id: above all options of verbs

struct parser {
	ARRAY(struct option) options;
	struct buffer letters;
};

bool verb_has_setting(const struct verb *verb, enum setting_id id) {
	return setting_table[id].verbs & (verb->settings | (verb->as_run ? OF_RUN : 0));
}

static void add_option(struct parser *parser, const char *name, int argument, int value, char letter) {
	array_push(&parser->options, (struct option){.name = name, .has_arg = argument, .val = value});
	if (letter)
		buffer_printf(&parser->letters, "%c%s", letter,
			      argument == required_argument ? ":" : ""); // optional: only the long one
}

static void add_own(struct parser *parser, const struct verb_option *option) {
	for (; option && option->name; option++)
		add_option(parser, option->name, option->metavar ? required_argument : no_argument,
			   option->value, option->value <= LETTERS ? (char)option->value : 0);
}

static struct parser parser_new(const struct verb *verb) {
	struct parser parser = {0};
	buffer_printf(&parser.letters, "%s", verb->ordered ? "+" : "");
	for (enum setting_id id = 0; id < SETTING_COUNT; id++)
		if (verb_has_setting(verb, id))
			add_option(&parser, setting_table[id].name,
				   setting_table[id].bare ? optional_argument : required_argument,
				   SETTING_FLAG + (int)id, setting_table[id].letter);
	add_own(&parser, verb->options);
	add_own(&parser, verb->sample_options);
	add_option(&parser, "help", no_argument, 'h', 'h');
	array_push(&parser.options, (struct option){0});
	buffer_append(&parser.letters, "", 1);
	return parser;
}

static bool is_own(const struct verb_option *option, int value) {
	while (option && option->name && option->value != value)
		option++;
	return option && option->name;
}

// The setting of a flag or letter, or SETTING_COUNT.
static enum setting_id setting_of(const struct verb *verb, int option) {
	if (option >= SETTING_FLAG)
		return (enum setting_id)(option - SETTING_FLAG);
	enum setting_id id = 0;
	while (id < SETTING_COUNT && !(setting_table[id].letter == option && verb_has_setting(verb, id)))
		id++;
	return is_own(verb->options, option) ? SETTING_COUNT : id;
}

static int take_all(int argc, char **argv, const struct verb *verb, verb_taker *take, void *context,
		    struct settings *settings) {
	struct parser parser = parser_new(verb);
	int status = -1;
	optind = 0; // getopt begins anew
	for (int option; status < 0 && (option = getopt_long(argc, argv, (char *)parser.letters.data,
							     parser.options.items, NULL)) != -1;) {
		enum setting_id id = setting_of(verb, option);
		if (option == 'h')
			status = verb_print_help(verb);
		else if (option == '?')
			status = verb_bad_usage(verb);
		else if (id < SETTING_COUNT ? !settings_take_flag(settings, id, optarg)
					    : !take(option, optarg, context))
			status = EXIT_USAGE;
	}
	array_free(&parser.options);
	buffer_free(&parser.letters);
	return status;
}

// What the settings of verbs that read recordings mean.
static void apply_reading(const struct settings *settings) {
	CLEANUP_FREE char *usual = settings_manifest_folder();
	unpack_limit_set(settings->max_unpacked);
	reader_set_manifest_folder(settings->manifest_dir ? settings->manifest_dir : usual);
	symbol_path_set(settings->symbol_path);
	symbolizer_sources(&(struct symbol_sources){.folder = settings->symfs,
						    .archive = settings->buildid_dir,
						    .kernel = settings->vmlinux,
						    .kallsyms = settings->kallsyms});
}

int verb_take(int argc, char **argv, const struct verb *verb, verb_taker *take, void *context) {
	if (!(verb->settings & OF_READING))
		return take_all(argc, argv, verb, take, context, NULL);
	struct settings settings;
	int status = settings_load_some(&settings, OF_READING)
			     ? take_all(argc, argv, verb, take, context, &settings)
			     : EXIT_USAGE;
	apply_reading(&settings);
	settings_free(&settings);
	return status;
}

// With --enabled no only the command counts: no file is looked for that others may have put there.
static bool disabled_by_flag(int argc, char **argv, const struct verb *verb) {
	struct parser parser = parser_new(verb);
	bool disabled = false;
	int reports = opterr;
	optind = opterr = 0;
	for (int option; (option = getopt_long(argc, argv, (char *)parser.letters.data, parser.options.items,
					       NULL)) != -1;)
		if (option == SETTING_FLAG + SETTING_ENABLED && optarg)
			disabled = strcasecmp(optarg, "no") == 0;
	opterr = reports;
	array_free(&parser.options);
	buffer_free(&parser.letters);
	return disabled;
}

int verb_take_settings(int argc, char **argv, const struct verb *verb, verb_taker *take, void *context,
		       struct settings *settings) {
	bool files = !disabled_by_flag(argc, argv, verb);
	int status = settings_load(settings, files) ? take_all(argc, argv, verb, take, context, settings)
						    : EXIT_USAGE;
	if (status >= 0) {
		settings_free(settings);
		return status;
	}
	if (verb->settings & OF_READING)
		apply_reading(settings);
	log_set_level(settings->quiet ? LOG_QUIET : settings->verbose ? LOG_VERBOSE : LOG_NORMAL);
	if (files && verb != &verb_run_test) // which becomes `run`
		settings_warn_of_variables();
	return status;
}
