// What servers of a fleet answer: rows of ClickHouse in pieces of any size, lists of S3.
#include "fuzz.h"

#include "store/answer.h"
#include "store/objects_list.h"

static void touch_cells(void *context, const struct cell *cells) {
	size_t *sum = context;
	for (int i = 0; i < 3; i++)
		if (cells[i].text)
			for (size_t k = 0; k <= cells[i].size; k++)
				*sum += (uint8_t)cells[i].text[k];
}

static void touch_entry(void *context, const struct objects_entry *entry) {
	size_t *sum = context;
	unsigned month;
	bool trusted;
	*sum += strlen(entry->key) + objects_kind_of(entry->key, &month, &trusted);
}

// The first byte says how large the pieces are. What they are does not matter.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	size_t sums[2] = {0}, entries = 0, piece = size && bytes[0] ? bytes[0] : 1;
	bool whole[2];
	struct answer answers[2] = {{.columns = 3, .take = touch_cells, .context = &sums[0]},
				    {.columns = 3, .take = touch_cells, .context = &sums[1]}};
	answer_add(&answers[0], bytes, size);
	for (size_t at = 0; at < size; at += piece)
		if (!answer_add(&answers[1], bytes + at, MIN(piece, size - at)))
			break;
	for (int i = 0; i < 2; i++) {
		whole[i] = answer_is_whole(&answers[i]);
		answer_free(&answers[i]);
	}
	if (sums[0] != sums[1] || whole[0] != whole[1])
		abort();
	struct objects_list list = {.prefix = "p/", .take = touch_entry, .context = &entries};
	objects_list_read(&list, bytes, size);
	return 0;
}

void fuzz_seeds(void) {
	static const char rows[] = "\x05"
				   "a\\tb\t\\N\t\\\\N\nx\ty\tz\n";
	static const char page[] =
		"<ListBucketResult><Contents><Key>p/objects/e3/e3b0</Key><Size>7</Size><LastModified>"
		"2026-01-02T00:00:01.000Z</LastModified></Contents><NextContinuationToken>t"
		"</NextContinuationToken></ListBucketResult>";
	struct buffer seed = {0};
	buffer_text(&seed, rows);
	fuzz_seed("rows", &seed);
	buffer_text(&seed, page);
	fuzz_seed("list", &seed);
}
