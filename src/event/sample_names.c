// Names as flame graphs show them. The rules are those of stackcollapse-perf.pl, with its mistakes fixed:
// docs/flame-graphs.md lists the differences.
#include "event/sample_tree.h"

#include "base/buffer.h"

#include <inttypes.h>

static bool starts(const char *text, const char *prefix) {
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

// "net/http.(*Client).Do" is a method of Go.
static bool is_go_method(const char *name) {
	const char *open = strstr(name, ".(");
	return open && strstr(open + 2, ").");
}

// Past the angle brackets and arrows of "operator<<", "operator->" and so on,
// which pair with nothing; those of "operator()" too, if no argument list can be meant.
static const char *skip_operator(const char *at, bool of_symbol) {
	at += strlen("operator");
	if (of_symbol && starts(at, "()"))
		return at + 2;
	while (*at == '<' || *at == '>' || *at == '-' || *at == '=')
		at++;
	return at;
}

static const char *closing_parenthesis(const char *open) {
	size_t depth = 0;
	for (const char *at = open; *at; at++) {
		depth += *at == '(';
		if (*at == ')' && --depth == 0)
			return at;
	}
	return NULL;
}

// Where the argument list begins: the first parenthesis that is not inside
// template arguments or a lambda's braces and is no part of the name. NULL if none,
// or the brackets do not pair.
static const char *arguments(const char *name, bool of_symbol) {
	int angle = 0, brace = 0;
	for (const char *at = name; *at;) {
		if (starts(at, "operator")) {
			at = skip_operator(at, of_symbol);
			continue;
		}
		char c = *at;
		angle += c == '<';
		angle -= c == '>' && angle && at > name && at[-1] != '-' && at[-1] != '=';
		brace += c == '{';
		brace -= c == '}' && brace;
		if (c == '(' && !angle && !brace) {
			bool type = at - name >= 8 &&
				    (memcmp(at - 8, "decltype", 8) == 0 ||
				     (at - name >= 9 && memcmp(at - 9, "decltype ", 9) == 0));
			const char *close = type || starts(at, "(anonymous namespace)")
						    ? closing_parenthesis(at)
						    : NULL;
			if (!close)
				return at;
			at = close;
		}
		at++;
	}
	return NULL;
}

static size_t length_without_arguments(const char *name, bool of_symbol) {
	if (!strchr(name, '(') || is_go_method(name))
		return strlen(name);
	const char *open = arguments(name, of_symbol);
	if (open)
		return (size_t)(open - name);
	return strlen(name);
}

static void append_tidy(struct buffer *out, const char *name, size_t size, bool java) {
	if (java && *name == 'L' && memchr(name, '/', size)) {
		name++;
		size--;
	}
	for (size_t i = 0; i < size; i++) {
		char c = name[i] == ';' ? ':' : name[i] == '\n' ? ' ' : name[i];
		if (c != '"' && c != '\'')
			buffer_append(out, &c, 1);
	}
}

static void append_unnamed(struct buffer *out, const char *module, const struct frame *frame, bool address) {
	if (frame->exact == NAME_OF_SYMBOL && frame->position && frame->kind == FRAME_USER) {
		CLEANUP_FREE char *place = frame_place(module, frame->position);
		append_tidy(out, place, strlen(place), false);
		return;
	}
	const char *slash = strrchr(module, '/');
	module = slash ? slash + 1 : module;
	buffer_append(out, "[", 1);
	append_tidy(out, *module ? module : "unknown", *module ? strlen(module) : 7, false);
	if (address)
		buffer_printf(out, " <%" PRIx64 ">", frame->address);
	buffer_append(out, "]", 1);
}

static void append_source(struct buffer *out, const char *path, uint32_t line) {
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	buffer_append(out, ":", 1);
	append_tidy(out, file, strlen(file), false);
	if (line)
		buffer_printf(out, ":%" PRIu32, line);
}

// The suffix of the name, if the options ask for it and it is missing.
static const char *mark(const struct frame *frame, const char *module, const struct sample_options *options) {
	if (frame->kind == FRAME_INLINED)
		return *module ? "_[i]" : "";
	bool bracketed = *module == '[' && !strstr(module, "unknown");
	if (options->kernel && frame->kind != FRAME_JIT && (frame->kind == FRAME_KERNEL || bracketed))
		return "_[k]";
	if (options->jit && frame->kind == FRAME_JIT)
		return "_[j]";
	return "";
}

uint32_t sample_frame_name(struct tables *tables, const struct frame *frame,
			   const struct sample_options *options, bool java) {
	const char *symbol = strings_get(tables->strings, frame->symbol);
	const char *module = strings_get(tables->strings, frame->module);
	if (frame->exact == NAME_EXACT)
		return frame->symbol;
	struct buffer name = {0};
	if (*symbol) {
		size_t size = options->whole_names
				      ? strlen(symbol)
				      : length_without_arguments(symbol, frame->exact == NAME_OF_SYMBOL);
		append_tidy(&name, symbol, size, java);
	} else {
		append_unnamed(&name, module, frame, options->addresses);
	}
	if (options->context && frame->at_file)
		append_source(&name, strings_get(tables->strings, frame->at_file), frame->at_line);
	else if (options->source && frame->file)
		append_source(&name, strings_get(tables->strings, frame->file), frame->line);
	const char *behind = mark(frame, module, options);
	size_t size = strlen(behind);
	if (size && (name.size < size || memcmp(name.data + name.size - size, behind, size) != 0))
		buffer_append(&name, behind, size);
	uint32_t id = strings_add_bytes(tables->strings, name.data, name.size);
	buffer_free(&name);
	return id;
}
