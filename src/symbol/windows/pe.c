// A name counts for one function: it ends where the table of functions says so (".pdata", which all code for
// 64 bits has), otherwise at the next name. The table keeps names from spreading over functions that are not
// exported.
#include "symbol/windows/pe.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/cursor.h"

#include <stdlib.h>

enum { MACHINE_X64 = 0x8664, MACHINE_ARM64_PE = 0xaa64 };
enum { EXPORTS, EXCEPTIONS = 3, DEBUG = 6, DIRECTORIES };
enum { MOST_SECTIONS = 1000, MOST_NAMES = 1 << 20, LONGEST_NAME = 4096, MOST_TEXT = 256 << 20 };

struct directory {
	uint32_t address, size;
};

struct section {
	uint32_t address, size, offset, stored;
	bool code;
};

struct name {
	struct pe_symbol symbol;
	uint8_t rank; // of several at the same address, the highest counts
	size_t text;  // offset
};

struct image {
	const uint8_t *bytes;
	size_t size;
	uint16_t machine;
	uint32_t symbols_at, symbol_count;
	struct directory directories[DIRECTORIES];
	ARRAY(struct section) sections;
	ARRAY(struct name) names;
	struct buffer text;
};

// ---- the header ----

static void take_directories(struct image *image, struct cursor optional, bool wide) {
	cursor_take(&optional, wide ? 108 : 92);
	uint32_t count = cursor_u32(&optional);
	for (uint32_t i = 0; i < MIN(count, (uint32_t)DIRECTORIES) && cursor_left(&optional) >= 8; i++) {
		image->directories[i].address = cursor_u32(&optional);
		image->directories[i].size = cursor_u32(&optional);
	}
}

static void take_sections(struct image *image, struct cursor in, uint32_t count) {
	enum { CODE = 0x20 };
	for (uint32_t i = 0; i < MIN(count, (uint32_t)MOST_SECTIONS) && cursor_left(&in) >= 40; i++) {
		struct section section;
		cursor_take(&in, 8); // name
		section.size = cursor_u32(&in);
		section.address = cursor_u32(&in);
		section.stored = cursor_u32(&in);
		section.offset = cursor_u32(&in);
		cursor_take(&in, 12);
		section.code = cursor_u32(&in) & CODE;
		array_push(&image->sections, section);
	}
}

static bool read_header(struct image *image, struct pe *pe) {
	struct cursor in = cursor_of(image->bytes, image->size);
	if (cursor_u16(&in) != 0x5a4d) // "MZ"
		return false;
	cursor_take(&in, 0x3a);
	uint32_t at = cursor_u32(&in);
	in = cursor_of(image->bytes, image->size);
	cursor_take(&in, at);
	if (cursor_u32(&in) != 0x4550) // "PE"
		return false;
	pe->machine = image->machine = cursor_u16(&in);
	uint16_t sections = cursor_u16(&in);
	pe->time = cursor_u32(&in);
	image->symbols_at = cursor_u32(&in);
	image->symbol_count = cursor_u32(&in);
	uint16_t optional_size = cursor_u16(&in);
	cursor_u16(&in);
	struct cursor optional = cursor_slice(&in, optional_size), rest = optional;
	uint16_t magic = cursor_u16(&optional);
	cursor_take(&optional, 54);
	pe->image_size = cursor_u32(&optional);
	if (optional.failed || (magic != 0x10b && magic != 0x20b))
		return false;
	take_directories(image, rest, magic == 0x20b);
	take_sections(image, in, sections);
	return true;
}

static const struct section *section_of(const struct image *image, uint32_t address) {
	for (size_t i = 0; i < image->sections.count; i++) {
		const struct section *section = &image->sections.items[i];
		if (address >= section->address && address - section->address < section->size)
			return section;
	}
	return NULL;
}

