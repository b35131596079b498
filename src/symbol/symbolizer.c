// Each module is opened once, when the first address in it is asked for. Addresses
// repeat, so the answers are remembered in a table of fixed size; behind that, a
// symbol remembers its frame.
#include "symbol/symbolizer.h"

#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/elf_unwind.h"
#include "symbol/inlined.h"
#include "symbol/jit.h"
#include "symbol/kept.h"
#include "symbol/kernel.h"
#include "symbol/unwind.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>

enum { REMEMBERED = 1 << 15, VDSO_SIZE = 2 * 4096 };

struct place {
	uint64_t position; // address of the kernel's code
	uint32_t module, build_id;
	uint32_t frame; // one more than its id, or than the index of a chain; 0: not asked for yet
	bool is_chain;
	bool row_known, has_row;
	struct unwind_row row;
};

struct module {
	uint32_t name, build_id;
	struct elf_object *object; // NULL: there is none
};

// Frames of one place, where functions were inlined: in `ids`, innermost first.
struct chain {
	size_t first, count;
};

struct own_symbolizer {
	struct symbolizer symbolizer;
	bool inlined;
	ARRAY(struct chain) chains;
	ARRAY(uint32_t) ids;
	struct map chain_of_place; // to one more than the index
	struct map modules;        // name and build id to one more than the index
	ARRAY(struct module) items;
	struct place *places; // by hash
	struct module last;   // that was asked for
	struct kernel_symbols *kernel;
	bool kernel_tried;
	bool kernel_same;            // it is where it was when it was recorded
	void (*wait)(void *context); // for the end of the recording; NULL: it has ended
	void *wait_context;
};

static struct own_symbolizer *own(struct symbolizer *symbolizer) {
	return CONTAINER_OF(symbolizer, struct own_symbolizer, symbolizer);
}

// ---- modules ----

static struct elf_object *open_module(struct tables *tables, uint32_t name, uint32_t build_id) {
	const char *path = strings_get(tables->strings, name),
		   *wanted = strings_get(tables->strings, build_id);
	if (strcmp(path, "[vdso]") == 0) {
		const void *image = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT: an address
		struct elf_object *vdso = image ? elf_open_memory(image, VDSO_SIZE) : NULL;
		if (vdso && *wanted && strcmp(vdso->build_id, wanted) == 0)
			return vdso;
		elf_close(vdso);
		return NULL;
	}
	if (jit_is_file(path))
		return jit_open(path);
	return *path == '/' || *wanted ? elf_open_held(path, wanted, kept_files_find(path, wanted)) : NULL;
}

static void wait_for_end(struct own_symbolizer *symbolizer) {
	void (*wait)(void *) = symbolizer->wait;
	symbolizer->wait = NULL;
	if (wait)
		wait(symbolizer->wait_context);
}

static struct elf_object *open_in_time(struct own_symbolizer *symbolizer, struct tables *tables,
				       uint32_t name, uint32_t build_id) {
	const char *path = strings_get(tables->strings, name);
	if (jit_is_file(path))
		wait_for_end(symbolizer);
	struct elf_object *object = open_module(tables, name, build_id);
	if (object || *path != '/' || !symbolizer->wait)
		return object;
	wait_for_end(symbolizer);
	return open_module(tables, name, build_id);
}

static struct elf_object *module_object(struct own_symbolizer *symbolizer, struct tables *tables,
					uint32_t name, uint32_t build_id) {
	if (symbolizer->last.name == name && symbolizer->last.build_id == build_id && name)
		return symbolizer->last.object;
	uint64_t *index = map_put(&symbolizer->modules, (uint64_t)name << 32 | build_id);
	if (!*index) {
		struct module module = {name, build_id, open_in_time(symbolizer, tables, name, build_id)};
		array_push(&symbolizer->items, module);
		*index = symbolizer->items.count;
	}
	symbolizer->last = symbolizer->items.items[*index - 1];
	return symbolizer->last.object;
}

// ---- symbols ----

