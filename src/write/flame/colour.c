// Colours that are the same in every picture: a name's hash selects a hue of the
// theme. flame.js computes the same colours from the same table when it redraws.
#include "write/flame/flame.h"

#include "base/file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const struct flame_theme flame_themes[] = {
	{"hot", 2, 52, 90, 60, 8},        {"mem", 95, 160, 55, 58, 10},
	{"io", 208, 238, 70, 66, 10},     {"red", -8, 8, 78, 62, 12},
	{"green", 92, 132, 52, 58, 14},   {"blue", 204, 222, 78, 64, 12},
	{"aqua", 172, 190, 52, 56, 14},   {"yellow", 47, 58, 82, 56, 12},
	{"purple", 272, 300, 62, 68, 10}, {"orange", 22, 38, 90, 60, 10},
	{"module", 0, 359, 55, 68, 0},    {"kind", 0, 0, 0, 0, 0},
	{"difference", 0, 0, 0, 0, 0},    {0},
};

const char *flame_theme_name(const char *name) {
	// The names that flamegraph.pl and inferno use for similar themes.
	static const char *const aliases[][2] = {{"java", "kind"}, {"js", "kind"},     {"perl", "kind"},
						 {"rust", "kind"}, {"wakeup", "aqua"}, {"chain", "blue"}};
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (strcmp(name, aliases[i][0]) == 0)
			name = aliases[i][1];
	for (size_t i = 0; flame_themes[i].name; i++)
		if (strcmp(name, flame_themes[i].name) == 0)
			return flame_themes[i].name;
	return NULL;
}

static const struct flame_theme *theme_by_name(const char *name) {
	size_t i = 0;
	while (flame_themes[i].name && strcmp(flame_themes[i].name, name) != 0)
		i++;
	return flame_themes[i].name ? &flame_themes[i] : &flame_themes[0];
}

static uint32_t hash(const char *text) {
	uint32_t value = 0x811c9dc5;
	for (; *text; text++)
		value = (value ^ (uint8_t)*text) * 0x01000193;
	return value;
}

static int channel(double hue, double saturation, double light, double shift) {
	double k = fmod(shift + hue / 30, 12);
	double amount = saturation * MIN(light, 1 - light);
	double value = light - amount * MAX(-1.0, MIN(MIN(k - 3, 9 - k), 1.0));
	return (int)lround(value * 255);
}

static void write_colour(char *text, double hue, double saturation, double light) {
	hue = fmod(hue + 360, 360);
	snprintf(text, 24, "rgb(%d,%d,%d)", channel(hue, saturation / 100, light / 100, 0),
		 channel(hue, saturation / 100, light / 100, 8),
		 channel(hue, saturation / 100, light / 100, 4));
}

static void write_shade(char *text, const struct flame_theme *theme, const char *name) {
	uint32_t value = hash(name);
	write_colour(text, theme->hue + (theme->hue_end - theme->hue) * ((value & 0xff) / 255.0),
		     theme->saturation, theme->light + theme->light_range * ((value >> 8 & 0xff) / 255.0));
}

static const char *kind_theme(uint32_t kind, const char *name) {
	switch (kind) {
	case FRAME_KERNEL:
		return "orange";
	case FRAME_JIT:
		return "green";
	case FRAME_INLINED:
		return "aqua";
	default:
		return strstr(name, "::") ? "yellow" : "red";
	}
}

static void write_difference(char *text, const struct sample_node *node, double most) {
	double delta = (double)node->self - (double)node->base_self;
	double share = most > 0 ? sqrt(MIN(1.0, fabs(delta) / most)) : 0;
	if (share > 0)
		write_colour(text, delta > 0 ? 4 : 214, 85, 92 - 37 * share);
	else
		write_colour(text, 0, 0, 92);
}

