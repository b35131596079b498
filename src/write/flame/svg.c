// Writes the flame graph's file. The frames are drawn statically, for viewers without scripts;
// after them come the data and flame.js, which takes over where scripts run. The SVG is XML, the
// page HTML; the data are escaped so that they are valid in both.
#include "write/flame/flame.h"

#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 10, TOP = 48, BOTTOM = 36, FLUID_WIDTH = 1200 };

static const char small_name[] = "(too small to show)";

// ---- text ----

static void append_text(struct buffer *out, const char *text) {
	text_xml(out, text, strlen(text));
}

// The length of the name without a suffix like "_[k]".
static size_t shown_length(const char *name) {
	size_t size = strlen(name);
	bool marked = size > 4 && name[size - 1] == ']' && memcmp(name + size - 4, "_[", 2) == 0 &&
		      strchr("kjiw", name[size - 2]);
	return marked ? size - 4 : size;
}

static const char *box_name(const struct flame_picture *picture, const struct flame_box *box) {
	if (box->node == FLAME_SMALL)
		return small_name;
	if (box->node == SAMPLE_ROOT)
		return "all";
	return strings_get(picture->profile->tables->strings, sample_node(picture->profile, box->node)->name);
}

// ---- frames ----

// Two decimals; with printf() this would take a quarter of the time to write a picture.
static void append_decimal(struct buffer *out, double value) {
	uint64_t hundredths = (uint64_t)(value * 100 + 0.5);
	char digits[24];
	size_t at = sizeof(digits);
	for (unsigned i = 0; i < 3 || hundredths; i++) {
		if (i == 2)
			digits[--at] = '.';
		digits[--at] = (char)('0' + hundredths % 10);
		hundredths /= 10;
	}
	buffer_append(out, digits + at, sizeof(digits) - at);
}

static void append_rounded(struct buffer *out, double value) {
	if (value >= 0 && value < 1e18)
		buffer_decimal(out, (uint64_t)nearbyint(value));
	else
		buffer_printf(out, "%.0f", value);
}

static const struct frame *box_source(const struct flame_picture *picture, const struct flame_box *box) {
	if (box->node == FLAME_SMALL || box->node == SAMPLE_ROOT)
		return NULL;
	const struct sample_node *node = sample_node(picture->profile, box->node);
	return sample_tree_source(picture->profile, node->name, node->module);
}

static void append_source(struct buffer *out, const struct flame_picture *picture,
			  const struct frame *source) {
	append_text(out, strings_get(picture->profile->tables->strings, source->file));
	if (source->line)
		buffer_printf(out, ":%" PRIu32, source->line);
}

static void append_title(struct buffer *out, const struct flame_picture *picture, const struct flame_box *box,
			 double whole) {
	const char *name = box_name(picture, box);
	buffer_append(out, "<title>", 7);
	text_xml(out, name, shown_length(name));
	buffer_text(out, " (");
	append_rounded(out, (double)box->total * picture->options->factor);
	buffer_text(out, " ");
	append_text(out, picture->options->unit);
	buffer_text(out, ", ");
	append_decimal(out, 100.0 * (double)box->total / whole);
	buffer_text(out, "%");
	if (picture->profile->base_samples && box->node != FLAME_SMALL) {
		const struct sample_node *node = sample_node(picture->profile, box->node);
		buffer_printf(out, "; %+.2f%%",
			      100.0 * ((double)node->total - (double)node->base_total) / whole);
	}
	buffer_text(out, ")");
	const struct frame *source = box_source(picture, box);
	if (source) {
		buffer_text(out, " — ");
		append_source(out, picture, source);
	}
	buffer_text(out, "</title>");
}