// What is in the file at an address of the module, up to the end of its section.
static struct cursor content_at(const struct image *image, uint32_t address) {
	const struct section *section = section_of(image, address);
	struct cursor none = {.failed = true};
	uint32_t within = section ? address - section->address : 0;
	if (!section || within >= section->stored || section->offset > image->size)
		return none;
	size_t left = MIN((size_t)section->stored, image->size - section->offset);
	return within < left ? cursor_of(image->bytes + section->offset + within, left - within) : none;
}

static void read_debug_id(const struct image *image, struct pe *pe) {
	enum { CODEVIEW = 2, ENTRY_SIZE = 28, SIGNATURE = 0x53445352 }; // "RSDS"
	struct cursor in = content_at(image, image->directories[DEBUG].address);
	for (uint32_t left = image->directories[DEBUG].size; left >= ENTRY_SIZE && !in.failed;
	     left -= ENTRY_SIZE) {
		cursor_take(&in, 12);
		uint32_t type = cursor_u32(&in);
		cursor_u32(&in); // size
		uint32_t address = cursor_u32(&in);
		cursor_u32(&in); // offset in the file
		struct cursor entry = content_at(image, address);
		if (in.failed || type != CODEVIEW || cursor_u32(&entry) != SIGNATURE)
			continue;
		uint8_t guid[16];
		cursor_copy(&entry, guid, sizeof(guid));
		uint32_t age = cursor_u32(&entry);
		if (!entry.failed)
			windows_id_text(pe->id, guid, age);
	}
}

// ---- names ----

static void add_name(struct image *image, uint32_t address, const char *text, size_t length, uint8_t rank) {
	const struct section *section = section_of(image, address);
	if (!section || !section->code || !length || image->names.count >= MOST_NAMES ||
	    image->text.size > MOST_TEXT)
		return;
	struct name name = {
		.symbol = {.address = address, .size = section->size - (address - section->address)},
		.rank = rank,
		.text = image->text.size};
	buffer_append(&image->text, text, MIN(length, (size_t)LONGEST_NAME));
	buffer_append(&image->text, "", 1);
	array_push(&image->names, name);
}

static void read_exports(struct image *image) {
	const struct directory *directory = &image->directories[EXPORTS];
	struct cursor in = content_at(image, directory->address);
	cursor_take(&in, 20); // time, version, name, first number
	uint32_t functions = cursor_u32(&in), names = cursor_u32(&in);
	uint32_t addresses = cursor_u32(&in), texts = cursor_u32(&in), numbers = cursor_u32(&in);
	if (in.failed)
		return;
	struct cursor text_list = content_at(image, texts), number_list = content_at(image, numbers);
	for (uint32_t i = 0; i < MIN(names, (uint32_t)MOST_NAMES); i++) {
		uint32_t text = cursor_u32(&text_list);
		uint16_t number = cursor_u16(&number_list);
		struct cursor function = content_at(image, addresses), name = content_at(image, text);
		cursor_take(&function, (size_t)number * sizeof(uint32_t));
		uint32_t address = cursor_u32(&function);
		const char *letters = cursor_string(&name);
		if (text_list.failed || number_list.failed)
			return;
		// An address inside the list of exports is the name of a function in another library.
		if (number < functions && !function.failed && letters &&
		    address - directory->address >= directory->size)
			add_name(image, address, letters, strlen(letters), 1);
	}
}

