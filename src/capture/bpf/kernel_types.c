// libbpf reads the kernel's BTF (5 MB, 130,000 types) into memory twice, lists all types, and scans
// them for every structure and tracepoint that a program names: 20 ms, more than half of our
// start-up time. Here they are scanned once, in place where the kernel allows mapping it (since
// 6.16), and only those named are copied: structures without their unused members, pointers without
// their targets. With that, libbpf relocates the programs in a millisecond.
#include "capture/bpf/kernel_types.h"

#include "base/array.h"
#include "base/file.h"
#include "base/map.h"

#include <errno.h>
#include <string.h>

enum { DEEPEST = 16, MOST_WANTED_SIZE = 128 };

struct wanted {
	const char *name;
	size_t length;
	struct map members;              // of a structure: hashes of member names
	struct kernel_typedef *type_def; // or a typedef, if not NULL
};

struct picking {
	const struct btf *programs;
	const uint8_t *types, *types_end;
	const char *strings;
	size_t strings_size;
	ARRAY(uint32_t) offsets; // of the kernel's types, by id
	ARRAY(struct wanted) wanted;
	struct map by_name;            // hash → wanted + 1
	uint64_t short_names[1 << 10]; // bits: could a name starting like this be wanted?
	ARRAY(uint32_t) structures;    // ids of those found
	struct map copies;             // id in the kernel → id in `out`
	struct btf *out;
};

// ---- what to look for ----

// Three underscores start a suffix that distinguishes versions of a type; it is not part of the
// name.
static size_t essential_length(const char *name) {
	const char *flavour = strstr(name, "___");
	return flavour && flavour > name ? (size_t)(flavour - name) : strlen(name);
}

// A cheap check of a name before hashing it.
static uint32_t beginning_of(const char *name, size_t length) {
	uint32_t first = 0;
	memcpy(&first, name, length < sizeof(first) ? length : sizeof(first));
	return (uint32_t)(hash_u64(first ^ (uint64_t)length << 32) & 0xffff);
}

static struct wanted *want(struct picking *picking, const char *name, size_t length) {
	uint64_t *known = map_put(&picking->by_name, hash_bytes(name, length));
	if (!*known) {
		array_push(&picking->wanted, (struct wanted){.name = name, .length = length});
		*known = picking->wanted.count;
		uint32_t beginning = beginning_of(name, length);
		picking->short_names[beginning / 64] |= (uint64_t)1 << beginning % 64;
	}
	return &picking->wanted.items[*known - 1];
}

static void want_members(struct picking *picking, struct wanted *wanted, const struct btf_type *type) {
	const struct btf_member *members = btf_members(type);
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(picking->programs, members[i].name_off);
		if (name && *name)
			*map_put(&wanted->members, hash_bytes(name, strlen(name))) = 1;
	}
}

// Every structure of the programs; their own will not be found in the kernel.
static void want_structures(struct picking *picking) {
	for (uint32_t id = 1; id < btf__type_cnt(picking->programs); id++) {
		const struct btf_type *type = btf__type_by_id(picking->programs, id);
		const char *name = btf__name_by_offset(picking->programs, type->name_off);
		if (btf_is_composite(type) && name && *name)
			want_members(picking, want(picking, name, essential_length(name)), type);
	}
}

// ---- scanning the kernel's types ----

// Bytes after the head of a type; -1 if its kind is unknown.
static long extra_size(const struct btf_type *type) {
	switch (btf_kind(type)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (long)(btf_vlen(type) * sizeof(struct btf_member));
	case BTF_KIND_ENUM:
		return (long)(btf_vlen(type) * sizeof(struct btf_enum));
	case BTF_KIND_ENUM64:
		return (long)(btf_vlen(type) * sizeof(struct btf_enum64));
	case BTF_KIND_FUNC_PROTO:
		return (long)(btf_vlen(type) * sizeof(struct btf_param));
	case BTF_KIND_DATASEC:
		return (long)(btf_vlen(type) * sizeof(struct btf_var_secinfo));
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -1;
	}
}

// The kernel's last string ends with a zero; that was checked.
static const char *name_of(const struct picking *picking, uint32_t offset) {
	return offset < picking->strings_size ? picking->strings + offset : "";
}

