/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The name for a kernel address. Run by the loader, never attached.
#include "capture/bpf/kernel.h"
#include "capture/bpf/symbol_text.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct symbol_text);
} symbol_text SEC(".maps");

static const char symbol_format[] = "%pS";

// Returns the length of the text with its terminator, or a negative number.
SEC("raw_tp/name_symbol")
int name_symbol(struct bpf_raw_tracepoint_args *context) {
	uint64_t arguments[] = {context->args[0]};
	uint32_t zero = 0;
	struct symbol_text *text = bpf_map_lookup_elem(&symbol_text, &zero);
	return text ? bpf_snprintf(text->text, sizeof(text->text), symbol_format, arguments,
				   sizeof(arguments))
		    : -1;
}
