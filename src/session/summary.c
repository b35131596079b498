#include "session/summary.h"
#include "artifact/manifest.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "event/crash.h"
#include "process/child.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Starts a line; its keyword is dimmed on a terminal.
struct look {
	const char *plain, *faint;
	struct buffer *out;
};

static void begin_line(const struct look *look, const char *word) {
	buffer_printf(look->out, "  %s%-7s%s ", look->faint, word, look->plain);
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

// Three significant digits, and never an exponent.
static const char *seconds_words(double seconds, char text[32]) {
	snprintf(text, 32, seconds < 0.001 ? "%.4f" : seconds < 999.5 ? "%.3g" : "%.0f", seconds);
	return text;
}

static void describe_samples(const struct manifest_record *record, struct buffer *out) {
	const struct {
		uint64_t count;
		const char *what, *where;
	} kinds[] = {{record->samples, "sample", ""},
		     {record->waits, "wait", ""},
		     {record->event_stacks, "stack", " at events"}};
	char number[32];
	uint64_t all = record->samples + record->waits + record->event_stacks, listed = 0;
	if (!all)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!kinds[i].count)
			continue;
		const char *before = !listed ? "including " : listed + kinds[i].count == all ? " and " : ", ";
		buffer_printf(out, "%s%s %s%s%s", before, with_commas(kinds[i].count, number), kinds[i].what,
			      plural(kinds[i].count), kinds[i].where);
		listed += kinds[i].count;
	}
	if (record->broken_stacks)
		buffer_printf(out, " (%.1f %% with broken stacks%s",
			      (double)record->broken_stacks * 100 / (double)all,
			      record->cut_stacks ? "" : ")");
	if (record->cut_stacks)
		buffer_printf(out, "%s%.1f %% with cut stacks)", record->broken_stacks ? ", " : " (",
			      (double)record->cut_stacks * 100 / (double)all);
	buffer_printf(out, ", ");
}

static uint64_t lost_from(const struct manifest_record *record, const char *source) {
	for (size_t i = 0; i < record->lost.count; i++)
		if (strcmp(record->lost.items[i].name, source) == 0)
			return record->lost.items[i].count;
	return 0;
}

// A larger buffer is for peaks. If the usual one loses more than is recorded, the tracer does not get enough
// CPU time.
static const char *loss_advice(const struct finish *finish, uint64_t lost) {
	const struct manifest_record *record = &finish->record;
	if (record->backend && strcmp(record->backend, "perf") == 0)
		return "raise kernel.perf_event_mlock_kb, or record as root";
	return lost <= record->events || finish->settings->buffer_size
		       ? "try a larger --buffer-size"
		       : "there are more events than this machine can record: record less (--profile)";
}

static void describe_losses(const struct finish *finish, struct buffer *out) {
	const struct manifest_record *record = &finish->record;
	char number[32];
	uint64_t all = 0;
	for (size_t i = 0; i < record->lost.count; i++)
		all += record->lost.items[i].count;
	buffer_printf(out, all ? "LOST" : "none lost");
	for (size_t i = 0; i < record->lost.count; i++)
		if (record->lost.items[i].count)
			buffer_printf(out, " %s %s", with_commas(record->lost.items[i].count, number),
				      record->lost.items[i].name);
	if (all > lost_from(record, "marker")) // marks do not use that buffer
		buffer_printf(out, "; %s", loss_advice(finish, all));
}

// Counted while the trace is made.
static void describe_events(const struct finish *finish, struct buffer *out) {
	const struct manifest_record *record = &finish->record;
	char number[32];
	if (record->there.events != MANIFEST_THERE) {
		buffer_printf(out, "not counted");
		return;
	}
	buffer_printf(out, "%s, ", with_commas(record->events, number));
	describe_samples(record, out);
	describe_losses(finish, out);
	// Losses leave gaps, too, so those need no line of their own.
	if (record->gaps && !lost_from(record, "sched"))
		buffer_printf(out, "; %s context switch%s not reported by the kernel",
			      with_commas(record->gaps, number), record->gaps == 1 ? "" : "es");
	if (record->late)
		buffer_printf(out, "; %s too late to be sorted", with_commas(record->late, number));
}

