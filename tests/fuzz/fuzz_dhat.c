// Converts a heap profile to folded stacks, a Perfetto trace and pprof, and describes it.
#include "fuzz.h"

#include "base/log.h"
#include "read/reader.h"
#include "write/writer.h"

static void convert(const uint8_t *bytes, size_t size, const struct writer *writer) {
	struct stream input;
	struct tables tables = tables_new();
	struct output output;
	output_open(&output, "/dev/null", OUTPUT_REPLACE);
	stream_of_memory(&input, bytes, size);
	tables.addresses = ADDRESSES_OF_UNNAMED;
	struct sink *sink = writer->open(&output, &tables);
	if (!dhat_reader.read(&input, "fuzz", &tables, sink))
		sink_finish(sink);
	sink_destroy(sink);
	tables_free(&tables);
	stream_close(&input);
	output_abandon(&output);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct buffer out = {0};
	convert(bytes, size, &folded_writer);
	convert(bytes, size, &perfetto_writer);
	convert(bytes, size, &pprof_writer);
	stream_of_memory(&input, bytes, size);
	dhat_reader.describe(&input, "fuzz", &(struct read_options){.json = true}, &out);
	stream_close(&input);
	buffer_free(&out);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":"
		"true,"
		"\"tu\":\"instrs\",\"Mtu\":\"Minstr\",\"tuth\":500,\"cmd\":\"./"
		"t\",\"pid\":7,\"te\":9,\"tg\":8,"
		"\"pps\":[{\"tb\":10,\"tbk\":1,\"tl\":3,\"mb\":10,\"mbk\":1,\"gb\":10,\"gbk\":1,\"eb\":0,"
		"\"ebk\":0,\"rb\":1,\"wb\":2,\"acc\":[-5,3],\"fs\":[1,2]}],"
		"\"ftbl\":[\"[root]\",\"0x1: malloc (vg_replace_malloc.c:3)\",\"0x2: f(int) (in /a)\"]}",
		"{\"dhatFileVersion\":2,\"mode\":\"ad-hoc\",\"bklt\":false,\"bsu\":\"units\",\"bksu\":"
		"\"events\","
		"\"ftbl\":[\"[root]\",\"0x2: a::b\\u00e9\\ud83d\\ude00 (src/a.rs:1:2)\",\"???\"],"
		"\"pps\":[{\"tb\":1e3,\"tbk\":18446744073709551616,\"fs\":[1]},{\"tb\":2,\"tbk\":2,\"fs\":[]}"
		"]}",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct buffer seed = {0};
		char name[] = "text-0";
		name[5] = (char)('0' + i);
		buffer_append(&seed, texts[i], strlen(texts[i]));
		fuzz_seed(name, &seed);
	}
}
