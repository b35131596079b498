#include "unit.h"

#include "profile/builtin.h"
#include "profile/find.h"
#include "profile/sizes.h"
#include "profile/wprp.h"

#include <stdio.h>
#include <string.h>

// ---- building files ----

#define FILE_OF(content)                                                                                     \
	"<WindowsPerformanceRecorder Version=\"1.0\">\n<Profiles>\n" content                                 \
	"</Profiles>\n</WindowsPerformanceRecorder>\n"

#define COLLECTORS                                                                                           \
	"<SystemCollector Id=\"SC\" Name=\"NT Kernel Logger\"><BufferSize Value=\"512\"/>"                   \
	"<Buffers Value=\"3\" PercentageOfTotalMemory=\"true\"/></SystemCollector>\n"                        \
	"<EventCollector Id=\"EC\" Name=\"Events\"><MaximumFileSize Value=\"64\" FileMode=\"Circular\"/>"    \
	"</EventCollector>\n"                                                                                \
	"<EventCollector Id=\"EC2\" Base=\"EC\"><Buffers Value=\"9\"/></EventCollector>\n"

#define SYSTEM(id, base, content)                                                                            \
	"<SystemProvider Id=\"" id "\" Base=\"" base "\">" content "</SystemProvider>\n"

#define PROVIDERS                                                                                            \
	"<EventProvider Id=\"P1\" Name=\"{22BC55FE-2116-5ADC-12FB-3FADFD7E360C}\" Level=\"4\" "              \
	"Stack=\"true\">"                                                                                    \
	"<Keywords><Keyword Value=\"0x10\"/><Keyword Value=\"0x1\"/></Keywords></EventProvider>\n"           \
	"<EventProvider Id=\"P2\" Name=\"aa5de534-d149-487a-9053-05972ba20a7c\"/>\n"                         \
	"<EventProvider Id=\"P3\" Base=\"P1\" Level=\"5\"><Keywords Operation=\"Add\">"                      \
	"<Keyword Value=\"0x100\"/></Keywords></EventProvider>\n"

#define PROFILE(name, detail, mode, base, content)                                                           \
	"<Profile Id=\"" name "." detail "." mode "\" Name=\"" name "\" DetailLevel=\"" detail               \
	"\" LoggingMode=\"" mode "\" Base=\"" base "\">" content "</Profile>\n"

#define WITH_SYSTEM(id)                                                                                      \
	"<Collectors><SystemCollectorId Value=\"SC\"><SystemProviderId Value=\"" id                          \
	"\"/></SystemCollectorId></Collectors>"

#define TWO_KEYWORDS "<Keywords><Keyword Value=\"CSwitch\"/><Keyword Value=\"DPC\"/></Keywords>"

#define SIMPLE                                                                                               \
	FILE_OF(COLLECTORS SYSTEM("S", "", TWO_KEYWORDS)                                                     \
			PROFILE("A", "Verbose", "File", "", WITH_SYSTEM("S")))

static bool select_from(const void *bytes, size_t size, const char *selection, struct plan *plan,
			struct findings *findings) {
	struct wprp file;
	*findings = (struct findings){0};
	*plan = (struct plan){0};
	if (!wprp_open(&file, bytes, size, findings))
		return false;
	bool found = wprp_select(&file, selection, MODE_FILE, plan, findings);
	wprp_free(&file);
	return found;
}

// The plan of a file without faults.
static struct plan plan_of(const char *text, const char *selection) {
	struct findings findings;
	struct plan plan;
	bool found = select_from(text, strlen(text), selection, &plan, &findings);
	for (size_t i = 0; i < findings.list.count; i++)
		print_message("%s\n", findings.list.items[i].text);
	assert_true(found);
	assert_int_equal(0, findings.list.count);
	return plan;
}

static void assert_keywords(const struct plan *plan, const char *expected) {
	struct buffer text = {0};
	for (int i = 0; i < KEYWORD_COUNT; i++)
		if (plan->keywords[i])
			buffer_printf(&text, "%s%s", text.size ? " " : "", system_keywords[i].name);
	buffer_append(&text, "", 1);
	assert_string_equal(expected, (char *)text.data);
	buffer_free(&text);
}