// Shares are still right, sums are not.
static void describe_delivery(const struct manifest_record *record, const struct look *look) {
	char delivered[32], expected[32];
	if (record->there.samples_short_expected == MANIFEST_THERE) {
		begin_line(look, "samples");
		buffer_printf(look->out,
			      "%s of about %s on all CPUs: some counter overflows were not delivered\n",
			      with_commas(record->samples_short_delivered, delivered),
			      with_commas(record->samples_short_expected, expected));
	}
	if (record->samples_throttled) {
		begin_line(look, "samples");
		buffer_printf(look->out,
			      "throttled %s time%s by the kernel: use a larger period, or raise "
			      "kernel.perf_event_max_sample_rate\n",
			      with_commas(record->samples_throttled, delivered),
			      plural(record->samples_throttled));
	}
}

static void describe_cost(const struct finish *finish, const struct look *look) {
	const struct manifest_record *record = &finish->record;
	begin_line(look, "cost");
	if (record->there.cost_bpf_seconds == MANIFEST_THERE) {
		buffer_printf(look->out, "BPF %s%.1f ms", record->cost_bpf_estimated ? "about " : "",
			      record->cost_bpf_seconds * 1e3);
		if (record->cost_bpf_estimated)
			buffer_printf(look->out, ", measured in the first %.2g s",
				      finish->bpf_measured_seconds);
		if (record->cpu_seconds > 0.05)
			buffer_printf(look->out, " (%.1f %% of the test's CPU time)",
				      record->cost_bpf_seconds / record->cpu_seconds * 100);
		buffer_printf(look->out, ", ");
	}
	buffer_printf(look->out, "tracer %.0f ms of CPU time\n", record->cost_tracer_cpu_seconds * 1e3);
}

// ---- crashes ----

// "#3   0x0000555555555131 even+0x21  ...": without the number of the frame.
static const char *without_number(const char *frame) {
	frame += *frame == '#' ? strcspn(frame, " ") : 0;
	return frame + strspn(frame, " ");
}

static bool same_frames(const manifest_words *stack, size_t left, size_t right, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (strcmp(without_number(stack->items[left + i]), without_number(stack->items[right + i])) !=
		    0)
			return false;
	return true;
}

// How often the frames at `at` repeat back to back, in groups of the smallest size that repeats.
static size_t count_repeated(const manifest_words *stack, size_t at, size_t *group) {
	enum { LARGEST_GROUP = 8, FEW = 3 };
	for (*group = 1; *group <= LARGEST_GROUP; ++*group) {
		size_t times = 1;
		while (at + (times + 1) * *group <= stack->count &&
		       same_frames(stack, at, at + times * *group, *group))
			times++;
		if (times > FEW)
			return times;
	}
	return 1;
}

// The top of the stack, and how many frames are left out. Repeating frames, as after a stack overflow, are
// shown once; a last line that says that the stack was cut is always shown.
static void describe_stack(const manifest_words *stack, const struct look *look) {
	enum { MOST_FRAMES = 8 };
	size_t shown = 0, i = 0, group;
	bool cut = stack->count && *stack->items[stack->count - 1] == '(';
	while (i < stack->count && shown < MOST_FRAMES) {
		size_t times = count_repeated(stack, i, &group);
		size_t lines = times > 1 ? group : 1;
		for (size_t k = 0; k < lines; k++)
			text_append_line(look->out, "            %s", stack->items[i + k]);
		if (times > 1)
			buffer_printf(look->out, "            (%s repeated %zu times)\n",
				      group == 1 ? "this frame is" : "these frames are", times);
		shown += lines;
		i += times > 1 ? times * group : 1;
	}
	size_t left = stack->count - i - (cut && i < stack->count);
	if (left)
		buffer_printf(look->out, "            (%zu more frame%s, in manifest.jsonl)\n", left,
			      left == 1 ? "" : "s");
	if (cut && i < stack->count)
		text_append_line(look->out, "            %s", stack->items[stack->count - 1]);
}

