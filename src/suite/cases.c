// Recognises the framework of a program (framework_table.h) and asks the program for its cases.
#include "suite/cases.h"
#include "base/file.h"
#include "base/system.h"
#include "process/child.h"
#include "process/preload.h"

#include <ctype.h>
#include <errno.h>

// ---- the table ----

#define TEXTS(...)                                                                                           \
	(const char *const[]) {                                                                              \
		__VA_ARGS__, NULL                                                                            \
	}

static bool mark_ignored(char **command, struct cases *cases);
static bool resolve_meson(char **command, struct cases *cases);

static const struct framework frameworks[] = {
#define FRAMEWORK(title, parser, ...) {.name = title, .parse = parser, __VA_ARGS__},
#include "suite/framework_table.h"
#undef FRAMEWORK
};

const struct framework *const *framework_list(void) {
	static const struct framework *list[ARRAY_SIZE(frameworks) + 1];
	for (size_t i = 0; i < ARRAY_SIZE(frameworks); i++)
		list[i] = &frameworks[i];
	return list;
}

const struct framework *framework_by_name(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(frameworks); i++)
		if (strcmp(frameworks[i].name, name) == 0)
			return &frameworks[i];
	return NULL;
}

int cases_exit_status(const struct framework *framework, const int *failed, size_t count) {
	size_t sum = 0, largest = 0;
	for (size_t i = 0; i < count; i++) {
		size_t status = (unsigned)failed[i]; // 32 bits on Windows
		sum += status;
		largest = MAX(largest, status);
	}
	const size_t statuses[] = {[STATUS_FIXED] = (size_t)framework->failed_status,
				   [STATUS_SUM] = sum,
				   [STATUS_LARGEST] = largest,
				   [STATUS_COUNT] = count};
	return count ? (int)MIN(statuses[framework->status], (size_t)255) : 0;
}

// ---- recognising ----

#ifdef _WIN32
#define EXECUTABLE "MZ"
#else
#define EXECUTABLE "\177ELF"
#endif

// A trailing star in the pattern matches anything.
static bool is_word(const char *word, const char *pattern) {
	size_t length = strcspn(pattern, "*");
	return strncmp(word, pattern, length) == 0 && (pattern[length] || !word[length]);
}

// How many words of the command match `pattern` ("python* -m pytest"); 0 if it does not match.
static size_t words_matched(char **command, const char *pattern) {
	CLEANUP_FREE char *copy = memory_string(pattern), *program = system_command_name(command[0]);
	char *rest = NULL;
	size_t count = 0;
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest), count++)
		if (!command[count] || !is_word(count ? command[count] : program, word))
			return 0;
	return count;
}

// How many words of the command are the program itself.
static size_t head_words(const struct framework *framework, char **command) {
	for (const char *const *name = framework->commands; name && *name; name++) {
		size_t count = words_matched(command, *name);
		if (count)
			return count;
	}
	return 1;
}

const struct framework *framework_of(char **command) {
	for (size_t i = 0; i < ARRAY_SIZE(frameworks); i++)
		for (const char *const *name = frameworks[i].commands; name && *name; name++)
			if (words_matched(command, *name))
				return &frameworks[i];
	CLEANUP_FREE char *program = child_find_program(command[0]);
	struct input input;
	if (input_open(&input, program))
		return NULL;
	const struct framework *found = NULL;
	bool executable = input.size > strlen(EXECUTABLE) &&
			  memcmp(input.data, EXECUTABLE, strlen(EXECUTABLE)) == 0;
	for (size_t i = 0; executable && !found && i < ARRAY_SIZE(frameworks); i++)
		for (const char *const *mark = frameworks[i].marks; mark && *mark && !found; mark++)
			if (system_find(input.data, input.size, *mark, strlen(*mark)))
				found = &frameworks[i];
	input_close(&input);
	return found;
}

// ---- listing ----

static void words_of_list(const struct framework *framework, char **command, struct words *words) {
	if (framework->preload)
		preload_words(framework->preload, words);
	for (const char *const *word = framework->list; framework->preload && *word; word++)
		words_add(words, "%s", *word);
	words_add_all(words, command);
	for (const char *const *word = framework->list; !framework->preload && word && *word; word++)
		words_add(words, "%s", *word);
}

int cases_list(const struct framework *framework, char **command, struct cases *cases) {
	struct words words = {0};
	struct buffer text = {0};
	words_of_list(framework, command, &words);
	int status = child_output(words.items, &text);
	bool parsed = status >= 0 && framework->parse((char *)text.data, text.size, cases);
	// Catch2 2 exits with the number of cases; frameworks that list by running may have failing
	// cases.
	if (parsed && cases->count && (framework->status == STATUS_SUM || !framework->list))
		status = 0;
	else if (status == 0 && !parsed)
		status = -EINVAL;
	if (status == 0 && framework->refine && !framework->refine(command, cases))
		status = -EINVAL;
	words_free(&words);
	buffer_free(&text);
	return status;
}

static bool has_word(char **command, const char *word) {
	for (; *command; command++)
		if (strcmp(*command, word) == 0)
			return true;
	return false;
}

static int compare_cases(const void *one, const void *other) {
	return strcmp(((const struct test_case *)one)->name, ((const struct test_case *)other)->name);
}

