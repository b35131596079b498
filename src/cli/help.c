// Help about verbs and their options, made from their descriptions.
#include "base/log.h"
#include "base/memory.h"
#include "cli/verb.h"

#include <string.h>

#define PAGES BY_SYSTEM("man tracelet", "docs/windows.md")

enum { COLUMNS = 96, WIDEST_LABEL = 24 };

static const struct {
	const char *name, *about;
} families[FAMILY_COUNT] = {
	[FAMILY_RECORD] = {"record", "trace, sample and count what a test does"},
	[FAMILY_UNDERSTAND] = {"understand", "examine and compare recordings"},
	[FAMILY_RESULTS] = {"results", "what earlier runs left, and how tests changed"},
	[FAMILY_MACHINES] = {"machines", "test in virtual machines"},
	[FAMILY_SET_UP] = {"set-up", "see what works here, what is recorded and how it is configured"},
};

// ---- the options that a verb shows ----

struct shown {
	const char *name;
	char letter;
	char *metavar; // NULL if it takes no value
	bool optional; // the value
	char *choices; // a blank between; NULL for any value
	char *help;
	const char *source; // "own", or whose it is: "run", "samples"
};

typedef ARRAY(struct shown) shown_array;

static void shown_free(shown_array *options) {
	for (size_t i = 0; i < options->count; i++) {
		free(options->items[i].metavar);
		free(options->items[i].choices);
		free(options->items[i].help);
	}
	array_free(options);
}

static char *copy(const char *text) {
	return text ? memory_string(text) : NULL;
}