static struct elf_symbol *user_symbol(struct own_symbolizer *symbolizer, struct tables *tables,
				      const struct frame *frame) {
	struct elf_object *object = module_object(symbolizer, tables, frame->module, frame->build_id);
	uint64_t address;
	if (object && object->absolute)
		return elf_symbol_at(object, frame->address);
	if (!object || !elf_address_of(object, frame->position, &address))
		return NULL;
	return elf_symbol_at(object, address);
}

static bool is_this_release(const char *build_id) {
	static const char prefix[] = "release:";
	struct utsname system;
	return strncmp(build_id, prefix, strlen(prefix)) == 0 && uname(&system) == 0 &&
	       strcmp(build_id + strlen(prefix), system.release) == 0;
}

// The kernel's addresses are those of this kernel if it is the same build; it may have been loaded to
// another place since, which its own text tells (position is relative to _text) and modules do not.
static struct elf_symbol *kernel_symbol(struct own_symbolizer *symbolizer, struct tables *tables,
					const struct frame *frame) {
	if (!symbolizer->kernel_tried) {
		symbolizer->kernel_tried = true;
		symbolizer->kernel = kernel_symbols_open();
	}
	struct kernel_symbols *kernel = symbolizer->kernel;
	const char *build_id = strings_get(tables->strings, frame->build_id);
	if (!kernel)
		return NULL;
	if (strcmp(strings_get(tables->strings, frame->module), "[kernel.kallsyms]") == 0) {
		symbolizer->kernel_same = frame->address - frame->position == kernel->text_address;
		if (strcmp(build_id, kernel->build_id) != 0 &&
		    !(symbolizer->kernel_same && is_this_release(build_id))) {
			symbolizer->kernel_same = false;
			return NULL;
		}
		return kernel_symbol_at(kernel, kernel->text_address + frame->position);
	}
	return symbolizer->kernel_same ? kernel_symbol_at(kernel, frame->address) : NULL;
}

// A file's debug information, if it is wanted and there, and the frame's address in it.
static struct inlined_table *debug_information(struct own_symbolizer *self, struct tables *tables,
					       const struct frame *frame, uint64_t *address) {
	if (!self->inlined || !frame->module || frame->kind != FRAME_USER)
		return NULL;
	struct elf_object *object = module_object(self, tables, frame->module, frame->build_id);
	if (!object || !elf_address_of(object, frame->position, address))
		return NULL;
	if (!object->inlined_tried) {
		object->inlined_tried = true;
		object->inlined = inlined_table_new(object);
	}
	return object->inlined;
}

static size_t sources_of(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
			 struct declaration *found) {
	uint64_t address;
	struct inlined_table *table = tables->details ? debug_information(self, tables, frame, &address)
						      : NULL;
	return table ? declarations_at(table, address, found, DEEPEST_INLINED + 1) : 0;
}

static void set_source(struct tables *tables, struct frame *frame, const struct declaration *declaration) {
	if (!declaration->file)
		return;
	frame->file = strings_add(tables->strings, declaration->file);
	frame->line = declaration->line;
}

static struct unwind_table *unwind_information(struct elf_object *object) {
	if (!object->unwind_tried) {
		object->unwind_tried = true;
		object->unwind = elf_unwind_table(object);
	}
	return object->unwind;
}

// A function without a name is known by where it begins, or else each address is one.
static void set_place(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
		      struct frame *named) {
	struct elf_object *object = frame->kind == FRAME_USER && frame->module
					    ? module_object(self, tables, frame->module, frame->build_id)
					    : NULL;
	uint64_t address;
	if (!object || !elf_address_of(object, frame->position, &address))
		return;
	named->position = address;
	if (unwind_information(object) && unwind_function_at(object->unwind, address, &named->position) &&
	    tables->addresses != ADDRESSES_ALL)
		named->address = 0;
}

