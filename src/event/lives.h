// What is alive right now: the tasks with their names and command lines, and the code
// that their processes have mapped. A trace that begins in the middle of a recording
// starts with this.
#pragma once

#include "event/event.h"
#include "event/spaces.h"

struct life {
	uint32_t tid, pid, parent_pid;
	uint32_t name, command_line; // strings of struct lives; arguments separated by NUL
};

struct lives {
	struct strings *strings;
	size_t strings_kept; // of them belonged to live tasks when the table was rebuilt
	struct map tasks;    // tid → struct life *
	struct spaces spaces;
};

void lives_init(struct lives *lives);
void lives_free(struct lives *lives);

// Takes events in order of time; their string ids are in `strings`.
void lives_learn(struct lives *lives, const struct strings *strings, const struct event *event);

void lives_each_task(const struct lives *lives, void (*take)(void *context, const struct life *life),
		     void *context);
void lives_each_mapping(const struct lives *lives,
			void (*take)(void *context, uint32_t pid, const struct space_map *map),
			void *context);
