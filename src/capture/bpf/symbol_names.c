#include "capture/bpf/symbol_names.h"
#include "capture/bpf/symbol_text.h"
#include "symbol/kernel.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void symbol_names_choose(struct tracelet *programs, bool wanted) {
	bpf_program__set_autoload(programs->progs.name_symbol, wanted);
	bpf_program__set_autoattach(programs->progs.name_symbol, false);
	bpf_map__set_autocreate(programs->maps.symbol_text, wanted);
}

// "schedule+0x12/0x340 [module]"; the kernel prints an address without a name as it is.
bool symbol_text_parse(char *text, uint64_t address, uint64_t *start) {
	char *offset = strrchr(text, '+'), *end;
	if (!offset || offset == text)
		return false;
	uint64_t distance = strtoull(offset + 1, &end, 16);
	if (end == offset + 1 || *end != '/' || distance > address)
		return false;
	*offset = 0;
	*start = address - distance;
	return true;
}

static bool name_symbol(void *context, uint64_t address, char *name, uint64_t *start) {
	struct tracelet *programs = context;
	uint64_t arguments[] = {address};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
	uint32_t zero = 0;
	struct symbol_text text;
	if (bpf_prog_test_run_opts(bpf_program__fd(programs->progs.name_symbol), &run) ||
	    (int)run.retval <= 0 ||
	    bpf_map_lookup_elem(bpf_map__fd(programs->maps.symbol_text), &zero, &text))
		return false;
	text.text[sizeof(text.text) - 1] = 0;
	if (!symbol_text_parse(text.text, address, start))
		return false;
	snprintf(name, KERNEL_NAME_SIZE, "%s", text.text);
	return true;
}

void symbol_names_offer(struct tracelet *programs) {
	if (bpf_program__fd(programs->progs.name_symbol) >= 0)
		kernel_symbols_resolve_by(name_symbol, programs, 0);
}

void symbol_names_withdraw(void) {
	kernel_symbols_resolve_by(NULL, NULL, 0);
}
