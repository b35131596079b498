// "Kernel panic - not syncing: WHY", before or behind it a "Call Trace:" (x86) or "Call trace:" (arm64)
// up to a line that is no frame. The last stack before the panic is the one of the fault that
// led to it, where there is one; else the panic's own.
#include "vm/panic.h"

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

// A guest may write anything: only what is printed plainly comes through.
static void append_plain(struct buffer *out, const char *text, size_t size) {
	for (size_t i = 0; i < MIN(size, LINE_MOST); i++)
		buffer_append(out, text[i] >= ' ' && text[i] <= '~' ? &text[i] : "?", 1);
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
		// A fault's own stack comes first, and says more than that of the panic it became.
		if ((find(&line, "Call Trace:") || find(&line, "Call trace:")) && !(panicked && stack->size))
			take_stack(&at, end, stack);
	}
	return panicked;
}
