// tracelet.ini on Windows: there is no inih for mingw in Debian, and the system's own
// functions know neither keys without a section nor UTF-8.
#include "settings/ini_file.h"
#include "base/file.h"

#include <ctype.h>

static char *trim(char *text) {
	while (isspace((unsigned char)*text))
		text++;
	size_t length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = 0;
	return text;
}

// A semicolon after a space begins a comment.
static void cut_comment(char *text) {
	for (char *at = text; *at; at++)
		if (*at == ';' && (at == text || isspace((unsigned char)at[-1])))
			*at = 0;
}

static bool take_line(char *line, char section[64], ini_file_taker *take, void *context) {
	char *text = trim(line), *end;
	if (!*text || *text == ';' || *text == '#')
		return true;
	if (*text == '[') {
		if (!(end = strchr(text, ']')))
			return false;
		*end = 0;
		snprintf(section, 64, "%s", text + 1);
		return true;
	}
	char *equals = strpbrk(text, "=:");
	if (!equals)
		return false;
	*equals = 0;
	cut_comment(equals + 1);
	return take(context, section, trim(text), trim(equals + 1));
}

int ini_file_read(const char *path, enum ini_file_kind kind, ini_file_taker *take, void *context,
		  char why[INI_FILE_WHY]) {
	struct input input;
	char section[64] = "";
	int bad = 0, number = 0;
	if (input_open(&input, path))
		return INI_FILE_UNREADABLE;
	CLEANUP_FREE char *text = memory_format("%.*s", (int)input.size, (const char *)input.data);
	input_close(&input);
	char *line = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
	for (char *next; line && !bad; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		number++;
		if (!take_line(line, section, take, context))
			bad = number;
	}
	return bad;
}