// The symbols that MinGW's linker leaves in a program, until it is stripped.
static void read_symbols(struct image *image) {
	enum { SYMBOL_SIZE = 18, FUNCTION = 0x20 };
	struct cursor in = cursor_of(image->bytes, image->size), texts = in;
	cursor_take(&in, image->symbols_at);
	cursor_take(&texts, image->symbols_at + (uint64_t)image->symbol_count * SYMBOL_SIZE);
	if (!image->symbols_at)
		return;
	for (uint32_t i = 0; i < image->symbol_count && cursor_left(&in) >= SYMBOL_SIZE; i++) {
		const char *letters = (const char *)cursor_take(&in, 8);
		uint32_t value = cursor_u32(&in), long_name, offset;
		uint16_t section = cursor_u16(&in), type = cursor_u16(&in);
		cursor_u8(&in); // class
		uint8_t more = cursor_u8(&in);
		size_t length = strnlen(letters, 8);
		memcpy(&long_name, letters, sizeof(long_name));
		memcpy(&offset, letters + 4, sizeof(offset));
		if (!long_name) {
			struct cursor text = texts;
			cursor_take(&text, offset);
			letters = cursor_string(&text);
			length = letters ? strlen(letters) : 0;
		}
		if (type == FUNCTION && section && section <= image->sections.count)
			add_name(image, image->sections.items[section - 1].address + value, letters, length,
				 0);
		cursor_take(&in, MIN((size_t)more * SYMBOL_SIZE, cursor_left(&in)));
		i += more;
	}
}

// ---- where functions end ----

static int by_address(const void *left, const void *right) {
	const struct name *a = left, *b = right;
	if (a->symbol.address != b->symbol.address)
		return a->symbol.address < b->symbol.address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return a->text < b->text ? -1 : 1;
}

// The entries of the table, which is sorted by address.
static void limit_names(struct image *image) {
	const struct directory *table = &image->directories[EXCEPTIONS];
	size_t entry = image->machine == MACHINE_X64 ? 12 : image->machine == MACHINE_ARM64_PE ? 8 : 0;
	struct cursor in = content_at(image, table->address);
	if (!entry || in.failed)
		return;
	for (size_t at = 0, left = table->size / entry; left && at < image->names.count; left--) {
		uint32_t begin = cursor_u32(&in), second = cursor_u32(&in);
		cursor_take(&in, entry - 8);
		if (in.failed)
			return;
		// Arm's packed entries have the length in instructions; others refer to a header with it.
		struct cursor header = content_at(image, second);
		uint32_t length = second & 3 ? (second >> 2 & 0x7ff) * 4
					     : (cursor_u32(&header) & 0x3ffff) * 4;
		uint32_t end = entry == 12 ? second : begin + length;
		// A function that calls none needs no entry.
		for (; at < image->names.count && image->names.items[at].symbol.address < begin; at++) {
			struct pe_symbol *symbol = &image->names.items[at].symbol;
			symbol->size = MIN(symbol->size, begin - symbol->address);
		}
		for (; at < image->names.count && image->names.items[at].symbol.address < end; at++) {
			struct pe_symbol *symbol = &image->names.items[at].symbol;
			symbol->size = MIN(symbol->size, end - symbol->address);
		}
	}
}

static void give_names(struct image *image, struct pe_names *names) {
	size_t kept = 0;
	struct name *items = image->names.items;
	if (image->names.count)
		qsort(items, image->names.count, sizeof(*items), by_address);
	for (size_t i = 0; i < image->names.count; i++)
		if (!kept || items[i].symbol.address != items[kept - 1].symbol.address)
			items[kept++] = items[i];
	image->names.count = kept;
	for (size_t i = 0; i + 1 < kept; i++)
		items[i].symbol.size = MIN(items[i].symbol.size,
					   items[i + 1].symbol.address - items[i].symbol.address);
	limit_names(image);
	names->text = (char *)image->text.data;
	names->items = memory_alloc((kept + 1) * sizeof(*names->items));
	names->count = kept;
	for (size_t i = 0; i < kept; i++) {
		names->items[i] = items[i].symbol;
		names->items[i].name = names->text + items[i].text;
	}
}

bool pe_read(struct pe *pe, const uint8_t *bytes, size_t size, struct pe_names *names) {
	struct image image = {.bytes = bytes, .size = size};
	*pe = (struct pe){0};
	bool found = read_header(&image, pe);
	if (found)
		read_debug_id(&image, pe);
	if (found && names) {
		buffer_append(&image.text, "", 1);
		read_exports(&image);
		read_symbols(&image);
		give_names(&image, names);
	}
	array_free(&image.sections);
	array_free(&image.names);
	return found;
}
