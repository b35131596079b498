// Flame graphs: an SVG picture that is its own viewer, or the same as a web page.
#pragma once

#include "event/sample_tree.h"
#include "write/writer.h"

struct flame_options {
	struct sample_options profile;
	const char *title, *subtitle; // NULL for a default title
	const char *unit;             // of weights; NULL for the profile's, or "samples"
	const char *theme;            // one of flame_themes[]
	const char *background;       // a colour, or NULL
	const char *font;
	const char *palette; // file with colours for names, read and written; NULL if none
	double min_width;    // leave out narrower frames: in pixels, or a percentage of the width if negative
			     // (-0.1: 0.1 %)
	double factor;       // multiplier for displayed weights
	unsigned width;      // pixels; 0 for 1200, or with a script the width of the window
	unsigned frame_height, font_size;
	bool html, inverted, reversed, negate, normalize;
};

extern const struct flame_options flame_defaults;

struct sink *flame_open(struct output *output, struct tables *tables, const struct flame_options *options);
// Sets the unit of the weights, once it is known, before the flame graph is finished; `unit` must
// stay valid until then.
void flame_measure(struct sink *flame, const char *unit, double factor);

// ---- colours (colour.c) ----

// Range of a theme's hues, in degrees; saturation, lightness and its range in
// percent. flame.js gets this table with the data.
struct flame_theme {
	const char *name;
	int hue, hue_end, saturation, light, light_range;
};
extern const struct flame_theme flame_themes[]; // ends with a NULL name
const char *flame_theme_name(const char *name); // the theme's own name, also for other tools' names; or NULL

struct flame_palette;                                                   // a file's colours for names
struct flame_palette *flame_palette_read(const char *path, int *error); // empty if the file does not exist
int flame_palette_write(struct flame_palette *palette, const char *path);
void flame_palette_free(struct flame_palette *palette);

struct flame_colours {
	const char *theme;
	const struct sample_tree *profile;
	struct flame_palette *palette; // or NULL
	double most_difference;
};
// Writes "rgb(...)" to `text`, which has room for 24 bytes.
void flame_colour(const struct flame_colours *colours, uint32_t node, char *text);
const char *flame_palette_get(struct flame_palette *palette, const char *name); // or NULL
void flame_palette_add(struct flame_palette *palette, const char *name, const char *colour);

// ---- layout (layout.c) ----

// A node's position, parents before children. Children that are too narrow are
// combined into one box without a node, if that is wide enough.
enum { FLAME_SMALL = UINT32_MAX };
struct flame_box {
	uint32_t node, depth;
	uint64_t begin, total;
};
struct flame_layout {
	ARRAY(struct flame_box) boxes;
	uint32_t depth; // depth of the deepest box
	bool cut;       // deeper nodes were left out
};
void flame_layout(struct flame_layout *layout, const struct sample_tree *profile, double least_share);

// Reverses the stacks of `from` into an empty profile.
void flame_reverse(const struct sample_tree *from, struct sample_tree *into);

// ---- the file (svg.c) ----

struct flame_picture {
	const struct flame_options *options;
	const struct sample_tree *profile;
	const struct flame_layout *layout;
	struct flame_colours colours;
};
int flame_write(const struct flame_picture *picture, struct output *output);

// Generated from src/write/flame/ by the build.
extern const char flame_js[], flame_css[], page_css[];
