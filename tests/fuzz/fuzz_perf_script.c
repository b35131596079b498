// Reads output of perf script into a profile, and folds it.
#include "fuzz.h"

#include "base/log.h"
#include "read/reader.h"
#include "write/folded.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct tables tables = tables_new();
	struct output output;
	output_open(&output, "/dev/null", OUTPUT_REPLACE);
	stream_of_memory(&input, bytes, size);
	struct sink *sink = folded_open(&output, &tables,
					&(struct sample_options){.every_event = true, .addresses = true});
	if (!perf_script_reader.read(&input, "fuzz", &tables, sink))
		sink_finish(sink);
	sink_destroy(sink);
	tables_free(&tables);
	stream_close(&input);
	output_abandon(&output);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"java 24636/25607 [000] 4794564.109216:     250000 cycles:u: \n"
		"\tffffffff8103ce3b native_safe_halt+0xb ([kernel.kallsyms])\n"
		"\t    7f722d142778 Ljava/io/PrintStream;::print->La;::b (/tmp/perf-24636.map)\n\n",
		("          dd  1234 [001]    12.300000:          7 cycles:      ffffffff81000000 f+0x1 "
		 "([kernel.kallsyms])\n"),
		("          dd  1234 [001]    12.300000:          7 cpu/mem-loads/P:     7ffd1c0a9f80 "
		 "[unknown] ([stack])"
		 "  5080021 |OP LOAD|LVL L1 hit|  7     55c033d7516f "
		 "_$LT$u8$u20$as$u20$a..B$GT$::c::h7bfab8630dda96cf+0x1"
		 " (/x) 12345 4K\n"),
		"a \n\t401000 std::function<int (int)>::operator()(int) const (/x (deleted))\n  f.c:12\n\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct buffer seed = {0};
		char name[] = "text-0";
		name[5] = (char)('0' + i);
		buffer_append(&seed, texts[i], strlen(texts[i]));
		fuzz_seed(name, &seed);
	}
}