static void assert_providers(const struct plan *plan, const char *expected) {
	struct buffer text = {0};
	for (size_t i = 0; i < plan->providers.count; i++)
		buffer_printf(&text, "%s%s", text.size ? " " : "", plan->providers.items[i].id);
	buffer_append(&text, "", 1);
	assert_string_equal(expected, (char *)text.data);
	buffer_free(&text);
}

// Expects one finding, at this position, containing this text.
static void assert_finding(const struct findings *findings, unsigned line, unsigned column,
			   const char *text) {
	assert_int_equal(1, findings->list.count);
	const struct finding *finding = &findings->list.items[0];
	if (!strstr(finding->text, text))
		fail_msg("'%s' is not in '%s'", text, finding->text);
	assert_int_equal(line, finding->line);
	assert_int_equal(column, finding->column);
}

static void assert_refused(const char *bytes, size_t size, unsigned line, unsigned column, const char *text) {
	struct findings findings;
	struct plan plan;
	assert_false(select_from(bytes, size, NULL, &plan, &findings));
	assert_finding(&findings, line, column, text);
	findings_free(&findings);
}

static void assert_checked(const char *text, unsigned line, unsigned column, const char *found) {
	struct findings findings = {0};
	struct wprp file;
	assert_true(wprp_open(&file, text, strlen(text), &findings));
	wprp_check(&file, &findings);
	assert_finding(&findings, line, column, found);
	findings_free(&findings);
	wprp_free(&file);
}

// ---- the meaning of a file ----

static void test_a_profile_names_keywords(void **state) {
	struct plan plan = plan_of(SIMPLE, NULL);
	assert_keywords(&plan, "CSwitch DPC");
	assert_string_equal("A", plan.name);
	assert_true(plan_wants(&plan, SOURCE_SCHED));
	assert_true(plan_wants(&plan, SOURCE_IRQ));
	assert_false(plan_wants(&plan, SOURCE_SAMPLE));
	plan_free(&plan);
}

static void test_a_system_provider_inherits_sets_adds_and_removes(void **state) {
	static const char text[] = FILE_OF(
		COLLECTORS SYSTEM("S", "", TWO_KEYWORDS "<Stacks><Stack Value=\"CSwitch\"/></Stacks>") SYSTEM(
			"Add", "S",
			"<Keywords Operation=\"Add\"><Keyword Value=\"Timer\"/>"
			"<CustomKeyword Value=\"0x1F\"/></Keywords>")
			SYSTEM("Remove", "Add",
			       "<Keywords Operation=\"Remove\"><Keyword Value=\"CSwitch\"/>"
			       "<CustomKeyword Value=\"0x3\"/></Keywords>")
				SYSTEM("Set", "Add", "<Keywords><Keyword Value=\"Pool\"/></Keywords>")
					PROFILE("Add", "Verbose", "File", "", WITH_SYSTEM("Add")) PROFILE(
						"Remove", "Verbose", "File", "", WITH_SYSTEM("Remove"))
						PROFILE("Set", "Verbose", "File", "", WITH_SYSTEM("Set")));
	struct plan plan = plan_of(text, "Add");
	assert_keywords(&plan, "CSwitch DPC Timer");
	assert_int_equal(0x1f, plan.custom_keywords);
	assert_true(plan.stacks[stack_find("CSwitch")]);
	plan_free(&plan);
	plan = plan_of(text, "Remove");
	assert_keywords(&plan, "DPC Timer");
	assert_int_equal(0x1c, plan.custom_keywords);
	plan_free(&plan);
	plan = plan_of(text, "Set");
	assert_keywords(&plan, "Pool");
	assert_int_equal(0, plan.custom_keywords);
	assert_true(plan.stacks[stack_find("CSwitch")]);
	plan_free(&plan);
}

#define EVENTS(operation, providers)                                                                         \
	"<Collectors Operation=\"Add\"><EventCollectorId Value=\"EC\"><EventProviders "                      \
	"Operation=\"" operation "\">" providers "</EventProviders></EventCollectorId></Collectors>"

