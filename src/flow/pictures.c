#include "flow/pictures.h"

#include "base/log.h"
#include "base/system.h"
#include "write/flame/flame.h"

#include <string.h>

static const struct {
	const char *name, *extension, *what;
} kinds[PICTURE_COUNT] = {
	[PICTURE_CPU] = {"flame", "svg", "CPU"},
	[PICTURE_OFF_CPU] = {"off-cpu", "off-cpu.svg", "blocked, off the CPU"},
	[PICTURE_EVENTS] = {"events", "events.svg", "stacks at events"},
};

struct picture {
	struct sink *flame;
	struct output output; // opened at the end, if there is anything to draw
	uint64_t samples;
	char *title;
};

struct drawing {
	struct sink sink;
	struct sink *next;
	struct pictures *pictures;
	struct picture items[PICTURE_COUNT];
	struct tables *tables;
	uint32_t off_cpu, cycles, cpu_clock; // strings
};

// Weights are usually nanoseconds, or cycles; otherwise they count the sampled event.
static void measure(struct drawing *drawing, struct picture *picture, uint32_t name) {
	if (name == drawing->cycles)
		flame_measure(picture->flame, "million cycles", 1e-6);
	else if (name != drawing->cpu_clock && name != drawing->off_cpu)
		flame_measure(picture->flame, strings_get(drawing->tables->strings, name), 1);
}

// All events share one picture: the event takes the place of the thread's name at the bottom.
static int push_at_event(struct drawing *drawing, const struct event *event) {
	struct picture *picture = &drawing->items[PICTURE_EVENTS];
	struct event named = *event;
	named.sample.comm = event->sample.name;
	if (!picture->samples++)
		flame_measure(picture->flame, "events", 1);
	return sink_push(picture->flame, &named);
}

static int push(struct sink *sink, const struct event *event) {
	struct drawing *drawing = CONTAINER_OF(sink, struct drawing, sink);
	int error = 0;
	if (event->kind == EVENT_SAMPLE && event->sample.flags & SAMPLE_AT_EVENT) {
		error = push_at_event(drawing, event);
	} else if (event->kind == EVENT_SAMPLE) {
		bool off = event->sample.name == drawing->off_cpu;
		if (off && drawing->pictures->without_waits)
			return sink_push(drawing->next, event);
		struct picture *picture = &drawing->items[off ? PICTURE_OFF_CPU : PICTURE_CPU];
		if (!picture->samples++)
			measure(drawing, picture, event->sample.name);
		error = sink_push(picture->flame, event);
	} else if (sample_tree_takes(event)) {
		for (int i = 0; !error && i < PICTURE_COUNT; i++)
			error = sink_push(drawing->items[i].flame, event);
	}
	return error ? error : sink_push(drawing->next, event);
}

static int draw(struct picture *picture, const char *path) {
	int error = output_open(&picture->output, path, OUTPUT_CREATE);
	if (error)
		return error;
	error = sink_finish(picture->flame);
	if (!error)
		error = picture->output.error;
	if (!error)
		error = output_commit(&picture->output);
	output_abandon(&picture->output);
	return error;
}

static int finish(struct sink *sink) {
	struct drawing *drawing = CONTAINER_OF(sink, struct drawing, sink);
	for (int i = 0; i < PICTURE_COUNT; i++) {
		struct picture *picture = &drawing->items[i];
		if (!picture->samples)
			continue;
		char *path = memory_format("%s.%s", drawing->pictures->stem, kinds[i].extension);
		int error = draw(picture, path);
		if (error) {
			log_warning("%s: cannot be written: %s", path, strerror(-error));
			free(path);
		} else {
			drawing->pictures->paths[i] = path;
		}
	}
	return sink_finish(drawing->next);
}

static void destroy(struct sink *sink) {
	struct drawing *drawing = CONTAINER_OF(sink, struct drawing, sink);
	for (int i = 0; i < PICTURE_COUNT; i++) {
		sink_destroy(drawing->items[i].flame);
		free(drawing->items[i].title);
	}
	sink_destroy(drawing->next);
	free(drawing);
}

static struct sink *open_drawing(void *context, struct tables *tables, struct sink *next) {
	struct pictures *pictures = context;
	struct drawing *drawing = memory_alloc(sizeof(*drawing));
	drawing->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	drawing->next = next;
	drawing->pictures = pictures;
	drawing->tables = tables;
	drawing->cpu_clock = strings_add(tables->strings, "cpu-clock");
	drawing->cycles = strings_add(tables->strings, "cycles");
	drawing->off_cpu = strings_add(tables->strings, EVENT_OFF_CPU);
	for (int i = 0; i < PICTURE_COUNT; i++) {
		struct picture *picture = &drawing->items[i];
		struct flame_options options = flame_defaults;
		picture->title = memory_format("%s: %s", pictures->title, kinds[i].what);
		options.title = picture->title;
		options.profile.every_event = true; // only samples of one event get here
		options.unit = "ms";
		options.factor = 1e-6;
		picture->flame = flame_open(&picture->output, tables, &options);
	}
	return &drawing->sink;
}

struct tap pictures_tap(struct pictures *pictures) {
	return (struct tap){open_drawing, pictures};
}

const char *picture_kind_name(enum picture_kind kind) {
	return kinds[kind].name;
}

void pictures_free(struct pictures *pictures) {
	for (int i = 0; i < PICTURE_COUNT; i++) {
		free(pictures->paths[i]);
		pictures->paths[i] = NULL;
	}
}

void pictures_drop(struct pictures *pictures) {
	for (int i = 0; i < PICTURE_COUNT; i++)
		if (pictures->paths[i])
			system_unlink(pictures->paths[i]);
	pictures_free(pictures);
}
