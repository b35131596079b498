// Each module is opened once, when its first address is looked up. Addresses repeat, so results are
// cached in a fixed-size table; in addition, each symbol caches its frame.
#include "symbol/symbolizer.h"

#include "base/log.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "symbol/jit.h"
#include "symbol/kernel.h"
#include "symbol/namer.h"
#include "symbol/section.h"
#include "symbol/unwind.h"

#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { REMEMBERED = 1 << 15 };

struct place {
	uint64_t position; // address in the kernel's code
	uint64_t address;  // of the frame, if frames have addresses
	uint32_t module, build_id;
	uint32_t frame; // frame id + 1, or index of a chain + 1; 0 if not looked up yet
	bool is_chain;
	bool lines; // the frames have the lines of the code
	bool row_known, has_row;
	struct unwind_row row;
};

struct module {
	uint32_t name, build_id;
	struct elf_object *object; // NULL if none
};

// The frames of one place with inlined functions, or with the lines of its code: in `ids`, innermost first.
struct chain {
	size_t first, count;
};

struct own_symbolizer {
	struct symbolizer symbolizer;
	struct namer *namer;
	bool inlined;
	ARRAY(struct chain) chains;
	ARRAY(uint32_t) ids;
	struct map chain_of_place; // to index + 1
	struct map modules;        // name and build id to index + 1
	ARRAY(struct module) items;
	struct place *places; // by hash
	struct module last;   // the last module that was looked up
	struct kernel_symbols *kernel;
	bool kernel_tried;
	bool kernel_chosen; // whatever its build id
	struct elf_object *vmlinux;
	bool vmlinux_tried;
	int vmlinux_file;            // + 1
	bool kernel_same;            // loaded at the same address as during the recording
	void (*wait)(void *context); // waits for the end of the recording; NULL if it has ended
	void *wait_context;
};

static struct own_symbolizer *own(struct symbolizer *symbolizer) {
	return CONTAINER_OF(symbolizer, struct own_symbolizer, symbolizer);
}

// ---- modules ----