static uint32_t symbol_frame(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
			     struct elf_symbol *symbol) {
	struct frame named = {.kind = frame->kind,
			      .module = frame->module,
			      .build_id = frame->build_id,
			      .exact = NAME_OF_SYMBOL};
	struct declaration found[DEEPEST_INLINED + 1];
	size_t count = symbol ? sources_of(self, tables, frame, found) : 0;
	if (count)
		set_source(tables, &named, &found[count - 1]);
	char *readable = symbol ? demangle(symbol->name) : NULL;
	if (readable)
		named.symbol = strings_add(tables->strings, readable);
	else if (symbol) // without the version: "free@GLIBC_2.2.5"
		named.symbol = strings_add_bytes(tables->strings, symbol->name, strcspn(symbol->name, "@"));
	free(readable);
	if (tables->addresses == ADDRESSES_ALL || (tables->addresses == ADDRESSES_OF_UNNAMED && !symbol)) {
		named.address = frame->address;
		named.position = symbol ? frame->position : 0;
	}
	if (!symbol && (tables->details || tables->addresses != ADDRESSES_NONE))
		set_place(self, tables, frame, &named);
	return stacks_add_frame(tables->stacks, &named);
}

// What is known of a place; a new one takes the slot of an older one.
static struct place *place_of(struct own_symbolizer *self, const struct frame *frame) {
	uint64_t position = frame->kind == FRAME_KERNEL ? frame->address : frame->position;
	struct place *place =
		&self->places[hash_u64(position ^ (uint64_t)frame->module << 40) & (REMEMBERED - 1)];
	if (place->position != position || place->module != frame->module ||
	    place->build_id != frame->build_id)
		*place = (struct place){
			.position = position, .module = frame->module, .build_id = frame->build_id};
	return place;
}

static uint32_t function_frame(struct own_symbolizer *self, struct tables *tables,
			       const struct frame *frame) {
	bool exact = tables->addresses != ADDRESSES_NONE; // the same place may be at other addresses
	struct elf_symbol *symbol = NULL;
	if (frame->module)
		symbol = frame->kind == FRAME_KERNEL ? kernel_symbol(self, tables, frame)
						     : user_symbol(self, tables, frame);
	uint32_t id = symbol && symbol->frame && !exact ? symbol->frame - 1
							: symbol_frame(self, tables, frame, symbol);
	if (symbol)
		symbol->frame = id + 1;
	return id;
}

static size_t inlined_names(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
			    const char **names) {
	uint64_t address;
	struct inlined_table *table = debug_information(self, tables, frame, &address);
	return table ? inlined_at(table, address, names, DEEPEST_INLINED) : 0;
}

// A chain is made once for each place, also if the place has been forgotten in between.
static uint32_t chain_at(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
			 const char *const *names, size_t count) {
	uint64_t *index = map_put(&self->chain_of_place, hash_u64(frame->position) ^
								 (uint64_t)frame->module << 32 ^
								 frame->build_id);
	if (*index)
		return (uint32_t)*index - 1;
	struct chain chain = {.first = self->ids.count, .count = count + 1};
	struct declaration found[DEEPEST_INLINED + 1] = {0};
	sources_of(self, tables, frame, found);
	for (size_t i = 0; i < count; i++) {
		char *readable = demangle(names[i]);
		struct frame inlined = {
			.symbol = strings_add(tables->strings, readable ? readable : names[i]),
			.module = frame->module,
			.build_id = frame->build_id,
			.kind = FRAME_INLINED,
			.exact = NAME_OF_SYMBOL};
		free(readable);
		set_source(tables, &inlined, &found[i]);
		array_push(&self->ids, stacks_add_frame(tables->stacks, &inlined));
	}
	array_push(&self->ids, function_frame(self, tables, frame));
	array_push(&self->chains, chain);
	*index = self->chains.count;
	return (uint32_t)self->chains.count - 1;
}

