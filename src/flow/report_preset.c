// Presets of Windows Performance Analyzer (.wpaProfile) as those of a view. A preset is a list of columns:
// the first ones are keys, left of the golden bar; the last ones are drawn, right of the blue bar. The
// graph's id says which table is meant; if it is not known, the table that has most of the columns. What is
// not here is reported.
#include "flow/report.h"

#include "analyse/table.h"
#include "base/json.h"
#include "base/log.h"
#include "profile/xml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_PRESETS = 64, MOST_WPA_COLUMNS = 128 };

static const struct {
	const char *id, *table;
} graphs[] = {
	{"b855361e-7be0-4bc8-a754-3e8507715ca5", "cpu-usage"},
	{"c58f5fea-0319-4046-932d-e695ebe20b47", "cpu-usage-precise"},
	{"04f69f98-176e-4d1c-b44e-97f734996ab8", "generic-events"},
	{"e2a7d340-0dbd-4f24-8b26-e5388eeaf562", "file-io"},
};

// Names of WPA's columns, in small letters and digits only, and columns here, the best first.
static const struct {
	const char *theirs, *ours;
} names[] = {
	{"process", "process,name"},
	{"processname", "process,name"},
	{"newprocess", "process"},
	{"newprocessname", "process"},
	{"processid", "pid"},
	{"pid", "pid"},
	{"thread", "thread,tid"},
	{"threadname", "thread,name"},
	{"newthreadname", "thread"},
	{"threadid", "tid"},
	{"newthreadid", "tid"},
	{"module", "module"},
	{"function", "function"},
	{"cpu", "cpu,core"},
	{"core", "core,cpu"},
	{"weight", "weight_ms"},
	{"weightinview", "weight_ms"},
	{"cpuusageinview", "run_us"},
	{"cpuusage", "run_us"},
	{"newswitchintime", "run_us"},
	{"ready", "ready_us"},
	{"waits", "wait_us"},
	{"wait", "wait_us"},
	{"timesincelast", "wait_us"},
	{"readyingthreadid", "readied_by"},
	{"readyingthreadname", "waker"},
	{"readyingprocess", "waker"},
	{"readyingprocessname", "waker"},
	{"newthreadwaitreason", "wait_reason"},
	{"newprevwaitreason", "wait_reason"},
	{"switchintime", "time"},
	{"time", "time,start"},
	{"start", "time,start"},
	{"starttime", "time,start"},
	{"inittime", "time"},
	{"endtime", "end"},
	{"loadtime", "load"},
	{"unloadtime", "unload"},
	{"duration", "duration_us,run_us"},
	{"iotime", "duration_us"},
	{"diskservicetime", "duration_us"},
	{"provider", "provider"},
	{"providername", "provider"},
	{"taskname", "event"},
	{"event", "event"},
	{"eventname", "event"},
	{"eventtype", "operation,event"},
	{"iotype", "operation"},
	{"operation", "operation"},
	{"size", "size"},
	{"offset", "offset"},
	{"disk", "disk"},
	{"filepath", "file"},
	{"filename", "file"},
	{"pathname", "file"},
	{"pathtree", "file"},
	{"commandline", "command_line"},
	{"value", "value"},
	{"index", "index"},
	{"note", "note"},
	{"gpcindex", "counter"},
	{"address", "address"},
	{"tag", "tag"},
	{"pooltag", "tag"},
};

// ---- columns ----

static const struct column *column_of(const struct table_definition *table, const char *word, size_t size) {
	for (size_t i = 0; i < TABLE_MOST_COLUMNS && table->columns[i].name; i++)
		if (strlen(table->columns[i].name) == size &&
		    strncmp(table->columns[i].name, word, size) == 0)
			return &table->columns[i];
	return NULL;
}

static const struct column *find_column(const struct table_definition *table, const char *wpa) {
	char plain[64];
	size_t size = 0;
	for (; *wpa && size + 1 < sizeof(plain); wpa++)
		if (isalnum((unsigned char)*wpa))
			plain[size++] = (char)tolower((unsigned char)*wpa);
	plain[size] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i].theirs, plain) != 0)
			continue;
		for (const char *word = names[i].ours; *word;) {
			size_t length = strcspn(word, ",");
			const struct column *found = column_of(table, word, length);
			if (found)
				return found;
			word += length + (word[length] == ',');
		}
	}
	return NULL;
}

static bool is_count(const char *name) {
	return strcasecmp(name, "count") == 0; // every group has one
}

// ---- one preset ----

struct wpa_preset {
	const struct xml *xml;
	const char *path, *name;
	const char *columns[MOST_WPA_COLUMNS]; // names
	bool visible[MOST_WPA_COLUMNS];
	const char *mode[MOST_WPA_COLUMNS]; // AggregationMode, or NULL
	size_t count, keys;
};

static void read_columns(struct wpa_preset *preset, uint32_t node) {
	XML_EACH_CHILD(list, preset->xml, node) {
		if (!xml_is(preset->xml, list, "Columns"))
			continue;
		XML_EACH_CHILD(column, preset->xml, list) {
			const char *name = xml_value(preset->xml, column, "Name");
			const char *shown = xml_value(preset->xml, column, "IsVisible");
			if (!name || preset->count == MOST_WPA_COLUMNS)
				continue;
			preset->columns[preset->count] = name;
			preset->visible[preset->count] = shown && strcmp(shown, "true") == 0;
			preset->mode[preset->count++] = xml_value(preset->xml, column, "AggregationMode");
		}
	}
}

