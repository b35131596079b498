// What `tracelet info` prints about the machine that an ETL file comes from, if the file describes it.
#include "base/file.h"
#include "base/text.h"
#include "read/etl/info.h"

static bool is_known(const struct etl_machine *machine) {
	return machine->computer || machine->processor || machine->windows || machine->disks.count ||
	       machine->volumes.count;
}

void etl_info_machine_json(const struct etl_info *info, struct json *json) {
	const struct etl_machine *machine = &info->state.machine;
	const struct strings *strings = info->tables.strings;
	const struct {
		const char *key;
		uint32_t string;
	} texts[] = {
		{"computer", machine->computer}, {"domain", machine->domain},
		{"cpu", machine->processor},     {"manufacturer", machine->manufacturer},
		{"product", machine->product},   {"windows", machine->windows},
		{"build", machine->build},
	};
	if (!is_known(machine))
		return;
	json_object(json, "machine");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].string)
			json_string(json, texts[i].key, strings_get(strings, texts[i].string));
	if (machine->memory)
		json_uint(json, "memory", machine->memory);
	json_array(json, "disks");
	for (size_t i = 0; i < machine->disks.count; i++) {
		json_object(json, NULL);
		json_uint(json, "number", machine->disks.items[i].number);
		json_string(json, "name", strings_get(strings, machine->disks.items[i].name));
		json_uint(json, "size", machine->disks.items[i].size);
		json_close_object(json);
	}
	json_close_array(json);
	json_array(json, "volumes");
	for (size_t i = 0; i < machine->volumes.count; i++) {
		const struct etl_volume *volume = &machine->volumes.items[i];
		json_object(json, NULL);
		json_string(json, "letter", strings_get(strings, volume->letter));
		json_string(json, "file_system", strings_get(strings, volume->file_system));
		json_uint(json, "size", volume->size);
		json_uint(json, "free", volume->free);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

// Appends a part of a line, after a comma if it is not the first one.
static void add_part(struct buffer *line, const char *text) {
	if (*text)
		buffer_printf(line, "%s%s", line->size ? ", " : "", text);
}

static void add_line(struct buffer *out, const char *title, struct buffer *line) {
	if (line->size)
		text_append_line(out, "%-10s %.*s", title, (int)line->size, (char *)line->data);
	line->size = 0;
}

static void add_disks(const struct etl_info *info, struct buffer *line) {
	const struct etl_machine *machine = &info->state.machine;
	const struct strings *strings = info->tables.strings;
	char size[16], left[16];
	for (size_t i = 0; i < machine->disks.count; i++) {
		const struct etl_disk *disk = &machine->disks.items[i];
		buffer_printf(line, "%s%s (%s)", line->size ? ", " : "", strings_get(strings, disk->name),
			      file_size_words(disk->size, size));
	}
	for (size_t i = 0; i < machine->volumes.count; i++) {
		const struct etl_volume *volume = &machine->volumes.items[i];
		buffer_printf(line, "%s%s %s %s, %s free", line->size ? "; " : "",
			      strings_get(strings, volume->letter), strings_get(strings, volume->file_system),
			      file_size_words(volume->size, size), file_size_words(volume->free, left));
	}
}

void etl_info_machine_text(const struct etl_info *info, struct buffer *out) {
	const struct etl_machine *machine = &info->state.machine;
	const struct strings *strings = info->tables.strings;
	struct buffer line = {0};
	char size[16];
	add_part(&line, strings_get(strings, machine->windows));
	add_part(&line, strings_get(strings, machine->build));
	add_line(out, "windows", &line);
	add_part(&line, strings_get(strings, machine->computer));
	add_part(&line, strings_get(strings, machine->processor));
	if (machine->memory) {
		add_part(&line, file_size_words(machine->memory, size));
		buffer_printf(&line, " of memory");
	}
	add_part(&line, strings_get(strings, machine->manufacturer));
	add_part(&line, strings_get(strings, machine->product));
	add_line(out, "machine", &line);
	add_disks(info, &line);
	add_line(out, "disks", &line);
	buffer_free(&line);
}
