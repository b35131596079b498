// Decoding with the built-in layouts: two bytes choose the provider, two the event, one its version, one the
// width of a pointer; the rest is the payload.
#include "fuzz.h"

#include "read/etl/schema.h"

enum { CHOICE = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct cursor in = cursor_of(bytes, size);
	struct etl_guid guid;
	unsigned provider = cursor_u16(&in), id = cursor_u16(&in), version = cursor_u8(&in);
	uint8_t pointer = cursor_u8(&in) & 1 ? 4 : 8;
	if (in.failed || !etl_installed_guid(provider, &guid))
		return 0;
	struct etl_schema *schema = etl_provider_schema(&guid, id, version);
	// A copy of its own, so that reading beyond it is noticed.
	size_t left = cursor_left(&in);
	CLEANUP_FREE uint8_t *payload = memory_alloc(left + !left);
	if (left)
		memcpy(payload, in.at, left);
	struct etl_record record = {.payload = payload, .size = (uint32_t)left, .pointer = pointer};
	struct etl_decoder decoder = {0};
	etl_decode(&decoder, &record, schema);
	if (!decoder.raw && (decoder.left || decoder.failed))
		abort(); // an exact layout leaves nothing
	etl_decoder_free(&decoder);
	etl_schema_free(schema);
	return 0;
}

// Every 30th provider, its first events, with payloads of zeros and of text.
void fuzz_seeds(void) {
	struct etl_guid guid;
	for (unsigned i = 0; etl_installed_guid(i, &guid); i += 30)
		for (unsigned id = 0, found = 0; id < 1000 && found < 4; id++) {
			struct etl_schema *schema = etl_provider_schema(&guid, id, 0);
			if (!schema)
				continue;
			struct buffer seed = {0};
			uint8_t head[CHOICE] = {(uint8_t)i,  (uint8_t)(i >> 8),
						(uint8_t)id, (uint8_t)(id >> 8),
						0,           (uint8_t)found};
			buffer_append(&seed, head, sizeof(head));
			for (size_t k = 0; k < schema->fields.count * 4; k++)
				buffer_append(&seed, found % 2 && k % 4 == 0 ? "a" : "", 1);
			CLEANUP_FREE char *name = memory_format("%u-%u", i, id);
			fuzz_seed(name, &seed);
			etl_schema_free(schema);
			found++;
		}
}
