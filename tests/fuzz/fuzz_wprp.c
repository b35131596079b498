// Checks a .wprp file, and shows the plan of each selection.
#include "fuzz.h"

#include "profile/builtin.h"
#include "profile/wprp.h"

static void use(struct wprp *file, const char *selection, struct findings *findings) {
	struct plan plan;
	struct buffer text = {0};
	if (!wprp_select(file, selection, MODE_MEMORY, &plan, findings))
		return;
	plan_show(&plan, NULL, &text);
	plan_json(&plan, NULL, &text);
	plan_export(&plan, &text);
	plan_free(&plan);
	buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct wprp file;
	struct findings findings = {0};
	if (wprp_open(&file, bytes, size, &findings)) {
		use(&file, NULL, &findings);
		use(&file, "A.Light.File", &findings);
		wprp_check(&file, &findings);
		wprp_free(&file);
	}
	findings_free(&findings);
	return 0;
}

static const char inheriting[] =
	"<WindowsPerformanceRecorder><Profiles>"
	"<SystemCollector Id='SC' Name='N'><BufferSize Value='1'/><Buffers Value='3' "
	"PercentageOfTotalMemory='true'/></SystemCollector>"
	"<EventCollector Id='EC' Base=''><MaximumFileSize Value='6' FileMode='Circular'/></EventCollector>"
	"<SystemProvider Id='S'><Keywords><Keyword Value='DPC'/></Keywords></SystemProvider>"
	"<SystemProvider Id='T' Base='S'><Keywords Operation='Remove'><CustomKeyword Value='0x1'/></Keywords>"
	"<Stacks Operation='Add'><Stack Value='CSwitch'/></Stacks></SystemProvider>"
	"<EventProvider Id='P' Name='{22BC55FE-2116-5ADC-12FB-3FADFD7E360C}' Level='4'><Keywords>"
	"<Keyword Value='0x10'/></Keywords></EventProvider>"
	"<Profile Id='A.Light.File' Name='A' DetailLevel='Light' LoggingMode='File'><Collectors>"
	"<SystemCollectorId Value='SC'><SystemProviderId Value='T'/></SystemCollectorId>"
	"<EventCollectorId Value='EC'><EventProviders><EventProviderId Value='P'/></EventProviders>"
	"</EventCollectorId></Collectors></Profile>"
	"<Profile Id='B.Verbose.Memory' Name='B' DetailLevel='Verbose' LoggingMode='Memory' "
	"Base='A.Light.File'>"
	"<Collectors Operation='Remove'><EventCollectorId Value='EC'/></Collectors></Profile>"
	"</Profiles></WindowsPerformanceRecorder>";

void fuzz_seeds(void) {
	for (size_t i = 0; i < BUILTIN_COUNT; i++) {
		struct buffer seed = {0};
		struct plan plan;
		builtin_plan(&builtins[i], MODE_FILE, &plan);
		plan_export(&plan, &seed);
		plan_free(&plan);
		fuzz_seed(builtins[i].name, &seed);
	}
	struct buffer seed = {0};
	buffer_append(&seed, inheriting, strlen(inheriting));
	fuzz_seed("inheriting", &seed);
}
