#include "symbol/elf_unwind.h"

#include "base/memory.h"
#include "symbol/go_frames.h"
#include "symbol/section.h"

static const uint8_t *debug_frame_of(Elf *elf, size_t *size) {
	enum { MOST_BYTES = 256 << 20 };
	GElf_Ehdr header;
	// Objects that are not linked yet have meaningless addresses.
	if (!elf || !gelf_getehdr(elf, &header) || header.e_type == ET_REL ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return NULL;
	return section_content(elf, ".debug_frame", MOST_BYTES, size);
}

// Debug files are searched only if the table would be nearly empty. The C library's startup code always has
// some unwind information; a full table is about a tenth of the size of the code.
static bool has_little_unwind_info(const struct elf_object *object) {
	enum { STARTUP_CODE = 1024, SMALLEST_PART = 64 };
	uint64_t code = 0;
	for (size_t i = 0; i < object->segment_count; i++)
		if (object->segments[i].executable)
			code += object->segments[i].size;
	return object->eh_frame_size < MAX(STARTUP_CODE, code / SMALLEST_PART);
}

static const uint8_t *frames_of_go(struct elf_object *object, size_t *size) {
	enum { MOST_BYTES = 256 << 20 };
	Elf *elf = object->handles[0];
	if (object->made_frames) { // a table may be using them
		*size = object->made_size;
		return object->made_frames;
	}
	GElf_Shdr text = {0};
	struct buffer made = {0};
	size_t table_size = 0;
	const uint8_t *table = elf ? section_content(elf, ".gopclntab", MOST_BYTES, &table_size) : NULL;
	if (elf && !table) // of a program that can be loaded anywhere
		table = section_content(elf, ".data.rel.ro.gopclntab", MOST_BYTES, &table_size);
	if (!table || object->machine != EM_X86_64)
		return NULL;
	section_by_name(elf, ".text", &text);
	if (!go_frames(table, table_size, text.sh_addr, &made)) {
		buffer_free(&made);
		return NULL;
	}
	object->made_frames = made.data;
	object->made_size = *size = made.size;
	return made.data;
}

struct unwind_table *elf_unwind_table(struct elf_object *object) {
	size_t size = 0;
	const uint8_t *debug_frame = debug_frame_of(object->handles[0], &size);
	if (!debug_frame)
		debug_frame = frames_of_go(object, &size);
	if (!debug_frame && object->handles[0] && has_little_unwind_info(object))
		elf_find_debug_file(object);
	if (!debug_frame)
		debug_frame = debug_frame_of(object->handles[1], &size);
	return unwind_table_of_both(object->eh_frame, object->eh_frame_size, object->eh_frame_address,
				    debug_frame, size);
}

struct unwind_table *elf_unwind_of(struct elf_object *object) {
	if (!object->unwind_tried) {
		object->unwind_tried = true;
		object->unwind = elf_unwind_table(object);
	}
	return object->unwind;
}
