// The layouts of the kernel's own events, version by version, with payloads made by hand.
#include "unit.h"

#include "../etl/etl_writer.h"
#include "read/etl/format.h"
#include "read/etl/schema.h"

#include <stdio.h>

// A record of the kernel as text: "Class/Event name=value ...". Empties the payload.
static char *decoded(uint8_t group, uint8_t opcode, uint16_t version, uint8_t pointer,
		     struct buffer *payload) {
	struct etl_record record = {.kind = pointer == 4 ? ETL_PERFINFO32 : ETL_PERFINFO64,
				    .group = group,
				    .opcode = opcode,
				    .version = version,
				    .pointer = pointer,
				    .payload = payload->data,
				    .size = (uint32_t)payload->size};
	struct etl_schemas schemas;
	struct etl_decoder decoder = {0};
	struct buffer out = {0};
	etl_schemas_init(&schemas);
	const struct etl_type *type = etl_schemas_type(&schemas, &record);
	etl_type_title(type, &out);
	etl_decode(&decoder, &record, type->schema);
	for (size_t i = 0; i < decoder.fields.count; i++) {
		const struct event_field *field = &decoder.fields.items[i];
		if (field->type == FIELD_TEXT)
			buffer_printf(&out, " %s=%.*s", field->name, (int)field->size, field->text);
		else
			buffer_printf(&out, " %s=%lld", field->name, (long long)field->sint);
	}
	if (decoder.failed && !decoder.raw)
		buffer_printf(&out, " and it ends too early");
	buffer_append(&out, "", 1);
	etl_decoder_free(&decoder);
	etl_schemas_free(&schemas);
	payload->size = 0;
	return (char *)out.data;
}

static void assert_decoded(uint8_t group, uint8_t opcode, uint16_t version, uint8_t pointer,
			   struct buffer *payload, const char *expected) {
	CLEANUP_FREE char *text = decoded(group, opcode, version, pointer, payload);
	assert_string_equal(text, expected);
	buffer_free(payload);
}

static struct buffer switch_payload(uint8_t reason, uint8_t mode_or_flags) {
	struct buffer p = {0};
	put32(&p, 20);
	put32(&p, 10);
	buffer_append(&p, (uint8_t[]){8, 9, 1, 0, reason, mode_or_flags, 5, 2}, 8);
	put32(&p, 7);
	put32(&p, 0);
	return p;
}

#define SWITCH_BEGIN                                                                                         \
	"Thread/CSwitch NewThreadId=20 OldThreadId=10 NewThreadPriority=8 OldThreadPriority=9 "              \
	"PreviousCState=1 SpareByte=0 OldThreadWaitReason="
#define SWITCH_END " OldThreadState=Waiting OldThreadWaitIdealProcessor=2 NewThreadWaitTime=7 Reserved=0"

static void test_newer_switches_have_flags_where_older_ones_have_a_mode(void **state) {
	struct buffer p = switch_payload(6, 1);
	assert_decoded(5, 36, 2, 8, &p, SWITCH_BEGIN "UserRequest OldThreadWaitMode=Swappable" SWITCH_END);
	for (uint16_t version = 3; version <= 4; version++) {
		p = switch_payload(6, 1);
		assert_decoded(5, 36, version, 8, &p, SWITCH_BEGIN "UserRequest ThreadFlags=1" SWITCH_END);
	}
}

static void test_reasons_of_newer_systems_have_names(void **state) {
	struct buffer p = switch_payload(42, 0);
	assert_decoded(5, 36, 4, 8, &p, SWITCH_BEGIN "WrRcu ThreadFlags=0" SWITCH_END);
}

static void test_the_end_of_a_thread_had_two_numbers(void **state) {
	struct buffer p = {0};
	put32(&p, 40);
	put32(&p, 44);
	assert_decoded(5, 2, 1, 8, &p, "Thread/Stop ProcessId=40 TThreadId=44");
}

static void test_an_interrupt_has_no_message_number(void **state) {
	struct buffer p = {0};
	put64(&p, 1000);
	put64(&p, 0x1234);
	buffer_append(&p, (uint8_t[]){1, 0x51, 0, 9}, 4);
	assert_decoded(0x0f, 67, 2, 8, &p,
		       "PerfInfo/ISR InitialTime=1000 Routine=4660 ReturnValue=1 Vector=81 Reserved=9");
	put64(&p, 1000);
	put64(&p, 0x1234);
	buffer_append(&p, (uint8_t[]){1, 0x51, 0, 9}, 4);
	put32(&p, 3);
	CLEANUP_FREE char *text = decoded(0x0f, 50, 2, 8, &p);
	assert_non_null(strstr(text, "PerfInfo/ISRMSI"));
	assert_non_null(strstr(text, "MessageNumber=3"));
	buffer_free(&p);
}

