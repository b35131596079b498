// The part of the running kernel's types that the programs need.
#pragma once

#include <bpf/btf.h>
#include <stddef.h>
#include <stdint.h>

// A name to look up among the kernel's typedefs; each tracepoint has one.
struct kernel_typedef {
	const char *name;
	uint32_t id; // in the kernel's BTF; 0 if absent
};

// Builds BTF with the kernel structures that `programs` accesses, reduced to the fields it uses,
// and finds the typedefs. 0 and BTF that the caller frees, or -errno.
int kernel_types_read(const struct btf *programs, struct kernel_typedef *typedefs, size_t typedef_count,
		      struct btf **found);

// The same, for BTF in memory.
int kernel_types_pick(const uint8_t *bytes, size_t size, const struct btf *programs,
		      struct kernel_typedef *typedefs, size_t typedef_count, struct btf **found);
