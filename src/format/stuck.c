#include "format/stuck.h"

#include <inttypes.h>
#include <stdio.h>

enum { MOST_BYTES = 16 << 10, LONGEST_LINE = 4096 };

static const char *next_line(const char *line) {
	const char *end = strchr(line, '\n');
	return end ? end + 1 : line + strlen(line);
}

static void copy_until(char *to, size_t size, const char *from, const char *end) {
	size_t length = MIN((size_t)(end - from), size - 1);
	memcpy(to, from, length);
	to[length] = 0;
}

// The text between `line` and the end of its line.
static const char *line_end(const char *line) {
	return line + strcspn(line, "\n");
}

// Copies a line and moves `*text` behind it: sscanf() and strstr() would look at all that follows. False at
// the end.
static bool take_line(const char **text, char line[LONGEST_LINE]) {
	if (!**text)
		return false;
	copy_until(line, LONGEST_LINE, *text, line_end(*text));
	*text = next_line(*text);
	return true;
}

// ---- from stacks ----

// "0x4040 (audit), which is held by thread 18 "report""
static void add_lock(struct buffer *fact, uint32_t tid, const char *line) {
	static const char held[] = ", which is held by thread ";
	struct stuck lock = {.tid = tid};
	const char *owner = strstr(line, held);
	if (!owner || sscanf(line, "0x%" SCNx64, &lock.address) != 1 ||
	    sscanf(owner + strlen(held), "%" SCNu32, &lock.other) != 1)
		return;
	const char *name = strstr(line, " (");
	if (name && name < owner && owner[-1] == ')')
		copy_until(lock.words, sizeof(lock.words), name + 2, owner - 1);
	buffer_printf(fact, "%" PRIu32 " lock 0x%" PRIx64 " %" PRIu32 " %s\n", tid, lock.address, lock.other,
		      lock.words);
}

// "5: pipe:[17]". The section at the end of the stacks may have more about it.
static void add_descriptor(struct buffer *fact, uint32_t tid, const char *line, const char *section) {
	struct stuck descriptor = {.tid = tid};
	const char *colon = strstr(line, ": ");
	if (!colon || sscanf(line, "%" SCNu32, &descriptor.other) != 1)
		return;
	copy_until(descriptor.words, sizeof(descriptor.words), colon + 2, line_end(line));
	CLEANUP_FREE char *key = memory_format("\n  %s: ", descriptor.words);
	const char *more = section ? strstr(section, key) : NULL;
	if (more)
		copy_until(descriptor.words, sizeof(descriptor.words), more + strlen(key),
			   line_end(more + strlen(key)));
	buffer_printf(fact, "%" PRIu32 " descriptor %" PRIu32 " %s\n", tid, descriptor.other,
		      descriptor.words);
}

void stuck_from_stacks(const char *stacks, struct buffer *fact) {
	static const char lock[] = "    waits for the lock ", end[] = "    waits for the end of thread ",
			  descriptor[] = "    waits for descriptor ";
	const char *section = strstr(stacks, STUCK_DESCRIPTORS_TITLE);
	char line[LONGEST_LINE];
	uint32_t tid = 0, other;
	while (fact->size < MOST_BYTES && take_line(&stacks, line)) {
		if (sscanf(line, "  thread %" SCNu32 " ", &other) == 1 && line[2] == 't')
			tid = other;
		else if (tid && strncmp(line, lock, strlen(lock)) == 0)
			add_lock(fact, tid, line + strlen(lock));
		else if (tid && strncmp(line, end, strlen(end)) == 0 &&
			 sscanf(line + strlen(end), "%" SCNu32, &other) == 1)
			buffer_printf(fact, "%" PRIu32 " thread %" PRIu32 "\n", tid, other);
		else if (tid && strncmp(line, descriptor, strlen(descriptor)) == 0)
			add_descriptor(fact, tid, line + strlen(descriptor), section);
	}
}

void stuck_descriptors(const char *stacks, void (*take)(void *context, uint32_t pid, const char *target),
		       void *context) {
	static const char descriptor[] = "    waits for descriptor ";
	char line[LONGEST_LINE];
	uint32_t pid = 0, other;
	while (take_line(&stacks, line)) {
		char target[256];
		const char *colon = strstr(line, ": ");
		if (line[0] == 'p' && sscanf(line, "process %" SCNu32 ":", &other) == 1)
			pid = other;
		if (!pid || !colon || strncmp(line, descriptor, strlen(descriptor)) != 0)
			continue;
		copy_until(target, sizeof(target), colon + 2, line_end(line));
		take(context, pid, target);
	}
}

// ---- the fact ----

static bool read_line(const char *line, struct stuck *stuck) {
	int words = 0;
	*stuck = (struct stuck){.kind = STUCK_LOCK};
	if (sscanf(line, "%" SCNu32 " lock 0x%" SCNx64 " %" SCNu32 " %n", &stuck->tid, &stuck->address,
		   &stuck->other, &words) == 3 &&
	    words) {
		copy_until(stuck->words, sizeof(stuck->words), line + words, line_end(line));
		return true;
	}
	*stuck = (struct stuck){.kind = STUCK_DESCRIPTOR};
	if (sscanf(line, "%" SCNu32 " descriptor %" SCNu32 " %n", &stuck->tid, &stuck->other, &words) == 2 &&
	    words) {
		copy_until(stuck->words, sizeof(stuck->words), line + words, line_end(line));
		return true;
	}
	*stuck = (struct stuck){.kind = STUCK_THREAD};
	return sscanf(line, "%" SCNu32 " thread %" SCNu32, &stuck->tid, &stuck->other) == 2;
}

bool stuck_next(const char **fact, struct stuck *stuck) {
	char line[LONGEST_LINE];
	while (take_line(fact, line))
		if (read_line(line, stuck))
			return true;
	return false;
}
