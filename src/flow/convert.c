#include "flow/convert.h"
#include "artifact/artifact.h"
#include "base/log.h"
#include "base/sha256.h"
#include "symbol/symbolizer.h"

#include <assert.h>
#include <string.h>

void conversion_tap(struct conversion *conversion, struct tap tap) {
	size_t count = 0;
	while (conversion->taps[count].open)
		count++;
	assert(count < PIPELINE_TAPS);
	conversion->taps[count] = tap;
}

// While the input grows, report nothing: the conversion is retried at its end.
static int not_written(const struct conversion *conversion, int error) {
	if (!conversion->growing)
		log_error("%s: cannot be written: %s", conversion->output, strerror(-error));
	return error;
}

// `error` is the pipeline's, which has reported it unless it concerns the output.
static int complete(const struct conversion *conversion, struct output *output, int error,
		    struct conversion_result *result) {
	bool reported = error && !output->error;
	if (!error && !output->error) {
		result->size = output->written + output->pending.size;
		error = output_commit(output);
	} else if (output->error) {
		error = output->error;
	}
	if (error)
		output_abandon(output);
	return error && !reported ? not_written(conversion, error) : error;
}

static void add_to_sum(void *context, const void *bytes, size_t size) {
	sha256_add(context, bytes, size);
}

static int write_output(const struct conversion *conversion, struct pipeline *pipeline, struct tables *tables,
			struct output *output, struct conversion_result *result) {
	struct sha256 *sum = conversion->summed ? sha256_new() : NULL;
	if (sum) {
		output->seen = add_to_sum;
		output->seen_context = sum;
	}
	int error = pipeline_run(pipeline, tables, conversion->writer->open(output, tables));
	error = complete(conversion, output, error, result);
	if (sum)
		artifact_sum_digits(sum, result->sha256);
	if (error)
		*result->sha256 = 0;
	return error;
}

static int convert_input(const struct conversion *conversion, struct pipeline *pipeline,
			 struct conversion_result *result) {
	const struct growing *growing = conversion->growing;
	struct output output;
	int error = conversion->over ? output_open_over(&output, conversion->output, conversion->over)
				     : output_open(&output, conversion->output, conversion->mode);
	if (error) {
		pipeline_close(pipeline);
		return not_written(conversion, error);
	}
	struct tables tables = pipeline_tables(true);
	if (growing)
		symbolizer_wait_by(tables.symbolizer, growing->end, growing->context);
	error = write_output(conversion, pipeline, &tables, &output, result);
	if (growing)
		growing->done(growing->context, error);
	pipeline_close(pipeline);
	pipeline_tables_free(&tables);
	return error;
}

int convert(const struct conversion *conversion, struct conversion_result *result) {
	*result = (struct conversion_result){0};
	struct pipeline pipeline = {.path = conversion->input,
				    .more = conversion->more,
				    .more_count = conversion->more_count,
				    .reader = conversion->reader,
				    .growing = conversion->growing,
				    .options = {.manifests = conversion->manifests},
				    .quiet = !conversion->progress,
				    .tally = &result->tally};
	memcpy(pipeline.taps, conversion->taps, sizeof(pipeline.taps));
	int error = pipeline_open(&pipeline);
	return error ? error : convert_input(conversion, &pipeline, result);
}