static void append_frame(struct buffer *out, const struct flame_picture *picture, const struct flame_box *box,
			 double left, double scale, unsigned top) {
	const struct flame_options *options = picture->options;
	uint32_t row = options->inverted ? box->depth : picture->layout->depth - box->depth;
	double x = left + (double)box->begin * scale, width = (double)box->total * scale;
	unsigned y = top + row * options->frame_height;
	char colour[24];
	flame_colour(&picture->colours, box->node, colour);
	buffer_append(out, "<g>", 3);
	append_title(out, picture, box, MAX(1.0, (double)sample_node(picture->profile, SAMPLE_ROOT)->total));
	buffer_text(out, "<rect x=\"");
	append_decimal(out, x);
	buffer_text(out, "\" width=\"");
	append_decimal(out, MAX(width - 0.5, 0.4));
	buffer_text(out, "\" y=\"");
	buffer_decimal(out, y);
	buffer_text(out, "\" height=\"");
	buffer_decimal(out, options->frame_height - 1);
	buffer_text(out, width > 6 ? "\" rx=\"2\" fill=\"" : "\" fill=\"");
	buffer_text(out, colour);
	buffer_text(out, "\"/>");
	double room = (width - 6) / (options->font_size * 0.6);
	if (room >= 3) {
		const char *name = box_name(picture, box);
		buffer_printf(out, "<text x=\"%.2f\" y=\"%.1f\" font-size=\"%u\">", x + 3,
			      y + options->frame_height - options->font_size * 0.4, options->font_size);
		text_xml_cut(out, name, shown_length(name), (size_t)room);
		buffer_append(out, "</text>", 7);
	}
	buffer_append(out, "</g>\n", 5);
}

static int write_frames(const struct flame_picture *picture, struct output *output, double left, double width,
			unsigned top) {
	struct buffer frame = {0};
	uint64_t total = sample_node(picture->profile, SAMPLE_ROOT)->total;
	double scale = total ? width / (double)total : 0;
	for (size_t i = 0; i < picture->layout->boxes.count && !output->error; i++) {
		append_frame(&frame, picture, &picture->layout->boxes.items[i], left, scale, top);
		output_take(output, &frame);
	}
	buffer_free(&frame);
	return output->error;
}

// ---- data for the script ----

struct numbering {
	struct map numbers; // string to its number + 1
	ARRAY(uint32_t) ids;
};

static uint32_t number_of(struct numbering *numbering, uint32_t string) {
	uint64_t *number = map_put(&numbering->numbers, string);
	if (!*number) {
		array_push(&numbering->ids, string);
		*number = numbering->ids.count;
	}
	return (uint32_t)*number - 1;
}

static void append_texts(struct json *json, const char *key, const struct flame_picture *picture,
			 const struct numbering *numbering) {
	json_array(json, key);
	for (size_t i = 0; i < numbering->ids.count; i++) {
		uint32_t id = numbering->ids.items[i];
		json_text(json, NULL, strings_get(picture->profile->tables->strings, id),
			  strings_length(picture->profile->tables->strings, id));
	}
	json_close_array(json);
}

static void append_nodes(struct json *json, const struct flame_picture *picture, struct numbering *names,
			 struct numbering *modules) {
	struct strings *strings = picture->profile->tables->strings;
	bool differential = picture->profile->base_samples > 0;
	json_array(json, "nodes");
	for (size_t i = 0; i < picture->layout->boxes.count; i++) {
		const struct flame_box *box = &picture->layout->boxes.items[i];
		bool real = box->node != FLAME_SMALL && box->node != SAMPLE_ROOT;
		struct sample_node node = real ? *sample_node(picture->profile, box->node)
					       : (struct sample_node){0};
		uint32_t name = real ? node.name : strings_add(strings, box_name(picture, box));
		if (box->node == SAMPLE_ROOT)
			node.base_total = sample_node(picture->profile, SAMPLE_ROOT)->base_total;
		json_uint(json, NULL, box->depth);
		json_uint(json, NULL, number_of(names, name));
		json_uint(json, NULL, box->total);
		json_uint(json, NULL, node.kind);
		json_uint(json, NULL, number_of(modules, node.module));
		if (differential) {
			json_uint(json, NULL, node.base_total);
			json_uint(json, NULL, node.base_self);
		}
	}
	json_close_array(json);
}

// Maps "number of name:number of module" to file and line, where known.
static void append_sources(struct json *json, const struct flame_picture *picture, struct numbering *names,
			   struct numbering *modules) {
	struct strings *strings = picture->profile->tables->strings;
	struct map seen = {0};
	json_object(json, "sources");
	for (size_t i = 0; i < picture->layout->boxes.count; i++) {
		const struct flame_box *box = &picture->layout->boxes.items[i];
		const struct frame *source = box_source(picture, box);
		const struct sample_node *node = source ? sample_node(picture->profile, box->node) : NULL;
		uint64_t *done = node ? map_put(&seen, (uint64_t)node->name << 32 | node->module) : NULL;
		if (!done || *done)
			continue;
		*done = 1;
		char key[32];
		snprintf(key, sizeof(key), "%" PRIu32 ":%" PRIu32, number_of(names, node->name),
			 number_of(modules, node->module));
		CLEANUP_FREE char *place = memory_format("%s:%" PRIu32, strings_get(strings, source->file),
							 source->line);
		json_string(json, key, place);
	}
	json_close_object(json);
	map_free(&seen);
}

