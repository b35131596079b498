// Inlined functions have no symbols, only types. Their records say how the function is called, and in which
// class or namespace it is. The list of all types may be large; it is read when the first name is needed.
#include "symbol/windows/pdb_parts.h"

enum { TYPES_STREAM = 2, IDS_STREAM = 4 };

enum {
	TYPE_CLASS = 0x1504,
	TYPE_STRUCTURE = 0x1505,
	TYPE_UNION = 0x1506,
	TYPE_INTERFACE = 0x1519,
	ID_FUNCTION = 0x1601,
	ID_METHOD = 0x1602,
	ID_TEXT = 0x1605,
};

static void read_types(struct pdb *pdb, struct pdb_types *types, uint32_t stream) {
	if (types->read)
		return;
	types->read = true;
	types->content = msf_read(&pdb->msf, stream, &types->size);
	struct cursor in = cursor_of(types->content, types->size);
	cursor_u32(&in); // version
	uint32_t header = cursor_u32(&in);
	types->first = cursor_u32(&in);
	if (in.failed || header < 12)
		return;
	cursor_take(&in, header - 12);
	while (cursor_left(&in) >= 4) {
		uint32_t at = (uint32_t)(types->size - cursor_left(&in));
		uint16_t length = cursor_u16(&in);
		if (!cursor_take(&in, length))
			break;
		array_push(&types->offsets, at);
	}
}

static struct cursor record_of(const struct pdb_types *types, uint32_t number) {
	struct cursor none = {.failed = true};
	if (number < types->first || number - types->first >= types->offsets.count)
		return none;
	uint32_t at = types->offsets.items[number - types->first];
	struct cursor in = cursor_of(types->content + at, types->size - at);
	uint16_t length = cursor_u16(&in);
	return cursor_slice(&in, length);
}

// A number of a variable size: below 0x8000 it is itself, otherwise that is its kind.
static void skip_number(struct cursor *in) {
	static const uint8_t sizes[] = {1, 2, 2, 4, 4, 4, 8, 10, 16, 8, 8};
	uint16_t kind = cursor_u16(in);
	if (kind >= 0x8000)
		cursor_take(in, kind - 0x8000u < sizeof(sizes) ? sizes[kind - 0x8000] : 0);
}

static const char *class_name(const struct pdb *pdb, uint32_t number) {
	struct cursor in = record_of(&pdb->types, number);
	uint16_t kind = cursor_u16(&in);
	bool is_union = kind == TYPE_UNION;
	if (!is_union && kind != TYPE_CLASS && kind != TYPE_STRUCTURE && kind != TYPE_INTERFACE)
		return NULL;
	cursor_take(&in, is_union ? 8 : 16);
	skip_number(&in);
	return cursor_string(&in);
}

static const char *scope_name(const struct pdb *pdb, uint32_t number) {
	struct cursor in = record_of(&pdb->ids, number);
	if (cursor_u16(&in) != ID_TEXT)
		return NULL;
	cursor_u32(&in); // more texts before it
	return cursor_string(&in);
}

static char *make_name(struct pdb *pdb, uint32_t number) {
	read_types(pdb, &pdb->ids, IDS_STREAM);
	struct cursor in = record_of(&pdb->ids, number);
	uint16_t kind = cursor_u16(&in);
	if (kind != ID_FUNCTION && kind != ID_METHOD)
		return NULL;
	uint32_t parent = cursor_u32(&in);
	cursor_u32(&in); // its type
	const char *name = cursor_string(&in), *scope = NULL;
	if (!name || !*name)
		return NULL;
	if (kind == ID_METHOD) {
		read_types(pdb, &pdb->types, TYPES_STREAM);
		scope = class_name(pdb, parent);
	} else if (parent) {
		scope = scope_name(pdb, parent);
	}
	return scope && *scope ? memory_format("%s::%s", scope, name) : memory_string(name);
}

const char *pdb_inlinee_name(struct pdb *pdb, uint32_t type) {
	uint64_t *known = map_get(&pdb->inlinee_names, type);
	if (!known) {
		char *name = make_name(pdb, type);
		known = map_put(&pdb->inlinee_names, type);
		*known = (uintptr_t)name;
	}
	return (const char *)(uintptr_t)*known;
}

void pdb_types_free(struct pdb_types *types) {
	free(types->content);
	array_free(&types->offsets);
}