static const struct table_definition *table_of(const struct wpa_preset *preset, const char *graph) {
	const struct table_definition *best = NULL;
	const char *known = NULL;
	size_t most = 1; // one column alone says nothing
	for (size_t i = 0; graph && i < ARRAY_SIZE(graphs); i++)
		if (strcasecmp(graphs[i].id, graph) == 0)
			known = graphs[i].table;
	for (size_t i = 0; i < table_definition_count; i++) {
		const struct table_definition *table = &table_definitions[i];
		size_t fits = 0;
		for (size_t j = 0; j < preset->count; j++)
			fits += preset->visible[j] && find_column(table, preset->columns[j]);
		if (known ? strcmp(table->name, known) == 0 : fits > most) {
			best = table;
			most = fits;
		}
	}
	return best;
}

static const char *form_of(const char *name, const char *mode) {
	return name[0] == '%'                         ? "share %"
	       : mode && strcmp(mode, "Average") == 0 ? "average"
	       : mode && strcmp(mode, "Max") == 0     ? "max"
						      : "sum";
}

static const char *chart_of(const char *type) {
	return !type                            ? "stacked"
	       : strcmp(type, "Line") == 0      ? "lines"
	       : strncmp(type, "Flame", 5) == 0 ? "flame"
	       : strstr(type, "State")          ? "Gantt"
						: "stacked";
}

// Writes keys or values, and adds what is not here to `missing`. Returns the form of the first value.
static const char *write_list(struct json *json, const struct wpa_preset *preset,
			      const struct table_definition *table, bool keys, struct buffer *missing) {
	const char *form = NULL;
	json_array(json, keys ? "keys" : "values");
	for (size_t i = keys ? 0 : preset->keys; i < (keys ? preset->keys : preset->count); i++) {
		const char *name = preset->columns[i];
		const struct column *column = find_column(table, name);
		if (!preset->visible[i] || is_count(name))
			continue;
		if (!column)
			buffer_printf(missing, "%s%s", missing->size ? ", " : "", name);
		else if (keys ||
			 (preset->mode[i] && (column->type == CELL_UINT || column->type == CELL_REAL))) {
			json_string(json, NULL, column->name);
			form = form ? form : form_of(name, preset->mode[i]);
		}
	}
	json_close_array(json);
	return form;
}

static void write_preset(struct json *json, struct wpa_preset *preset, const char *graph, uint32_t node) {
	const char *keys = xml_value(preset->xml, node, "KeyColumnCount");
	struct buffer missing = {0};
	read_columns(preset, node);
	preset->keys = MIN(keys ? (size_t)strtoul(keys, NULL, 10) : 0, preset->count);
	const struct table_definition *table = preset->count ? table_of(preset, graph) : NULL;
	if (!table) {
		log_warning("%s: no table here for the preset '%s'", preset->path, preset->name);
		return;
	}
	json_object(json, NULL);
	json_string(json, "name", preset->name);
	json_string(json, "table", table->name);
	write_list(json, preset, table, true, &missing);
	const char *form = write_list(json, preset, table, false, &missing);
	json_string(json, "form", form ? form : "sum");
	json_string(json, "graph", chart_of(xml_value(preset->xml, node, "GraphChartType")));
	json_close_object(json);
	if (missing.size)
		log_warning("%s: preset '%s': %s has no columns for %.*s", preset->path, preset->name,
			    table->name, (int)MIN(missing.size, (size_t)300), (const char *)missing.data);
	buffer_free(&missing);
}

// ---- the file ----

static void walk(struct json *json, const struct xml *xml, uint32_t node, const char *graph, const char *path,
		 size_t *count) {
	XML_EACH_CHILD(child, xml, node) {
		bool is_graph = xml_is(xml, child, "Graph");
		if (xml_is(xml, child, "ModifiedGraphs"))
			continue; // the same presets once more
		if (!graph || !xml_is(xml, child, "Preset")) {
			walk(json, xml, child, is_graph ? xml_value(xml, child, "Guid") : graph, path, count);
			continue;
		}
		const char *name = xml_value(xml, child, "Name");
		struct wpa_preset preset = {.xml = xml, .path = path, .name = name ? name : "?"};
		if ((*count)++ < MOST_PRESETS)
			write_preset(json, &preset, graph, child);
	}
}

bool report_preset_is_wpa(const void *bytes, size_t size) {
	size_t at = 0;
	const char *text = bytes;
	if (size > 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at = 3;
	while (at < size && isspace((unsigned char)text[at]))
		at++;
	return at < size && text[at] == '<';
}

char *report_preset_from_wpa(const void *bytes, size_t size, const char *path) {
	struct findings findings = {0};
	struct buffer out = {0};
	struct json json = json_into(&out);
	struct xml xml;
	size_t count = 0;
	if (!xml_parse(&xml, bytes, size, &findings)) {
		CLEANUP_FREE char *line = findings.list.count ? finding_line(&findings.list.items[0], path)
							      : NULL;
		log_error("%s", line ? line : path);
		findings_free(&findings);
		return NULL;
	}
	json_array(&json, NULL);
	walk(&json, &xml, 0, NULL, path, &count);
	json_close_array(&json);
	xml_free(&xml);
	findings_free(&findings);
	if (!count)
		log_warning("%s: there is no preset in it", path);
	buffer_append(&out, "", 1);
	return (char *)out.data;
}
