// Every answer is kept, with the range of addresses that it is about: code repeats itself, and a question
// costs two changes of process. Of a file with many questions about its unwind rows, all rows are taken at
// once. A module whose file makes the reader fail has no names; the others are opened
// again in the next reader.
#include "symbol/namer.h"

#include "base/log.h"
#include "event/strings.h"
#include "symbol/jit.h"
#include "symbol/kept.h"
#include "symbol/reader.h"
#include "symbol/windows/symbol_path.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_EXTENTS = 1 << 24, MOST_ROWS = 1 << 24 };

// What is kept of an answer: functions, or rows.
struct kept_answer {
	struct code_range range;
	size_t first, count;
};

typedef ARRAY(struct kept_answer) kept_answers; // in order of address, not overlapping

struct namer {
	struct reader *reader;
	struct strings *texts;
	ARRAY(struct namer_module *) modules;
	ARRAY(struct named) named;
	ARRAY(struct unwind_row) rows;
	bool warned;
};

struct namer_module {
	struct namer *namer;
	struct elf_object object; // without its file
	char *path, *build_id;
	struct windows_image *image; // of Windows; NULL otherwise
	int held;
	uint32_t number;
	unsigned opened_in; // the reader, by reader_running()
	bool lost;
	kept_answers answers[QUESTION_ROW + 1]; // for each kind of question
	struct map symbols;                     // from the address
	ARRAY(struct code_range) extents;       // of functions, in order of address
	bool extents_known;
	size_t row_questions;
	ARRAY(struct unwind_row) rows; // all of them, in order of `pc`, which counts from `rows_base`
	uint64_t rows_base;
	bool rows_known;
};

// ---- modules ----

static void give_up(struct namer_module *module) {
	struct namer *namer = module->namer;
	module->lost = true;
	void (*say)(const char *, ...) = namer->warned ? log_verbose : log_warning;
	say("no names for %s: %s; its frames keep their addresses", module->path,
	    reader_problem(namer->reader));
	namer->warned = true;
}

static struct question question_for(const struct namer_module *module, enum question_kind kind) {
	struct question question = {.kind = kind, .module = module->number};
	snprintf(question.build_id, sizeof(question.build_id), "%s", module->build_id);
	return question;
}

// Opens the file for the reader; `kind` is how it is to be read.
static int find_file(const struct namer_module *module, enum question_kind *kind) {
	*kind = strcmp(module->path, "[vdso]") == 0 ? QUESTION_VDSO
		: jit_is_file(module->path)         ? QUESTION_JIT
						    : QUESTION_ELF;
	if (*kind == QUESTION_VDSO)
		return -1;
	if (*kind == QUESTION_JIT)
		return jit_find_file(module->path);
	int held = module->held < 0 ? kept_files_find(module->path, module->build_id) : module->held;
	return elf_find_file(module->path, held);
}

static bool is_opened(const struct answer *answer) {
	return answer->kind == ANSWER_OPENED && answer->value;
}

// Asks about one file after the other, until one is of the module's build.
static bool open_part(struct namer_module *module, enum image_part part, const struct answer **answer) {
	struct reader *reader = module->namer->reader;
	const struct windows_image *image = module->image;
	struct question question = question_for(module, QUESTION_IMAGE);
	question.address = image->time ? (uint64_t)image->time << 32 | image->size : 0;
	int file;
	for (unsigned index = 0; (file = symbol_path_candidate(image, part, &index)) >= 0;) {
		int error = reader_ask(reader, &question, file, module->path, answer);
		close(file);
		module->opened_in = reader_running(reader);
		if (error) {
			give_up(module);
			return false;
		}
		if (is_opened(*answer))
			return true;
	}
	return false;
}

// A recording may not say which PDB file belongs to a module, but the module does.
static void learn_id(struct namer_module *module, const struct answer **answer) {
	if (*module->image->id || !open_part(module, IMAGE_CODE, answer))
		return;
	snprintf(module->image->id, sizeof(module->image->id), "%s", (*answer)->opened.build_id);
	free(module->build_id);
	module->build_id = memory_string(module->image->id);
	const struct question closing = question_for(module, QUESTION_CLOSE);
	reader_tell(module->namer->reader, &closing);
}

static bool open_image(struct namer_module *module, const struct answer **answer) {
	learn_id(module, answer);
	if (!module->lost && *module->image->id && open_part(module, IMAGE_SYMBOLS, answer))
		return true;
	return !module->lost && open_part(module, IMAGE_CODE, answer);
}

