// Samples: one event on each CPU for all sessions, at the highest rate that one of them wants. The program
// takes as many of its ticks for a session as the session wants (capture/bpf/stacks.bpf.c).
#pragma once

struct ticks;
struct bpf_program;

struct ticks *ticks_new(struct bpf_program *program);
void ticks_free(struct ticks *ticks);

// Ticks so many times a second; 0 stops it. Returns 0 or -errno. May wait; so does the next one.
int ticks_set(struct ticks *ticks, unsigned frequency);
void ticks_close(struct ticks *ticks); // until the next ticks_set()
