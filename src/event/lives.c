#include "event/lives.h"

enum { FEW_STRINGS = 1 << 12 };

static uint32_t copied(struct strings *to, const struct strings *from, uint32_t id) {
	return strings_add_bytes(to, strings_get(from, id), strings_length(from, id));
}

static struct life *life_of(const struct lives *lives, uint32_t tid) {
	uint64_t *slot = map_get(&lives->tasks, tid);
	return slot ? (struct life *)(uintptr_t)*slot : NULL;
}

static void end_life(struct lives *lives, uint32_t tid) {
	struct life *life = life_of(lives, tid);
	if (!life)
		return;
	map_delete(&lives->tasks, tid);
	free(life);
}

static struct life *begin_life(struct lives *lives, struct life life) {
	end_life(lives, life.tid); // a reused id
	struct life *made = memory_alloc(sizeof(*made));
	*made = life;
	*map_put(&lives->tasks, life.tid) = (uintptr_t)made;
	return made;
}

// ---- events ----

static void learn_fork(struct lives *lives, const struct strings *strings, const struct event *event) {
	const struct life *parent = life_of(lives, event->tid);
	uint32_t command_line = parent ? parent->command_line : 0;
	begin_life(lives, (struct life){.tid = event->fork.child_tid,
					.pid = event->fork.child_pid,
					.parent_pid = event->fork.parent_pid,
					.name = copied(lives->strings, strings, event->fork.name),
					.command_line = command_line});
}

static void learn_exec(struct lives *lives, const struct strings *strings, const struct event *event) {
	if (event->exec.old_tid != event->tid)
		end_life(lives, event->exec.old_tid);
	struct life *life = life_of(lives, event->tid);
	if (!life)
		life = begin_life(lives, (struct life){.tid = event->tid, .pid = event->pid});
	life->name = copied(lives->strings, strings, event->exec.name);
	life->command_line = copied(lives->strings, strings, event->exec.arguments);
}

static void learn_exit(struct lives *lives, const struct event *event) {
	if (event->exit.last)
		spaces_end(&lives->spaces, event->pid);
	end_life(lives, event->tid);
}

static void learn_mapping(struct lives *lives, const struct strings *strings, const struct event *event) {
	struct event own = *event;
	own.mapping.file = copied(lives->strings, strings, event->mapping.file);
	own.mapping.build_id = copied(lives->strings, strings, event->mapping.build_id);
	spaces_learn(&lives->spaces, lives->strings, &own);
}

// Names and command lines add up over hours, so the table is rebuilt from time to time.
static void renew_strings(struct lives *lives) {
	if (lives->strings->texts.count < FEW_STRINGS + 2 * lives->strings_kept)
		return;
	struct strings *old = lives->strings, *new = strings_new();
	for (size_t i = 0; i < lives->tasks.capacity; i++) {
		if (!lives->tasks.slots[i].used)
			continue;
		struct life *life = (struct life *)(uintptr_t)lives->tasks.slots[i].value;
		life->name = copied(new, old, life->name);
		life->command_line = copied(new, old, life->command_line);
	}
	for (size_t i = 0; i < lives->spaces.spaces.count; i++) {
		struct space *space = &lives->spaces.spaces.items[i];
		space->jit_dump = copied(new, old, space->jit_dump);
		for (size_t k = 0; k < space->maps.count; k++) {
			space->maps.items[k].module = copied(new, old, space->maps.items[k].module);
			space->maps.items[k].build_id = copied(new, old, space->maps.items[k].build_id);
		}
	}
	lives->strings = new;
	lives->strings_kept = new->texts.count;
	strings_free(old);
}

void lives_learn(struct lives *lives, const struct strings *strings, const struct event *event) {
	struct life *life;
	renew_strings(lives);
	switch (event->kind) {
	case EVENT_TASK:
		begin_life(lives, (struct life){.tid = event->tid,
						.pid = event->pid,
						.parent_pid = event->task.parent_pid,
						.name = copied(lives->strings, strings, event->task.name),
						.command_line = copied(lives->strings, strings,
								       event->task.command_line)});
		break;
	case EVENT_FORK:
		spaces_learn(&lives->spaces, lives->strings, event);
		learn_fork(lives, strings, event);
		break;
	case EVENT_EXEC:
		learn_exec(lives, strings, event);
		break;
	case EVENT_RENAME:
		life = life_of(lives, event->tid);
		if (life)
			life->name = copied(lives->strings, strings, event->rename.name);
		break;
	case EVENT_EXIT:
		learn_exit(lives, event);
		break;
	case EVENT_MAPPING:
		learn_mapping(lives, strings, event);
		break;
	}
}

// ---- who is there ----

void lives_each_task(const struct lives *lives, void (*take)(void *context, const struct life *life),
		     void *context) {
	for (size_t i = 0; i < lives->tasks.capacity; i++)
		if (lives->tasks.slots[i].used)
			take(context, (const struct life *)(uintptr_t)lives->tasks.slots[i].value);
}

void lives_each_mapping(const struct lives *lives,
			void (*take)(void *context, uint32_t pid, const struct space_map *map),
			void *context) {
	for (size_t i = 0; i < lives->spaces.spaces.count; i++) {
		const struct space *space = &lives->spaces.spaces.items[i];
		for (size_t k = 0; k < space->maps.count; k++)
			take(context, space->pid, &space->maps.items[k]);
	}
}

void lives_init(struct lives *lives) {
	*lives = (struct lives){.strings = strings_new()};
}

void lives_free(struct lives *lives) {
	for (size_t i = 0; i < lives->tasks.capacity; i++)
		if (lives->tasks.slots[i].used)
			free((void *)(uintptr_t)lives->tasks.slots[i].value);
	map_free(&lives->tasks);
	spaces_free(&lives->spaces);
	strings_free(lives->strings);
}
