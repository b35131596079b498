// The table of images: programs and libraries, with the PDB or build id of each.
#include "analyse/table.h"

// Which PDB an image has comes in an event of its own, before or after the image's.
static void take_pdb(struct table *table, const struct event *event) {
	uint32_t pid = (uint32_t)table_number(event, "ProcessId");
	const struct event_field *guid = table_find(event, "GuidSig");
	struct buffer *text = &table->text;
	text->size = 0;
	if (guid && guid->type == FIELD_TEXT)
		buffer_append(text, guid->text, guid->size);
	buffer_printf(text, "-%u", (unsigned)table_number(event, "Age"));
	uint64_t pdb = table_field(table, event, "PdbFileName").text;
	uint64_t id = strings_add_bytes(table->tables->strings, text->data, text->size);
	*map_put(&table->pdbs, hash_u64(table_number(event, "ImageBase")) ^ pid) = pdb << 32 | id;
}

// Mappings on other systems than Windows: the build id is in the place of the PDB's id.
static void take_mapping(struct table *table, const struct event *event) {
	struct cell *row = table->row;
	if (!event->mapping.size)
		return; // an address space that is new
	row[0] = cell_uint(event->pid);
	row[1] = table_process(table, event->pid);
	row[2] = cell_hex(event->mapping.start);
	row[3] = cell_uint(event->mapping.size);
	row[4] = cell_text(event->mapping.file);
	row[5] = table_time(table, event->time);
	if (event->mapping.build_id)
		row[8] = cell_text(event->mapping.build_id);
	table_row(table);
}

void take_images(struct table *table, const struct event *event) {
	if (event->kind == EVENT_MAPPING)
		take_mapping(table, event);
	if (table_is_generic(table, event, "ImageID/DbgID_"))
		take_pdb(table, event);
	if (!table_is_generic(table, event, "Image/") || !table_find(event, "ImageSize"))
		return;
	const char *name = strings_get(table->tables->strings, event->generic.name);
	uint32_t pid = (uint32_t)table_number(event, "ProcessId");
	uint64_t base = table_number(event, "ImageBase");
	bool unload = strcmp(name, "Image/Unload") == 0, load = strcmp(name, "Image/Load") == 0;
	uint64_t *known = map_put(&table->images, hash_u64(base) ^ pid);
	if (*known && !load) {
		if (unload && !table->grouped)
			table->cells.items[(*known - 1) * table->column_count + 6] = table_time(table,
												event->time);
		return;
	}
	struct cell *row = table->row;
	row[0] = cell_uint(pid);
	row[1] = table_process(table, pid);
	row[2] = cell_hex(base);
	row[3] = cell_uint(table_number(event, "ImageSize"));
	row[4] = table_field(table, event, "FileName");
	if (load)
		row[5] = table_time(table, event->time);
	if (unload)
		row[6] = table_time(table, event->time);
	table_row(table);
	*known = table->row_count;
}

void finish_images(struct table *table) {
	for (size_t i = 0; i < table->row_count && !table->grouped; i++) {
		struct cell *row = &table->cells.items[i * table->column_count];
		const uint64_t *pdb = map_get(&table->pdbs, hash_u64(row[2].number) ^ row[0].number);
		if (!pdb)
			continue;
		row[7] = cell_text((uint32_t)(*pdb >> 32));
		row[8] = cell_text((uint32_t)*pdb);
	}
}