static struct elf_object *open_module(struct own_symbolizer *symbolizer, struct tables *tables, uint32_t name,
				      uint32_t build_id) {
	return namer_open(symbolizer->namer, strings_get(tables->strings, name),
			  strings_get(tables->strings, build_id), -1);
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
	struct elf_object *object = open_module(symbolizer, tables, name, build_id);
	if (object || *path != '/' || !symbolizer->wait)
		return object;
	wait_for_end(symbolizer);
	return open_module(symbolizer, tables, name, build_id);
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

// The file of a frame and the address in it; for JIT code the process's own addresses. NULL if there is none.
static struct elf_object *object_of(struct own_symbolizer *self, struct tables *tables,
				    const struct frame *frame, uint64_t *address) {
	struct elf_object *object = frame->kind != FRAME_KERNEL && frame->module
					    ? module_object(self, tables, frame->module, frame->build_id)
					    : NULL;
	*address = frame->address;
	if (!object || object->absolute)
		return object;
	return elf_address_of(object, frame->position, address) ? object : NULL;
}

// ---- the kernel ----

static bool is_this_release(const char *build_id) {
	static const char prefix[] = "release:";
	struct utsname system;
	return strncmp(build_id, prefix, strlen(prefix)) == 0 && uname(&system) == 0 &&
	       strcmp(build_id + strlen(prefix), system.release) == 0;
}

static struct { char *vmlinux, *kallsyms; } chosen;

void symbolizer_sources(const struct symbol_sources *sources) {
	section_look_below(sources->folder);
	debug_files_in(sources->archive);
	free(chosen.vmlinux);
	free(chosen.kallsyms);
	chosen.vmlinux = sources->kernel ? memory_string(sources->kernel) : NULL;
	chosen.kallsyms = sources->kallsyms ? memory_string(sources->kallsyms) : NULL;
}

void symbolizer_usual_kallsyms(const char *path) {
	if (!chosen.vmlinux && !chosen.kallsyms)
		chosen.kallsyms = memory_string(path);
}

// The kernel's symbols: those that the user has named, those of the running kernel if that has the build id,
// or those that perf has kept.
static void open_kernel(struct own_symbolizer *self, const char *build_id) {
	self->kernel_tried = true;
	if (chosen.kallsyms) {
		self->kernel = kernel_symbols_read(open(chosen.kallsyms, O_RDONLY | O_CLOEXEC));
		self->kernel_chosen = self->kernel;
		if (!self->kernel)
			log_warning("%s: no kernel symbols in it", chosen.kallsyms);
		return;
	}
	self->kernel = kernel_symbols_open();
	bool same = self->kernel && strcmp(self->kernel->build_id, build_id) == 0;
	struct kernel_symbols *kept = same ? NULL : kernel_symbols_read(debug_file_kernel(build_id));
	if (!kept)
		return;
	kernel_symbols_close(self->kernel);
	self->kernel = kept;
	self->kernel_chosen = true;
}

// The recorded kernel addresses fit the running kernel if it is the same build. It may be loaded at another
// address now: its own code is found relative to _text (position), modules are not.
static struct elf_symbol *kernel_symbol(struct own_symbolizer *symbolizer, struct tables *tables,
					const struct frame *frame) {
	const char *build_id = strings_get(tables->strings, frame->build_id);
	if (!symbolizer->kernel_tried)
		open_kernel(symbolizer, build_id);
	struct kernel_symbols *kernel = symbolizer->kernel;
	if (!kernel)
		return NULL;
	if (strcmp(strings_get(tables->strings, frame->module), "[kernel.kallsyms]") == 0) {
		symbolizer->kernel_same = frame->address - frame->position == kernel->text_address;
		if (!symbolizer->kernel_chosen && strcmp(build_id, kernel->build_id) != 0 &&
		    !(symbolizer->kernel_same && is_this_release(build_id))) {
			symbolizer->kernel_same = false;
			return NULL;
		}
		return kernel_symbol_at(kernel, kernel->text_address + frame->position);
	}
	return symbolizer->kernel_same ? kernel_symbol_at(kernel, frame->address) : NULL;
}

// The functions in the vmlinux that the user has named. 0 if there are none at this address.
static size_t vmlinux_functions(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
				struct named *found, uint64_t *address) {
	if (!chosen.vmlinux || strcmp(strings_get(tables->strings, frame->module), "[kernel.kallsyms]") != 0)
		return 0;
	if (!self->vmlinux_tried) {
		self->vmlinux_tried = true;
		CLEANUP_FREE char *path = realpath(chosen.vmlinux, NULL);
		int held = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
		self->vmlinux_file = held + 1;
		self->vmlinux = path && held >= 0 ? namer_open(self->namer, path, "", held) : NULL;
		if (!self->vmlinux)
			log_warning("%s: not an ELF file that can be read", chosen.vmlinux);
	}
	for (size_t i = 0; self->vmlinux && i < self->vmlinux->segment_count; i++) {
		const struct elf_segment *segment = &self->vmlinux->segments[i];
		if (!segment->executable)
			continue;
		*address = segment->address + frame->position;
		size_t count = namer_functions(self->namer, self->vmlinux, *address, self->inlined, found);
		return found[count - 1].name ? count : 0;
	}
	return 0;
}

// ---- frames ----

static void set_source(struct tables *tables, struct frame *frame, const struct source *source) {
	if (!source->file)
		return;
	frame->file = strings_add(tables->strings, source->file);
	frame->line = source->line;
}

static void set_line(struct tables *tables, struct frame *frame, const struct source *at) {
	if (!at->file || !at->line)
		return;
	frame->at_file = strings_add(tables->strings, at->file);
	frame->at_line = at->line;
}

static bool wants_sources(const struct own_symbolizer *self, const struct tables *tables,
			  const struct frame *frame) {
	return self->inlined && tables->details && frame->kind == FRAME_USER;
}

static bool wants_lines(const struct own_symbolizer *self, const struct tables *tables,
			const struct frame *frame) {
	return (self->symbolizer.lines || tables->places) && wants_sources(self, tables, frame);
}

// A function without a name is identified by its first address; if that is unknown, each address is a
// function.
static void set_place(struct tables *tables, struct elf_object *object, uint64_t address,
		      struct frame *named) {
	if (!object || object->absolute)
		return;
	named->position = address;
	if (namer_begin(object, address, &named->position) && tables->addresses != ADDRESSES_ALL)
		named->address = 0;
}

static uint32_t new_frame(struct tables *tables, const struct frame *frame, struct elf_object *object,
			  uint64_t address, const struct named *found) {
	struct frame named = {.kind = frame->kind,
			      .module = frame->module,
			      .build_id = frame->build_id,
			      .exact = NAME_OF_SYMBOL};
	set_source(tables, &named, &found->declared);
	set_line(tables, &named, &found->at);
	named.symbol = found->name ? strings_add(tables->strings, found->name) : 0;
	if (tables->addresses == ADDRESSES_ALL ||
	    (tables->addresses == ADDRESSES_OF_UNNAMED && !found->name)) {
		named.address = frame->address;
		named.position = found->name ? frame->position : 0;
	}
	if (!found->name && frame->kind == FRAME_USER &&
	    (tables->details || tables->addresses != ADDRESSES_NONE))
		set_place(tables, object, address, &named);
	return stacks_add_frame(tables->stacks, &named);
}

// A frame is cached with its symbol, unless frames have addresses or lines: then a symbol has many.
static uint32_t function_frame(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
			       struct elf_object *object, uint64_t address, struct named *found) {
	struct elf_symbol *symbol = found->symbol;
	if (symbol && symbol->frame && tables->addresses == ADDRESSES_NONE && !found->at.file)
		return symbol->frame - 1;
	if (symbol && wants_sources(self, tables, frame))
		namer_declarations(object, address, found, 1);
	uint32_t id = new_frame(tables, frame, object, address, found);
	if (symbol && !found->at.file)
		symbol->frame = id + 1;
	return id;
}

static uint32_t kernel_frame(struct own_symbolizer *self, struct tables *tables, const struct frame *frame) {
	struct elf_symbol *symbol = frame->module ? kernel_symbol(self, tables, frame) : NULL;
	char *spelled = symbol ? name_spelled(symbol->name) : NULL;
	struct named found = {.symbol = symbol, .name = spelled || !symbol ? spelled : symbol->name};
	uint32_t id = function_frame(self, tables, frame, NULL, 0, &found);
	free(spelled);
	return id;
}

// The cache entry of a place; a new one replaces an older one.
static struct place *place_of(struct own_symbolizer *self, const struct frame *frame) {
	uint64_t position = frame->kind == FRAME_KERNEL ? frame->address : frame->position;
	bool lines = self->symbolizer.lines;
	uint64_t hash = hash_u64(position ^ (uint64_t)frame->module << 40 ^ (uint64_t)lines << 63);
	struct place *place = &self->places[hash & (REMEMBERED - 1)];
	if (place->position != position || place->module != frame->module ||
	    place->build_id != frame->build_id || place->lines != lines)
		*place = (struct place){.position = position,
					.module = frame->module,
					.build_id = frame->build_id,
					.lines = lines};
	return place;
}

// A chain is built once for each place, even if the place has left the cache in between.
static uint32_t chain_at(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
			 struct elf_object *object, uint64_t address, struct named *found, size_t count) {
	bool lines = wants_lines(self, tables, frame);
	bool addressed = tables->addresses == ADDRESSES_ALL; // the same code of another process has others
	uint64_t *index = map_put(&self->chain_of_place, hash_u64(frame->position ^ (uint64_t)lines << 63) ^
								 (uint64_t)frame->module << 32 ^
								 frame->build_id ^
								 (addressed ? hash_u64(frame->address) : 0));
	if (*index)
		return (uint32_t)*index - 1;
	struct chain chain = {.first = self->ids.count, .count = count};
	if (wants_sources(self, tables, frame))
		namer_declarations(object, address, found, count);
	if (lines)
		namer_lines(object, address, found, count);
	for (size_t i = 0; i + 1 < count; i++) {
		struct frame inlined = {
			.symbol = strings_add(tables->strings, found[i].name ? found[i].name : "?"),
			.module = frame->module,
			.build_id = frame->build_id,
			.address = addressed ? frame->address : 0,
			.kind = FRAME_INLINED,
			.exact = NAME_OF_SYMBOL};
		set_source(tables, &inlined, &found[i].declared);
		set_line(tables, &inlined, &found[i].at);
		array_push(&self->ids, stacks_add_frame(tables->stacks, &inlined));
	}
	array_push(&self->ids, function_frame(self, tables, frame, object, address, &found[count - 1]));
	array_push(&self->chains, chain);
	*index = self->chains.count;
	return (uint32_t)self->chains.count - 1;
}

static void look_at(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
		    struct place *place) {
	struct named found[MOST_NAMED];
	uint64_t address;
	place->is_chain = false;
	if (frame->kind == FRAME_KERNEL) {
		size_t known = vmlinux_functions(self, tables, frame, found, &address);
		place->is_chain = known > 1;
		place->frame = 1 +
			       (known > 1
					? chain_at(self, tables, frame, self->vmlinux, address, found, known)
				: known ? function_frame(self, tables, frame, self->vmlinux, address, found)
					: kernel_frame(self, tables, frame));
		return;
	}
	struct elf_object *object = object_of(self, tables, frame, &address);
	bool inlined = self->inlined && frame->kind == FRAME_USER;
	size_t count = namer_functions(self->namer, object, address, inlined, found);
	place->is_chain = count > 1 || wants_lines(self, tables, frame);
	place->frame = 1 + (place->is_chain ? chain_at(self, tables, frame, object, address, found, count)
					    : function_frame(self, tables, frame, object, address, found));
}

static size_t frames_at(struct own_symbolizer *self, struct tables *tables, const struct frame *frame,
			struct place *place, uint32_t *ids, size_t room) {
	if (!place->frame || (tables->addresses != ADDRESSES_NONE && place->address != frame->address)) {
		look_at(self, tables, frame, place);
		place->address = frame->address;
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

// ---- Windows ----

static struct elf_object *image_object(struct own_symbolizer *self, const struct frame *frame,
				       const struct windows_image *image) {
	uint64_t *index = map_put(&self->modules, (uint64_t)frame->module << 32 | frame->build_id);
	if (!*index) {
		struct module module = {frame->module, frame->build_id, namer_open_image(self->namer, image)};
		array_push(&self->items, module);
		*index = self->items.count;
	}
	return self->items.items[*index - 1].object;
}

static size_t resolve_image(struct symbolizer *symbolizer, struct tables *tables, const struct frame *frame,
			    const struct windows_image *image, uint32_t *ids, size_t room) {
	struct own_symbolizer *self = own(symbolizer);
	struct elf_object *object = image_object(self, frame, image);
	struct named found[MOST_NAMED];
	if (!object)
		return 0;
	size_t count = namer_functions(self->namer, object, frame->position, self->inlined, found);
	if (!found[count - 1].name)
		return 0;
	if (count == 1 && !wants_lines(self, tables, frame)) {
		ids[0] = function_frame(self, tables, frame, object, frame->position, found);
		return 1;
	}
	uint32_t index = chain_at(self, tables, frame, object, frame->position, found, count);
	const struct chain *chain = &self->chains.items[index];
	count = MIN(chain->count, room);
	memcpy(ids, self->ids.items + chain->first + chain->count - count, count * sizeof(*ids));
	return count;
}

// ---- the whole ----

static void destroy(struct symbolizer *symbolizer) {
	struct own_symbolizer *self = own(symbolizer);
	namer_free(self->namer);
	if (self->vmlinux_file)
		close(self->vmlinux_file - 1);
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
	uint64_t address;
	struct elf_object *object = object_of(self, tables, frame, &address);
	if (!object || object->absolute)
		return false;
	if (namer_row(object, address, row))
		return true;
	// The entry point of a program has no caller, even if .eh_frame does not say so (as in the dynamic
	// linker).
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
	self->namer = namer_new();
	self->inlined = inlined;
	self->symbolizer = (struct symbolizer){.resolve = resolve,
					       .resolve_image = resolve_image,
					       .unwind = unwind,
					       .demangle = demangle,
					       .destroy = destroy};
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
