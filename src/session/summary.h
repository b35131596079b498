// The summary of a session, on standard error.
#pragma once

#include "session/finish.h"

#define SUMMARY_HEAP_OF_CHILD "heap-of-child" // one line for all of these artifacts

void summary_print(const struct finish *finish);

// What the history of the test says, if the folder has one: one line, to be freed, or NULL. The program sets it
// (history/glance.h); programs without a history leave it NULL.
extern char *(*summary_ask_history)(const char *folder, const struct manifest_record *record);

// Adds what the summary says about the crashes of a failed test: a line for each, and the top of
// its stack.
void summary_add_crashes(const struct manifest_record *record, struct buffer *out);
// Where its time went, if that is known: one line, however long.
void summary_add_time(const struct manifest_record *record, struct buffer *out);