static void describe_crash(const struct manifest_crash *crash, bool with_stack, const struct look *look) {
	char words[128];
	uint64_t address = crash->address ? strtoull(crash->address, NULL, 0) : 0;
	crash_words((uint32_t)crash->signal, (int32_t)crash->code, address, (uint32_t)crash->pid, words,
		    sizeof(words));
	begin_line(look, "crash");
	buffer_printf(look->out, "%s, process %" PRIu64, words, crash->pid);
	if (crash->thread) {
		CLEANUP_FREE char *thread = text_plain_copy(crash->thread);
		buffer_printf(look->out, ", thread %" PRIu64 " (%s)", crash->tid, thread);
	}
	buffer_printf(look->out, "\n");
	if (with_stack && !crash->thread && !crash->stack.count)
		buffer_printf(look->out,
			      "            (no stack: the kernel did not report the crash; --core takes it "
			      "from a core dump)\n");
	if (with_stack)
		describe_stack(&crash->stack, look);
}

// Shows the first crashes and the latest, which may be the test's own. A test that passes expected
// its crashes: they are only mentioned.
static void describe_crashes(const struct manifest_record *record, bool passed, const struct look *look) {
	size_t count = record->crashes.count, most = passed ? 1 : 4, shown = 0;
	for (size_t i = 0; i < count; i++) {
		bool newest = !passed && i == count - 1;
		if (shown + 1 < most || newest || (passed && i == 0)) {
			describe_crash(&record->crashes.items[i], !passed, look);
			shown++;
		}
	}
	uint64_t others = count - shown + record->crashes_more;
	if (others) {
		begin_line(look, "crash");
		buffer_printf(look->out, "and %" PRIu64 " more crash%s, in manifest.jsonl\n", others,
			      others == 1 ? "" : "es");
	}
}

void summary_add_crashes(const struct manifest_record *record, struct buffer *out) {
	describe_crashes(record, false, &(struct look){.plain = "", .faint = "", .out = out});
}

static bool case_failed(const struct manifest_case *test) {
	return strncmp(test->result, "failed", strlen("failed")) == 0;
}

static void describe_failed_case(const struct manifest_case *test, const struct look *look) {
	begin_line(look, "failed");
	text_append_line(look->out, "%s%s%s%s", test->name,
			 strcmp(test->result, "failed") == 0 ? "" : " (did not end)", test->trace ? ": " : "",
			 test->trace ? test->trace : "");
}

// How many there were, and where to find those that failed.
static void describe_cases(const struct finish *finish, const struct look *look) {
	enum { MOST_SHOWN = 5 };
	const manifest_cases *cases = &finish->record.cases;
	size_t passed = 0, failed = 0, shown = 0;
	if (!cases->count)
		return;
	for (size_t i = 0; i < cases->count; i++) {
		passed += strcmp(cases->items[i].result, "passed") == 0;
		failed += case_failed(&cases->items[i]);
	}
	begin_line(look, "cases");
	buffer_printf(look->out, "%zu passed, %zu failed, %zu skipped%s\n", passed, failed,
		      cases->count - passed - failed,
		      finish->failed_cases ? "; each failed case has its own trace"
					   : "; each case has its own trace");
	for (size_t i = 0; i < cases->count && shown < MOST_SHOWN; i++)
		if (case_failed(&cases->items[i])) {
			describe_failed_case(&cases->items[i], look);
			shown++;
		}
	if (failed > shown)
		buffer_printf(look->out, "          and %zu more, in manifest.jsonl\n", failed - shown);
}

// ---- where the time went ----

