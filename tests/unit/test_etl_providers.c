// The built-in layouts of Windows' providers: an event has names if its payload is consumed to the last
// byte, and is shown as bytes otherwise.
#include "unit.h"

#include "../etl/etl_writer.h"
#include "read/etl/format.h"
#include "read/etl/schema.h"
#include "read/reader.h"

#include <stdio.h>
#include <time.h>

#define KERNEL_PROCESS  "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"
#define KERNEL_NETWORK  "7dd42a49-5329-4832-8dfd-43d979153a88"
#define HTTP_SERVICE    "dd5ef90a-6398-47a4-ad34-4dcecdef795f"
#define LICENSING       "a0af438f-4431-41cb-a675-a265050ee947"
#define DOT_NET         "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
#define DOT_NET_PRIVATE "763fd754-7086-4dfe-95eb-c01a46faf4ca"

enum { EVENT_PROCESS_START = 1, EVENT_RECEIVED = 11, EVENT_RECEIVED_IP6 = 27, EVENT_PARSE = 2 };

static struct etl_guid guid_of(const char *text) {
	struct etl_guid guid;
	assert_true(guid_parse(text, guid.bytes));
	return guid;
}

// Decodes as one event of a file would be, and returns "Task/Opcode name=value ..."; empties the payload.
static char *decoded(struct etl_schemas *schemas, const char *provider, uint16_t id, uint8_t version,
		     uint8_t pointer, struct buffer *payload) {
	struct etl_guid guid = guid_of(provider);
	struct etl_record record = {.kind = pointer == 4 ? ETL_EVENT32 : ETL_EVENT64,
				    .guid = &guid,
				    .id = id,
				    .version = version,
				    .pointer = pointer,
				    .payload = payload->data,
				    .size = (uint32_t)payload->size};
	struct etl_decoder decoder = {0};
	struct buffer out = {0};
	const struct etl_type *type = etl_schemas_type(schemas, &record);
	etl_type_title(type, &out);
	etl_decode(&decoder, &record, type->schema);
	for (size_t i = 0; i < decoder.fields.count; i++) {
		const struct event_field *field = &decoder.fields.items[i];
		if (field->type == FIELD_TEXT)
			buffer_printf(&out, " %s=%.*s", field->name, (int)field->size, field->text);
		else
			buffer_printf(&out, " %s=%llu", field->name, (unsigned long long)field->uint);
	}
	buffer_append(&out, "", 1);
	etl_decoder_free(&decoder);
	payload->size = 0;
	return (char *)out.data;
}

static void assert_decoded(const char *provider, uint16_t id, uint8_t version, uint8_t pointer,
			   struct buffer *payload, const char *expected) {
	struct etl_schemas schemas;
	etl_schemas_init(&schemas);
	CLEANUP_FREE char *text = decoded(&schemas, provider, id, version, pointer, payload);
	assert_string_equal(text, expected);
	etl_schemas_free(&schemas);
	buffer_free(payload);
}

static struct buffer process_start(void) {
	struct buffer p = {0};
	put32(&p, 400);
	put64(&p, 132404548206236167u);
	put32(&p, 4);
	put32(&p, 1);
	put_utf16(&p, "a.exe");
	return p;
}

static void test_an_event_has_the_names_of_its_provider(void **state) {
	struct buffer p = process_start();
	assert_decoded(KERNEL_PROCESS, EVENT_PROCESS_START, 0, 8, &p,
		       "ProcessStart/Start ProcessID=400 CreateTime=2020-07-29T00:07:00.6236167Z "
		       "ParentProcessID=4 SessionID=1 ImageName=a.exe");
}

static void test_a_byte_too_many_or_too_few_is_shown_raw(void **state) {
	struct buffer p = {0};
	put64(&p, 1);
	put16(&p, 200);
	assert_decoded(HTTP_SERVICE, 10, 0, 8, &p,
		       "HTTPRequestTraceTask/SendComplete RequestId=1 HttpStatus=200");
	put64(&p, 1);
	put16(&p, 200);
	buffer_append(&p, "", 1);
	assert_decoded(HTTP_SERVICE, 10, 0, 8, &p,
		       "HTTPRequestTraceTask/SendComplete Payload=0100000000000000c80000");
	put64(&p, 1);
	buffer_append(&p, "\xc8", 1);
	assert_decoded(HTTP_SERVICE, 10, 0, 8, &p,
		       "HTTPRequestTraceTask/SendComplete Payload=0100000000000000c8");
}

static void test_a_newer_version_is_tried_with_the_newest_layout(void **state) {
	struct buffer p = {0};
	put32(&p, 77);
	put64(&p, 0);
	assert_decoded(KERNEL_PROCESS, 11, 9, 8, &p,
		       "ProcessFreeze/Start FrozenProcessID=77 CreateTime=1601-01-01T00:00:00.0000000Z");
	put32(&p, 77); // as in version 0, but version 9 cannot be like it
	assert_decoded(KERNEL_PROCESS, 11, 9, 8, &p, "ProcessFreeze/Start Payload=4d000000");
}