static const struct wanted *is_wanted(struct picking *picking, const struct btf_type *type) {
	const char *name = name_of(picking, type->name_off);
	size_t length = strnlen(name, MOST_WANTED_SIZE);
	uint32_t beginning = beginning_of(name, length);
	if (!length || !(picking->short_names[beginning / 64] >> beginning % 64 & 1))
		return NULL;
	uint64_t *known = map_get(&picking->by_name, hash_bytes(name, length));
	const struct wanted *wanted = known ? &picking->wanted.items[*known - 1] : NULL;
	return wanted && wanted->length == length && memcmp(wanted->name, name, length) == 0 ? wanted : NULL;
}

static void look_at(struct picking *picking, const struct btf_type *type, uint32_t id) {
	if (!btf_is_composite(type) && !btf_is_typedef(type))
		return;
	const struct wanted *wanted = is_wanted(picking, type);
	if (wanted && btf_is_composite(type) && wanted->members.count)
		array_push(&picking->structures, id);
	if (wanted && btf_is_typedef(type) && wanted->type_def && !wanted->type_def->id)
		wanted->type_def->id = id;
}

static int go_through(struct picking *picking) {
	const uint8_t *at = picking->types;
	array_reserve(&picking->offsets, (size_t)(picking->types_end - at) / 24);
	array_push(&picking->offsets, 0); // void
	while (at < picking->types_end) {
		const struct btf_type *type = (const struct btf_type *)at;
		size_t left = (size_t)(picking->types_end - at);
		long extra = left < sizeof(*type) ? -1 : extra_size(type);
		if (extra < 0 || left - sizeof(*type) < (size_t)extra)
			return -EINVAL;
		look_at(picking, type, (uint32_t)picking->offsets.count);
		array_push(&picking->offsets, (uint32_t)(at - picking->types));
		at += sizeof(*type) + (size_t)extra;
	}
	return 0;
}

// ---- copying ----

// The type without typedefs and qualifiers; NULL if void or malformed.
static const struct btf_type *bare_type(const struct picking *picking, uint32_t *id) {
	for (int i = 0; i < DEEPEST && *id && *id < picking->offsets.count; i++) {
		const struct btf_type *type = (const struct btf_type *)(picking->types +
									picking->offsets.items[*id]);
		if (!btf_is_mod(type) && !btf_is_typedef(type))
			return type;
		*id = type->type;
	}
	return NULL;
}

static int copy_type(struct picking *picking, uint32_t id, unsigned depth);

// Is this member needed? In a structure that the programs do not name, whether by itself or as part
// of another, all are.
static bool wants_member(const struct wanted *wanted, const char *name, const struct btf_type *type) {
	if (!*name)
		return btf_is_composite(type);
	return !wanted || map_get(&wanted->members, hash_bytes(name, strlen(name)));
}

typedef ARRAY(struct btf_member) member_array;

static int add_structure(struct picking *picking, const struct btf_type *type, const member_array *members) {
	const char *name = name_of(picking, type->name_off);
	int copy = btf_is_union(type) ? btf__add_union(picking->out, name, type->size)
				      : btf__add_struct(picking->out, name, type->size);
	for (size_t i = 0; i < members->count && copy > 0; i++) {
		const struct btf_member *member = &members->items[i];
		uint32_t place = member->offset, bits = 0;
		if (btf_kflag(type)) {
			bits = BTF_MEMBER_BITFIELD_SIZE(place);
			place = BTF_MEMBER_BIT_OFFSET(place);
		}
		int error = btf__add_field(picking->out, name_of(picking, member->name_off),
					   (int)member->type, place, bits);
		if (error)
			copy = error;
	}
	return copy;
}

// An anonymous structure is part of the one around it, so `wanted` applies to it, too.
static int copy_structure(struct picking *picking, const struct btf_type *type, const struct wanted *wanted,
			  unsigned depth) {
	member_array members = {0};
	bool empty = (!wanted && *name_of(picking, type->name_off)) || depth >= DEEPEST;
	for (uint32_t i = 0; i < btf_vlen(type) && !empty; i++) {
		struct btf_member member = btf_members(type)[i];
		const char *name = name_of(picking, member.name_off);
		uint32_t bare = member.type;
		const struct btf_type *inner = bare_type(picking, &bare);
		if (!inner || !wants_member(wanted, name, inner))
			continue;
		int copy = *name ? copy_type(picking, bare, depth + 1)
				 : copy_structure(picking, inner, wanted, depth + 1);
		member.type = (uint32_t)MAX(copy, 0);
		if (copy > 0)
			array_push(&members, member);
	}
	int copy = add_structure(picking, type, &members);
	array_free(&members);
	return copy;
}