static void test_old_registry_events_have_another_order(void **state) {
	struct buffer p = {0};
	for (uint16_t version = 0; version <= 1; version++) {
		put32(&p, 5);
		put32(&p, 6);
		put64(&p, 700);
		if (version == 1)
			put32(&p, 8);
		put_utf16(&p, "Key");
		assert_decoded(
			9, 11, version, 4, &p,
			version ? "Registry/Open Status=5 KeyHandle=6 ElapsedTime=700 Index=8 KeyName=Key"
				: "Registry/Open Status=5 KeyHandle=6 ElapsedTime=700 KeyName=Key");
	}
	put64(&p, 700);
	put32(&p, 5);
	put32(&p, 8);
	put32(&p, 6);
	put_utf16(&p, "Key");
	assert_decoded(9, 11, 2, 4, &p,
		       "Registry/Open InitialTime=700 Status=5 Index=8 KeyHandle=6 KeyName=Key");
}

static void put_addresses(struct buffer *p) {
	buffer_append(p, (uint8_t[]){10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 0, 81}, 12);
}

static void test_old_network_events_have_another_order(void **state) {
	struct buffer p = {0};
	put_addresses(&p);
	put32(&p, 100);
	put32(&p, 40);
	assert_decoded(6, 11, 0, 4, &p,
		       "TcpIp/Recv daddr=10.0.0.1 saddr=10.0.0.2 dport=80 sport=81 size=100 PID=40");
	put32(&p, 40);
	put32(&p, 100);
	put_addresses(&p);
	put64(&p, 9);
	put32(&p, 3);
	assert_decoded(6, 11, 1, 8, &p,
		       "TcpIp/Recv PID=40 size=100 daddr=10.0.0.1 saddr=10.0.0.2 dport=80 sport=81 connid=9 "
		       "seqnum=3");
}

static void test_devices_of_newer_systems_have_a_status(void **state) {
	struct buffer p = {0};
	put_zeros(&p, 16);
	put32(&p, 1);
	put32(&p, 0);
	put32(&p, 0x180200a);
	put32(&p, 0);
	put_utf16(&p, "ROOT\\A");
	put_utf16(&p, "A device");
	put_utf16(&p, "");
	put_utf16(&p, "\\Device\\1");
	put_utf16(&p, "svc");
	put_utf16(&p, "upper");
	assert_decoded(0x0b, 22, 5, 8, &p,
		       "SystemConfig/PnP ClassGuid=00000000-0000-0000-0000-000000000000 UpperFiltersCount=1 "
		       "LowerFiltersCount=0 DevStatus=25174026 DevProblem=0 DeviceID=ROOT\\A "
		       "DeviceDescription=A device FriendlyName= PdoName=\\Device\\1 ServiceName=svc "
		       "UpperFilters=upper LowerFilters=");
}

static void test_every_kernel_class_has_its_group(void **state) {
	static const struct {
		const char *guid;
		int group;
	} classes[] = {
		{"3282fc76-feed-498e-8aa7-e70f459d430e", 0x07},
		{"13976d09-a327-438c-950b-7f03192815c7", 0x0a},
		{"99134383-5248-43fc-834b-529454e75df3", 0x0c},
		{"42695762-ea50-497a-9068-5cbbb35e0b95", 0x0d},
		{"0268a8b6-74fd-4302-9dd0-6e8f1795c0cf", 0x0e},
		{"222962ab-6180-4b88-a825-346b75f2a24a", 0x10},
		{"89497f50-effe-4440-8cf2-ce6b1cdcaca7", 0x11},
		{"e43445e0-0903-48c3-b878-ff0fccebdd04", 0x12},
		{"a9152f00-3f58-4bee-92a1-70c7d079d5dd", 0x13},
		{"b2d14872-7c5b-463d-8419-ee9bf7d23e04", 0x15},
		{"7687a439-f752-45b8-b741-321aec0f8df9", 0x16},
		{"3ac66736-cc59-4cff-8115-8df50e39816b", 0x17},
		{"9aec974b-5b8e-4118-9b92-3186d8002ce5", 0x19},
		{"45d8cccd-539f-4b72-a8b7-5c683142609a", 0x1a},
		{"d837ca92-12b9-44a5-ad6a-3a65b3578aa8", 0x1b},
		{"c861d0e2-a2c1-4d36-9f9c-970bab943a12", 0x1c},
		{"7f2a405c-69b5-4bf9-a1f5-30e8f1afab5e", 0x1d},
		{"2ce9a149-effe-42f0-a635-a1d39e26c8f2", 0x1e},
		{"ce1dbfb4-137e-4da6-87b0-3f59aa102cbc", 0x0f},
		{"b3e675d7-2554-4f18-830b-2762732560de", -1},
	};
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct etl_guid guid;
		assert_true(guid_parse(classes[i].guid, guid.bytes));
		assert_int_equal(etl_kernel_group(&guid), classes[i].group);
	}
}

