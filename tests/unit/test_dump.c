// Events as lines of text, JSON and CSV, and which of them are shown.
#include "write/dump.h"
#include "written.h"

static struct tables tables;
static uint64_t shown;

static int dump_setup(void **state) {
	tables = tables_new();
	return folder_setup(state);
}

static int dump_teardown(void **state) {
	tables_free(&tables);
	return folder_teardown(state);
}

#define WITH_TABLES(test) cmocka_unit_test_setup_teardown(test, dump_setup, dump_teardown)

static uint32_t text_of(const char *text) {
	return strings_add(tables.strings, text);
}

static const struct event_field fields[] = {
	{.name = "count", .type = FIELD_UINT, .uint = 7},
	{.name = "error", .type = FIELD_INT, .sint = -22},
	{.name = "address", .type = FIELD_HEX, .uint = 0xbeef},
	{.name = "ratio", .type = FIELD_DOUBLE, .real = 0.5},
	{.name = "sync", .type = FIELD_BOOL, .uint = 1},
	{.name = "file", .type = FIELD_TEXT, .text = "a \"b\",\nc", .size = 8},
	{.name = "nothing", .type = FIELD_TEXT, .text = "", .size = 0},
};

// A recording of one process, 40, with one event from each of two providers.
static size_t a_recording(struct event events[5]) {
	static const struct event_numbers numbers = {.id = 12,
						     .version = 1,
						     .task = 3,
						     .opcode = 2,
						     .level = 4,
						     .has_id = true,
						     .keywords = 0x10,
						     .provider = "52fc89f8-995e-434c-a91e-199986449890"};
	struct frame inner = {.symbol = text_of("read_block")}, outer = {.address = 0x1000};
	uint32_t stack = stacks_add(tables.stacks, 0, stacks_add_frame(tables.stacks, &outer));
	stack = stacks_add(tables.stacks, stack, stacks_add_frame(tables.stacks, &inner));
	events[0] = (struct event){.kind = EVENT_START, .time = 1000000000, .cpu = CPU_NONE};
	events[1] = (struct event){.kind = EVENT_TASK,
				   .time = 1000000000,
				   .cpu = CPU_NONE,
				   .tid = 40,
				   .pid = 40,
				   .task = {.name = text_of("a test")}};
	events[2] = (struct event){.kind = EVENT_GENERIC,
				   .time = 1000000100,
				   .cpu = 3,
				   .tid = 41,
				   .pid = 40,
				   .generic = {.provider = text_of("Disk"),
					       .name = text_of("Read"),
					       .fields = fields,
					       .field_count = ARRAY_SIZE(fields),
					       .duration = 250,
					       .stack = stack,
					       .numbers = &numbers}};
	events[3] = (struct event){.kind = EVENT_GENERIC,
				   .time = 2500000000,
				   .cpu = CPU_NONE,
				   .tid = 50,
				   .pid = 50,
				   .generic = {.provider = text_of("Network"), .name = text_of("Send12")}};
	events[4] = (struct event){.kind = EVENT_WATERMARK, .time = 2600000000};
	return 5;
}

static char *dump_of(const struct dump_options *options) {
	struct output output;
	struct event events[5];
	size_t count = a_recording(events);
	assert_int_equal(output_open(&output, in_folder("written"), OUTPUT_REPLACE), 0);
	struct sink *sink = dump_new(&output, &tables, options);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sink_push(sink, &events[i]), 0);
	shown = dump_shown(sink);
	return write_all(sink, &output, NULL, 0);
}

#define assert_dump(expected, ...)                                                                           \
	do {                                                                                                 \
		CLEANUP_FREE char *text = dump_of(&(struct dump_options){__VA_ARGS__});                      \
		assert_string_equal(text, expected);                                                         \
	} while (0)

#define READ_FIELDS "count=7 error=-22 address=0xbeef ratio=0.5 sync=true file=\"a \"b\",\\nc\" nothing=\"\""
#define READ_LINE                                                                                            \
	"    0.000000100 [03]     40/41     a test               Disk/Read " READ_FIELDS " duration=250ns\n"
#define SEND_LINE   "    1.500000000  --      50/50                          Network/Send12\n"
#define CSV_HEADING "time_ns,cpu,pid,tid,process,provider,event,fields\n"

static void test_a_line_of_text_is_one_line(void **state) {
	assert_dump(READ_LINE SEND_LINE, .only_generic = true);
	assert_int_equal(shown, 2);
}