static int copy_array(struct picking *picking, const struct btf_type *type, unsigned depth) {
	const struct btf_array *array = btf_array(type);
	int index = copy_type(picking, array->index_type, depth);
	int element = copy_type(picking, array->type, depth);
	return index < 0 || element < 0 ? -EINVAL
					: btf__add_array(picking->out, index, element, array->nelems);
}

static int copy_new(struct picking *picking, const struct btf_type *type, unsigned depth) {
	const char *name = name_of(picking, type->name_off);
	switch (btf_kind(type)) {
	case BTF_KIND_INT:
		return btf__add_int(picking->out, name, type->size, btf_int_encoding(type));
	case BTF_KIND_FLOAT:
		return btf__add_float(picking->out, name, type->size);
	case BTF_KIND_PTR:
		return btf__add_ptr(picking->out, 0);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64: // programs do not use the values
		return btf__add_enum(picking->out, *name ? name : NULL, type->size);
	case BTF_KIND_ARRAY:
		return copy_array(picking, type, depth + 1);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_structure(picking, type, is_wanted(picking, type), depth);
	default:
		return -EINVAL;
	}
}

// The id of the copy, or -errno.
static int copy_type(struct picking *picking, uint32_t id, unsigned depth) {
	const struct btf_type *type = bare_type(picking, &id);
	if (!type || depth >= DEEPEST)
		return -EINVAL;
	uint64_t *known = map_get(&picking->copies, id);
	if (known)
		return (int)*known;
	int copy = copy_new(picking, type, depth);
	if (copy > 0)
		*map_put(&picking->copies, id) = (uint64_t)copy;
	return copy;
}

// ---- entry points ----

static int find_sections(struct picking *picking, const uint8_t *bytes, size_t size) {
	struct btf_header header;
	if (size < sizeof(header))
		return -EINVAL;
	memcpy(&header, bytes, sizeof(header));
	uint64_t types = (uint64_t)header.hdr_len + header.type_off;
	uint64_t strings = (uint64_t)header.hdr_len + header.str_off;
	if (header.magic != BTF_MAGIC || header.hdr_len % 4 || header.type_off % 4 ||
	    types + header.type_len > size || strings + header.str_len > size || !header.str_len ||
	    bytes[strings + header.str_len - 1])
		return -EINVAL;
	picking->types = bytes + types;
	picking->types_end = picking->types + header.type_len;
	picking->strings = (const char *)bytes + strings;
	picking->strings_size = header.str_len;
	return 0;
}

static void picking_free(struct picking *picking) {
	for (size_t i = 0; i < picking->wanted.count; i++)
		map_free(&picking->wanted.items[i].members);
	array_free(&picking->wanted);
	array_free(&picking->offsets);
	array_free(&picking->structures);
	map_free(&picking->by_name);
	map_free(&picking->copies);
	btf__free(picking->out);
	free(picking);
}

int kernel_types_pick(const uint8_t *bytes, size_t size, const struct btf *programs,
		      struct kernel_typedef *typedefs, size_t typedef_count, struct btf **found) {
	struct picking *picking = memory_alloc(sizeof(*picking));
	picking->programs = programs;
	want_structures(picking);
	for (size_t i = 0; i < typedef_count; i++)
		want(picking, typedefs[i].name, strlen(typedefs[i].name))->type_def = &typedefs[i];
	int error = find_sections(picking, bytes, size);
	if (!error)
		error = go_through(picking);
	picking->out = error ? NULL : btf__new_empty();
	if (!error && !picking->out)
		error = -ENOMEM;
	for (size_t i = 0; i < picking->structures.count && !error; i++)
		error = MIN(copy_type(picking, picking->structures.items[i], 0), 0);
	if (!error) {
		*found = picking->out;
		picking->out = NULL;
	}
	picking_free(picking);
	return error;
}

int kernel_types_read(const struct btf *programs, struct kernel_typedef *typedefs, size_t typedef_count,
		      struct btf **found) {
	struct input kernel;
	int error = input_open(&kernel, "/sys/kernel/btf/vmlinux");
	if (error)
		return error;
	error = kernel_types_pick(kernel.data, kernel.size, programs, typedefs, typedef_count, found);
	input_close(&kernel);
	return error;
}
