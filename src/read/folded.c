// Reads folded stacks, one "name;name;name weight" per line. Two weights on every
// line mean a comparison: before and after.
//
// Such files are usually sorted, so a line begins like the previous one. The
// common prefix is found eight bytes at a time, and only the names after it are
// looked up.
#include "base/buffer.h"
#include "base/log.h"
#include "read/lines.h"
#include "read/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { MOST_FRAMES = 1 << 16, REMEMBERED_NAMES = 1 << 14 };

struct name {
	const char *text; // in the string table
	uint32_t size, frame;
};

struct level {
	size_t end; // end of the name within the line
	uint32_t stack;
};

struct folded {
	struct tables *tables;
	struct sink *sink;
	bool two_weights;
	struct buffer *previous;    // stack text of the previous line
	ARRAY(struct level) levels; // levels of the previous line
	struct name *names;         // cached names, by hash
	uint64_t line, bad_lines, first_bad_line;
};

// ---- numbers at the end of a line ----

static bool is_digit(char c) {
	return c >= '0' && c <= '9';
}

// Strips a blank and a number from the end of the line. Rounds fractions.
static bool take_weight(const char *line, size_t *size, uint64_t *weight) {
	size_t begin = *size;
	while (begin && (is_digit(line[begin - 1]) || line[begin - 1] == '.'))
		begin--;
	if (begin == *size || begin < 1 || (line[begin - 1] != ' ' && line[begin - 1] != '\t') ||
	    line[begin] == '.')
		return false;
	uint64_t value = 0;
	size_t at = begin;
	for (; at < *size && is_digit(line[at]); at++)
		value = value * 10 + (uint64_t)(line[at] - '0');
	if (at < *size && at + 1 < *size && line[at + 1] >= '5')
		value++;
	if (at < *size && memchr(line + at + 1, '.', *size - at - 1))
		return false;
	while (begin && (line[begin - 1] == ' ' || line[begin - 1] == '\t'))
		begin--;
	*size = begin;
	*weight = value;
	return true;
}

// ---- stacks ----

static uint32_t kind_of_name(const char *name, size_t size) {
	if (size < 4 || name[size - 1] != ']' || memcmp(name + size - 4, "_[", 2) != 0)
		return FRAME_USER;
	switch (name[size - 2]) {
	case 'k':
		return FRAME_KERNEL;
	case 'j':
		return FRAME_JIT;
	case 'i':
		return FRAME_INLINED;
	default:
		return FRAME_USER;
	}
}

static uint64_t load64(const char *at) {
	uint64_t word;
	memcpy(&word, at, 8);
	return word;
}

static uint64_t hash_name(const char *name, size_t size) {
	uint64_t hash = size * 0x9e3779b97f4a7c15u, last = 0;
	for (size_t at = 0; at + 8 < size; at += 8)
		hash = (hash ^ load64(name + at)) * 0x9fb21c651e98df25u, hash ^= hash >> 32;
	if (size >= 8)
		last = load64(name + size - 8);
	else
		memcpy(&last, name, size);
	hash = (hash ^ last) * 0x9fb21c651e98df25u;
	return hash ^ hash >> 32;
}

// Looks the name up in a fixed-size cache, in which newer names replace older ones.
static uint32_t frame_of(struct folded *folded, const char *text, size_t size) {
	struct strings *strings = folded->tables->strings;
	struct name *name = &folded->names[hash_name(text, size) & (REMEMBERED_NAMES - 1)];
	if (name->text && name->size == size && memcmp(name->text, text, size) == 0)
		return name->frame;
	struct frame frame = {.symbol = strings_add_bytes(strings, text, size),
			      .kind = kind_of_name(text, size),
			      .exact = NAME_EXACT};
	*name = (struct name){.text = strings_get(strings, frame.symbol),
			      .size = (uint32_t)size,
			      .frame = stacks_add_frame(folded->tables->stacks, &frame)};
	return name->frame;
}

static size_t common_prefix(const char *a, const char *b, size_t size) {
	size_t at = 0;
	for (; at + 8 <= size; at += 8) {
		uint64_t left, right;
		memcpy(&left, a + at, 8);
		memcpy(&right, b + at, 8);
		if (left != right)
			return at + (size_t)__builtin_ctzll(left ^ right) / 8;
	}
	while (at < size && a[at] == b[at])
		at++;
	return at;
}