static void test_json_keeps_types_numbers_and_stack(void **state) {
	assert_dump(
		"{\"time_ns\":100,\"cpu\":3,\"pid\":40,\"tid\":41,\"process\":\"a "
		"test\",\"provider\":\"Disk\","
		"\"event\":\"Read\",\"provider_guid\":\"52fc89f8-995e-434c-a91e-199986449890\",\"id\":12,"
		"\"version\":1,\"opcode\":2,\"task\":3,\"level\":4,\"keywords\":\"0x10\",\"duration_ns\":250,"
		"\"fields\":{\"count\":7,\"error\":-22,\"address\":\"0xbeef\",\"ratio\":0.5,\"sync\":true,"
		"\"file\":\"a \\\"b\\\",\\nc\",\"nothing\":\"\"},\"stack\":[\"read_block\",\"0x1000\"]}\n"
		"{\"time_ns\":1500000000,\"pid\":50,\"tid\":50,\"process\":\"\",\"provider\":\"Network\","
		"\"event\":\"Send12\",\"fields\":{}}\n",
		.format = DUMP_JSON, .only_generic = true);
}

static void test_csv_quotes_what_would_end_a_cell(void **state) {
	assert_dump(CSV_HEADING
		    "100,3,40,41,a test,Disk,Read,\"count=7 error=-22 address=0xbeef ratio=0.5 sync=true "
		    "file=\"\"a \"\"b\"\",\\nc\"\" nothing=\"\"\"\"\"\n"
		    "1500000000,,50,50,,Network,Send12,\n",
		    .format = DUMP_CSV, .only_generic = true);
}

static void test_csv_has_a_heading_also_without_events(void **state) {
	assert_dump(CSV_HEADING, .format = DUMP_CSV, .provider = "nobody");
	assert_int_equal(shown, 0);
}

static void test_providers_and_events_are_found_by_a_part_in_any_case(void **state) {
	assert_dump(SEND_LINE, .provider = "netw");
	assert_dump(READ_LINE, .event = "rEAD", .only_generic = true);
	assert_dump(READ_LINE, .provider = "{52FC89F8", .only_generic = true); // or by a GUID
}

// If an event has no id, a number is part of the name.
static void test_an_event_is_found_by_its_id(void **state) {
	assert_dump(READ_LINE SEND_LINE, .event = "12", .only_generic = true);
	assert_dump("", .event = "1", .provider = "Disk");
}

static void test_a_process_and_a_time_are_chosen(void **state) {
	assert_dump(READ_LINE, .has_pid = true, .pid = 40, .only_generic = true);
	assert_dump(SEND_LINE, .from = 101, .only_generic = true);
	assert_dump(READ_LINE, .has_to = true, .to = 1500000000, .only_generic = true); // before, not at it
	assert_dump(SEND_LINE, .from = 1500000000, .only_generic = true);
}

static void test_other_events_identify_tasks(void **state) {
	CLEANUP_FREE char *text = dump_of(&(struct dump_options){.format = DUMP_TEXT});
	assert_non_null(strstr(text, "task/"));
	assert_non_null(strstr(text, READ_LINE));
	assert_int_equal(shown, 3);
}

static void test_a_text_in_csv_is_quoted_only_if_it_must_be(void **state) {
	static const struct {
		const char *text, *expected;
	} rows[] = {{"plain text", "plain text"}, {"a,b", "\"a,b\""},   {"a\"b", "\"a\"\"b\""},
		    {"a\nb", "\"a\nb\""},         {"a\rb", "\"a\rb\""}, {"", ""}};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buffer out = {0};
		dump_csv_text(&out, rows[i].text, strlen(rows[i].text));
		buffer_append(&out, "", 1);
		assert_string_equal((char *)out.data, rows[i].expected);
		buffer_free(&out);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		WITH_TABLES(test_a_line_of_text_is_one_line),
		WITH_TABLES(test_json_keeps_types_numbers_and_stack),
		WITH_TABLES(test_csv_quotes_what_would_end_a_cell),
		WITH_TABLES(test_csv_has_a_heading_also_without_events),
		WITH_TABLES(test_providers_and_events_are_found_by_a_part_in_any_case),
		WITH_TABLES(test_an_event_is_found_by_its_id),
		WITH_TABLES(test_a_process_and_a_time_are_chosen),
		WITH_TABLES(test_other_events_identify_tasks),
		cmocka_unit_test(test_a_text_in_csv_is_quoted_only_if_it_must_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
