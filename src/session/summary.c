#include "session/summary.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "event/crash.h"
#include "session/ci.h"
#include "session/record.h"
#include "session/variant.h"

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

void summary_end_words(int wait_status, double limit, char *words, size_t size) {
	if (limit > 0)
		snprintf(words, size, "timed out: limit %g s", limit);
	else
		summary_result_words(wait_status, words, size);
}

static bool has_passed(const struct summary *summary) {
	return summary->wait_status == 0 && !summary->timed_out && !summary->leaked;
}

static void result_words(const struct summary *summary, char *words, size_t size) {
	if (summary->leaked && summary->wait_status == 0 && !summary->timed_out)
		snprintf(words, size, "failed: memory was left (--fail-on-leak)");
	else
		summary_end_words(summary->wait_status, summary->timed_out ? summary->settings->timeout : 0,
				  words, size);
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

static void describe_samples(const struct summary *summary, struct buffer *out) {
	const struct {
		uint64_t count;
		const char *what;
	} kinds[] = {{summary->samples, "samples"},
		     {summary->waits, "waits"},
		     {summary->event_stacks, "stacks at events"}};
	char number[32];
	uint64_t all = summary->samples + summary->waits + summary->event_stacks, told = 0;
	if (!all)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!kinds[i].count)
			continue;
		const char *before = !told ? "of these " : told + kinds[i].count == all ? " and " : ", ";
		buffer_printf(out, "%s%s %s", before, with_commas(kinds[i].count, number), kinds[i].what);
		told += kinds[i].count;
	}
	if (summary->broken)
		buffer_printf(out, " (%.1f %% with broken stacks)",
			      (double)summary->broken * 100 / (double)all);
	buffer_printf(out, ", ");
}

// They are counted while the trace is made.
static void describe_events(const struct summary *summary, struct buffer *out) {
	char number[32];
	if (!summary->trace) {
		buffer_printf(out, "not counted");
		return;
	}
	buffer_printf(out, "%s, ", with_commas(summary->events, number));
	describe_samples(summary, out);
	if (lost_in_all(summary)) {
		buffer_printf(out, "LOST");
		for (int source = 0; source < SOURCE_COUNT; source++)
			if (summary->lost[source])
				buffer_printf(out, " %s %s", with_commas(summary->lost[source], number),
					      event_source_names[source]);
		if (lost_in_all(summary) >
		    summary->lost[SOURCE_MARKER]) // marks do not go through that buffer
			buffer_printf(out, "; a larger --buffer-size keeps more");
	} else {
		buffer_printf(out, "none lost");
	}
	// Losses leave gaps, too: then they need no line of their own.
	if (summary->gaps && !summary->lost[SOURCE_SCHED])
		buffer_printf(out, "; %s switches that this kernel did not report",
			      with_commas(summary->gaps, number));
	if (summary->late)
		buffer_printf(out, "; %s too late to be put in order", with_commas(summary->late, number));
}

