// The flame graph's sink: builds a profile; at the end reverses, compares or normalizes it
// according to the options, lays it out and writes it.
#include "write/flame/flame.h"

#include "base/log.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const struct flame_options flame_defaults = {
	.min_width = 0.1,
	.factor = 1,
	.frame_height = 17,
	.font_size = 12,
};

struct flame {
	struct sink sink;
	struct sample_tree profile;
	struct flame_options options;
	struct output *output;
};

static int flame_push(struct sink *sink, const struct event *event) {
	return sink_push(&CONTAINER_OF(sink, struct flame, sink)->profile.sink, event);
}

static void negate(struct sample_tree *profile) {
	for (size_t i = 0; i < profile->nodes.count; i++) {
		struct sample_node *node = &profile->nodes.items[i];
		uint64_t self = node->self, total = node->total;
		node->self = node->base_self;
		node->total = node->base_total;
		node->base_self = self;
		node->base_total = total;
	}
}

// Scales the baseline to the same total weight.
static void normalize(struct sample_tree *profile) {
	double factor = profile->base_weight ? (double)profile->weight / (double)profile->base_weight : 1;
	for (size_t i = 0; i < profile->nodes.count; i++) {
		struct sample_node *node = &profile->nodes.items[i];
		node->base_self = (uint64_t)llround((double)node->base_self * factor);
		node->base_total = (uint64_t)llround((double)node->base_total * factor);
	}
}

static double most_difference(const struct sample_tree *profile) {
	double most = 0;
	for (size_t i = 1; i < profile->nodes.count; i++) {
		const struct sample_node *node = &profile->nodes.items[i];
		most = MAX(most, fabs((double)node->self - (double)node->base_self));
	}
	return most;
}

static void default_words(struct flame_options *options, const struct sample_tree *profile,
			  bool differential) {
	if (!options->unit) {
		struct sample_unit shown = sample_tree_shown(profile);
		options->unit = shown.name;
		options->factor *= shown.factor;
	}
	if (!options->title)
		options->title = profile->metric     ? profile->metric->title
				 : differential      ? "Differential Flame Graph"
				 : options->inverted ? "Icicle Graph"
						     : "Flame Graph";
	if (!options->theme)
		options->theme = differential ? "difference" : profile->metric ? "mem" : "hot";
	if (strcmp(options->theme, "difference") == 0 && !differential)
		options->theme = "hot";
}

static int draw(struct flame *flame, const struct sample_tree *profile, struct flame_palette *palette) {
	struct flame_layout layout = {0};
	double whole = flame->options.width ? flame->options.width - 20 : 1180;
	double least = flame->options.min_width < 0 ? -flame->options.min_width / 100
						    : flame->options.min_width / whole;
	flame_layout(&layout, profile, least);
	if (layout.cut)
		log_warning("stacks deeper than %u are cut off in the picture", layout.depth);
	struct flame_picture picture = {
		.options = &flame->options,
		.profile = profile,
		.layout = &layout,
		.colours = {.theme = flame->options.theme,
			    .profile = profile,
			    .palette = palette,
			    .most_difference = most_difference(profile)},
	};
	int error = flame_write(&picture, flame->output);
	array_free(&layout.boxes);
	return error;
}

static int draw_with_palette(struct flame *flame, const struct sample_tree *profile) {
	const char *path = flame->options.palette;
	if (!path)
		return draw(flame, profile, NULL);
	int error;
	struct flame_palette *palette = flame_palette_read(path, &error);
	if (error)
		log_error("%s: cannot be read: %s", path, strerror(-error));
	if (!error)
		error = draw(flame, profile, palette);
	if (!error && (error = flame_palette_write(palette, path)))
		log_error("%s: cannot be written: %s", path, strerror(-error));
	flame_palette_free(palette);
	return error;
}

static int flame_finish(struct sink *sink) {
	struct flame *flame = CONTAINER_OF(sink, struct flame, sink);
	struct sample_tree *profile = &flame->profile, reversed = {0};
	sample_tree_finish(profile);
	if (!profile->weight && !profile->base_weight) {
		log_error("there are no samples in the input, so there is nothing to draw");
		return -ENODATA;
	}
	default_words(&flame->options, profile, profile->base_samples > 0);
	if (flame->options.normalize)
		normalize(profile);
	if (flame->options.negate && profile->base_samples)
		negate(profile);
	if (!flame->options.reversed)
		return draw_with_palette(flame, profile);
	sample_tree_init(&reversed, profile->tables, &flame->options.profile);
	reversed.base_samples = profile->base_samples;
	reversed.sources = profile->sources;
	profile->sources = (struct map){0};
	flame_reverse(profile, &reversed);
	int error = draw_with_palette(flame, &reversed);
	sample_tree_free(&reversed);
	return error;
}

static void flame_destroy(struct sink *sink) {
	struct flame *flame = CONTAINER_OF(sink, struct flame, sink);
	sample_tree_free(&flame->profile);
	free(flame);
}

void flame_measure(struct sink *sink, const char *unit, double factor) {
	struct flame *flame = CONTAINER_OF(sink, struct flame, sink);
	flame->options.unit = unit;
	flame->options.factor = factor;
}

struct sink *flame_open(struct output *output, struct tables *tables, const struct flame_options *options) {
	struct flame *flame = memory_alloc(sizeof(*flame));
	flame->sink = (struct sink){.push = flame_push, .finish = flame_finish, .destroy = flame_destroy};
	flame->output = output;
	tables->details = true;
	flame->options = *options;
	sample_tree_init(&flame->profile, tables, &options->profile);
	return &flame->sink;
}

static struct sink *open_svg(struct output *output, struct tables *tables) {
	return flame_open(output, tables, &flame_defaults);
}

static struct sink *open_html(struct output *output, struct tables *tables) {
	struct flame_options options = flame_defaults;
	options.html = true;
	return flame_open(output, tables, &options);
}

const struct writer svg_writer = {
	.name = "svg",
	.extension = "svg",
	.description = "a flame graph to look at in a browser",
	.open = open_svg,
};

const struct writer html_writer = {
	.name = "html",
	.extension = "html",
	.description = "the same as a web page",
	.open = open_html,
};