// False if it cannot be opened; NULL in `answer` if nothing needs to be asked for that.
static bool open_in_reader(struct namer_module *module, const struct answer **answer) {
	struct reader *reader = module->namer->reader;
	enum question_kind kind;
	*answer = NULL;
	if (module->image)
		return open_image(module, answer);
	int file = find_file(module, &kind);
	if (file < 0 && (kind == QUESTION_JIT || !*module->build_id))
		return false;
	struct question question = question_for(module, kind);
	int error = reader_ask(reader, &question, file, module->path, answer);
	if (file >= 0)
		close(file);
	if (error)
		give_up(module);
	module->opened_in = reader_running(reader);
	return !error && is_opened(*answer);
}

static void module_free(struct namer_module *module) {
	for (size_t i = 0; i < ARRAY_SIZE(module->answers); i++)
		array_free(&module->answers[i]);
	for (size_t i = 0; i < module->symbols.capacity; i++)
		if (module->symbols.slots[i].used)
			free((void *)(uintptr_t)module->symbols.slots[i].value);
	map_free(&module->symbols);
	array_free(&module->extents);
	array_free(&module->rows);
	free(module->object.segments);
	free(module->path);
	free(module->build_id);
	if (module->image) {
		free((char *)(uintptr_t)module->image->symbols);
		free(module->image);
	}
	free(module);
}

static void take_object(struct namer_module *module, const struct answer *answer) {
	size_t size = answer->count * sizeof(*answer->segments);
	module->object = answer->opened;
	module->object.known = module;
	module->object.segments = memory_alloc(size + 1);
	memcpy(module->object.segments, answer->segments, size);
}

static struct namer_module *module_new(struct namer *namer, const char *path, const char *build_id,
				       int held) {
	struct namer_module *module = memory_alloc(sizeof(*module));
	*module = (struct namer_module){.namer = namer,
					.path = memory_string(path),
					.build_id = memory_string(build_id),
					.held = held,
					.number = (uint32_t)namer->modules.count};
	return module;
}

static struct elf_object *open_new(struct namer_module *module) {
	struct namer *namer = module->namer;
	const struct answer *answer;
	if (!open_in_reader(module, &answer)) {
		module_free(module);
		return NULL;
	}
	take_object(module, answer);
	array_push(&namer->modules, module);
	return &module->object;
}

struct elf_object *namer_open(struct namer *namer, const char *path, const char *build_id, int held) {
	bool nowhere = *path != '/' && !*build_id && held < 0;
	return nowhere ? NULL : open_new(module_new(namer, path, build_id, held));
}

struct elf_object *namer_open_image(struct namer *namer, const struct windows_image *image) {
	struct namer_module *module = module_new(namer, image->name, image->id, -1);
	module->image = memory_alloc(sizeof(*module->image));
	*module->image = *image;
	module->image->name = module->path;
	module->image->symbols = image->symbols ? memory_string(image->symbols) : NULL;
	return open_new(module);
}

// ---- answers ----

static struct elf_symbol *symbol_at(struct namer_module *module, uint64_t address) {
	uint64_t *known = map_put(&module->symbols, address);
	if (!*known) {
		struct elf_symbol *symbol = memory_alloc(sizeof(*symbol));
		symbol->address = address;
		*known = (uintptr_t)symbol;
	}
	return (struct elf_symbol *)(uintptr_t)*known;
}

static const char *kept_text(struct namer *namer, const char *text) {
	return text ? strings_get(namer->texts, strings_add(namer->texts, text)) : NULL;
}

static struct kept_answer keep_named(struct namer_module *module, const struct answer *answer) {
	struct namer *namer = module->namer;
	struct kept_answer kept = {answer->range, namer->named.count, answer->count};
	for (uint32_t i = 0; i < answer->count; i++) {
		struct named named = answer->named[i];
		named.name = kept_text(namer, named.name);
		named.at.file = kept_text(namer, named.at.file);
		if (answer->symbols[i].known)
			named.symbol = symbol_at(module, answer->symbols[i].address);
		array_push(&namer->named, named);
	}
	return kept;
}

static struct kept_answer keep_rows(struct namer *namer, const struct answer *answer) {
	struct kept_answer kept = {answer->range, namer->rows.count, answer->count};
	for (uint32_t i = 0; i < answer->count; i++)
		array_push(&namer->rows, answer->rows[i]);
	return kept;
}

