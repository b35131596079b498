// What the programs need to know of the running kernel's types, and no more.
#pragma once

#include <bpf/btf.h>
#include <stddef.h>
#include <stdint.h>

// A name that is looked for among the kernel's typedefs: tracepoints have one.
struct kernel_typedef {
	const char *name;
	uint32_t id; // in the kernel's BTF; 0: there is none
};

// Makes BTF with those structures of the kernel in which `programs` has fields, with these fields only,
// and finds the typedefs. 0 and the caller's BTF, or -errno.
int kernel_types_read(const struct btf *programs, struct kernel_typedef *typedefs, size_t typedef_count,
		      struct btf **found);

// The same of BTF in memory.
int kernel_types_pick(const uint8_t *bytes, size_t size, const struct btf *programs,
		      struct kernel_typedef *typedefs, size_t typedef_count, struct btf **found);
