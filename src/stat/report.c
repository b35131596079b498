// The report for programs: JSON in WindowsPerf's format, and CSV; and where a report goes: to a file,
// or to standard error.
#include "stat/stat.h"
#include "base/json.h"
#include "base/log.h"
#include "write/dump.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- parts ----

static void thread_name(const struct counting *counting, pid_t thread, char name[32]) {
	for (size_t i = 0; i < counting->thread_names.count; i++)
		if (counting->places.items[i].pid == thread) { // it has ended
			snprintf(name, 32, "%s", counting->thread_names.items[i]);
			return;
		}
	CLEANUP_FREE char *folder = memory_format("/proc/%d", (int)thread);
	CLEANUP_FREE char *comm = pmu_sysfs_line(folder, "comm");
	snprintf(name, 32, "%s", comm ? comm : "");
}

void stat_part_name(const struct stat_part *part, char name[64]) {
	char comm[32];
	*name = 0;
	if (part->cpu != STAT_ALL_PLACES) {
		snprintf(name, 64, "CPU %d", part->cpu);
	} else if (part->thread != STAT_ALL_PLACES) {
		thread_name(part->counting, part->thread, comm);
		snprintf(name, 64, *comm ? "thread %d (%s)" : "thread %d", (int)part->thread, comm);
	}
}

void stat_each_part(const struct counting *counting, const struct stat_reading *reading,
		    stat_part_taker *take, void *context) {
	bool cores = counting->options->per_core, threads = counting->options->per_thread;
	for (size_t i = 0; (cores || threads) && i < counting->places.count; i++) {
		const struct counter_place *place = &counting->places.items[i];
		struct stat_part part = stat_whole(counting, reading);
		bool seen = false;
		for (size_t before = 0; before < i; before++)
			seen |= cores ? counting->places.items[before].cpu == place->cpu
				      : counting->places.items[before].pid == place->pid;
		if (cores)
			part.cpu = place->cpu;
		else
			part.thread = place->pid;
		if (!seen)
			take(&part, context);
	}
}

// ---- JSON ----

static void write_counter(struct json *json, const struct stat_part *part, size_t index) {
	const struct pmu_event *event = &part->counting->events.items[index];
	struct count count = stat_count(part, index);
	bool counted = stat_was_counted(part->counting, index, &count);
	char words[64];
	json_object(json, NULL);
	if (counted)
		json_uint(json, "counter_value", count.value);
	else
		json_string(json, "counter_value", NULL);
	json_string(json, "event_name", event->name);
	snprintf(words, sizeof(words), "0x%" PRIx64, event->config[0]);
	json_string(json, "event_idx", words);
	if (counted) {
		json_string(json, "event_note", "e");
	} else {
		CLEANUP_FREE char *note = memory_format("not available: %s",
							stat_why_not(part->counting, index));
		json_string(json, "event_note", note);
	}
	if (counted && count.running < count.enabled) {
		snprintf(words, sizeof(words), "%" PRIu64 "/%" PRIu64, count.running, count.enabled);
		json_string(json, "multiplexed", words);
		json_uint(json, "scaled_value", (uint64_t)(count.scaled + 0.5));
	}
	json_close_object(json);
}

static void write_counters(struct json *json, const char *key, const struct stat_part *part) {
	json_array(json, key);
	for (size_t i = 0; i < part->counting->events.count; i++)
		write_counter(json, part, i);
	json_close_array(json);
}

static void write_json_part(const struct stat_part *part, void *context) {
	struct json *json = context;
	char comm[32];
	json_object(json, NULL);
	if (part->cpu != STAT_ALL_PLACES) {
		json_uint(json, "core_number", (uint64_t)part->cpu);
	} else {
		thread_name(part->counting, part->thread, comm);
		json_uint(json, "thread_id", (uint64_t)part->thread);
		json_string(json, "thread_name", comm);
	}
	write_counters(json, "Performance_counter", part);
	json_close_object(json);
}

