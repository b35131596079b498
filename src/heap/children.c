#include "heap/children.h"

struct watcher {
	struct sink sink, *next;
	struct heap_execs *execs;
	struct strings *strings;
	struct map index; // pid to index + 1
};

static int watcher_push(struct sink *sink, const struct event *event) {
	struct watcher *watcher = CONTAINER_OF(sink, struct watcher, sink);
	if (event->kind == EVENT_EXEC) {
		uint64_t *index = map_put(&watcher->index, event->pid);
		if (!*index) {
			array_push(&watcher->execs->items, (struct heap_exec){.pid = event->pid});
			*index = watcher->execs->items.count;
		}
		struct heap_exec *exec = &watcher->execs->items.items[*index - 1];
		free(exec->file);
		exec->file = memory_string(strings_get(watcher->strings, event->exec.file));
		exec->time = event->time;
	}
	return sink_push(watcher->next, event);
}

static int watcher_finish(struct sink *sink) {
	return sink_finish(CONTAINER_OF(sink, struct watcher, sink)->next);
}

static void watcher_destroy(struct sink *sink) {
	struct watcher *watcher = CONTAINER_OF(sink, struct watcher, sink);
	sink_destroy(watcher->next);
	map_free(&watcher->index);
	free(watcher);
}

static struct sink *open_watcher(void *execs, struct tables *tables, struct sink *next) {
	struct watcher *watcher = memory_alloc(sizeof(*watcher));
	*watcher = (struct watcher){
		.sink = {.push = watcher_push, .finish = watcher_finish, .destroy = watcher_destroy},
		.next = next,
		.execs = execs,
		.strings = tables->strings};
	return &watcher->sink;
}

struct tap heap_execs_tap(struct heap_execs *execs) {
	return (struct tap){open_watcher, execs};
}

void heap_execs_free(struct heap_execs *execs) {
	for (size_t i = 0; i < execs->items.count; i++)
		free(execs->items.items[i].file);
	array_free(&execs->items);
}
