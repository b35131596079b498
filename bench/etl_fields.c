// etl_fields FILE.etl...: how many events have no field names, by provider and event, and how many are
// decoded with bytes left over or missing. The last line has the sums: events, without names, inexact.
// A description of other events (merged files) and an event without a payload need no names.
#include "base/file.h"
#include "read/etl/state.h"

#include <inttypes.h>
#include <stdio.h>

struct counts {
	uint64_t events, unnamed, inexact;
};

static void learn(struct etl_file *file, struct etl_schemas *schemas) {
	struct etl_walk walk;
	const struct etl_record *record;
	etl_walk_begin(&walk, file);
	while ((record = etl_walk_next(&walk)))
		if (etl_role_of(etl_schemas_type(schemas, record)) == ROLE_DESCRIPTION)
			etl_schemas_learn(schemas, record);
	etl_walk_end(&walk);
}

static void print_type(const struct etl_schemas *schemas, const struct etl_type *type,
		       const struct counts *counts) {
	struct buffer text = {0};
	if (!counts->unnamed && !counts->inexact)
		return;
	etl_type_key(type, &text);
	buffer_append(&text, "  ", 2);
	etl_type_name(schemas, type, &text);
	printf("%8" PRIu64 " without names %8" PRIu64 " inexact  of %8" PRIu64 "  %.*s\n", counts->unnamed,
	       counts->inexact, counts->events, (int)text.size, (char *)text.data);
	buffer_free(&text);
}

static void count(struct etl_file *file, struct counts *sum) {
	struct etl_schemas schemas;
	struct etl_decoder decoder = {0};
	struct etl_walk walk;
	const struct etl_record *record;
	ARRAY(struct counts) types = {0};
	etl_schemas_init(&schemas);
	learn(file, &schemas);
	etl_walk_begin(&walk, file);
	while ((record = etl_walk_next(&walk))) {
		struct etl_type *type = etl_schemas_type(&schemas, record);
		while (types.count <= type->number)
			array_push(&types, (struct counts){0});
		struct counts *counts = &types.items[type->number];
		counts->events++;
		if (type->tier == TIER_SCHEMA)
			continue;
		etl_decode(&decoder, record, type->schema);
		counts->unnamed += decoder.raw && record->size;
		counts->inexact += !decoder.raw && (decoder.failed || decoder.left);
	}
	for (size_t i = 0; i < types.count; i++) {
		print_type(&schemas, schemas.types.items[i], &types.items[i]);
		sum->events += types.items[i].events;
		sum->unnamed += types.items[i].unnamed;
		sum->inexact += types.items[i].inexact;
	}
	etl_walk_end(&walk);
	array_free(&types);
	etl_decoder_free(&decoder);
	etl_schemas_free(&schemas);
}

int main(int argc, char **argv) {
	struct counts sum = {0};
	for (int i = 1; i < argc; i++) {
		struct input whole;
		struct stream input;
		struct etl_file file;
		if (input_open(&whole, argv[i]))
			return 1;
		stream_of_memory(&input, whole.data, whole.size);
		input_close(&whole);
		if (etl_file_open(&file, &input, argv[i]))
			return 1;
		printf("%s\n", argv[i]);
		count(&file, &sum);
		etl_file_close(&file);
		stream_close(&input);
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sum.events, sum.unnamed, sum.inexact);
	return 0;
}