static void write_metrics(struct json *json, const struct stat_part *part) {
	json_object(json, "ts_metric");
	json_array(json, "Telemetry_Solution_Metrics");
	for (size_t i = 0; i < part->counting->shown.count; i++) {
		const struct metric *metric = part->counting->shown.items[i];
		double value = stat_metric_value(part, metric);
		char text[40];
		if (isnan(value) && !part->counting->options->metrics)
			continue;
		snprintf(text, sizeof(text), "%.9g", value);
		json_object(json, NULL);
		json_string(json, "core", "all");
		json_string(json, "product_name", part->counting->metrics.family);
		json_string(json, "metric_name", metric->name);
		json_string(json, "value", isnan(value) ? NULL : text);
		json_string(json, "unit", metric->unit ? metric->unit : "");
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

static void write_reading(struct json *json, const struct counting *counting,
			  const struct stat_reading *reading) {
	struct stat_part whole = stat_whole(counting, reading);
	bool multiplexing = false;
	for (size_t i = 0; i < counting->events.count; i++) {
		struct count count = stat_count(&whole, i);
		multiplexing |= count.running < count.enabled;
	}
	json_object(json, "core");
	json_bool(json, "Multiplexing", multiplexing);
	json_bool(json, "Kernel_mode", !counting->counters.user_only);
	json_array(json, "cores");
	if (counting->options->per_core)
		stat_each_part(counting, reading, write_json_part, json);
	json_close_array(json);
	if (counting->options->per_thread) {
		json_array(json, "threads");
		stat_each_part(counting, reading, write_json_part, json);
		json_close_array(json);
	}
	json_object(json, "overall");
	write_counters(json, "Systemwide_Overall_Performance_Counters", &whole);
	json_close_object(json);
	write_metrics(json, &whole);
	json_close_object(json);
	json_double(json, "Time_elapsed", reading->end - reading->begin);
}

// Of the command on CPUs; WindowsPerf has no such.
static void write_times(struct json *json, const struct counting *counting) {
	if (!counting->options->command)
		return;
	json_double(json, "Time_user", counting->user_seconds);
	json_double(json, "Time_system", counting->system_seconds);
}

static void write_json(const struct counting *counting, struct buffer *text) {
	struct json json = json_into(text);
	json_object(&json, NULL);
	write_reading(&json, counting, &counting->total);
	write_times(&json, counting);
	if (counting->options->timeline) {
		json_double(&json, "count_duration", counting->total.end);
		json_double(&json, "count_interval", counting->options->interval);
		json_uint(&json, "count_timeline", counting->timeline.count);
		json_array(&json, "timeline");
		for (size_t i = 0; i < counting->timeline.count; i++) {
			json_object(&json, NULL);
			write_reading(&json, counting, &counting->timeline.items[i]);
			json_close_object(&json);
		}
		json_close_array(&json);
	}
	json_close_object(&json);
	buffer_append(text, "\n", 1);
}

// ---- CSV ----

#define CSV_NAMES "seconds,core,thread,name,value,scaled_value,share,per_second,note\n"

static void append_quoted(struct buffer *text, const char *value) {
	dump_csv_text(text, value, strlen(value));
}

static void append_where(struct buffer *text, const struct stat_part *part, const char *name) {
	if (part->counting->test) {
		append_quoted(text, part->counting->test);
		buffer_append(text, ",", 1);
	}
	buffer_printf(text, "%.6f,", part->reading->end);
	if (part->cpu != STAT_ALL_PLACES)
		buffer_printf(text, "%d", part->cpu);
	buffer_printf(text, ",");
	if (part->thread != STAT_ALL_PLACES)
		buffer_printf(text, "%d", (int)part->thread);
	buffer_printf(text, ",");
	append_quoted(text, name);
}

static void append_csv_event(struct buffer *text, const struct stat_part *part, size_t index) {
	const struct pmu_event *event = &part->counting->events.items[index];
	struct count count = stat_count(part, index);
	double seconds = part->reading->end - part->reading->begin;
	append_where(text, part, event->name);
	if (!stat_was_counted(part->counting, index, &count)) {
		buffer_printf(text, ",,,,,");
		append_quoted(text, stat_why_not(part->counting, index));
	} else {
		buffer_printf(text, ",%" PRIu64 ",%.0f,%.4f,%.6g,", count.value, count.scaled,
			      count.enabled ? (double)count.running / (double)count.enabled : 1,
			      seconds > 0 ? count.scaled / seconds : 0);
		append_quoted(text, event->unit ? event->unit : "");
	}
	buffer_printf(text, "\n");
}

static void append_csv_part(const struct stat_part *part, void *context) {
	struct buffer *text = context;
	for (size_t i = 0; i < part->counting->events.count; i++)
		append_csv_event(text, part, i);
	for (size_t i = 0; i < part->counting->shown.count; i++) {
		const struct metric *metric = part->counting->shown.items[i];
		double value = stat_metric_value(part, metric);
		if (isnan(value))
			continue;
		append_where(text, part, metric->name);
		buffer_printf(text, ",%.9g,,,,", value);
		append_quoted(text, metric->unit ? metric->unit : "");
		buffer_printf(text, "\n");
	}
}

static void append_csv(const struct counting *counting, const struct stat_reading *reading,
		       struct buffer *text) {
	struct stat_part whole = stat_whole(counting, reading);
	stat_each_part(counting, reading, append_csv_part, text);
	append_csv_part(&whole, text);
}

// ---- all of it ----

// A file of CSV for one core.
struct core_files {
	struct counting *counting;
	int error;
};

static void write_core(const struct stat_part *part, void *context) {
	struct core_files *files = context;
	struct counting *counting = files->counting;
	CLEANUP_FREE char *name = stat_file_name(counting->options, &counting->begun, part->cpu);
	struct buffer text = {0};
	struct output output;
	buffer_printf(&text, CSV_NAMES);
	struct stat_part row = *part;
	for (size_t i = 0; i < counting->timeline.count; i++) {
		row.reading = &counting->timeline.items[i];
		append_csv_part(&row, &text);
	}
	if (!counting->timeline.count)
		append_csv_part(part, &text);
	int error = output_open(&output, name, OUTPUT_REPLACE);
	if (!error) {
		output_write(&output, text.data, text.size);
		error = output_commit(&output);
	}
	if (error)
		log_error("%s: %s", name, strerror(-error));
	files->error = files->error ? files->error : error;
	buffer_free(&text);
}

static int write_files(struct counting *counting) {
	struct core_files files = {.counting = counting};
	stat_each_part(counting, &counting->total, write_core, &files);
	return files.error ? STAT_USAGE : 0;
}

static void report_table(struct counting *counting, struct buffer *text) {
	if (counting->options->timeline && !counting->to_file && isatty(counting->fd))
		stat_table_sparks(counting, text);
	stat_table_end(counting, text);
}

static void put(struct counting *counting, struct buffer *text) {
	if (counting->to_file)
		output_write(&counting->file, text->data, text->size);
	else if (text->size && !counting->options->quiet && !counting->write_error)
		counting->write_error = file_write_all(counting->fd, text->data, text->size);
	buffer_free(text);
}

void stat_report_begin(struct counting *counting) {
	struct buffer text = {0};
	if (stat_wants_files(counting->options))
		return;
	if (counting->options->format == STAT_TABLE)
		stat_table_begin(counting, &text);
	else if (counting->options->format == STAT_CSV)
		buffer_printf(&text, "%s" CSV_NAMES, counting->options->per_test ? "test," : "");
	put(counting, &text);
}

void stat_report_row(struct counting *counting, const struct stat_reading *reading) {
	struct buffer text = {0};
	if (stat_wants_files(counting->options))
		return;
	if (counting->options->format == STAT_TABLE)
		stat_table_row(counting, reading, &text);
	else if (counting->options->format == STAT_CSV)
		append_csv(counting, reading, &text);
	put(counting, &text);
}

static int close_report(struct counting *counting) {
	int error = counting->to_file ? output_commit(&counting->file) : counting->write_error;
	if (error)
		log_error("%s: %s", counting->to_file ? counting->file_name : "cannot write the report",
			  strerror(-error));
	return error ? STAT_USAGE : 0;
}

int stat_report_end(struct counting *counting) {
	struct buffer text = {0};
	if (counting->options->format == STAT_JSON)
		write_json(counting, &text);
	else if (stat_wants_files(counting->options))
		return write_files(counting);
	else if (counting->options->format == STAT_TABLE)
		report_table(counting, &text);
	else if (!counting->options->timeline)
		append_csv(counting, &counting->total, &text);
	put(counting, &text);
	return close_report(counting);
}

// ---- cases ----

void stat_report_case(struct counting *counting, int status) {
	struct buffer text = {0};
	if (counting->options->format == STAT_JSON) {
		struct json json = json_into(&text);
		json_object(&json, NULL);
		json_string(&json, "test", counting->test);
		json_uint(&json, "exit_status", (uint64_t)status);
		json_string(&json, "result", counting->case_result);
		write_reading(&json, counting, &counting->total);
		write_times(&json, counting);
		json_close_object(&json);
		buffer_append(&text, ",", 1);
	} else if (counting->options->format == STAT_CSV) {
		append_csv(counting, &counting->total, &text);
	} else {
		stat_table_case(counting, status, &text);
	}
	file_write_all(counting->case_report, text.data, text.size);
	buffer_free(&text);
}

int stat_report_cases(struct counting *counting, struct buffer *cases) {
	struct buffer text = {0};
	stat_report_begin(counting);
	if (counting->options->format == STAT_JSON) {
		if (cases->size)
			cases->size--; // the last comma
		buffer_printf(&text, "{\"tests\":[");
		buffer_append(&text, cases->data, cases->size);
		buffer_printf(&text, "]}\n");
	} else {
		buffer_append(&text, cases->data, cases->size);
	}
	put(counting, &text);
	return close_report(counting);
}