static uint32_t stack_of(struct folded *folded, const char *text, size_t size) {
	struct buffer *previous = folded->previous;
	size_t common = common_prefix(text, (const char *)previous->data, MIN(size, previous->size));
	// A name is common only if the semicolon after it is, too.
	while (folded->levels.count && folded->levels.items[folded->levels.count - 1].end >= common)
		folded->levels.count--;
	struct level last = folded->levels.count ? folded->levels.items[folded->levels.count - 1]
						 : (struct level){0};
	size_t at = folded->levels.count ? last.end + 1 : 0;
	uint32_t stack = last.stack;
	while (at <= size && folded->levels.count < MOST_FRAMES) {
		const char *semicolon = memchr(text + at, ';', size - at);
		size_t end = semicolon ? (size_t)(semicolon - text) : size;
		if (end > at) // skip empty names
			stack = stacks_add(folded->tables->stacks, stack,
					   frame_of(folded, text + at, end - at));
		array_push(&folded->levels, (struct level){end, stack});
		at = end + 1;
	}
	previous->size = 0;
	buffer_append(previous, text, size);
	return stack;
}

static int push_sample(struct folded *folded, uint32_t stack, uint64_t weight, uint32_t flags) {
	struct event event = {.kind = EVENT_SAMPLE, .cpu = CPU_NONE};
	event.sample.stack = stack;
	event.sample.weight = weight;
	event.sample.flags = SAMPLE_NO_TASK | flags;
	return weight ? sink_push(folded->sink, &event) : 0;
}

// ---- lines ----

static int take_line(void *context, const char *line, size_t size) {
	struct folded *folded = context;
	folded->line++;
	while (size && (line[size - 1] == '\r' || line[size - 1] == ' '))
		size--;
	if (size == 0 || line[0] == '#')
		return 0;
	uint64_t weight, before = 0;
	if (!take_weight(line, &size, &weight)) {
		if (!folded->bad_lines++)
			folded->first_bad_line = folded->line;
		return 0;
	}
	bool compared = folded->two_weights && take_weight(line, &size, &before);
	uint32_t stack = stack_of(folded, line, size);
	int error = compared ? push_sample(folded, stack, before, SAMPLE_BASELINE) : 0;
	return error ? error : push_sample(folded, stack, weight, 0);
}

static const struct line_format format = {.expected = "a file of folded stacks", .take = take_line};

// How many numbers each of the first lines ends with. The last line may be
// truncated.
static unsigned weights_of_lines(const uint8_t *head, size_t size, bool whole) {
	unsigned least = 3;
	const char *at = (const char *)head, *end = at + size;
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline && !whole)
			break;
		size_t length = (size_t)((newline ? newline : end) - at);
		while (length && (at[length - 1] == '\r' || at[length - 1] == ' '))
			length--;
		uint64_t weight;
		if (length && *at != '#') {
			if (*at == ' ' || *at == '\t')
				return 0;
			unsigned weights = take_weight(at, &length, &weight);
			weights += weights && take_weight(at, &length, &weight);
			least = MIN(least, weights);
		}
		at = newline ? newline + 1 : end;
	}
	return least;
}

static bool probe(const uint8_t *head, size_t size) {
	if (memchr(head, 0, size))
		return false;
	unsigned weights = weights_of_lines(head, size, size < 4096);
	// A single line that continues past the buffer must at least look like a stack.
	return weights == 3 ? !memchr(head, '\n', size) && memchr(head, ';', size) : weights > 0;
}

static int read_folded(struct stream *input, const char *name, struct tables *tables, struct sink *sink) {
	struct buffer previous = {0};
	struct folded folded = {.tables = tables, .sink = sink, .previous = &previous};
	folded.names = memory_alloc(REMEMBERED_NAMES * sizeof(*folded.names));
	bool whole = !stream_need(input, 4096);
	folded.two_weights = stream_available(input) &&
			     weights_of_lines(input->data + input->begin, stream_available(input),
					      whole && input->at_end) == 2;
	int error = lines_read(input, name, &format, &folded);
	if (!error && folded.bad_lines)
		log_warning("%s: skipped %" PRIu64
			    " line%s not end with a number, the first is line %" PRIu64,
			    name, folded.bad_lines, folded.bad_lines == 1 ? " that does" : "s that do",
			    folded.first_bad_line);
	array_free(&folded.levels);
	free(folded.names);
	buffer_free(&previous);
	return error;
}

const struct reader folded_reader = {
	.name = "folded",
	.extension = "folded",
	.description = "folded stacks: names separated by semicolons, and a number",
	.probe = probe,
	.read = read_folded,
};
