#include "symbol/elf_unwind.h"

#include "base/memory.h"
#include "symbol/section.h"

static const uint8_t *debug_frame_of(Elf *elf, size_t *size) {
	enum { MOST_BYTES = 256 << 20 };
	GElf_Ehdr header;
	// Objects that are not linked yet have addresses that mean nothing.
	if (!elf || !gelf_getehdr(elf, &header) || header.e_type == ET_REL ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return NULL;
	return section_content(elf, ".debug_frame", MOST_BYTES, size);
}

// Files are looked for only where the table would be nearly empty: what there always is comes from the
// C library's startup code, and functions need a tenth of their size.
static bool tells_little(const struct elf_object *object) {
	enum { STARTUP_CODE = 1024, SMALLEST_PART = 64 };
	uint64_t code = 0;
	for (size_t i = 0; i < object->segment_count; i++)
		if (object->segments[i].executable)
			code += object->segments[i].size;
	return object->eh_frame_size < MAX(STARTUP_CODE, code / SMALLEST_PART);
}

struct unwind_table *elf_unwind_table(struct elf_object *object) {
	size_t size = 0;
	const uint8_t *debug_frame = debug_frame_of(object->handles[0], &size);
	if (!debug_frame && object->handles[0] && tells_little(object))
		elf_find_debug_file(object);
	if (!debug_frame)
		debug_frame = debug_frame_of(object->handles[1], &size);
	return unwind_table_of_both(object->eh_frame, object->eh_frame_size, object->eh_frame_address,
				    debug_frame, size);
}
