#include "capture/crashes.h"

#include <string.h>

enum { MOST_CRASHES = 16 };

// A crash comes in a batch of its own.
void crashes_note(struct capture_crashes *crashes, const struct batch *batch) {
	struct record_crash head;
	if (batch->size < sizeof(head))
		return;
	memcpy(&head, batch + 1, sizeof(head.head));
	if (head.head.kind != RECORD_CRASH)
		return;
	// The first ones are the causes of others; the newest may be the end of the test.
	if (crashes->list.count == MOST_CRASHES) {
		buffer_free(&crashes->list.items[--crashes->list.count].record);
		crashes->more++;
	}
	struct capture_crash crash = {.time = batch->base};
	buffer_append(&crash.record, batch + 1, batch->size);
	array_push(&crashes->list, crash);
}

void crashes_free(struct capture_crashes *crashes) {
	for (size_t i = 0; i < crashes->list.count; i++)
		buffer_free(&crashes->list.items[i].record);
	array_free(&crashes->list);
}