static void test_an_unlisted_version_counts_only_if_it_fits(void **state) {
	struct buffer p = switch_payload(6, 1);
	assert_decoded(5, 36, 9, 8, &p, SWITCH_BEGIN "UserRequest ThreadFlags=1" SWITCH_END);
	p = switch_payload(6, 1);
	put64(&p, 1); // more than padding
	CLEANUP_FREE char *text = decoded(5, 36, 9, 8, &p);
	assert_memory_equal(text, "Thread/CSwitch Payload=14000000", 31);
	buffer_free(&p);
}

static void test_padding_at_the_end_of_a_struct_is_no_rest(void **state) {
	struct buffer p = {0};
	put32(&p, 77);
	put32(&p, 0);
	put64(&p, 1000);
	assert_decoded(5, 47, 2, 8, &p, "Thread/DelayExecution ThreadId=77 Delta=1000");
	put64(&p, 1);
	put64(&p, 2);
	put32(&p, 3);
	put32(&p, 0); // which the fields do not need
	assert_decoded(1, 36, 2, 8, &p, "DiskIO/DrvComplRoutCall Routine=1 IrpPtr=2 UniqMatchId=3");
}

static void test_versions_of_an_opcode_may_be_different_events(void **state) {
	struct buffer p = {0};
	CLEANUP_FREE char *old = decoded(5, 48, 2, 8, &p), *new = decoded(5, 48, 3, 8, &p);
	assert_non_null(strstr(old, "Thread/ReserveCreate"));
	assert_non_null(strstr(new, "Priority"));
	buffer_free(&p);
}

static void test_the_payload_says_which_layout_it_has(void **state) {
	struct buffer p = {0};
	put32(&p, 0);
	put32(&p, 1);
	put64(&p, 0);
	put_guid(&p, "00112233-4455-6677-8899-aabbccddeeff");
	put_zeros(&p, 16);
	assert_decoded(0, 80, 2, 8, &p,
		       "EventTrace/PartitionInfoExtension EventVersion=0 Reserved=0 PartitionType=1 "
		       "QpcOffsetFromRoot=0 PartitionId=00112233-4455-6677-8899-aabbccddeeff "
		       "ParentId=00000000-0000-0000-0000-000000000000");
	put32(&p, 2);
	put32(&p, 1);
	put64(&p, 0);
	put_utf16(&p, "0123456"); // as long as a GUID
	put_utf16(&p, "host-me");
	assert_decoded(0, 80, 2, 8, &p,
		       "EventTrace/PartitionInfoExtension EventVersion=2 Reserved=0 PartitionType=1 "
		       "QpcOffsetFromRoot=0 PartitionId=0123456 ParentId=host-me");
}

static void test_lists_of_structs_and_fixed_texts(void **state) {
	struct buffer p = {0};
	put32(&p, 2);
	for (uint16_t i = 0; i < 2; i++) {
		put64(&p, 0xf);
		put16(&p, i);
		put_zeros(&p, 6);
	}
	assert_decoded(0x0b, 24, 2, 8, &p,
		       "SystemConfig/NumaNode NodeCount=2 NodeMap={Mask=0xf Group=0 Reserved1=0 Reserved2=0 "
		       "Reserved3=0}, {Mask=0xf Group=1 Reserved1=0 Reserved2=0 Reserved3=0}");
	put32(&p, 2); // Windows 7 had masks only
	put64(&p, 3);
	put64(&p, 12);
	assert_decoded(0x0b, 24, 2, 8, &p, "SystemConfig/NumaNode NodeCount=2 NodeMap=0x3, 0xc");
	for (uint32_t i = 0; i < 3; i++)
		put64(&p, i);
	CLEANUP_FREE char *text = decoded(0x0e, 32, 2, 8, &p);
	assert_non_null(strstr(text, "Pool/"));
	buffer_free(&p);
}

static void test_events_without_a_layout_have_names(void **state) {
	struct buffer p = {0};
	put32(&p, 1);
	assert_decoded(0, 48, 2, 8, &p, "EventTrace/RundownBegin Payload=01000000");
	put32(&p, 1);
	assert_decoded(0x1e, 99, 2, 8, &p, "1e/99 Payload=01000000");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newer_switches_have_flags_where_older_ones_have_a_mode),
		cmocka_unit_test(test_reasons_of_newer_systems_have_names),
		cmocka_unit_test(test_the_end_of_a_thread_had_two_numbers),
		cmocka_unit_test(test_an_interrupt_has_no_message_number),
		cmocka_unit_test(test_old_registry_events_have_another_order),
		cmocka_unit_test(test_old_network_events_have_another_order),
		cmocka_unit_test(test_devices_of_newer_systems_have_a_status),
		cmocka_unit_test(test_every_kernel_class_has_its_group),
		cmocka_unit_test(test_an_unlisted_version_counts_only_if_it_fits),
		cmocka_unit_test(test_padding_at_the_end_of_a_struct_is_no_rest),
		cmocka_unit_test(test_versions_of_an_opcode_may_be_different_events),
		cmocka_unit_test(test_the_payload_says_which_layout_it_has),
		cmocka_unit_test(test_lists_of_structs_and_fixed_texts),
		cmocka_unit_test(test_events_without_a_layout_have_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
