#include "read/etl/machine.h"

enum { MOST_LISTED = 256 };

static uint64_t number(const struct etl_decoder *decoder, const char *name) {
	uint64_t value = 0;
	etl_decoded_number(decoder, name, &value);
	return value;
}

// The text of a field without blanks at its end; 0 if there is none.
static uint32_t text(const struct etl_decoder *decoder, struct strings *strings, const char *name) {
	const struct event_field *field = etl_decoded_field(decoder, name);
	if (!field || field->type != FIELD_TEXT)
		return 0;
	size_t size = field->size;
	while (size && field->text[size - 1] == ' ')
		size--;
	return size ? strings_add_bytes(strings, field->text, size) : 0;
}

static void take_computer(struct etl_machine *machine, const struct etl_decoder *decoder,
			  struct strings *strings) {
	machine->computer = text(decoder, strings, "ComputerName");
	machine->domain = text(decoder, strings, "DomainName");
	machine->memory = number(decoder, "MemSize") << 20;
}

static void take_disk(struct etl_machine *machine, const struct etl_decoder *decoder,
		      struct strings *strings) {
	struct etl_disk disk = {.number = (uint32_t)number(decoder, "DiskNumber"),
				.name = text(decoder, strings, "Manufacturer"),
				.size = number(decoder, "Cylinders") * number(decoder, "TracksPerCylinder") *
					number(decoder, "SectorsPerTrack") *
					number(decoder, "BytesPerSector")};
	if (machine->disks.count < MOST_LISTED)
		array_push(&machine->disks, disk);
}

static void take_volume(struct etl_machine *machine, const struct etl_decoder *decoder,
			struct strings *strings) {
	uint64_t cluster = number(decoder, "SectorsPerCluster") * number(decoder, "BytesPerSector");
	struct etl_volume volume = {.letter = text(decoder, strings, "DriveLetterString"),
				    .file_system = text(decoder, strings, "FileSystem"),
				    .size = number(decoder, "PartitionSize"),
				    .free = number(decoder, "NumberOfFreeClusters") * cluster};
	if (volume.letter && machine->volumes.count < MOST_LISTED)
		array_push(&machine->volumes, volume);
}

static void take_processor(struct etl_machine *machine, const struct etl_decoder *decoder,
			   struct strings *strings) {
	if (!machine->processor)
		machine->processor = text(decoder, strings, "ProcessorName");
}

static void take_platform(struct etl_machine *machine, const struct etl_decoder *decoder,
			  struct strings *strings) {
	machine->manufacturer = text(decoder, strings, "SystemManufacturer");
	machine->product = text(decoder, strings, "SystemProductName");
}

static void take_build(struct etl_machine *machine, const struct etl_decoder *decoder,
		       struct strings *strings) {
	machine->windows = text(decoder, strings, "ProductName");
	machine->build = text(decoder, strings, "BuildLab");
}

static char *without_backslash(const struct event_field *field) {
	size_t size = field->size;
	while (size && field->text[size - 1] == '\\')
		size--;
	return memory_format("%.*s", (int)size, field->text);
}

// Only those of devices and the system's folder: others, such as \??\, are no places of files. A path never
// gets longer.
static void take_mapping(struct etl_machine *machine, const struct etl_decoder *decoder,
			 struct strings *strings) {
	const struct event_field *from = etl_decoded_field(decoder, "NtPath"),
				 *to = etl_decoded_field(decoder, "DosPath");
	if (!from || !to || from->type != FIELD_TEXT || to->type != FIELD_TEXT ||
	    machine->mappings.count >= MOST_LISTED)
		return;
	struct etl_mapping mapping = {without_backslash(from), without_backslash(to)};
	bool place = strncmp(mapping.from, "\\Device\\", 8) == 0 || strcmp(mapping.from, "\\SystemRoot") == 0;
	if (place && strlen(mapping.to) >= 2 && mapping.to[1] == ':' &&
	    strlen(mapping.to) <= strlen(mapping.from)) {
		array_push(&machine->mappings, mapping);
		return;
	}
	free(mapping.from);
	free(mapping.to);
}

static const struct {
	const char *event; // its title
	void (*take)(struct etl_machine *machine, const struct etl_decoder *decoder, struct strings *strings);
} takers[] = {
	{"SystemConfig/CPU", take_computer},       {"SystemConfig/PhyDisk", take_disk},
	{"SystemConfig/LogDisk", take_volume},     {"SystemConfig/Processors", take_processor},
	{"SystemConfig/Platform", take_platform},  {"SysConfig/BuildInfo", take_build},
	{"SysConfig/VolumeMapping", take_mapping},
};

void etl_machine_take(struct etl_machine *machine, struct etl_decoder *decoder, struct strings *strings,
		      const struct etl_record *record, const struct etl_type *type) {
	if (!type->schema || !type->schema->name)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(takers); i++) {
		if (strcmp(takers[i].event, type->schema->name) != 0)
			continue;
		etl_decode(decoder, record, type->schema);
		if (!decoder->raw)
			takers[i].take(machine, decoder, strings);
		return;
	}
}

char *etl_machine_path(const struct etl_machine *machine, char *path, size_t *size) {
	for (size_t i = 0; *size && *path == '\\' && i < machine->mappings.count; i++) {
		const struct etl_mapping *mapping = &machine->mappings.items[i];
		size_t from = strlen(mapping->from), to = strlen(mapping->to);
		// A longer number is another device.
		if (*size < from || memcmp(path, mapping->from, from) != 0 ||
		    (*size > from && path[from] != '\\'))
			continue;
		path += from - to;
		*size -= from - to;
		memcpy(path, mapping->to, to);
		return path;
	}
	return path;
}

void etl_machine_free(struct etl_machine *machine) {
	for (size_t i = 0; i < machine->mappings.count; i++) {
		free(machine->mappings.items[i].from);
		free(machine->mappings.items[i].to);
	}
	array_free(&machine->disks);
	array_free(&machine->volumes);
	array_free(&machine->mappings);
}