static void test_an_older_version_is_not_guessed(void **state) {
	struct etl_guid guid = guid_of("f562bb8e-422d-4b5c-b20e-90d710f7d11c");
	struct etl_schema *known = etl_provider_schema(&guid, 487, 2);
	assert_non_null(known);
	etl_schema_free(known);
	assert_null(etl_provider_schema(&guid, 487, 1));
	assert_null(etl_provider_schema(&guid, 65000, 0));
}

static void test_pointers_are_as_wide_as_in_the_record(void **state) {
	for (uint8_t pointer = 4; pointer <= 8; pointer += 4) {
		struct buffer p = {0};
		put32(&p, 300);
		put32(&p, 1460);
		buffer_append(&p, (uint8_t[]){10, 0, 0, 1, 192, 168, 0, 7, 0x01, 0xbb, 0x1f, 0x90}, 12);
		put32(&p, 5);
		put32(&p, 0x42);
		if (pointer == 8)
			put32(&p, 0);
		assert_decoded(KERNEL_NETWORK, EVENT_RECEIVED, 0, pointer, &p,
			       "KERNEL_NETWORK_TASK_TCPIP/Datareceived PID=300 size=1460 daddr=10.0.0.1 "
			       "saddr=192.168.0.7 dport=443 sport=8080 seqnum=5 connid=66");
	}
}

static void test_a_layout_of_another_build_is_tried_too(void **state) {
	struct buffer p = {0};
	static const uint8_t address[16] = {0x20, 1, 0x0d, 0xb8, [15] = 1};
	put32(&p, 300);
	put32(&p, 1);
	buffer_append(&p, address, 16);
	buffer_append(&p, address, 16);
	put32(&p, 0);
	put32(&p, 0);
	put32(&p, 7); // on a 64-bit system, but four bytes
	assert_decoded(KERNEL_NETWORK, EVENT_RECEIVED_IP6, 0, 8, &p,
		       "KERNEL_NETWORK_TASK_TCPIP/Datareceived PID=300 size=1 daddr=2001:db8::1 "
		       "saddr=2001:db8::1 dport=0 sport=0 seqnum=0 connid=7");
}

static struct buffer parse_event(const char *url, bool with_end) {
	struct buffer p = {0};
	put64(&p, 1);
	put32(&p, 4);
	put_utf16(&p, url);
	if (!with_end)
		p.size -= 2;
	return p;
}

static void test_only_the_last_text_may_lack_its_end(void **state) {
	struct buffer p = parse_event("http://a/", true);
	static const char expected[] = "HTTPRequestTraceTask/Parse RequestObj=1 HttpVerb=4 Url=http://a/";
	assert_decoded(HTTP_SERVICE, EVENT_PARSE, 0, 8, &p, expected);
	p = parse_event("http://a/", false);
	assert_decoded(HTTP_SERVICE, EVENT_PARSE, 0, 8, &p, expected);
	p = parse_event("\1\2", false); // but it must be text
	assert_decoded(HTTP_SERVICE, EVENT_PARSE, 0, 8, &p,
		       "HTTPRequestTraceTask/Parse Payload=01000000000000000400000001000200");
	p = parse_event("http://a/", false); // and the layout that of its version
	CLEANUP_FREE char *text = NULL;
	struct etl_schemas schemas;
	etl_schemas_init(&schemas);
	text = decoded(&schemas, HTTP_SERVICE, EVENT_PARSE, 1, 8, &p);
	assert_non_null(strstr(text, " Payload="));
	etl_schemas_free(&schemas);
	buffer_free(&p);
}

// The manifest says two.
static void test_a_stack_of_dot_net_has_as_many_frames_as_it_says(void **state) {
	enum { EVENT_STACK = 151, FRAMES = 3 };
	struct buffer p = {0};
	put32(&p, 9);
	put32(&p, FRAMES);
	for (uint64_t i = 0; i < FRAMES; i++)
		put64(&p, 1000 + i);
	assert_decoded(DOT_NET_PRIVATE, EVENT_STACK, 0, 8, &p,
		       "CLRStackPrivate/CLRStackWalk ClrInstanceID=9 Reserved1=0 Reserved2=0 FrameCount=3 "
		       "Stack=0x3e8, 0x3e9, 0x3ea");
}

static void test_lists_of_structs(void **state) {
	struct buffer p = {0};
	put32(&p, 1);
	put_zeros(&p, 16);
	put32(&p, 2);
	put32(&p, 2);
	for (uint32_t i = 1; i <= 2; i++) {
		put32(&p, i);
		put32(&p, i * 10);
		put_utf16(&p, "x");
	}
	assert_decoded(LICENSING, 17, 0, 8, &p,
		       "event 17 SqmType=1 SqmSessionGuid=00000000-0000-0000-0000-000000000000 SqmID=2 "
		       "SqmStreamRowLength=2 SqmStreamRow={SqmTypeEntry=1 SqmDWORDEntry=10 "
		       "SqmStringEntry=x}, {SqmTypeEntry=2 SqmDWORDEntry=20 SqmStringEntry=x}");
}