// The module is open in the reader that runs now.
static bool is_open(struct namer_module *module) {
	const struct answer *answer;
	unsigned running = reader_running(module->namer->reader);
	if (module->lost)
		return false;
	return (running && module->opened_in == running) || open_in_reader(module, &answer);
}

// A module without names has none anywhere.
static struct kept_answer look_up(struct namer_module *module, enum question_kind kind, uint64_t address) {
	const struct kept_answer nothing = {.range = CODE_RANGE_ALL};
	struct question question = question_for(module, kind);
	const struct answer *answer;
	question.address = address;
	if (!is_open(module))
		return nothing;
	if (reader_ask(module->namer->reader, &question, -1, module->path, &answer)) {
		give_up(module);
		return nothing;
	}
	enum answer_kind expected = kind == QUESTION_ROW ? ANSWER_ROWS : ANSWER_NAMED;
	if (answer->kind != expected)
		return nothing;
	return kind == QUESTION_ROW ? keep_rows(module->namer, answer) : keep_named(module, answer);
}

// The first one that begins after the address.
static size_t answers_before(const kept_answers *answers, uint64_t address) {
	size_t low = 0, high = answers->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (answers->items[middle].range.begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// The reader is not trusted: a range has the address in it, and does not reach into others.
static struct code_range proper_range(struct code_range range, const kept_answers *answers, size_t at,
				      uint64_t address) {
	if (at)
		range_from(&range, answers->items[at - 1].range.end);
	if (at < answers->count)
		range_to(&range, answers->items[at].range.begin);
	bool proper = range.begin <= address && address < range.end;
	return proper ? range : (struct code_range){address, address + 1};
}

static struct kept_answer ask(struct namer_module *module, enum question_kind kind, uint64_t address) {
	kept_answers *answers = &module->answers[kind];
	size_t at = answers_before(answers, address);
	if (at && address < answers->items[at - 1].range.end)
		return answers->items[at - 1];
	if (address == UINT64_MAX) // no code is there, and no range ends after it
		return (struct kept_answer){0};
	struct kept_answer kept = look_up(module, kind, address);
	kept.range = proper_range(kept.range, answers, at, address);
	array_push(answers, kept);
	memmove(answers->items + at + 1, answers->items + at,
		(answers->count - 1 - at) * sizeof(*answers->items));
	answers->items[at] = kept;
	return kept;
}

// ---- functions ----

size_t namer_functions(struct namer *namer, struct elf_object *object, uint64_t address, bool inlined,
		       struct named *found) {
	enum question_kind kind = inlined ? QUESTION_INLINED : QUESTION_FUNCTIONS;
	struct kept_answer kept = object ? ask(object->known, kind, address) : (struct kept_answer){0};
	if (kept.count) {
		memcpy(found, namer->named.items + kept.first, kept.count * sizeof(*found));
		found[kept.count - 1].begin = address;
		return kept.count;
	}
	*found = (struct named){.begin = address,
				.kind = object && object->absolute ? FRAME_JIT : FRAME_USER};
	return 1;
}

void namer_declarations(struct elf_object *object, uint64_t address, struct named *found, size_t count) {
	if (!object || object->absolute)
		return;
	struct kept_answer kept = ask(object->known, QUESTION_DECLARATIONS, address);
	const struct named *sources = object->known->namer->named.items + kept.first;
	// Without the inlined functions, the last one is the function itself.
	for (size_t i = 0; i < MIN(kept.count, count); i++)
		found[count - 1 - i].declared = sources[kept.count - 1 - i].at;
}

void namer_lines(struct elf_object *object, uint64_t address, struct named *found, size_t count) {
	if (!object || object->absolute)
		return;
	struct kept_answer kept = ask(object->known, QUESTION_LINES, address);
	const struct named *sources = object->known->namer->named.items + kept.first;
	for (size_t i = 0; i < MIN(kept.count, count); i++)
		found[i].at = sources[i].at;
}

static void take_extents(struct namer_module *module) {
	struct reader *reader = module->namer->reader;
	const struct question question = question_for(module, QUESTION_EXTENTS);
	const struct answer *answer;
	module->extents_known = true;
	if (!is_open(module))
		return;
	int error = reader_ask(reader, &question, -1, module->path, &answer);
	while (!error && answer->kind == ANSWER_EXTENTS && answer->count) {
		if (module->extents.count >= MOST_EXTENTS) {
			reader_stop(reader, "it has too many functions");
			error = -E2BIG;
			break;
		}
		for (uint32_t i = 0; i < answer->count; i++)
			array_push(&module->extents, answer->extents[i]);
		error = reader_next(reader, &answer);
	}
	if (error)
		give_up(module);
}

// If the reader has not sorted them, some are not found.
bool namer_begin(struct elf_object *object, uint64_t address, uint64_t *begin) {
	struct namer_module *module = object->known;
	if (object->absolute)
		return false;
	if (!module->extents_known)
		take_extents(module);
	size_t low = 0, high = module->extents.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (module->extents.items[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= module->extents.items[low - 1].end)
		return false;
	*begin = module->extents.items[low - 1].begin;
	return true;
}

size_t namer_describe(struct namer *namer, struct elf_object *object, uint64_t address, struct named *found) {
	size_t count = namer_functions(namer, object, address, true, found);
	namer_lines(object, address, found, count);
	if (object && !found[count - 1].name)
		namer_begin(object, address, &found[count - 1].begin);
	return count;
}

// ---- rows ----

// A question takes as long as some 400 rows, and there is about one row in 40 bytes of code. So all rows are
// taken when the questions have cost as much as that.
static bool rows_are_worth_it(const struct namer_module *module) {
	enum { LEAST_QUESTIONS = 16, BYTES_OF_A_QUESTION = 16384 };
	uint64_t bytes = 0;
	for (size_t i = 0; i < module->object.segment_count; i++)
		bytes += module->object.segments[i].executable ? module->object.segments[i].size : 0;
	return module->row_questions > LEAST_QUESTIONS + bytes / BYTES_OF_A_QUESTION;
}

static void take_rows(struct namer_module *module) {
	struct reader *reader = module->namer->reader;
	const struct question question = question_for(module, QUESTION_ROWS);
	const struct answer *answer;
	module->rows_known = true;
	if (!is_open(module))
		return;
	int error = reader_ask(reader, &question, -1, module->path, &answer);
	while (!error && answer->kind == ANSWER_ROWS && answer->count) {
		if (module->rows.count >= MOST_ROWS) {
			reader_stop(reader, "it has too many unwind rows");
			error = -E2BIG;
			break;
		}
		module->rows_base = answer->address;
		array_reserve(&module->rows, module->rows.count + answer->count);
		memcpy(module->rows.items + module->rows.count, answer->rows,
		       answer->count * sizeof(*answer->rows));
		module->rows.count += answer->count;
		error = reader_next(reader, &answer);
	}
	if (error)
		give_up(module);
}

// NULL if the answer to a question tells more: there is no code, its rule was not understood, or it may be
// the last byte before a function, where a stack ends. If the reader has not sorted them, some are not found.
static const struct unwind_row *taken_row(const struct namer_module *module, uint64_t address) {
	uint64_t pc = address - module->rows_base;
	size_t low = 0, high = address < module->rows_base ? 0 : module->rows.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (module->rows.items[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || module->rows.items[low - 1].cfa == CFA_NONE ||
	    (low < module->rows.count && module->rows.items[low].pc == pc + 1))
		return NULL;
	return &module->rows.items[low - 1];
}

bool namer_row(struct elf_object *object, uint64_t address, struct unwind_row *row) {
	struct namer_module *module = object->known;
	if (object->absolute)
		return false;
	if (!module->rows_known && rows_are_worth_it(module))
		take_rows(module);
	const struct unwind_row *taken = taken_row(module, address);
	if (taken) {
		*row = *taken;
		return true;
	}
	size_t before = module->answers[QUESTION_ROW].count;
	struct kept_answer kept = ask(module, QUESTION_ROW, address);
	module->row_questions += module->answers[QUESTION_ROW].count - before;
	if (kept.count)
		*row = module->namer->rows.items[kept.first];
	return kept.count;
}

// ---- the whole ----

struct namer *namer_new(void) {
	struct namer *namer = memory_alloc(sizeof(*namer));
	namer->reader = reader_new();
	namer->texts = strings_new();
	return namer;
}

struct reader *namer_reader(const struct namer *namer) {
	return namer->reader;
}

void namer_free(struct namer *namer) {
	if (!namer)
		return;
	reader_free(namer->reader);
	for (size_t i = 0; i < namer->modules.count; i++)
		module_free(namer->modules.items[i]);
	array_free(&namer->modules);
	array_free(&namer->named);
	array_free(&namer->rows);
	strings_free(namer->texts);
	free(namer);
}
