// Manifest lines that guests and broken disks may have written.
#include "fuzz.h"

#include "format/manifest_record.h"

static char *line_of(const struct manifest_record *record) {
	struct buffer line = {0};
	manifest_write(record, &line);
	buffer_append(&line, "", 1);
	return (char *)line.data;
}

// Reads a line and writes it again.
static char *pass(const char *text, size_t size) {
	struct manifest_record record;
	if (!manifest_parse(text, size, &record))
		return NULL;
	char *line = line_of(&record);
	manifest_record_free(&record);
	if (strchr(line, '\n') != line + strlen(line) - 1)
		abort();
	return line;
}

// What was read can be written and read again. The first pass replaces invalid UTF-8; after that a
// line does not change.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	char *once = pass((const char *)bytes, size);
	if (!once)
		return 0;
	char *twice = pass(once, strlen(once)), *thrice = twice ? pass(twice, strlen(twice)) : NULL;
	if (!thrice || strcmp(twice, thrice) != 0)
		abort();
	free(once);
	free(twice);
	free(thrice);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"{\"test\":\"t\",\"command\":[\"./"
		"t\",\"-x\"],\"kind\":\"test\",\"result\":\"passed\",\"exit\":0,"
		"\"variant\":{\"a\":[1.5e3,\"\\u00e9\"]},\"variant_hash\":\"0123456789abcdef\",\"repro\":"
		"true,"
		"\"started\":\"2026-01-02T03:04:05.678Z\",\"wall_seconds\":1.5,\"cpu_seconds\":0.1,"
		"\"backend\":\"bpf\",\"artifacts\":[{\"kind\":\"perfetto\",\"path\":\"out/t.pb\",\"size\":12,"
		"\"sha256\":\"00ff\",\"partial\":false}],\"events\":12,\"lost\":{\"sched\":0,\"irq\":1},"
		"\"gaps\":0,\"late\":0,\"cost\":{\"bpf_seconds\":0.1,\"tracer_cpu_seconds\":0.2}}\n",
		"{\"test\":\"t\",\"kind\":\"machine\",\"guest_failed\":\"kernel "
		"panic\",\"timed_out_after\":3,"
		"\"signal\":9,\"kvm\":true,\"events\":null,\"lost\":null,\"not_kept\":\"--keep never\","
		"\"samples\":1,\"sample_event\":\"cycles\",\"samples_short\":{\"delivered\":1,\"expected\":2}"
		","
		"\"recording_stopped\":{\"by\":\"disk\",\"after_seconds\":1},\"guest\":\"vsock:3\","
		"\"guest_clock\":{\"offset_ns\":-5,\"bound_ns\":7}}\n",
		"{\"test\":\"t\",\"crashes\":[{\"signal\":11,\"name\":\"SIGSEGV\",\"pid\":1,\"tid\":2,"
		"\"thread\":\"a\",\"code\":-6,\"address\":\"0x0\",\"instruction\":\"0x1\",\"stack\":["
		"\"main\"]}],"
		"\"cases\":[{\"name\":\"c\",\"result\":\"failed\",\"wall_seconds\":1,\"trace\":\"c.pb\"}]}\n",
		("{\"deleted\":[{\"test\":\"t\",\"kind\":\"etl\",\"path\":\"C:\\\\a\",\"size\":1}],"
		 "\"why\":\"max-age\",\"when\":\"2026-01-02T03:04:05Z\"}\n"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char name[2] = {(char)('0' + i), 0};
		struct buffer seed = {0};
		buffer_append(&seed, texts[i], strlen(texts[i]));
		fuzz_seed(name, &seed);
	}
}