static void append_themes(struct json *json, const struct flame_picture *picture) {
	json_object(json, "themes");
	for (size_t i = 0; flame_themes[i].name; i++) {
		const struct flame_theme *theme = &flame_themes[i];
		json_array(json, theme->name);
		json_int(json, NULL, theme->hue);
		json_int(json, NULL, theme->hue_end);
		json_int(json, NULL, theme->saturation);
		json_int(json, NULL, theme->light);
		json_int(json, NULL, theme->light_range);
		json_close_array(json);
	}
	json_close_object(json);
	json_array(json, "choices");
	for (size_t i = 0; flame_themes[i].name; i++)
		if (picture->profile->base_samples || strcmp(flame_themes[i].name, "difference") != 0)
			json_string(json, NULL, flame_themes[i].name);
	json_close_array(json);
}

// Writes the colours from a palette file; new names are added to the file.
static void append_palette(struct json *json, const struct flame_picture *picture,
			   const struct numbering *names) {
	struct flame_palette *palette = picture->colours.palette;
	json_object(json, "palette");
	for (size_t i = 0; palette && i < picture->layout->boxes.count; i++) {
		uint32_t node = picture->layout->boxes.items[i].node;
		char colour[24];
		if (node == FLAME_SMALL || node == SAMPLE_ROOT)
			continue;
		const char *name = strings_get(picture->profile->tables->strings,
					       sample_node(picture->profile, node)->name);
		flame_colour(&picture->colours, node, colour);
		flame_palette_add(palette, name, colour);
	}
	for (size_t i = 0; palette && i < names->ids.count; i++) {
		const char *name = strings_get(picture->profile->tables->strings, names->ids.items[i]);
		const char *colour = flame_palette_get(palette, name);
		if (colour)
			json_string(json, name, colour);
	}
	json_close_object(json);
}

static void append_look(struct json *json, const struct flame_picture *picture,
			const struct numbering *names) {
	const struct flame_options *options = picture->options;
	json_object(json, "look");
	json_string(json, "title", options->title);
	json_string(json, "unit", options->unit);
	json_string(json, "theme", options->theme);
	json_uint(json, "width", options->width ? options->width : FLUID_WIDTH);
	json_bool(json, "fluid", !options->width);
	json_uint(json, "frameHeight", options->frame_height);
	json_uint(json, "fontSize", options->font_size);
	json_uint(json, "top", TOP);
	json_uint(json, "bottom", BOTTOM);
	json_uint(json, "titleWidth", strlen(options->title) * 11 + MARGIN);
	json_double(json, "factor", options->factor);
	json_bool(json, "inverted", options->inverted);
	json_bool(json, "differential", picture->profile->base_samples > 0);
	append_themes(json, picture);
	append_palette(json, picture, names);
	json_close_object(json);
}

// How many bytes at `at` must be escaped in a script: angle brackets and ampersands can end or
// change a script in XML or HTML, and XML does not allow U+FFFE and U+FFFF. All of them occur only
// in strings.
static size_t unsafe_in_script(const uint8_t *at, const uint8_t *end) {
	if (*at == '<' || *at == '>' || *at == '&')
		return 1;
	return end - at >= 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe ? 3 : 0;
}

// Replaces them with JSON escapes.
static void append_for_script(struct buffer *out, const struct buffer *json) {
	const uint8_t *at = json->data, *end = at + json->size, *begin = at;
	while (at < end) {
		size_t size = unsafe_in_script(at, end);
		if (size) {
			buffer_append(out, begin, (size_t)(at - begin));
			buffer_printf(out, "\\u%04x", size == 1 ? *at : 0xff00 | (at[2] + 0x40));
			begin = at + size;
		}
		at += size ? size : 1;
	}
	buffer_append(out, begin, (size_t)(at - begin));
}

