#include "cli/sample_options.h"
#include "base/log.h"
#include "event/off_wake.h"
#include "flow/pipeline.h"

const struct verb_option sample_options[] = {
	{"pid", OPTION_PID, NULL, "add the process id to task names"},
	{"tid", OPTION_TID, NULL, "add process and thread id to task names"},
	{"kernel", OPTION_KERNEL, NULL, "mark kernel functions with _[k]"},
	{"jit", OPTION_JIT, NULL, "mark JIT-compiled functions with _[j]"},
	{"all", OPTION_ALL, NULL, "both of these"},
	{"addrs", OPTION_ADDRS, NULL, "show functions without a name by their address"},
	{"event-filter", OPTION_EVENT_FILTER, "NAME",
	 "use the samples of this event instead of the first event"},
	{"all-events", OPTION_ALL_EVENTS, NULL, "add up the samples of all events"},
	{"metric", OPTION_METRIC, "NAME",
	 "for a heap profile: allocated (bytes), blocks, peak, peak-blocks, leaked, leaked-blocks, most, "
	 "most-blocks, "
	 "lifetime, read, written",
	 "allocated blocks peak peak-blocks leaked leaked-blocks most most-blocks lifetime read written"},
	{"inline", OPTION_INLINE, NULL, "look up inlined functions in debug information (the default)"},
	{"no-inline", OPTION_NO_INLINE, NULL, "do not look up inlined functions"},
	{"srcline", OPTION_SRCLINE, NULL, "add to each name where it is declared: function:file:line"},
	{"context", OPTION_CONTEXT, NULL,
	 "add to each name the line of its code: function:file:line, one frame for each line"},
	{"wakeups", OPTION_WAKEUPS, NULL,
	 "show waits, and above each the stack and the name of what ended it; for recordings of 'run "
	 "--wakeups'"},
	{"from", OPTION_FROM, "FORMAT", "the format of the input, if it is not recognised",
	 "spool perfetto etl etl.zip etl.gz perf-data dhat folded perf-script"},
	{"quiet", 'q', NULL, "do not show progress"},
	{0},
};

int sample_input_read(const struct sample_input *input, const char *const *paths, size_t count,
		      uint32_t flags, struct tables *tables, struct sink *sink) {
	if (!input->wakeups)
		return pipeline_samples(paths, count, input->reader, flags, tables, sink);
	struct sink *joined = off_wake_new(tables, sink);
	int error = pipeline_samples(paths, count, input->reader, flags, tables, joined);
	sink_destroy(joined);
	return error;
}

static bool choose_reader(struct sample_input *input, const char *name) {
	input->reader = reader_by_name(name);
	if (!input->reader)
		log_error("unknown input format '%s'; 'tracelet convert --help' lists them", name);
	return input->reader;
}

static bool choose_metric(struct sample_options *options, const char *name) {
	const struct heap_metric *metric = heap_metric_find(name);
	if (metric) {
		options->event = metric->name;
		return true;
	}
	struct buffer names = {0};
	for (size_t i = 0; i < HEAP_METRIC_COUNT; i++)
		buffer_printf(&names, " %s", heap_metrics[i].name);
	log_error("--metric: unknown metric '%s'; known:%.*s", name, (int)names.size, (char *)names.data);
	buffer_free(&names);
	return false;
}

bool sample_option(struct sample_input *input, int option, const char *value) {
	struct sample_options *options = &input->options;
	switch (option) {
	case OPTION_PID:
		options->pid = true;
		break;
	case OPTION_TID:
		options->tid = true;
		break;
	case OPTION_KERNEL:
		options->kernel = true;
		break;
	case OPTION_JIT:
		options->jit = true;
		break;
	case OPTION_ALL:
		options->kernel = options->jit = true;
		break;
	case OPTION_ADDRS:
		options->addresses = true;
		break;
	case OPTION_EVENT_FILTER:
		options->event = value;
		break;
	case OPTION_ALL_EVENTS:
		options->every_event = true;
		break;
	case OPTION_METRIC:
		return choose_metric(options, value);
	case OPTION_INLINE:
		options->no_inline = false;
		break;
	case OPTION_NO_INLINE:
		options->no_inline = true;
		break;
	case OPTION_SRCLINE:
		options->source = true;
		break;
	case OPTION_CONTEXT:
		options->context = true;
		break;
	case OPTION_WAKEUPS:
		input->wakeups = true;
		options->event = EVENT_OFF_CPU;
		break;
	case OPTION_FROM:
		return choose_reader(input, value);
	case 'q':
		log_set_level(LOG_QUIET);
		break;
	default:
		return false;
	}
	return true;
}
