// Manifest lines on their way into a history: whatever a line says, its texts are clean, bounded UTF-8, and
// its numbers fit.
#include "fuzz.h"

#include "history/fact.h"

static void check_text(const char *text, size_t most) {
	if (!text || strlen(text) > most)
		abort();
	for (; *text; text++)
		if ((uint8_t)*text < ' ')
			abort();
}

static void check_fact(const struct history_fact *fact) {
	const char *const names[] = {
		fact->project, fact->suite, fact->machine_class, fact->branch, fact->commit,
		fact->change,  fact->ci,    fact->job,           fact->run,    fact->variant};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		check_text(names[i], HISTORY_LONGEST_NAME);
	check_text(fact->name, HISTORY_LONGEST_NAME + 80); // with its variant
	check_text(fact->waits, 12 * 160);
	if (!*fact->run || fact->test > INT64_MAX || fact->status >= ENDED_COUNT || !fact->attempt)
		abort();
	if (fact->function_count > HISTORY_MOST_FUNCTIONS || fact->own_count > HISTORY_MOST_OWN)
		abort();
	for (size_t i = 0; i < fact->function_count; i++)
		check_text(fact->functions[i].name, HISTORY_LONGEST_NAME);
	for (size_t i = 0; i < fact->own_count; i++)
		check_text(fact->own[i].name, HISTORY_LONGEST_METRIC);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static struct history_fact fact;
	struct manifest_record record;
	if (!manifest_parse((const char *)bytes, size, &record))
		return 0;
	if (history_fact_of(&record, (const char *)bytes, size, &fact)) {
		check_fact(&fact);
		history_fact_free(&fact);
	}
	manifest_record_free(&record);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"{\"version\":2,\"session\":\"019a8f0e-6b1c-7a52-9d0e-3f1c5b7a9e42\",\"parent\":\"019a8f0e-"
		"6b1c-7a52-"
		"9d0e-3f1c5b7a9e43\",\"run\":\"github-1\",\"attempt\":2,\"project\":\"p\",\"suite\":\"s\","
		"\"test\":\"t\","
		"\"name\":\"t/"
		"1\",\"kind\":\"test\",\"status\":\"passed\",\"started\":\"2026-01-02T03:04:05.678Z\","
		"\"wall_seconds\":1.5,\"cpu_seconds\":0.1,\"metrics\":{\"ready_ns\":12,\"requests\":3},"
		"\"waited\":{\"mutex\":[3,118000000,90000000]},\"functions\":{\"samples\":9,\"self\":{"
		"\"main\":4}},"
		"\"source\":{\"commit\":\"5211dca\",\"branch\":\"main\",\"fork\":true},\"machine\":\"x86_"
		"64\","
		"\"cpu\":\"fast\",\"cpus\":2,\"memory\":25276518400}\n",
		"{\"test\":\"t\",\"result\":\"timed out: limit 3 "
		"s\",\"timed_out_after\":3,\"variant_hash\":\"0123\","
		"\"started\":\"2026-01-02T03:04:05Z\"}\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char name[2] = {(char)('0' + i), 0};
		struct buffer seed = {0};
		buffer_append(&seed, texts[i], strlen(texts[i]));
		fuzz_seed(name, &seed);
	}
}
