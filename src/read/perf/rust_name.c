// Names of Rust's first mangling, as a demangler for C++ leaves them: it undoes the lengths of the parts and
// not the escapes within them, and takes the hash at the end for a part. perf before 4.12, and perf without a
// demangler for Rust, print such names:
//
//     _$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$::drop::h0123456789abcdef
//     <alloc::vec::Vec<T> as core::ops::Drop>::drop
#include "base/buffer.h"
#include "read/perf/script.h"

#include <string.h>

enum { HASH = sizeof("::h0123456789abcdef") - 1, LEAST_DIGITS = 5, LONGEST_ESCAPE = 8 };

static int digit_value(char c) {
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// A hash has many different digits; a name that looks like one by chance has not.
static bool ends_with_hash(struct slice name) {
	if (name.size <= HASH || memcmp(name.text + name.size - HASH, "::h", 3) != 0)
		return false;
	unsigned seen = 0;
	for (size_t i = name.size - 16; i < name.size; i++) {
		int value = digit_value(name.text[i]);
		if (value < 0)
			return false;
		seen |= 1u << value;
	}
	return __builtin_popcount(seen) >= LEAST_DIGITS;
}

// The character for the text between two dollar signs; 0 if it is no escape.
static char escaped(struct slice escape) {
	static const struct {
		const char *text;
		char character;
	} escapes[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'},
		       {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}};
	for (size_t i = 0; i < ARRAY_SIZE(escapes); i++)
		if (escape.size == strlen(escapes[i].text) &&
		    memcmp(escape.text, escapes[i].text, escape.size) == 0)
			return escapes[i].character;
	unsigned code = 0;
	if (escape.size < 2 || escape.text[0] != 'u')
		return 0;
	for (size_t i = 1; i < escape.size; i++) {
		int value = digit_value(escape.text[i]);
		if (value < 0)
			return 0;
		code = code * 16 + (unsigned)value;
	}
	return code >= ' ' && code < 0x7f ? (char)code : 0;
}

// Appends what is at `at`, and returns the number of characters that it takes there.
static size_t append_next(struct buffer *out, struct slice name, size_t at) {
	const char *text = name.text + at;
	size_t left = name.size - at;
	bool first = at == 0 || text[-1] == ':'; // of its part
	if (first && text[0] == '_' && left > 1 && text[1] == '$')
		return 1; // an identifier cannot begin with a dollar sign
	if (text[0] == '.' && left > 1 && text[1] == '.') {
		buffer_append(out, "::", 2);
		return 2;
	}
	const char *end = text[0] == '$' ? memchr(text + 1, '$', MIN(left - 1, (size_t)LONGEST_ESCAPE))
					 : NULL;
	char character = end ? escaped((struct slice){text + 1, (size_t)(end - text - 1)}) : 0;
	buffer_append(out, character ? &character : text, 1);
	return character ? (size_t)(end - text + 1) : 1;
}

bool script_rust_name(struct slice name, struct buffer *out) {
	const char *blank = memchr(name.text, ' ', name.size); // before "[clone .llvm.123]"
	if (blank && blank + 1 < name.text + name.size && blank[1] == '[')
		name.size = (size_t)(blank - name.text);
	if (!ends_with_hash(name))
		return false;
	name.size -= HASH;
	out->size = 0;
	for (size_t at = 0; at < name.size;)
		at += append_next(out, name, at);
	return true;
}