// libtest lists ignored tests with the others, and separately on request.
static bool mark_ignored(char **command, struct cases *cases) {
	if (has_word(command, "--ignored") || has_word(command, "--include-ignored"))
		return true;
	struct words words = {0};
	struct buffer text = {0};
	struct cases ignored = {0};
	words_add_all(&words, command);
	words_add_all(&words, (char *[]){(char *)"--list", (char *)"--format", (char *)"terse",
					 (char *)"--ignored", NULL});
	if (child_output(words.items, &text) == 0 &&
	    cases_from_libtest((char *)text.data, text.size, &ignored))
		qsort(ignored.items, ignored.count, sizeof(*ignored.items), compare_cases);
	for (size_t i = 0; ignored.count && i < cases->count; i++)
		cases->items[i].disabled = bsearch(&cases->items[i], ignored.items, ignored.count,
						   sizeof(*ignored.items), compare_cases);
	cases_free(&ignored);
	words_free(&words);
	buffer_free(&text);
	return true;
}

static bool resolve_meson(char **command, struct cases *cases) {
	const char *folder = ".";
	for (char **word = command; *word; word++)
		if (strncmp(*word, "-C", 2) == 0 && ((*word)[2] || word[1]))
			folder = (*word)[2] ? *word + 2 : word[1];
	struct buffer text = {0};
	char *words[] = {command[0], (char *)"introspect", (char *)"--tests", (char *)(uintptr_t)folder,
			 NULL};
	int status = child_output(words, &text);
	bool resolved = cases_resolve_meson((char *)text.data, text.size, cases);
	buffer_free(&text);
	return status == 0 && resolved;
}

// ---- running one ----

static bool exists(const char *path) {
	struct stat status;
	return system_stat(path, &status) == 0;
}

// The name with a backslash before special characters.
static char *escaped(const char *prefix, const char *name, enum case_escape how) {
	static const char *const special[] = {[ESCAPE_NOTHING] = "",
					      [ESCAPE_CATCH2] = "\\,[]\"~",
					      [ESCAPE_COMMA] = ",",
					      [ESCAPE_REGEX] = "\\^$.|?*+()[]{}"};
	struct buffer text = {0};
	buffer_append(&text, prefix, strlen(prefix));
	for (; *name; name++) {
		if (strchr(special[how], *name))
			buffer_append(&text, "\\", 1);
		buffer_append(&text, name, 1);
	}
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

// pytest's names are relative to its root directory, which may be above this one.
static const char *way_up(const struct framework *framework, const char *name, char prefix[64]) {
	const char *colons = strstr(name, "::");
	*prefix = 0;
	if (!framework->commands || framework->parse != cases_from_pytest || !colons)
		return prefix;
	for (int up = 0; up < 16; up++) {
		CLEANUP_FREE char *path = memory_format("%s%.*s", prefix, (int)(colons - name), name);
		if (exists(path))
			return prefix;
		strcat(prefix, "../");
	}
	*prefix = 0;
	return prefix;
}

static char *replace(const char *text, const char *what, const char *with) {
	struct buffer out = {0};
	for (const char *found; (found = strstr(text, what)); text = found + strlen(what)) {
		buffer_append(&out, text, (size_t)(found - text));
		buffer_append(&out, with, strlen(with));
	}
	buffer_append(&out, text, strlen(text) + 1);
	return (char *)out.data;
}

static bool takes_value(const struct framework *framework, const char *option) {
	for (const char *const *name = framework->option_values; *name; name++)
		if (strcmp(*name, option) == 0)
			return true;
	return false;
}

// The command without the words that select cases: those would be run as well.
static void add_without_selection(const struct framework *framework, char **command, struct words *words) {
	size_t head = head_words(framework, command);
	for (size_t i = 0; command[i]; i++) {
		bool plain = i >= head && command[i][0] != '-' && !takes_value(framework, command[i - 1]);
		const char *colons = strstr(command[i], "::");
		CLEANUP_FREE char *path = memory_format(
			"%.*s", colons ? (int)(colons - command[i]) : (int)strlen(command[i]), command[i]);
		// A word that is not a file may be the value of a plugin's option.
		if (plain && (framework->wrapper || exists(path)))
			continue;
		words_add(words, "%s", command[i]);
	}
}

// At most one placeholder per word: inserted text may look like another one.
static void add_selection(const struct framework *framework, const char *name, struct words *words) {
	const char *separator = framework->separator ? strstr(name, framework->separator) : NULL;
	size_t length = separator ? (size_t)(separator - name) : 0;
	const char *rest = separator ? separator + strlen(framework->separator) : name;
	CLEANUP_FREE char *suite = memory_format("%.*s", (int)length, name);
	for (const char *const *word = framework->select; word && *word; word++)
		words_take(words, strstr(*word, "{suite}")  ? replace(*word, "{suite}", suite)
				  : strstr(*word, "{case}") ? replace(*word, "{case}", rest)
							    : replace(*word, "{}", name));
}

// The user's arguments, split at blanks; the name may contain blanks.
static void add_own_selection(const char *select, const char *name, struct words *words) {
	CLEANUP_FREE char *copy = memory_string(select), *regex = escaped("", name, ESCAPE_REGEX);
	char *rest = NULL;
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		words_take(words, strstr(word, "{regex}") ? replace(word, "{regex}", regex)
							  : replace(word, "{}", name));
}

void case_command(const struct framework *framework, char **command, const char *select, const char *name,
		  struct words *words) {
	char prefix[64];
	way_up(framework, name, prefix);
	CLEANUP_FREE char *full = escaped(prefix, name, select ? ESCAPE_NOTHING : framework->escape);
	if (framework->preload && !select) {
		preload_words(framework->preload, words);
		add_selection(framework, full, words);
	}
	if (framework->option_values && !select)
		add_without_selection(framework, command, words);
	else
		words_add_all(words, command);
	if (select)
		add_own_selection(select, full, words);
	else if (!framework->preload)
		add_selection(framework, full, words);
}
