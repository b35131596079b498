#include "fuzz.h"

#include "../unit/xml_walk.h"
#include "artifact/junit.h"

static const struct manifest_artifact artifacts[] = {{.path = "/t/a.pb", .size = 1},
						     {.path = "/t/b<&\xc3\xbc.pb", .size = 1}};
static const struct junit_record records[] = {{.test = "A.one", .artifacts = artifacts, .artifact_count = 1},
					      {.test = "two",
					       .name = "t wo",
					       .artifacts = artifacts,
					       .artifact_count = 2,
					       .why = "For 3 ms, a<b slept."}};

static int attach(const void *text, size_t size, struct buffer *out) {
	struct junit_attached attached;
	char why[256];
	return junit_attach(text, size, records, ARRAY_SIZE(records), out, &attached, why);
}

// The output must be XML again, with all lines already in it.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct buffer once = {0}, twice = {0};
	if (size && attach(bytes, size, &once) == 0) {
		if (xml_walk((const char *)bytes, size) == SIZE_MAX)
			abort();
		if (attach(once.data, once.size, &twice) || once.size < size || once.size != twice.size ||
		    memcmp(once.data, twice.data, once.size) != 0)
			abort();
	}
	buffer_free(&once);
	buffer_free(&twice);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {
		"<?xml version='1.0'?><testsuites><testsuite name='A'><testcase classname='A' name='one' />"
		"<testcase name='two'><failure "
		"message='m'><![CDATA[x]]></failure><system-out/></testcase></testsuite></testsuites>",
		"<testcase name='two'><system-out>a&amp;b</system-out><system-err>c</system-err></testcase>",
		("<?xml version='1.0' encoding='ISO-8859-1'?><s><testcase name='two'>\xe4<!-- c "
		 "--></testcase></s>"),
	};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char name[2] = {(char)('0' + i), 0};
		struct buffer seed = {0};
		buffer_append(&seed, texts[i], strlen(texts[i]));
		fuzz_seed(name, &seed);
	}
}