static const char inheriting[] = FILE_OF(
	COLLECTORS SYSTEM("S", "", TWO_KEYWORDS) PROVIDERS PROFILE("Base", "Verbose", "File", "",
								   WITH_SYSTEM("S"))
		PROFILE("One", "Verbose", "File", "Base.Verbose.File",
			EVENTS("Set", "<EventProviderId Value=\"P1\"/><EventProviderId Value=\"P2\"/>"))
			PROFILE("Added", "Verbose", "File", "One.Verbose.File",
				EVENTS("Add", "<EventProviderId Value=\"P3\"/>"))
				PROFILE("Removed", "Verbose", "File", "Added.Verbose.File",
					EVENTS("Remove", "<EventProviderId Value=\"P1\"/>"))
					PROFILE("Other", "Verbose", "File", "Added.Verbose.File",
						EVENTS("Set", "<EventProviderId Value=\"P2\"/>"))
						PROFILE("Without", "Verbose", "File", "Added.Verbose.File",
							"<Collectors Operation=\"Remove\">"
							"<SystemCollectorId Value=\"SC\"/></Collectors>"));

static void test_a_profile_inherits_sets_adds_and_removes(void **state) {
	static const struct {
		const char *name, *keywords, *providers;
	} expected[] = {
		{"Base", "CSwitch DPC", ""},          {"One", "CSwitch DPC", "P1 P2"},
		{"Added", "CSwitch DPC", "P1 P2 P3"}, {"Removed", "CSwitch DPC", "P2 P3"},
		{"Other", "CSwitch DPC", "P2"},       {"Without", "", "P1 P2 P3"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct plan plan = plan_of(inheriting, expected[i].name);
		assert_keywords(&plan, expected[i].keywords);
		assert_providers(&plan, expected[i].providers);
		plan_free(&plan);
	}
}

static void test_event_providers_have_keywords_level_and_guid(void **state) {
	struct plan plan = plan_of(inheriting, "Added");
	const struct plan_provider *first = &plan.providers.items[0], *third = &plan.providers.items[2];
	assert_string_equal("22bc55fe-2116-5adc-12fb-3fadfd7e360c", first->name);
	assert_string_equal("aa5de534-d149-487a-9053-05972ba20a7c", plan.providers.items[1].name);
	assert_false(plan.providers.items[1].has_keywords);
	assert_int_equal(0x11, first->keywords);
	assert_int_equal(4, first->level);
	assert_true(first->stack);
	assert_string_equal(first->name, third->name);
	assert_int_equal(0x111, third->keywords);
	assert_int_equal(5, third->level);
	plan_free(&plan);
}

static void test_collectors_have_sizes(void **state) {
	struct plan plan = plan_of(
		FILE_OF(COLLECTORS SYSTEM("S", "", TWO_KEYWORDS) PROFILE(
			"A", "Verbose", "File", "",
			"<Collectors><SystemCollectorId Value=\"SC\"><SystemProviderId Value=\"S\"/>"
			"</SystemCollectorId><EventCollectorId Value=\"EC2\"><BufferSize Value=\"7\"/>"
			"</EventCollectorId></Collectors>")),
		NULL);
	assert_int_equal(2, plan.collectors.count);
	const struct plan_collector *system = &plan.collectors.items[0], *event = &plan.collectors.items[1];
	assert_int_equal(512, system->buffer_size);
	assert_int_equal(3, system->buffers);
	assert_true(system->buffers_percent);
	assert_int_equal(0, system->file_limit);
	assert_string_equal("Events", event->name);
	assert_int_equal(7, event->buffer_size);
	assert_int_equal(9, event->buffers);
	assert_int_equal(64, event->file_limit);
	assert_true(event->circular);
	plan_free(&plan);
}

#define SIZED(mode, sizes)                                                                                   \
	FILE_OF("<SystemCollector Id=\"SC\" Name=\"NT Kernel Logger\">" sizes "</SystemCollector>\n" SYSTEM( \
		"S", "", TWO_KEYWORDS) PROFILE("A", "Verbose", mode, "", WITH_SYSTEM("S")))
#define BUFFERS(size, count) "<BufferSize Value=\"" size "\"/><Buffers Value=\"" count "\"/>"
#define LIMIT(size, mode)    "<MaximumFileSize Value=\"" size "\" FileMode=\"" mode "\"/>"

static void test_sizes_are_obeyed_within_bounds(void **state) {
	const uint64_t mega = 1 << 20, memory = 8192 * mega;
	const struct {
		const char *text;
		bool flight;
		uint64_t buffer_size, ring_size, max_size;
	} cases[] = {
		{SIZED("File", ""), false, 0, 0, 0},
		{SIZED("File", BUFFERS("512", "6")), false, 3 * mega, 0, 0},
		{SIZED("File", BUFFERS("4", "4")), false, mega, 0, 0},
		{SIZED("File", BUFFERS("4294967295", "4294967295")), false, 64 * mega, 0, 0},
		{SIZED("File", LIMIT("50", "Sequential")), false, 0, 0, 50 * mega},
		{SIZED("File", BUFFERS("1024", "2") LIMIT("50", "Circular")), true, 2 * mega, 50 * mega, 0},
		{SIZED("File", LIMIT("4294967295", "Circular")), true, 0, 2048 * mega, 0},
		{SIZED("Memory", BUFFERS("1024", "200")), true, 0, 200 * mega, 0},
		{SIZED("Memory", BUFFERS("1", "1")), true, 0, mega / 16, 0},
		{SIZED("Memory", "<Buffers Value=\"25\" PercentageOfTotalMemory=\"true\"/>"), true, 0,
		 memory / 100 * 25, 0},
		{SIZED("Memory", ""), true, 0, 0, 0},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan plan = plan_of(cases[i].text, NULL);
		assert_int_equal(cases[i].flight, plan_is_flight(&plan));
		struct plan_sizes sizes = plan_sizes(&plan, cases[i].flight, memory);
		assert_int_equal(cases[i].buffer_size, sizes.buffer_size);
		assert_int_equal(cases[i].ring_size, sizes.ring_size);
		assert_int_equal(cases[i].max_size, sizes.max_size);
		plan_free(&plan);
	}
}

static void test_a_requested_file_or_ring_is_used(void **state) {
	const uint64_t mega = 1 << 20;
	struct plan circular = plan_of(SIZED("File", BUFFERS("1024", "2") LIMIT("50", "Circular")), NULL);
	struct plan file = plan_of(SIZED("File", BUFFERS("1024", "2") LIMIT("50", "Sequential")), NULL);
	struct plan_sizes sizes = plan_sizes(&circular, false, 8192 * mega);
	assert_int_equal(0, sizes.max_size);
	assert_int_equal(0, sizes.ring_size);
	sizes = plan_sizes(&file, true, 8192 * mega);
	assert_int_equal(0, sizes.max_size);
	assert_int_equal(2 * mega, sizes.ring_size);
	plan_free(&circular);
	plan_free(&file);
}

static void test_samples_are_sparse_beside_page_faults(void **state) {
	const struct {
		const char *name;
		unsigned frequency;
	} cases[] = {{"embedded", 249}, {"verbose", 249}, {"cpu", 999}, {"memory", 0}, {"light", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan plan;
		builtin_plan(builtin_find(cases[i].name), MODE_FILE, &plan);
		assert_int_equal(cases[i].frequency, plan_sample_frequency(&plan));
		plan_free(&plan);
	}
}

static void test_several_want_what_any_of_them_wants(void **state) {
	const uint64_t mega = 1 << 20;
	struct plan plan = plan_of(SIZED("File", BUFFERS("1024", "2") LIMIT("50", "Circular")), NULL);
	struct plan more = plan_of(SIZED("File", BUFFERS("1024", "7") LIMIT("20", "Sequential")), NULL);
	struct plan again = plan_of(SIZED("File", BUFFERS("1024", "2") LIMIT("50", "Circular")), NULL);
	struct plan builtin;
	builtin_plan(builtin_find("system-calls"), MODE_FILE, &builtin);
	plan_add(&plan, &more);
	plan_add(&plan, &again);
	assert_int_equal(2, plan.collectors.count);
	plan_add(&plan, &builtin);
	assert_string_equal("A+A+A+system-calls", plan.name);
	assert_keywords(&plan, "CSwitch DPC ProcessThread ReadyThread SystemCall");
	assert_false(plan_is_flight(&plan));
	struct plan_sizes sizes = plan_sizes(&plan, false, 8192 * mega);
	assert_int_equal(7 * mega, sizes.buffer_size);
	assert_int_equal(50 * mega, sizes.max_size);
	plan_free(&plan);
}

static void test_a_plus_stands_between_profiles(void **state) {
	assert_int_equal(5, profile_first("light"));
	assert_int_equal(5, profile_first("light+cpu"));
	assert_int_equal(7, profile_first("nothing+cpu"));
	assert_int_equal(8, profile_first("c++.wprp"));
	assert_int_equal(8, profile_first("c++.wprp+cpu"));
	assert_int_equal(6, profile_first("light+"));
	assert_int_equal(0, profile_first(""));
}

// ---- selection ----

static void test_a_selection_is_name_detail_and_mode(void **state) {
	static const char text[] = FILE_OF(
		COLLECTORS SYSTEM("S", "", TWO_KEYWORDS) PROFILE("A", "Light", "File", "", WITH_SYSTEM("S"))
			PROFILE("A", "Verbose", "Memory", "", WITH_SYSTEM("S"))
				PROFILE("A", "Verbose", "File", "", WITH_SYSTEM("S"))
					PROFILE("B.C", "Light", "Memory", "", WITH_SYSTEM("S")));
	static const struct {
		const char *selection, *name;
		enum plan_detail detail;
		enum plan_mode mode;
	} expected[] = {
		{NULL, "A", DETAIL_VERBOSE, MODE_FILE},
		{"A", "A", DETAIL_VERBOSE, MODE_FILE},
		{"a.light", "A", DETAIL_LIGHT, MODE_FILE},
		{"A.Verbose", "A", DETAIL_VERBOSE, MODE_FILE},
		{"A.Verbose.Memory", "A", DETAIL_VERBOSE, MODE_MEMORY},
		{"B.C", "B.C", DETAIL_LIGHT, MODE_MEMORY},
		{"B.C.Light", "B.C", DETAIL_LIGHT, MODE_MEMORY},
	};
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct plan plan = plan_of(text, expected[i].selection);
		assert_string_equal(expected[i].name, plan.name);
		assert_int_equal(expected[i].detail, plan.detail);
		assert_int_equal(expected[i].mode, plan.mode);
		plan_free(&plan);
	}
	struct findings findings;
	struct plan plan;
	assert_false(select_from(text, strlen(text), "B.C.Verbose", &plan, &findings));
	assert_finding(&findings, 0, 0, "it has A.Light.File, A.Verbose.Memory");
	findings_free(&findings);
}

// ---- different forms of the same ----

static void test_comments_marks_and_other_encodings_change_nothing(void **state) {
	struct buffer wide = {0};
	static const char marked[] = "\xef\xbb\xbf<?xml version=\"1.0\"?><!-- a -->" SIMPLE;
	struct plan plan = plan_of(marked, NULL);
	assert_keywords(&plan, "CSwitch DPC");
	plan_free(&plan);
	buffer_append(&wide, "\xff\xfe", 2);
	for (const char *at = SIMPLE; *at; at++)
		buffer_append(&wide, (char[]){*at, 0}, 2);
	struct findings findings;
	assert_true(select_from(wide.data, wide.size, NULL, &plan, &findings));
	assert_keywords(&plan, "CSwitch DPC");
	plan_free(&plan);
	buffer_free(&wide);
}

// ---- what is rejected ----

static void test_malformed_xml_is_reported_with_line_and_column(void **state) {
	static const char text[] = "<WindowsPerformanceRecorder>\n  <Profiles>\n  </Profile>\n";
	assert_refused(text, strlen(text), 3, 5, "mismatched tag");
	assert_refused("", 0, 1, 1, "no element");
	assert_refused("<html/>", 7, 1, 1, "<html> is not");
	assert_refused("<WindowsPerformanceRecorder/>", 29, 1, 1, "no <Profile>");
}

static void test_entities_are_refused(void **state) {
	static const char bomb[] = "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]>\n<a>&c;</a>";
	static const char external[] = "\n<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>";
	assert_refused(bomb, strlen(bomb), 1, 13, "DOCTYPE");
	assert_refused(external, strlen(external), 2, 40, "DOCTYPE");
}

static void test_depth_is_limited(void **state) {
	struct buffer text = {0};
	for (int i = 0; i < 100000; i++)
		buffer_append(&text, "<a>", 3);
	assert_refused((char *)text.data, text.size, 1, 64 * 3 + 1, "too deeply");
	buffer_free(&text);
}

static void test_a_circle_of_bases_ends(void **state) {
	static const char text[] = FILE_OF(PROFILE("A", "Verbose", "File", "B.Verbose.File", "")
						   PROFILE("B", "Verbose", "File", "A.Verbose.File", ""));
	assert_refused(text, strlen(text), 3, 1, "circular");
}

static void test_missing_references_are_reported(void **state) {
	static const char collector[] = FILE_OF(PROFILE("A", "Verbose", "File", "", WITH_SYSTEM("S")));
	static const char base[] = FILE_OF(PROFILE("A", "Verbose", "File", "B", ""));
	struct findings findings;
	struct plan plan;
	assert_false(select_from(collector, strlen(collector), NULL, &plan, &findings));
	assert_int_equal(3, findings.list.items[0].line);
	assert_non_null(strstr(findings.list.items[0].text, "no <SystemCollector> with the Id 'SC'"));
	findings_free(&findings);
	assert_refused(base, strlen(base), 3, 1, "Base 'B'");
}

// Each of many profiles has each of many providers: the file is small, the resolved plans are not.
static void test_a_file_that_means_too_much_is_given_up(void **state) {
	struct buffer text = {0};
	buffer_printf(&text, "<WindowsPerformanceRecorder><Profiles>" COLLECTORS);
	for (int i = 0; i < 3000; i++)
		buffer_printf(&text, "<EventProvider Id=\"P%d\" Name=\"N\"/>", i);
	buffer_printf(&text,
		      "<Profile Id=\"A.Verbose.File\" Name=\"A\" DetailLevel=\"Verbose\" "
		      "LoggingMode=\"File\"><Collectors><EventCollectorId Value=\"EC\"><EventProviders>");
	for (int i = 0; i < 3000; i++)
		buffer_printf(&text, "<EventProviderId Value=\"P%d\"/>", i);
	buffer_printf(&text, "</EventProviders></EventCollectorId></Collectors></Profile>");
	for (int i = 0; i < 3000; i++)
		buffer_printf(&text,
			      "<Profile Id=\"B%d.Light.File\" Name=\"B%d\" DetailLevel=\"Light\" "
			      "LoggingMode=\"File\" Base=\"A.Verbose.File\"/>",
			      i, i);
	buffer_printf(&text, "</Profiles></WindowsPerformanceRecorder>");
	struct findings findings = {0};
	struct wprp file;
	assert_true(wprp_open(&file, text.data, text.size, &findings));
	wprp_check(&file, &findings);
	assert_non_null(strstr(findings.list.items[0].text, "too much"));
	findings_free(&findings);
	wprp_free(&file);
	buffer_free(&text);
}

static void test_ten_megabytes_are_read(void **state) {
	struct buffer text = {0};
	buffer_printf(&text, "<WindowsPerformanceRecorder><Profiles>" COLLECTORS);
	buffer_printf(&text, SYSTEM("S", "", TWO_KEYWORDS));
	for (int i = 0; text.size < 10 << 20; i++)
		buffer_printf(&text, "<EventProvider Id=\"P%d\" Name=\"Name-%d\" Level=\"5\"/>\n", i, i);
	buffer_printf(&text, PROFILE("A", "Verbose", "File", "", WITH_SYSTEM("S")));
	buffer_append(&text, "</Profiles></WindowsPerformanceRecorder>", 41);
	struct plan plan = plan_of((char *)text.data, NULL);
	assert_keywords(&plan, "CSwitch DPC");
	plan_free(&plan);
	buffer_free(&text);
}

// ---- checking ----

static void test_check_finds_what_wpr_would_not_take(void **state) {
	assert_checked(FILE_OF(SYSTEM("S", "", TWO_KEYWORDS) "<SystemCollector Id=\"SC\"/>" PROFILE(
			       "A", "Verbose", "File", "", "")),
		       4, 1, "<SystemCollector> must come before <SystemProvider>");
	assert_checked(FILE_OF("<Strange/>" PROFILE("A", "Verbose", "File", "", "")), 3, 1,
		       "<Strange> does not belong");
	assert_checked(FILE_OF("<Profile Id=\"B\" Name=\"A\" DetailLevel=\"Light\" LoggingMode=\"File\"/>"),
		       3, 1, "should be 'A.Light.File'");
	assert_checked(
		FILE_OF("<Profile Id=\"A.Full.File\" Name=\"A\" DetailLevel=\"Full\" LoggingMode=\"File\"/>"),
		3, 1, "DetailLevel (Light, Verbose)");
	assert_checked(FILE_OF(PROFILE("A", "Light", "File", "", "") PROFILE("A", "Light", "File", "", "")),
		       4, 1, "is already used in line 3");
	assert_checked(
		FILE_OF(COLLECTORS SYSTEM("S", "", "<Keywords><Keyword Value=\"VirtualAlloc\"/></Keywords>")
				PROFILE("A", "Verbose", "File", "", WITH_SYSTEM("S"))),
		6, 42, "WPR has no Keyword 'VirtualAlloc'");
	assert_checked(
		FILE_OF("<SystemCollector Id=\"SC\"><BufferSize Value=\"big\"/></SystemCollector>\n" SYSTEM(
			"S", "", TWO_KEYWORDS) PROFILE("A", "Verbose", "File", "", WITH_SYSTEM("S"))),
		3, 26, "'big' is not a number");
}

// ---- built-in profiles ----

static char *as_json(const struct plan *plan) {
	struct buffer text = {0};
	plan_json(plan, NULL, &text);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

static void test_exported_profiles_are_valid_and_read_back_equal(void **state) {
	for (size_t i = 0; i < BUILTIN_COUNT; i++)
		for (int mode = MODE_FILE; mode <= MODE_MEMORY; mode++) {
			struct buffer text = {0};
			struct plan plan, back;
			struct wprp file;
			struct findings findings = {0};
			builtin_plan(&builtins[i], (enum plan_mode)mode, &plan);
			plan_export(&plan, &text);
			assert_true(wprp_open(&file, text.data, text.size, &findings));
			wprp_check(&file, &findings);
			assert_int_equal(0, findings.list.count);
			assert_true(wprp_select(&file, NULL, (enum plan_mode)mode, &back, &findings));
			CLEANUP_FREE char *before = as_json(&plan), *after = as_json(&back);
			assert_string_equal(before, after);
			plan_free(&plan);
			plan_free(&back);
			wprp_free(&file);
			buffer_free(&text);
		}
}

// The schema does not allow empty elements, nor a system provider without a collector.
static void test_a_profile_without_the_kernel_is_exported_without_it(void **state) {
	static const char source[] =
		"<WindowsPerformanceRecorder Version='1.0'><Profiles>"
		"<EventCollector Id='EC' Name='Events'><BufferSize Value='64'/><Buffers "
		"Value='4'/></EventCollector>"
		"<EventProvider Id='EP' Name='{22BC55FE-2116-5ADC-12FB-3FADFD7E360C}' NonPagedMemory='true'/>"
		"<Profile Id='P.Light.File' Name='P' Description='P' DetailLevel='Light' LoggingMode='File'>"
		"<Collectors><EventCollectorId Value='EC'><EventProviders><EventProviderId Value='EP'/>"
		"</EventProviders></EventCollectorId></Collectors></Profile></Profiles></"
		"WindowsPerformanceRecorder>";
	struct buffer text = {0};
	struct plan plan;
	struct wprp file;
	struct findings findings = {0};
	assert_true(wprp_open(&file, (const uint8_t *)source, strlen(source), &findings));
	assert_true(wprp_select(&file, NULL, MODE_FILE, &plan, &findings));
	wprp_free(&file);
	plan_export(&plan, &text);
	buffer_append(&text, "", 1);
	assert_null(strstr((char *)text.data, "System"));
	assert_null(strstr((char *)text.data, "<Keywords>"));
	assert_non_null(strstr((char *)text.data, " NonPagedMemory=\"true\""));
	assert_true(wprp_open(&file, text.data, text.size - 1, &findings));
	wprp_check(&file, &findings);
	assert_int_equal(0, findings.list.count);
	wprp_free(&file);
	plan_free(&plan);
	buffer_free(&text);
}

// Every word in the table of built-in profiles is one of WPR's.
static void test_builtin_profiles_say_what_their_table_says(void **state) {
	for (size_t i = 0; i < BUILTIN_COUNT; i++) {
		const char *words = builtins[i].keywords;
		while (*words) {
			char word[64];
			int length = 0;
			sscanf(words, "%63s%n", word, &length);
			assert_true(keyword_find(word) >= 0);
			words += length + (int)strspn(words + length, " ");
		}
	}
	struct plan plan;
	builtin_plan(builtin_find("Light"), MODE_FILE, &plan);
	assert_keywords(&plan, "CSwitch ProcessThread ReadyThread");
	assert_false(plan_wants(&plan, SOURCE_IRQ));
	plan_free(&plan);
	assert_null(builtin_find("nothing"));
}

static void test_every_keyword_and_stack_has_its_place(void **state) {
	for (int i = 0; i < KEYWORD_COUNT; i++)
		assert_int_equal(i, keyword_find(system_keywords[i].name));
	for (int i = 0; i < STACK_COUNT; i++)
		assert_int_equal(i, stack_find(stack_names[i]));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_profile_names_keywords),
		cmocka_unit_test(test_a_system_provider_inherits_sets_adds_and_removes),
		cmocka_unit_test(test_a_profile_inherits_sets_adds_and_removes),
		cmocka_unit_test(test_event_providers_have_keywords_level_and_guid),
		cmocka_unit_test(test_collectors_have_sizes),
		cmocka_unit_test(test_sizes_are_obeyed_within_bounds),
		cmocka_unit_test(test_a_requested_file_or_ring_is_used),
		cmocka_unit_test(test_samples_are_sparse_beside_page_faults),
		cmocka_unit_test(test_several_want_what_any_of_them_wants),
		cmocka_unit_test(test_a_plus_stands_between_profiles),
		cmocka_unit_test(test_a_selection_is_name_detail_and_mode),
		cmocka_unit_test(test_comments_marks_and_other_encodings_change_nothing),
		cmocka_unit_test(test_malformed_xml_is_reported_with_line_and_column),
		cmocka_unit_test(test_entities_are_refused),
		cmocka_unit_test(test_depth_is_limited),
		cmocka_unit_test(test_a_circle_of_bases_ends),
		cmocka_unit_test(test_missing_references_are_reported),
		cmocka_unit_test(test_a_file_that_means_too_much_is_given_up),
		cmocka_unit_test(test_ten_megabytes_are_read),
		cmocka_unit_test(test_check_finds_what_wpr_would_not_take),
		cmocka_unit_test(test_exported_profiles_are_valid_and_read_back_equal),
		cmocka_unit_test(test_a_profile_without_the_kernel_is_exported_without_it),
		cmocka_unit_test(test_builtin_profiles_say_what_their_table_says),
		cmocka_unit_test(test_every_keyword_and_stack_has_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
