// `tracelet info` for heap profiles.
#include "read/dhat.h"

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>

struct dhat_sums {
	uint64_t values[HEAP_METRIC_COUNT];
	uint64_t places;
};

static int add_place(void *context, const struct dhat_place *place) {
	struct dhat_sums *sums = context;
	sums->places++;
	for (size_t i = 0; i < HEAP_METRIC_COUNT; i++)
		sums->values[i] += place->values[i];
	return 0;
}

static const char *unit(const struct dhat_head *head, enum heap_unit unit) {
	return (const char *)head->units[unit].data;
}

static void write_json(const struct dhat_file *file, const struct dhat_sums *sums, struct buffer *out) {
	const struct dhat_head *head = &file->head;
	struct json json = json_into(out);
	json_object(&json, NULL);
	json_string(&json, "file", file->name);
	json_string(&json, "format", "dhat");
	json_uint(&json, "size", file->size);
	json_string(&json, "mode", (char *)head->mode.data);
	json_string(&json, "command", (char *)head->command.data);
	json_uint(&json, "pid", head->pid);
	json_string(&json, "unit", unit(head, HEAP_BYTES));
	json_string(&json, "block_unit", unit(head, HEAP_BLOCKS));
	json_string(&json, "time_unit", unit(head, HEAP_TIME));
	if (head->has_end)
		json_uint(&json, "end", head->end);
	if (head->has_peak)
		json_uint(&json, "peak_time", head->peak);
	if (head->sample)
		json_uint(&json, "estimated_from_samples_every", head->sample);
	json_uint(&json, "places", sums->places);
	json_object(&json, "metrics");
	for (size_t i = 0; i < HEAP_METRIC_COUNT; i++)
		if (dhat_has(head, i))
			json_uint(&json, heap_metrics[i].name, sums->values[i]);
	json_close_object(&json);
	json_close_object(&json);
	buffer_append(out, "\n", 1);
}

static void write_amount(const struct dhat_file *file, const struct dhat_sums *sums, const char *label,
			 enum heap_metric_id bytes, struct buffer *out) {
	const struct dhat_head *head = &file->head;
	if (dhat_has(head, bytes))
		text_append_line(out, "%-10s %" PRIu64 " %s in %" PRIu64 " %s", label, sums->values[bytes],
				 unit(head, HEAP_BYTES), sums->values[bytes + 1], unit(head, HEAP_BLOCKS));
}

static void write_text(const struct dhat_file *file, const struct dhat_sums *sums, struct buffer *out) {
	const struct dhat_head *head = &file->head;
	char words[16];
	text_append_line(out, "file       %s, a heap profile (dhat, %s), %s", file->name,
			 (char *)head->mode.data, file_size_words(file->size, words));
	text_append_line(out, "command    %s", (char *)head->command.data);
	buffer_printf(out, "process    %" PRIu64 "\n", head->pid);
	if (head->has_end)
		text_append_line(out, "time       %" PRIu64 " %s", head->end, unit(head, HEAP_TIME));
	buffer_printf(out, "places     %" PRIu64 "\n", sums->places);
	if (head->sample)
		text_append_line(out, "estimated  from samples, one in %" PRIu64 " %s on average",
				 head->sample, unit(head, HEAP_BYTES));
	write_amount(file, sums, "allocated", HEAP_ALLOCATED, out);
	write_amount(file, sums, "peak", HEAP_PEAK, out);
	if (head->has_peak)
		text_append_line(out, "           after %" PRIu64 " %s", head->peak, unit(head, HEAP_TIME));
	write_amount(file, sums, "at end", HEAP_LEAKED, out);
	uint64_t blocks = sums->values[HEAP_ALLOCATED_BLOCKS];
	if (dhat_has(head, HEAP_LIFETIME) && blocks)
		text_append_line(out, "lifetime   %.1f %s on average",
				 (double)sums->values[HEAP_LIFETIME] / (double)blocks, unit(head, HEAP_TIME));
	if (head->accesses)
		text_append_line(out, "accesses   %" PRIu64 " %s read, %" PRIu64 " written",
				 sums->values[HEAP_READ], unit(head, HEAP_BYTES), sums->values[HEAP_WRITTEN]);
}

int dhat_describe(struct stream *input, const char *name, const struct read_options *options,
		  struct buffer *out) {
	struct dhat_file file;
	struct dhat_sums sums = {0};
	int error = dhat_open(&file, input, name);
	if (!error)
		error = dhat_places(&file, add_place, &sums);
	if (!error)
		(options->json ? write_json : write_text)(&file, &sums, out);
	dhat_close(&file);
	return error;
}