static size_t frames_at(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
			struct place *place, uint32_t *ids, size_t room) {
	if (!place->frame || tables->addresses != ADDRESSES_NONE) {
		const char *names[DEEPEST_INLINED];
		size_t count = inlined_names(self, tables, frame, names);
		place->is_chain = count > 0;
		place->frame = 1 + (count ? chain_at(self, tables, frame, names, count)
					  : function_frame(self, tables, frame));
	}
	if (!place->is_chain) {
		ids[0] = place->frame - 1;
		return 1;
	}
	const struct chain *chain = &self->chains.items[place->frame - 1];
	size_t count = MIN(chain->count, room);
	memcpy(ids, self->ids.items + chain->first + chain->count - count, count * sizeof(*ids));
	return count;
}

static size_t resolve(struct symbolizer *symbolizer, struct tables *tables, const struct frame *frame,
		      uint32_t *ids, size_t room) {
	return frames_at(own(symbolizer), tables, frame, place_of(own(symbolizer), frame), ids, room);
}

// ---- the whole ----

static void destroy(struct symbolizer *symbolizer) {
	struct own_symbolizer *self = own(symbolizer);
	for (size_t i = 0; i < self->items.count; i++) {
		if (self->items.items[i].object) {
			unwind_table_free(self->items.items[i].object->unwind);
			inlined_table_free(self->items.items[i].object->inlined);
		}
		elf_close(self->items.items[i].object);
	}
	array_free(&self->items);
	map_free(&self->modules);
	kernel_symbols_close(self->kernel);
	free(self->places);
	array_free(&self->chains);
	array_free(&self->ids);
	map_free(&self->chain_of_place);
	free(self);
}

// ---- stacks ----

static bool find_row(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
		     struct unwind_row *row) {
	struct elf_object *object = frame->module
					    ? module_object(self, tables, frame->module, frame->build_id)
					    : NULL;
	uint64_t address;
	if (!object || !elf_address_of(object, frame->position, &address))
		return false;
	if (unwind_information(object) && unwind_row_at(object->unwind, address, row))
		return true;
	// Where a program begins nobody has called it, even if .eh_frame does not say so (as that of the
	// dynamic linker).
	*row = (struct unwind_row){.registers = UNWIND_OUTERMOST};
	return object->entry && address >= object->entry && address - object->entry < ELF_ENTRY_SIZE;
}

struct unwind_context {
	struct own_symbolizer *self;
	struct tables *tables;
	const struct user_state *state;
	uint32_t *ids;
	size_t count, room;
};

static const struct unwind_row *take_frame(void *context, uint64_t pc, bool *stop) {
	struct unwind_context *unwind = context;
	struct frame frame;
	bool mapped = unwind->state->find(unwind->state->context, pc, &frame);
	struct place *place = place_of(unwind->self, &frame);
	unwind->count += frames_at(unwind->self, unwind->tables, &frame, place, unwind->ids + unwind->count,
				   unwind->room - unwind->count);
	*stop = unwind->count == unwind->room;
	if (!place->row_known) {
		place->has_row = mapped && find_row(unwind->self, unwind->tables, &frame, &place->row);
		place->row_known = true;
	}
	return place->has_row ? &place->row : NULL;
}

static size_t unwind(struct symbolizer *symbolizer, struct tables *tables, const struct user_state *state,
		     uint32_t *ids, size_t room, bool *complete) {
	struct unwind_context context = {own(symbolizer), tables, state, ids, 0, room};
	*complete = unwind_stack(state, take_frame, &context);
	return context.count;
}

struct symbolizer *symbolizer_new(bool inlined) {
	struct own_symbolizer *self = memory_alloc(sizeof(*self));
	self->inlined = inlined;
	self->symbolizer = (struct symbolizer){
		.resolve = resolve, .unwind = unwind, .demangle = demangle, .destroy = destroy};
	self->places = memory_alloc(REMEMBERED * sizeof(*self->places));
	return &self->symbolizer;
}

void symbolizer_wait_by(struct symbolizer *symbolizer, void (*wait)(void *context), void *context) {
	own(symbolizer)->wait = wait;
	own(symbolizer)->wait_context = context;
}

void symbolizer_free(struct symbolizer *symbolizer) {
	if (symbolizer)
		symbolizer->destroy(symbolizer);
}
