#include "capture/bpf/program_names.h"
#include "base/memory.h"
#include "symbol/kernel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>

enum { MOST_FUNCTIONS = 32 };

struct functions {
	uint64_t addresses[MOST_FUNCTIONS];
	uint8_t tags[MOST_FUNCTIONS][BPF_TAG_SIZE];
	struct bpf_func_info names[MOST_FUNCTIONS];
};

// As the kernel calls it: "bpf_prog_<tag>_<function>".
static void tell(const struct functions *functions, uint32_t i, const struct btf *types) {
	const struct btf_type *function = btf__type_by_id(types, functions->names[i].type_id);
	const char *name = function ? btf__name_by_offset(types, function->name_off) : NULL;
	char text[256] = "bpf_prog_";
	size_t size = strlen(text);
	for (int byte = 0; byte < BPF_TAG_SIZE; byte++)
		size += (size_t)snprintf(text + size, 3, "%02x", functions->tags[i][byte]);
	snprintf(text + size, sizeof(text) - size, "_%s", name ? name : "");
	kernel_symbols_add(functions->addresses[i], text);
}

void program_names_tell(struct bpf_object *object) {
	struct bpf_program *program;
	struct functions functions;
	bpf_object__for_each_program(program, object) {
		struct bpf_prog_info info = {.jited_ksyms = (uintptr_t)functions.addresses,
					     .nr_jited_ksyms = MOST_FUNCTIONS,
					     .prog_tags = (uintptr_t)functions.tags,
					     .nr_prog_tags = MOST_FUNCTIONS,
					     .func_info = (uintptr_t)functions.names,
					     .nr_func_info = MOST_FUNCTIONS,
					     .func_info_rec_size = sizeof(struct bpf_func_info)};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);
		// Where addresses are hidden from us there are none.
		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) || !info.jited_ksyms ||
		    info.nr_prog_tags != info.nr_jited_ksyms || info.nr_func_info != info.nr_jited_ksyms)
			continue;
		for (uint32_t i = 0; i < MIN(info.nr_jited_ksyms, MOST_FUNCTIONS); i++)
			tell(&functions, i, bpf_object__btf(object));
	}
}