// Its file describes the values as single bytes, but they are structs, whose members it does not have.
static void test_a_layout_that_is_not_described_completely_is_left_out(void **state) {
	struct buffer p = {0};
	put32(&p, 0);
	put32(&p, 1);
	put16(&p, 8);
	buffer_append(&p, "\7", 1);
	assert_decoded(DOT_NET, 16, 0, 8, &p, "GC/GCBulkRootEdge Payload=0000000001000000080007");
}

static void test_a_manifest_of_the_user_comes_first(void **state) {
	static const char text[] =
		"<instrumentationManifest><instrumentation><events><provider name=\"Mine\" "
		"guid=\"{" KERNEL_PROCESS "}\"><templates><template tid=\"T\"><data name=\"number\" "
		"inType=\"win:UInt32\"/></template></templates><events><event value=\"11\" version=\"0\" "
		"symbol=\"Frozen\" template=\"T\"/></events></provider></events></instrumentation>"
		"</instrumentationManifest>";
	struct etl_schemas schemas;
	char *reason = NULL;
	struct buffer p = {0};
	etl_schemas_init(&schemas);
	put32(&p, 77);
	CLEANUP_FREE char *before = decoded(&schemas, KERNEL_PROCESS, 11, 0, 8, &p);
	assert_string_equal(before, "ProcessFreeze/Start FrozenProcessID=77");
	assert_int_equal(etl_manifest_read(&schemas, text, sizeof(text) - 1, TIER_MANIFEST, &reason), 0);
	put32(&p, 77);
	CLEANUP_FREE char *after = decoded(&schemas, KERNEL_PROCESS, 11, 0, 8, &p);
	assert_string_equal(after, "Frozen number=77");
	etl_schemas_free(&schemas);
	buffer_free(&p);
}

static double cpu_seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// All lookups of a range of ids; the payload is longer than any layout can be exact for.
static void test_every_layout_can_be_looked_up_and_tried(void **state) {
	enum { IDS = 300, SIZE = 4096 };
	struct etl_decoder decoder = {0};
	struct etl_guid guid;
	CLEANUP_FREE uint8_t *payload = memory_alloc(SIZE);
	size_t found = 0, lookups = 0;
	for (size_t i = 0; i < SIZE; i++)
		payload[i] = (uint8_t)(i * 7);
	double begun = cpu_seconds();
	for (size_t i = 0; etl_installed_guid(i, &guid); i++)
		for (unsigned id = 0; id < IDS; id++) {
			struct etl_record record = {
				.payload = payload, .size = id % 2 ? SIZE : id, .pointer = 8};
			struct etl_schema *schema = etl_provider_schema(&guid, id, 255);
			lookups++;
			found += schema != NULL;
			if (schema)
				etl_decode(&decoder, &record, schema);
			assert_true(!schema || decoder.raw || !(decoder.left + decoder.failed));
			etl_schema_free(schema);
		}
	print_message("# %zu lookups, %zu layouts, %.2f us each with decoding\n", lookups, found,
		      (cpu_seconds() - begun) / (double)lookups * 1e6);
	assert_in_range(found, 10000, 60000);
	etl_decoder_free(&decoder);
}

static void test_providers_have_names(void **state) {
	struct buffer name = {0};
	struct etl_guid guid = guid_of(KERNEL_PROCESS);
	assert_true(etl_installed_provider(&guid, &name));
	buffer_append(&name, "", 1);
	assert_string_equal((char *)name.data, "Microsoft-Windows-Kernel-Process");
	guid.bytes[0]++;
	assert_false(etl_installed_provider(&guid, &name));
	buffer_free(&name);
	struct etl_guid before, after;
	assert_true(etl_installed_guid(0, &before));
	for (size_t i = 1; etl_installed_guid(i, &after); i++, before = after)
		assert_true(memcmp(&before, &after, sizeof(after)) < 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_event_has_the_names_of_its_provider),
		cmocka_unit_test(test_a_byte_too_many_or_too_few_is_shown_raw),
		cmocka_unit_test(test_a_newer_version_is_tried_with_the_newest_layout),
		cmocka_unit_test(test_an_older_version_is_not_guessed),
		cmocka_unit_test(test_pointers_are_as_wide_as_in_the_record),
		cmocka_unit_test(test_a_layout_of_another_build_is_tried_too),
		cmocka_unit_test(test_only_the_last_text_may_lack_its_end),
		cmocka_unit_test(test_a_stack_of_dot_net_has_as_many_frames_as_it_says),
		cmocka_unit_test(test_lists_of_structs),
		cmocka_unit_test(test_a_layout_that_is_not_described_completely_is_left_out),
		cmocka_unit_test(test_a_manifest_of_the_user_comes_first),
		cmocka_unit_test(test_every_layout_can_be_looked_up_and_tried),
		cmocka_unit_test(test_providers_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
