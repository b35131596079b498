// "Kernel panic - not syncing: WHY"; before or after it a "Call Trace:" (x86) or "Call trace:" (arm64), up to
// a line that is not a frame. The last stack before the panic, if there is one, is that of the fault that led
// to it; otherwise the panic's own stack is taken.
#include "vm/panic.h"
#include "base/text.h"

enum { FRAMES_MOST = 32, LINE_MOST = 240 };

struct line {
	const char *text;
	size_t size;
};

// The next line without its time and carriage return.
static bool next_line(const char **at, const char *end, struct line *line) {
	if (*at >= end)
		return false;
	const char *newline = memchr(*at, '\n', (size_t)(end - *at)), *stop = newline ? newline : end;
	line->text = *at;
	*at = newline ? newline + 1 : end;
	if (stop > line->text && stop[-1] == '\r')
		stop--;
	const char *bracket = line->text < stop && *line->text == '['
				      ? memchr(line->text, ']', (size_t)(stop - line->text))
				      : NULL;
	if (bracket)
		line->text = bracket + 1;
	while (line->text < stop && *line->text == ' ')
		line->text++;
	line->size = (size_t)(stop - line->text);
	return true;
}

static const char *find(const struct line *line, const char *text) {
	return memmem(line->text, line->size, text, strlen(text));
}

// A guest may write anything.
static void append_plain(struct buffer *out, const char *text, size_t size) {
	text_plain(out, text, MIN(size, (size_t)LINE_MOST));
}

// "? do_exit+0x35e/0xb70", "RIP: 0033:0x...", "<TASK>".
static bool is_frame(const struct line *line) {
	return find(line, "+0x") || find(line, "<TASK>") || find(line, "<IRQ>") || find(line, "</IRQ>") ||
	       find(line, "<NMI>") || find(line, "</NMI>");
}

static void take_stack(const char **at, const char *end, struct buffer *stack) {
	struct line line;
	stack->size = 0;
	for (int frames = 0; frames < FRAMES_MOST && next_line(at, end, &line) && is_frame(&line); frames++) {
		if (find(&line, "<"))
			continue;
		append_plain(stack, line.text, line.size);
		buffer_append(stack, "\n", 1);
	}
}

bool panic_find(const char *console, size_t size, struct buffer *words, struct buffer *stack) {
	static const char sign[] = "Kernel panic - not syncing: ";
	const char *at = console, *end = console + size;
	struct line line;
	bool panicked = false;
	while (next_line(&at, end, &line)) {
		const char *why = find(&line, sign);
		if (why && !panicked) {
			why += sizeof(sign) - 1;
			append_plain(words, why, (size_t)(line.text + line.size - why));
			panicked = true;
		}
		// The stack of the fault comes first and says more than that of the resulting panic.
		if ((find(&line, "Call Trace:") || find(&line, "Call trace:")) && !(panicked && stack->size))
			take_stack(&at, end, stack);
	}
	return panicked;
}
