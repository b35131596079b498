#include "session/summary.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "session/ci.h"
#include "session/descriptors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

void summary_result_words(int wait_status, char *words, size_t size) {
	if (WIFSIGNALED(wait_status))
		snprintf(words, size, "killed by signal %d (%s)%s", WTERMSIG(wait_status),
			 strsignal(WTERMSIG(wait_status)), WCOREDUMP(wait_status) ? ", core dumped" : "");
	else if (WEXITSTATUS(wait_status))
		snprintf(words, size, "failed: exit status %d", WEXITSTATUS(wait_status));
	else
		snprintf(words, size, "passed");
}

static uint64_t lost_in_all(const struct summary *summary) {
	uint64_t lost = 0;
	for (int source = 0; source < SOURCE_COUNT; source++)
		lost += summary->lost[source];
	return lost;
}

// 1234567 as 1,234,567.
static const char *with_commas(uint64_t number, char text[32]) {
	char digits[24];
	int count = snprintf(digits, sizeof(digits), "%" PRIu64, number);
	char *out = text;
	for (int i = 0; i < count; i++) {
		if (i && (count - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return text;
}

// Three digits where they say something, and never an exponent.
static const char *seconds_words(double seconds, char text[32]) {
	snprintf(text, 32, seconds < 0.001 ? "%.4f" : seconds < 999.5 ? "%.3g" : "%.0f", seconds);
	return text;
}

// They are counted while the trace is made.
static void describe_events(const struct summary *summary, struct buffer *out) {
	char number[32];
	if (!summary->trace) {
		buffer_printf(out, "not counted");
		return;
	}
	buffer_printf(out, "%s, ", with_commas(summary->events, number));
	if (summary->samples) {
		buffer_printf(out, "of these %s samples", with_commas(summary->samples, number));
		if (summary->broken)
			buffer_printf(out, " (%.1f %% with broken stacks)",
				      (double)summary->broken * 100 / (double)summary->samples);
		buffer_printf(out, ", ");
	}
	if (lost_in_all(summary)) {
		buffer_printf(out, "LOST");
		for (int source = 0; source < SOURCE_COUNT; source++)
			if (summary->lost[source])
				buffer_printf(out, " %s %s", with_commas(summary->lost[source], number),
					      event_source_names[source]);
		if (lost_in_all(summary) > summary->lost[SOURCE_MARKER]) // marks do not go through that buffer
			buffer_printf(out, "; a larger --buffer-size keeps more");
	} else {
		buffer_printf(out, "none lost");
	}
	// Losses leave gaps, too: then they need no line of their own.
	if (summary->gaps && !summary->lost[SOURCE_SCHED])
		buffer_printf(out, "; %s switches that this kernel did not report", with_commas(summary->gaps, number));
	if (summary->late)
		buffer_printf(out, "; %s too late to be put in order", with_commas(summary->late, number));
}

static void describe_cost(const struct summary *summary, struct buffer *out) {
	if (summary->totals.program_stats) {
		double seconds = (double)summary->totals.program_ns / 1e9;
		buffer_printf(out, "BPF %s%.1f ms", summary->totals.program_estimated ? "about " : "",
			      seconds * 1e3);
		if (summary->test_cpu_seconds > 0.05)
			buffer_printf(out, " (%.1f %% of the test's CPU time)",
				      seconds / summary->test_cpu_seconds * 100);
		buffer_printf(out, ", ");
	}
	buffer_printf(out, "tracer %.0f ms of CPU", summary->tracer_cpu_seconds * 1e3);
}

void summary_print(const struct summary *summary) {
	bool colours = log_colours();
	bool passed = summary->wait_status == 0;
	const char *plain = colours ? "\033[0m" : "", *faint = colours ? "\033[2m" : "";
	const char *colour = !colours ? "" : passed ? "\033[1;32m" : "\033[1;31m";
	char words[128], size[16], number[32];
	struct buffer out = {0};
	summary_result_words(summary->wait_status, words, sizeof(words));
	buffer_printf(&out, "tracelet: %s %s%s%s in %s s\n", summary->test, colour, words, plain,
		      seconds_words(summary->wall_seconds, number));
	if (summary->trace)
		buffer_printf(&out, "  %strace%s   %s (%s)\n", faint, plain, summary->trace,
			      file_size_words(summary->trace_size, size));
	if (summary->spool)
		buffer_printf(&out, "  %sspool%s   %s\n", faint, plain, summary->spool);
	if (summary->not_kept)
		buffer_printf(&out, "  %strace%s   not kept: a flight recorder is saved when a test fails\n", faint, plain);
	if (summary->backend && !summary->not_kept) {
		buffer_printf(&out, "  %sevents%s  ", faint, plain);
		describe_events(summary, &out);
		if (summary->missing)
			buffer_printf(&out, "; not recorded: %s", summary->missing);
		buffer_printf(&out, "\n  %scost%s    ", faint, plain);
		describe_cost(summary, &out);
		buffer_printf(&out, "\n");
	}
	if (summary->trace)
		buffer_printf(&out, "  %snext%s    open it in ui.perfetto.dev, or: tracelet check %s\n",
			      faint, plain, summary->trace);
	else if (summary->spool)
		buffer_printf(&out, "  %snext%s    tracelet convert %s out.pb\n", faint, plain,
			      summary->spool);
	file_write_all(STDERR_FILENO, out.data, out.size);
	buffer_free(&out);
}

// ---- JSON ----

static void json_times(struct json *json, const struct summary *summary) {
	char text[64];
	struct tm utc;
	gmtime_r(&summary->started.tv_sec, &utc);
	size_t length = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text + length, sizeof(text) - length, ".%03ldZ", summary->started.tv_nsec / 1000000);
	json_string(json, "started", text);
	json_double(json, "wall_seconds", summary->wall_seconds);
	json_double(json, "cpu_seconds", summary->test_cpu_seconds);
}

static void json_artifacts(struct json *json, const struct summary *summary) {
	json_array(json, "artifacts");
	if (summary->trace) {
		json_object(json, NULL);
		json_string(json, "kind", "perfetto");
		json_string(json, "path", summary->trace);
		json_uint(json, "size", summary->trace_size);
		json_string(json, "sha256", summary->sha256);
		json_close_object(json);
	}
	if (summary->spool) {
		json_object(json, NULL);
		json_string(json, "kind", "spool");
		json_string(json, "path", summary->spool);
		json_close_object(json);
	}
	json_close_array(json);
}

// Unknown where no trace was made: null.
static void json_counts(struct json *json, const struct summary *summary) {
	if (!summary->trace) {
		json_string(json, "events", NULL);
		json_string(json, "lost", NULL);
		return;
	}
	json_uint(json, "events", summary->events);
	json_object(json, "lost");
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		json_uint(json, event_source_names[source], summary->lost[source]);
	json_close_object(json);
	if (summary->samples) {
		json_uint(json, "samples", summary->samples);
		json_uint(json, "broken_stacks", summary->broken);
	}
	json_uint(json, "gaps", summary->gaps);
	json_uint(json, "late", summary->late);
}

static void json_cost(struct json *json, const struct summary *summary) {
	json_object(json, "cost");
	if (summary->totals.program_stats) {
		json_double(json, "bpf_seconds", (double)summary->totals.program_ns / 1e9);
		json_uint(json, "bpf_runs_measured", summary->totals.program_runs);
		json_bool(json, "bpf_estimated", summary->totals.program_estimated);
	}
	json_double(json, "tracer_cpu_seconds", summary->tracer_cpu_seconds);
	json_close_object(json);
}

static void json_result(struct json *json, const struct summary *summary) {
	char words[128];
	json_string(json, "kind", summary->operation ? "operation" : "test");
	if (summary->operation) {
		json_string(json, "result", "recorded");
		return;
	}
	summary_result_words(summary->wait_status, words, sizeof(words));
	json_string(json, "result", words);
	if (WIFSIGNALED(summary->wait_status))
		json_int(json, "signal", WTERMSIG(summary->wait_status));
	else
		json_int(json, "exit", WEXITSTATUS(summary->wait_status));
}

void summary_json(const struct summary *summary, struct buffer *line) {
	struct json json = json_into(line);
	struct utsname system;
	uname(&system);
	json_object(&json, NULL);
	json_string(&json, "test", summary->test);
	json_array(&json, "command");
	for (char **word = summary->settings->command; word && *word; word++)
		json_string(&json, NULL, *word);
	json_close_array(&json);
	json_result(&json, summary);
	json_times(&json, summary);
	json_string(&json, "host", system.nodename);
	json_string(&json, "kernel", system.release);
	json_string(&json, "machine", system.machine);
	json_string(&json, "tracelet", TRACELET_VERSION);
	json_string(&json, "profile", summary->settings->profile);
	json_string(&json, "scope", summary->settings->scope == SCOPE_SYSTEM ? "system" : "tree");
	json_string(&json, "backend", summary->backend);
	json_artifacts(&json, summary);
	json_counts(&json, summary);
	json_cost(&json, summary);
	json_close_object(&json);
	buffer_append(line, "\n", 1);
}

void summary_write_json(const struct summary *summary) {
	const char *target = summary->settings->json;
	struct buffer line = {0};
	summary_json(summary, &line);
	int error, fd = descriptor_named(target);
	if (fd >= 0) {
		error = file_write_all(fd, line.data, line.size);
	} else {
		struct output output;
		error = output_open(&output, target, OUTPUT_REPLACE);
		if (!error) {
			output_write(&output, line.data, line.size);
			error = output_commit(&output);
		}
	}
	if (error)
		log_warning("--json %s: cannot be written: %s", target, strerror(-error));
	buffer_free(&line);
}

void summary_publish(const struct summary *summary) {
	struct ci_artifact artifacts[2];
	size_t count = 0;
	char words[128];
	summary_result_words(summary->wait_status, words, sizeof(words));
	if (summary->trace)
		artifacts[count++] = (struct ci_artifact){summary->trace, summary->trace_size};
	if (summary->spool)
		artifacts[count++] = (struct ci_artifact){.path = summary->spool};
	struct ci_test test = {.name = summary->test,
			       .result = words,
			       .passed = summary->wait_status == 0,
			       .seconds = summary->wall_seconds,
			       .artifacts = artifacts,
			       .artifact_count = count};
	ci_publish(summary->settings, &test, STDOUT_FILENO, STDERR_FILENO);
}
