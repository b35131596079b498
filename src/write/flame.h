// Flame graphs: an SVG picture that is its own viewer, or the same as a web page.
#pragma once

#include "write/profile.h"
#include "write/writer.h"

struct flame_options {
	struct profile_options profile;
	const char *title, *subtitle; // NULL: a title that says what it is
	const char *unit;             // of weights; NULL: as the profile has it, "samples"
	const char *theme;            // one of flame_themes[]
	const char *background;       // a colour, or NULL
	const char *font;
	const char *palette; // file with colours of names, read and written; NULL: none
	double min_width; // narrower frames are left out: pixels, or of the whole if negative (-0.1: 0.1 %)
	double factor;    // of the weights that are shown
	unsigned width;   // pixels; 0: 1200, or with a script as wide as the window
	unsigned frame_height, font_size;
	bool html, inverted, reversed, negate, normalize;
};

extern const struct flame_options flame_defaults;

struct sink *flame_open(struct output *output, struct tables *tables, const struct flame_options *options);
// What the weights of a flame graph turn out to be, before it is finished; `unit` lives as long as it.
void flame_measure(struct sink *flame, const char *unit, double factor);

// ---- colours (flame_colour.c) ----

// Where a theme's hues begin and end, in degrees; saturation, lightness and its
// range in percent. flame.js gets this table with the data.
struct flame_theme {
	const char *name;
	int hue, hue_end, saturation, light, light_range;
};
extern const struct flame_theme flame_themes[]; // ends with a NULL name
const char *flame_theme_name(const char *name); // its own, also for other tools' names; or NULL

struct flame_palette;                                                   // colours of names in a file
struct flame_palette *flame_palette_read(const char *path, int *error); // an absent one is empty
int flame_palette_write(struct flame_palette *palette, const char *path);
void flame_palette_free(struct flame_palette *palette);

struct flame_colours {
	const char *theme;
	const struct profile *profile;
	struct flame_palette *palette; // or NULL
	double most_difference;
};
// "rgb(...)" into `text`, which has room for 24 bytes.
void flame_colour(const struct flame_colours *colours, uint32_t node, char *text);
const char *flame_palette_get(struct flame_palette *palette, const char *name); // or NULL
void flame_palette_add(struct flame_palette *palette, const char *name, const char *colour);

// ---- layout (flame_layout.c) ----

// A node's place, parents before children. What is too narrow below a node is put
// together into one that has no node of its own, if that is wide enough.
enum { FLAME_SMALL = UINT32_MAX };
struct flame_box {
	uint32_t node, depth;
	uint64_t begin, total;
};
struct flame_layout {
	ARRAY(struct flame_box) boxes;
	uint32_t depth; // of the deepest
	bool cut;       // there are deeper ones
};
void flame_layout(struct flame_layout *layout, const struct profile *profile, double least_share);

// The stacks of `from` turned round, in an empty profile.
void flame_reverse(const struct profile *from, struct profile *into);

// ---- the file (flame_svg.c) ----

struct flame_picture {
	const struct flame_options *options;
	const struct profile *profile;
	const struct flame_layout *layout;
	struct flame_colours colours;
};
int flame_write(const struct flame_picture *picture, struct output *output);

// Made from src/write/flame/ when the program is built.
extern const char flame_js[], flame_css[], page_css[];
