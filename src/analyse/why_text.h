// Internal to the files that make sentences: pieces of them.
#pragma once

#include "analyse/why.h"

void why_add_thread(const struct why *why, struct buffer *out, uint32_t thread);
void why_add_place(const struct why *why, struct buffer *out,
		   uint32_t own); // " in f() (file.c:1)", or nothing

// What ended the test, as the beginning of a sentence that goes on after a semicolon; false if there is
// nothing to say: the limits of the control group, a crash, a signal.
bool why_say_end(const struct why *why, struct buffer *out);

// A cycle of threads that wait for each other's locks, or nothing. Without the end of the sentence.
bool why_say_deadlock(struct why *why, const struct why_endings *endings, struct buffer *out);
// What the threads waited for when the test was killed, as a sentence; `but` is not mentioned.
void why_say_endings(const struct why *why, const struct why_endings *endings, uint32_t but,
		     struct buffer *out);
// What happened on the whole machine, each after a semicolon.
void why_say_machine(const struct why *why, struct buffer *out);
void why_say_left(const struct why *why, struct buffer *out); // processes that the test left behind