// Shares are right all the same, sums are not.
static void describe_delivery(const struct sample_delivery *delivery, const char *faint, const char *plain,
			      struct buffer *out) {
	char delivered[32], expected[32];
	if (sample_delivery_falls_short(delivery))
		buffer_printf(
			out,
			"  %ssamples%s %s of about %s on all CPUs: the counter's overflows were not all "
			"delivered\n",
			faint, plain, with_commas(delivery->delivered, delivered),
			with_commas(delivery->expected, expected));
	if (delivery->throttled)
		buffer_printf(out,
			      "  %ssamples%s throttled %s times by the kernel: a larger period, or "
			      "kernel.perf_event_max_sample_rate\n",
			      faint, plain, with_commas(delivery->throttled, delivered));
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

// The last ones, and of their stacks what is on top.
static void describe_crashes(const struct crash_reports *crashes, const char *faint, const char *plain,
			     struct buffer *out) {
	enum { MOST_SHOWN = 4, MOST_FRAMES = 8 };
	char words[128];
	size_t count = crashes ? crashes->list.count : 0;
	for (size_t i = count > MOST_SHOWN ? count - MOST_SHOWN : 0; i < count; i++) {
		const struct crash_report *crash = &crashes->list.items[i];
		crash_words(crash->signal, crash->code, crash->address, crash->pid, words, sizeof(words));
		buffer_printf(out, "  %scrash%s   %s, process %" PRIu32, faint, plain, words, crash->pid);
		if (crash->time)
			buffer_printf(out, ", thread %" PRIu32 " (%s)", crash->tid, crash->name);
		buffer_printf(out, "\n");
		const char *line = crash->stack;
		for (int frame = 0; line && *line && frame < MOST_FRAMES; frame++) {
			int length = (int)strcspn(line, "\n");
			buffer_printf(out, "            %.*s\n", length, line);
			line += length + (line[length] == '\n');
		}
	}
}

// How many there were, and where to look for those that failed.
static void describe_cases(const struct case_traces *cases, const char *faint, const char *plain,
			   struct buffer *out) {
	enum { MOST_SHOWN = 5 };
	size_t counts[4] = {0}, shown = 0;
	if (!cases || !cases->ended.count)
		return;
	for (size_t i = 0; i < cases->ended.count; i++)
		counts[cases->ended.items[i].verdict]++;
	size_t failed = counts[CASE_FAILED] + counts[CASE_NOT_ENDED];
	buffer_printf(out, "  %scases%s   %zu passed, %zu failed, %zu skipped%s\n", faint, plain,
		      counts[CASE_PASSED], failed, counts[CASE_SKIPPED],
		      cases->failed_only ? "; those that failed have a trace each" : "; a trace each");
	for (size_t i = 0; i < cases->ended.count && shown < MOST_SHOWN; i++) {
		const struct case_trace *test = &cases->ended.items[i];
		if (test->verdict != CASE_FAILED && test->verdict != CASE_NOT_ENDED)
			continue;
		buffer_printf(out, "  %sfailed%s  %s%s%s%s\n", faint, plain, test->name,
			      test->verdict == CASE_NOT_ENDED ? " (did not end)" : "", test->path ? ": " : "",
			      test->path ? test->path : "");
		shown++;
	}
	if (failed > shown)
		buffer_printf(out, "          and %zu more, in manifest.jsonl\n", failed - shown);
}

static void print_files(const struct summary *summary, const char *faint, const char *plain,
			struct buffer *out) {
	size_t children = 0;
	char size[16];
	const char *heap = NULL;
	for (size_t i = 0; i < summary->files.count; i++) {
		const struct summary_file *file = &summary->files.items[i];
		if (strcmp(file->kind, SUMMARY_HEAP_OF_CHILD) == 0)
			children++;
		else
			buffer_printf(out, "  %s%-7s%s %s (%s)\n", faint, file->kind, plain, file->path,
				      file_size_words(file->size, size));
		if (strcmp(file->kind, "heap") == 0 && summary->heap_words) {
			buffer_append(out, summary->heap_words->data, summary->heap_words->size);
			heap = file->path;
		}
	}
	if (heap)
		buffer_printf(out, "          more: tracelet top --metric peak %s\n", heap);
	if (children)
		buffer_printf(out, "  %sheap%s    and those of %zu children, beside it\n", faint, plain,
			      children);
}

static void describe_cut(const struct summary *summary, const char *faint, const char *plain,
			 struct buffer *out) {
	char recorded[32], all[32], size[16];
	const struct recording_cut *cut = &summary->cut;
	if (!cut->why)
		return;
	bool by_size = strcmp(cut->why, "--max-size") == 0;
	buffer_printf(out, "  %scut%s     recorded are the first %s s of %s s: %s%s%s\n", faint, plain,
		      seconds_words(MIN(cut->after, summary->wall_seconds), recorded),
		      seconds_words(summary->wall_seconds, all), cut->why, by_size ? " " : "",
		      by_size ? file_size_words(summary->settings->max_size, size) : "");
}

void summary_print(const struct summary *summary) {
	bool colours = log_colours();
	bool passed = has_passed(summary);
	const char *plain = colours ? "\033[0m" : "", *faint = colours ? "\033[2m" : "";
	const char *colour = !colours ? "" : passed ? "\033[1;32m" : "\033[1;31m";
	char words[128], size[16], number[32];
	struct buffer out = {0};
	result_words(summary, words, sizeof(words));
	buffer_printf(&out, "tracelet: %s %s%s%s in %s s\n", summary->test, colour, words, plain,
		      seconds_words(summary->wall_seconds, number));
	describe_crashes(summary->crashes, faint, plain, &out);
	if (summary->trace)
		buffer_printf(&out, "  %strace%s   %s (%s)\n", faint, plain, summary->trace,
			      file_size_words(summary->trace_size, size));
	print_files(summary, faint, plain, &out);
	describe_cases(summary->cases, faint, plain, &out);
	if (summary->spool)
		buffer_printf(&out, "  %sspool%s   %s\n", faint, plain, summary->spool);
	if (summary->not_kept)
		buffer_printf(&out, "  %strace%s   not kept: %s\n", faint, plain, summary->not_kept);
	if (summary->backend && !summary->not_kept) {
		buffer_printf(&out, "  %sevents%s  ", faint, plain);
		describe_events(summary, &out);
		if (summary->missing)
			buffer_printf(&out, "; not recorded: %s", summary->missing);
		buffer_printf(&out, "\n");
		describe_cut(summary, faint, plain, &out);
		describe_delivery(&summary->totals.delivery, faint, plain, &out);
		buffer_printf(&out, "  %scost%s    ", faint, plain);
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
	record_started(json, &summary->started);
	json_double(json, "wall_seconds", summary->wall_seconds);
	json_double(json, "cpu_seconds", summary->test_cpu_seconds);
}

static void json_artifacts(struct json *json, const struct summary *summary) {
	json_array(json, "artifacts");
	if (summary->trace)
		record_file(json, "perfetto", summary->trace, summary->trace_size, summary->sha256);
	for (size_t i = 0; i < summary->files.count; i++)
		record_file(json, summary->files.items[i].kind, summary->files.items[i].path,
			    summary->files.items[i].size, summary->files.items[i].sha256);
	if (summary->spool)
		record_file(json, "spool", summary->spool, summary->spool_size, "");
	json_close_array(json);
}

static void json_delivery(struct json *json, const struct sample_delivery *delivery) {
	if (sample_delivery_falls_short(delivery)) {
		json_object(json, "samples_short");
		json_uint(json, "delivered", delivery->delivered);
		json_uint(json, "expected", delivery->expected);
		json_close_object(json);
	}
	if (delivery->throttled)
		json_uint(json, "samples_throttled", delivery->throttled);
}

static void json_cut(struct json *json, const struct recording_cut *cut) {
	if (!cut->why)
		return;
	json_object(json, "recording_stopped");
	json_string(json, "by", cut->why);
	json_double(json, "after_seconds", cut->after);
	json_close_object(json);
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
		json_string(json, "sample_event", summary->totals.sample_event);
	}
	json_delivery(json, &summary->totals.delivery);
	json_cut(json, &summary->cut);
	if (summary->waits)
		json_uint(json, "waits", summary->waits);
	if (summary->event_stacks)
		json_uint(json, "event_stacks", summary->event_stacks);
	if (summary->samples || summary->waits || summary->event_stacks)
		json_uint(json, "broken_stacks", summary->broken);
	json_uint(json, "gaps", summary->gaps);
	json_uint(json, "late", summary->late);
}

static void json_crashes(struct json *json, const struct crash_reports *crashes) {
	char number[32];
	if (!crashes || !crashes->list.count)
		return;
	json_array(json, "crashes");
	for (size_t i = 0; i < crashes->list.count; i++) {
		const struct crash_report *crash = &crashes->list.items[i];
		json_object(json, NULL);
		json_uint(json, "signal", crash->signal);
		json_string(json, "name", crash_signal_name(crash->signal));
		json_uint(json, "pid", crash->pid);
		if (crash->time) {
			json_uint(json, "tid", crash->tid);
			json_string(json, "thread", crash->name);
			json_int(json, "code", crash->code);
			snprintf(number, sizeof(number), "0x%" PRIx64, crash->address);
			json_string(json, "address", number);
			snprintf(number, sizeof(number), "0x%" PRIx64, crash->instruction);
			json_string(json, "instruction", number);
		}
		json_array(json, "stack");
		for (const char *line = crash->stack; line && *line;) {
			size_t length = strcspn(line, "\n");
			json_text(json, NULL, line, length);
			line += length + (line[length] == '\n');
		}
		json_close_array(json);
		json_close_object(json);
	}
	json_close_array(json);
}

static void json_cases(struct json *json, const struct case_traces *cases) {
	if (!cases || !cases->ended.count)
		return;
	json_array(json, "cases");
	for (size_t i = 0; i < cases->ended.count; i++) {
		const struct case_trace *test = &cases->ended.items[i];
		json_object(json, NULL);
		json_string(json, "name", test->name);
		json_string(json, "result", case_verdict_words[test->verdict]);
		json_double(json, "wall_seconds", test->seconds);
		if (test->path)
			json_string(json, "trace", test->path);
		json_close_object(json);
	}
	json_close_array(json);
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
	if (summary->verdict) {
		json_string(json, "kind", "case");
		json_string(json, "result", summary->verdict);
		return;
	}
	json_string(json, "kind", summary->operation ? "operation" : "test");
	if (summary->operation) {
		json_string(json, "result", "recorded");
		return;
	}
	result_words(summary, words, sizeof(words));
	json_string(json, "result", words);
	if (summary->timed_out)
		json_double(json, "timed_out_after", summary->settings->timeout);
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
	record_variant(&json, summary->settings);
	json_times(&json, summary);
	json_string(&json, "host", system.nodename);
	json_string(&json, "kernel", system.release);
	json_string(&json, "machine", system.machine);
	json_string(&json, "tracelet", TRACELET_VERSION);
	json_string(&json, "profile", summary->settings->profile);
	json_string(&json, "scope", summary->settings->scope == SCOPE_SYSTEM ? "system" : "tree");
	json_string(&json, "backend", summary->backend);
	json_artifacts(&json, summary);
	if (summary->not_kept)
		json_string(&json, "not_kept", summary->not_kept);
	json_counts(&json, summary);
	json_crashes(&json, summary->crashes);
	json_cases(&json, summary->cases);
	if (!summary->verdict)
		json_cost(&json, summary);
	json_close_object(&json);
	buffer_append(line, "\n", 1);
}

void summary_write_json(const struct summary *summary) {
	struct buffer line = {0};
	summary_json(summary, &line);
	record_write(summary->settings->json, &line);
	buffer_free(&line);
}

static void publish_cases(const struct summary *summary) {
	for (size_t i = 0; summary->cases && i < summary->cases->ended.count; i++) {
		const struct case_trace *trace = &summary->cases->ended.items[i];
		struct ci_artifact artifact = {trace->path, trace->size};
		struct ci_test test = {.name = trace->name,
				       .result = case_verdict_words[trace->verdict],
				       .passed = trace->verdict == CASE_PASSED ||
						 trace->verdict == CASE_SKIPPED,
				       .seconds = trace->seconds,
				       .artifacts = &artifact,
				       .artifact_count = 1};
		if (trace->path)
			ci_publish(summary->settings, &test, STDOUT_FILENO, STDERR_FILENO);
	}
}

void summary_publish(const struct summary *summary) {
	CLEANUP_FREE struct ci_artifact *artifacts = memory_alloc((2 + summary->files.count) *
								  sizeof(*artifacts));
	size_t count = 0;
	char words[128];
	result_words(summary, words, sizeof(words));
	if (summary->trace)
		artifacts[count++] = (struct ci_artifact){summary->trace, summary->trace_size};
	for (size_t i = 0; i < summary->files.count; i++)
		artifacts[count++] = (struct ci_artifact){summary->files.items[i].path,
							  summary->files.items[i].size};
	if (summary->spool)
		artifacts[count++] = (struct ci_artifact){summary->spool, summary->spool_size};
	struct ci_test test = {.name = summary->test,
			       .result = words,
			       .passed = has_passed(summary),
			       .seconds = summary->wall_seconds,
			       .artifacts = artifacts,
			       .artifact_count = count};
	ci_publish(summary->settings, &test, STDOUT_FILENO, STDERR_FILENO);
	publish_cases(summary);
}