void flame_colour(const struct flame_colours *colours, uint32_t node, char *text) {
	const struct sample_tree *profile = colours->profile;
	if (node == SAMPLE_ROOT || node == FLAME_SMALL) {
		write_colour(text, 0, 0, 86);
		return;
	}
	const struct sample_node *entry = sample_node(profile, node);
	const char *name = strings_get(profile->tables->strings, entry->name);
	const char *chosen = colours->palette ? flame_palette_get(colours->palette, name) : NULL;
	if (chosen) {
		snprintf(text, 24, "%s", chosen);
	} else if (strcmp(colours->theme, "difference") == 0) {
		write_difference(text, entry, colours->most_difference);
	} else if (strcmp(colours->theme, "module") == 0) {
		const char *module = strings_get(profile->tables->strings, entry->module);
		if (*module)
			write_shade(text, theme_by_name("module"), module);
		else
			write_colour(text, 0, 0, 80);
	} else if (strcmp(colours->theme, "kind") == 0) {
		write_shade(text, theme_by_name(kind_theme(entry->kind, name)), name);
	} else {
		write_shade(text, theme_by_name(colours->theme), name);
	}
}

// ---- the palette: lines "name->rgb(1,2,3)", as in flamegraph.pl --cp ----

struct flame_palette {
	struct strings *names;
	ARRAY(char *) colours; // by string
	ARRAY(uint32_t) order; // strings, in order of arrival
};

static bool is_colour(const char *text, size_t size) {
	static const char allowed[] = "0123456789, ";
	if (size < 10 || size > 23 || memcmp(text, "rgb(", 4) != 0 || text[size - 1] != ')')
		return false;
	for (size_t i = 4; i < size - 1; i++)
		if (!strchr(allowed, text[i]))
			return false;
	return true;
}

static void palette_put(struct flame_palette *palette, const char *name, size_t size, const char *colour,
			size_t colour_size) {
	uint32_t id = strings_add_bytes(palette->names, name, size);
	while (palette->colours.count <= id)
		array_push(&palette->colours, NULL);
	if (!palette->colours.items[id]) {
		palette->colours.items[id] = memory_format("%.*s", (int)colour_size, colour);
		array_push(&palette->order, id);
	}
}

static void palette_parse(struct flame_palette *palette, const char *at, const char *end) {
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		for (const char *arrow = stop; arrow-- > at;)
			if (stop - arrow > 2 && memcmp(arrow, "->", 2) == 0) {
				if (is_colour(arrow + 2, (size_t)(stop - arrow - 2)))
					palette_put(palette, at, (size_t)(arrow - at), arrow + 2,
						    (size_t)(stop - arrow - 2));
				break;
			}
		at = stop + 1;
	}
}

struct flame_palette *flame_palette_read(const char *path, int *error) {
	struct flame_palette *palette = memory_alloc(sizeof(*palette));
	palette->names = strings_new();
	struct input input;
	*error = input_open(&input, path);
	if (*error == -ENOENT) {
		*error = 0;
		return palette;
	}
	if (*error)
		return palette;
	palette_parse(palette, (const char *)input.data, (const char *)input.data + input.size);
	input_close(&input);
	return palette;
}

const char *flame_palette_get(struct flame_palette *palette, const char *name) {
	uint32_t id = strings_add(palette->names, name);
	return id < palette->colours.count ? palette->colours.items[id] : NULL;
}

int flame_palette_write(struct flame_palette *palette, const char *path) {
	struct output output;
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (error)
		return error;
	struct buffer line = {0};
	for (size_t i = 0; i < palette->order.count; i++) {
		uint32_t id = palette->order.items[i];
		buffer_printf(&line, "%s->%s\n", strings_get(palette->names, id), palette->colours.items[id]);
		output_take(&output, &line);
	}
	buffer_free(&line);
	error = output_commit(&output);
	output_abandon(&output);
	return error;
}

void flame_palette_add(struct flame_palette *palette, const char *name, const char *colour) {
	palette_put(palette, name, strlen(name), colour, strlen(colour));
}

void flame_palette_free(struct flame_palette *palette) {
	if (!palette)
		return;
	for (size_t i = 0; i < palette->colours.count; i++)
		free(palette->colours.items[i]);
	array_free(&palette->colours);
	array_free(&palette->order);
	strings_free(palette->names);
	free(palette);
}