static int write_script(const struct flame_picture *picture, struct output *output) {
	struct buffer data = {0}, safe = {0};
	struct json json = json_into(&data);
	struct numbering names = {0}, modules = {0};
	json_object(&json, NULL);
	append_nodes(&json, picture, &names, &modules);
	append_sources(&json, picture, &names, &modules);
	append_texts(&json, "names", picture, &names);
	append_texts(&json, "modules", picture, &modules);
	append_look(&json, picture, &names);
	json_close_object(&json);
	buffer_printf(&safe, "const profile = ");
	append_for_script(&safe, &data);
	buffer_printf(&safe, ";\n");
	output_take(output, &safe);
	output_write(output, flame_js, strlen(flame_js));
	map_free(&names.numbers);
	map_free(&modules.numbers);
	array_free(&names.ids);
	array_free(&modules.ids);
	buffer_free(&data);
	buffer_free(&safe);
	return output->error;
}

// ---- the SVG ----

static void append_svg_begin(struct buffer *out, const struct flame_picture *picture, unsigned width,
			     unsigned height) {
	const struct flame_options *options = picture->options;
	buffer_printf(out,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"flame\" width=\"%u\" height=\"%u\" "
		      "viewBox=\"0 0 %u %u\">\n"
		      "<style>",
		      width, height, width, height);
	append_text(out, flame_css);
	if (options->font) {
		buffer_printf(out, "\n#flame { --font: \"");
		append_text(out, options->font);
		buffer_printf(out, "\"; }\n");
	}
	buffer_printf(out, "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"");
	append_text(out, options->background ? options->background : "#fdfdfb");
	buffer_printf(out, "\"/>\n<text x=\"%u\" y=\"26\" font-size=\"17\" font-weight=\"bold\">", MARGIN);
	append_text(out, options->title);
	buffer_printf(out, "</text>\n");
	if (options->subtitle) {
		buffer_printf(out, "<text x=\"%u\" y=\"42\" font-size=\"12\" class=\"faint\">", MARGIN);
		append_text(out, options->subtitle);
		buffer_printf(out, "</text>\n");
	}
	buffer_printf(out,
		      "<text id=\"details\" class=\"faint\" x=\"%u\" y=\"%u\" font-size=\"12\"> </text>\n<g "
		      "id=\"frames\">\n",
		      MARGIN, height - 12);
}

static int write_svg(const struct flame_picture *picture, struct output *output) {
	unsigned width = picture->options->width ? picture->options->width : FLUID_WIDTH;
	unsigned height = TOP + BOTTOM + (picture->layout->depth + 1) * picture->options->frame_height;
	struct buffer text = {0};
	append_svg_begin(&text, picture, width, height);
	output_take(output, &text);
	write_frames(picture, output, MARGIN, width - 2 * MARGIN, TOP);
	buffer_printf(&text, "</g>\n<script><![CDATA[\n");
	output_take(output, &text);
	write_script(picture, output);
	buffer_printf(&text, "]]></script>\n</svg>\n");
	output_take(output, &text);
	buffer_free(&text);
	return output->error;
}

// ---- the page ----

static void append_page_begin(struct buffer *out, const struct flame_picture *picture) {
	const struct flame_options *options = picture->options;
	buffer_printf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			   "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	append_text(out, options->title);
	buffer_printf(out, "</title>\n<style>\n%s%s", flame_css, page_css);
	buffer_printf(out, "</style>\n</head>\n<body>\n<header>\n<div><h1>");
	append_text(out, options->title);
	buffer_printf(out, "</h1>");
	if (options->subtitle) {
		buffer_printf(out, "<p>");
		append_text(out, options->subtitle);
		buffer_printf(out, "</p>");
	}
	buffer_printf(out, "</div>\n<div id=\"bar\"></div>\n</header>\n<div id=\"details\"> </div>\n<div>\n");
}

static int write_page(const struct flame_picture *picture, struct output *output) {
	unsigned width = picture->options->width ? picture->options->width : FLUID_WIDTH;
	unsigned height = (picture->layout->depth + 1) * picture->options->frame_height;
	struct buffer text = {0};
	append_page_begin(&text, picture);
	buffer_printf(
		&text,
		"<svg id=\"flame\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n<g id=\"frames\">\n",
		width, height, width, height);
	output_take(output, &text);
	write_frames(picture, output, 0, width, 0);
	buffer_printf(&text, "</g>\n</svg>\n</div>\n<div id=\"tip\"></div>\n<script>\n");
	output_take(output, &text);
	write_script(picture, output);
	buffer_printf(&text, "</script>\n</body>\n</html>\n");
	output_take(output, &text);
	buffer_free(&text);
	return output->error;
}

int flame_write(const struct flame_picture *picture, struct output *output) {
	return picture->options->html ? write_page(picture, output) : write_svg(picture, output);
}