static char *join(const char *const *words, const char *between) {
	struct buffer text = {0};
	for (size_t i = 0; words[i]; i++)
		buffer_printf(&text, "%s%s", i ? between : "", words[i]);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

static void show_setting(shown_array *options, const struct setting *setting, const char *source) {
	const char *const *choices = setting_choices(setting);
	bool valued = setting->metavar || (choices && !setting->bare);
	bool show_default = setting->usual && !strstr(setting->help, "(default");
	struct shown shown = {
		.name = setting->name,
		.letter = setting->letter,
		.metavar = !valued            ? NULL
			   : setting->metavar ? copy(setting->metavar)
					      : join(choices, "|"),
		.optional = valued && setting->bare,
		.choices = valued && choices ? join(choices, " ") : NULL,
		.help = show_default ? memory_format("%s (default: %s)", setting->help, setting->usual)
				     : copy(setting->help),
		.source = source,
	};
	array_push(options, shown);
}

static void show_own(shown_array *options, const struct verb_option *option, const char *source) {
	for (; option && option->name; option++)
		if (option->help)
			array_push(
				options,
				((struct shown){.name = option->name,
						.letter = option->value <= LETTERS ? (char)option->value : 0,
						.metavar = copy(option->metavar),
						.choices = copy(option->choices),
						.help = copy(option->help),
						.source = source}));
}

static shown_array shown_options(const struct verb *verb) {
	shown_array options = {0};
	show_own(&options, verb->options, "own");
	show_own(&options, verb->sample_options, "samples");
	for (enum setting_id id = 0; id < SETTING_COUNT; id++)
		if (verb_has_setting(verb, id) && BY_SYSTEM(true, setting_table[id].windows))
			show_setting(&options, &setting_table[id], verb->as_run ? "run" : "own");
	array_push(&options,
		   ((struct shown){
			   .name = "help", .letter = 'h', .help = copy("show this help"), .source = "own"}));
	return options;
}

// ---- text for a terminal ----

// Words of `text`, beginning at column `at` and wrapped; further lines begin at `indent`.
static void print_wrapped(const char *text, size_t length, size_t at, size_t indent, FILE *out) {
	for (const char *end = text + length; text < end;) {
		size_t word = strcspn(text, " \n");
		word = word < (size_t)(end - text) ? word : (size_t)(end - text);
		if (at > indent && at + 1 + word > COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		}
		fprintf(out, "%s%.*s", at > indent ? " " : "", (int)word, text);
		at += word + (at > indent);
		text += word;
		text += text < end;
	}
	fputc('\n', out);
}

// Paragraphs: a line each. One that begins with a blank is printed as it is.
static void print_paragraphs(const char *text, FILE *out) {
	while (*text) {
		size_t length = strcspn(text, "\n");
		if (*text == ' ')
			fprintf(out, "%.*s\n", (int)length, text);
		else
			print_wrapped(text, length, 0, 0, out);
		text += length + (text[length] == '\n');
	}
}

static void option_label(const struct shown *option, struct buffer *label) {
	label->size = 0;
	if (option->letter)
		buffer_printf(label, "-%c, ", option->letter);
	else
		buffer_printf(label, "    ");
	buffer_printf(label, "--%s", option->name);
	if (option->metavar)
		buffer_printf(label, option->optional ? "[=%s]" : " %s", option->metavar);
}

// A label that is too wide moves only the first line of its help.
static void print_option(const struct shown *option, const struct buffer *label, size_t width, FILE *out) {
	size_t indent = width + 4;
	bool wide = label->size > width;
	fprintf(out, "  %-*.*s%s", (int)width, (int)label->size, (char *)label->data, wide ? " " : "  ");
	print_wrapped(option->help, strlen(option->help), wide ? label->size + 3 : indent, indent, out);
}

static void print_options(const struct verb *verb, FILE *out) {
	shown_array options = shown_options(verb);
	struct buffer label = {0};
	size_t width = 0;
	for (size_t i = 0; i < options.count; i++) {
		option_label(&options.items[i], &label);
		width = label.size <= WIDEST_LABEL && label.size > width ? label.size : width;
	}
	for (size_t i = 0; i < options.count; i++) {
		if (strcmp(options.items[i].source, "run") == 0)
			continue;
		option_label(&options.items[i], &label);
		print_option(&options.items[i], &label, width, out);
	}
	buffer_free(&label);
	shown_free(&options);
}

static void print_usage(const char *usage, FILE *out) {
	for (const char *before = "Usage:"; *usage; before = "      ") {
		size_t length = strcspn(usage, "\n");
		fprintf(out, "%s %.*s\n", before, (int)length, usage);
		usage += length + (usage[length] == '\n');
	}
}

int verb_print_help(const struct verb *verb) {
	print_usage(verb->usage, stdout);
	fputc('\n', stdout);
	print_paragraphs(verb->about, stdout);
	fputc('\n', stdout);
	print_options(verb, stdout);
	if (verb->as_run)
		puts("\nAll options of 'tracelet run' are accepted as well.");
	if (verb->notes) {
		fputc('\n', stdout);
		print_paragraphs(verb->notes, stdout);
	}
	return 0;
}

void verb_print_json(struct buffer *line) {
	printf("%.*s\n", (int)line->size, (char *)line->data);
	buffer_free(line);
}

int verb_bad_usage(const struct verb *verb) {
	log_error("try 'tracelet %s --help'", verb->name);
	return EXIT_USAGE;
}

// ---- lists of verbs ----

static void print_verb(const struct verb *verb, FILE *out) {
	fprintf(out, "  %-10s %s\n", verb->name, verb->summary);
}

static void print_family(const struct verb *const *verbs, size_t count, enum family family, FILE *out) {
	struct buffer names = {0};
	for (size_t i = 0; i < count; i++)
		if (verbs[i]->family == family)
			buffer_printf(&names, "%s%s", names.size ? ", " : "", verbs[i]->name);
	if (names.size) {
		fprintf(out, "  %-10s %s:\n  %-10s ", families[family].name, families[family].about, "");
		print_wrapped((char *)names.data, names.size, 13, 13, out);
	}
	buffer_free(&names);
}

void help_print(const struct verb *const *verbs, size_t count, FILE *out) {
	fputs("tracelet: one small, focused trace for every test\n\n"
	      "Usage: tracelet run -- COMMAND [ARGUMENTS...]\n"
	      "       tracelet VERB [OPTIONS]\n\nStart with:\n",
	      out);
	for (size_t i = 0; i < count; i++)
		if (verbs[i]->newcomer)
			print_verb(verbs[i], out);
	fputs("\nAll verbs, by family:\n", out);
	for (enum family family = 0; family < FAMILY_COUNT; family++)
		print_family(verbs, count, family, out);
	fputs("\n'tracelet help FAMILY' describes its verbs, 'tracelet VERB --help' one verb and its "
	      "options,\n"
	      "'" PAGES "' everything.\n",
	      out);
}

static bool help_family(const struct verb *const *verbs, size_t count, const char *word) {
	enum family family = 0;
	while (family < FAMILY_COUNT && strcmp(families[family].name, word) != 0)
		family++;
	if (family == FAMILY_COUNT)
		return false;
	printf("%s: %s\n\n", families[family].name, families[family].about);
	for (size_t i = 0; i < count; i++)
		if (verbs[i]->family == family)
			print_verb(verbs[i], stdout);
	puts("\n'tracelet VERB --help' describes a verb and its options.");
	return true;
}

// ---- for programs ----

// VERB, SOURCE, --option, -letter, VALUE ("[=VALUE]" if it may be missing), choices, help
static void list_options(const struct verb *verb) {
	shown_array options = shown_options(verb);
	for (size_t i = 0; i < options.count; i++) {
		const struct shown *option = &options.items[i];
		const char *metavar = option->metavar ? option->metavar : "";
		printf("%s\t%s\t--%s\t%s%.1s\t%s%s%s\t%s\t%s\n", verb->name, option->source, option->name,
		       option->letter ? "-" : "", &option->letter, option->optional ? "[=" : "", metavar,
		       option->optional ? "]" : "", option->choices ? option->choices : "", option->help);
	}
	shown_free(&options);
}

// `tracelet help --options` is what the manual and the completion are made from, and what tests read.
static int help_for_programs(const struct verb *const *verbs, size_t count, const char *word,
			     const char *name) {
	bool options = strcmp(word, "--options") == 0, known = false;
	for (size_t i = 0; i < count; i++) {
		if (name && strcmp(name, verbs[i]->name) != 0)
			continue;
		known = true;
		if (options)
			list_options(verbs[i]);
		else
			printf("%s\t%s\t%s\n", verbs[i]->name, families[verbs[i]->family].name,
			       verbs[i]->summary);
	}
	return known ? 0 : EXIT_USAGE;
}

int help_about(const struct verb *const *verbs, size_t count, char **words) {
	const char *word = words[0];
	if (word && (strcmp(word, "--options") == 0 || strcmp(word, "--verbs") == 0))
		return help_for_programs(verbs, count, word, words[1]);
	for (size_t i = 0; word && i < count; i++)
		if (strcmp(verbs[i]->name, word) == 0)
			return verb_print_help(verbs[i]);
	if (word && help_family(verbs, count, word))
		return 0;
	help_print(verbs, count, stdout);
	return 0;
}