// One line of at most 200 columns.
static void describe_time(const struct manifest_record *record, const struct look *look) {
	enum { COLUMNS = 200, BEFORE = 10 };
	const char *text = record->explanation;
	size_t length = text ? strlen(text) : 0;
	if (!length)
		return;
	begin_line(look, "why");
	if (length > COLUMNS - BEFORE) {
		for (length = COLUMNS - BEFORE - strlen("…"); length > 1 && text[length] != ' ';)
			length--;
		text_append_line(look->out, "%.*s…", (int)length, text);
	} else {
		text_append_line(look->out, "%s", text);
	}
}

void summary_add_time(const struct manifest_record *record, struct buffer *out) {
	if (record->explanation && *record->explanation)
		text_append_line(out, "why: %s", record->explanation);
}

// ---- files ----

static bool is_kind(const struct manifest_artifact *file, const char *kind) {
	return strcmp(file->kind, kind) == 0;
}

static void describe_file(const struct manifest_artifact *file, const struct look *look) {
	char size[16];
	const char *word = manifest_is_trace(file) ? "trace" : file->kind;
	// "events" is the line with their number
	begin_line(look, is_kind(file, "events") ? "flame" : word);
	text_append_line(look->out, "%s (%s)", file->path, file_size_words(file->size, size));
}

// All but the spool; heap details follow the heap file.
static void describe_files(const struct finish *finish, const struct look *look) {
	const manifest_artifacts *files = &finish->record.artifacts;
	size_t children = 0;
	const char *heap = NULL;
	for (size_t i = 0; i < files->count; i++) {
		const struct manifest_artifact *file = &files->items[i];
		children += is_kind(file, SUMMARY_HEAP_OF_CHILD);
		if (!is_kind(file, SUMMARY_HEAP_OF_CHILD) && !is_kind(file, "spool"))
			describe_file(file, look);
		if (is_kind(file, "heap") && finish->heap_words) {
			buffer_append(look->out, finish->heap_words->data, finish->heap_words->size);
			heap = file->path;
		}
	}
	if (heap)
		text_append_line(look->out, "          more: tracelet top --metric peak %s", heap);
	if (children) {
		begin_line(look, "heap");
		buffer_printf(look->out, "and %zu of %s, next to it\n", children,
			      children == 1 ? "a child process" : "child processes");
	}
}

static const char *find_spool(const struct manifest_record *record) {
	for (size_t i = 0; i < record->artifacts.count; i++)
		if (is_kind(&record->artifacts.items[i], "spool"))
			return record->artifacts.items[i].path;
	return NULL;
}

// ---- all of it ----

static void describe_cut(const struct finish *finish, const struct look *look) {
	char recorded[32], all[32], size[16];
	const struct manifest_record *record = &finish->record;
	const char *why = record->recording_stopped_by;
	if (!why)
		return;
	bool by_size = strcmp(why, "--max-size") == 0;
	begin_line(look, "cut");
	buffer_printf(
		look->out, "recorded only the first %s s of %s s: %s%s%s\n",
		seconds_words(MIN(record->recording_stopped_after_seconds, record->wall_seconds), recorded),
		seconds_words(record->wall_seconds, all), why, by_size ? " " : "",
		by_size ? file_size_words(finish->settings->max_size, size) : "");
}

// What a flight recorder still had.
static void describe_span(const struct manifest_record *record, const struct look *look) {
	char held[32], all[32];
	if (record->there.held_seconds != MANIFEST_THERE)
		return;
	begin_line(look, "span");
	buffer_printf(look->out, "the last %s s of %s s (--ring-size, --ring-seconds)\n",
		      seconds_words(MIN(record->held_seconds, record->wall_seconds), held),
		      seconds_words(record->wall_seconds, all));
}

// What the backend counts; on Windows, nothing.
static void describe_recording(const struct finish *finish, const struct look *look) {
	const struct manifest_record *record = &finish->record;
	if (!record->backend || record->not_kept || record->there.events == MANIFEST_ABSENT)
		return;
	begin_line(look, "events");
	describe_events(finish, look->out);
	if (finish->missing)
		buffer_printf(look->out, "; not recorded: %s", finish->missing);
	buffer_printf(look->out, "\n");
	describe_cut(finish, look);
	describe_span(record, look);
	describe_delivery(record, look);
	describe_cost(finish, look);
}

// A path as a word that can be pasted into a command line; to be freed.
static char *pasteable(const char *path) {
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./\\:+,=@%-";
	struct buffer word = {0};
	if (path[strspn(path, plain)] == 0)
		return memory_string(path);
	child_quote(&word, path);
	buffer_append(&word, "", 1);
	return (char *)word.data;
}

static void describe_next(const struct finish *finish, const char *spool, const struct look *look) {
	const struct manifest_artifact *trace = finish_trace(finish);
	bool windows = trace && is_kind(trace, "etl");
	if (!trace && !spool)
		return;
	begin_line(look, "next");
	CLEANUP_FREE char *path = pasteable(trace ? trace->path : spool);
	if (trace)
		text_append_line(look->out, "open it in %s, or: tracelet report %s",
				 windows ? "Windows Performance Analyzer" : "ui.perfetto.dev", path);
	else
		text_append_line(look->out, "tracelet convert %s out.pb", path);
}

static void describe_outlived(const manifest_words *processes, const struct look *look) {
	enum { MOST_SHOWN = 5 };
	if (!processes->count)
		return;
	begin_line(look, "left");
	buffer_printf(look->out, "%zu process%s still running: ", processes->count,
		      processes->count == 1 ? "" : "es");
	for (size_t i = 0; i < processes->count && i < MOST_SHOWN; i++) {
		CLEANUP_FREE char *process = text_plain_copy(processes->items[i]);
		buffer_printf(look->out, "%s%s", i ? ", " : "", process);
	}
	buffer_printf(look->out, processes->count > MOST_SHOWN ? ", …\n" : "\n");
}

static const char *words_before_time(const char *result) {
	static const struct {
		const char *result, *words;
	} table[] = {{"timed out", ", ended after"}, {"unknown", " after"}};
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (strncmp(result, table[i].result, strlen(table[i].result)) == 0)
			return table[i].words;
	return " in";
}

char *(*summary_ask_history)(const char *folder, const struct manifest_record *record);

static void describe_history(const struct finish *finish, const struct look *look) {
	CLEANUP_FREE char *words = summary_ask_history ? summary_ask_history(finish->settings->output_dir,
									     &finish->record)
						       : NULL;
	if (!words)
		return;
	begin_line(look, "history");
	text_append_line(look->out, "%s", words);
}

void summary_print(const struct finish *finish) {
	const struct manifest_record *record = &finish->record;
	bool colours = log_colours();
	struct buffer out = {0};
	const struct look look = {
		.plain = colours ? "\033[0m" : "", .faint = colours ? "\033[2m" : "", .out = &out};
	const char *colour = !colours ? "" : finish->passed ? "\033[1;32m" : "\033[1;31m";
	const char *spool = find_spool(record);
	char number[32];
	CLEANUP_FREE char *test = text_plain_copy(record->test);
	buffer_printf(&out, "tracelet: %s %s%s%s%s %s s\n", test, colour, record->result, look.plain,
		      words_before_time(record->result), seconds_words(record->wall_seconds, number));
	describe_crashes(&finish->record, finish->passed, &look);
	if (!finish->passed)
		describe_time(record, &look);
	describe_history(finish, &look);
	describe_files(finish, &look);
	describe_cases(finish, &look);
	if (spool) {
		begin_line(&look, "spool");
		text_append_line(&out, "%s", spool);
	}
	if (record->not_kept) {
		begin_line(&look, "trace");
		buffer_printf(&out, "not kept: %s\n", record->not_kept);
	}
	describe_outlived(&record->outlived, &look);
	describe_recording(finish, &look);
	describe_next(finish, spool, &look);
	file_write_all(STDERR_FILENO, out.data, out.size);
	buffer_free(&out);
}
