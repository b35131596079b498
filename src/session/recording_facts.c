#include "session/recording_facts.h"
#include "artifact/artifact.h"
#include "event/crash.h"
#include "format/stuck.h"
#include "process/user.h"
#include "session/stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void put_losses(struct manifest_record *record, const uint64_t *lost) {
	record->there.lost = MANIFEST_THERE;
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		if (lost[source])
			array_push(&record->lost,
				   (struct manifest_count){event_source_names[source], lost[source]});
}

static void put_samples(struct manifest_record *record, const struct tally *tally, const char *event) {
	uint64_t all = tally->kinds[EVENT_SAMPLE], samples = all - tally->waits - tally->at_events;
	if (samples) {
		MANIFEST_PUT(record, samples, samples);
		MANIFEST_PUT(record, sample_event, event);
	}
	if (tally->waits)
		MANIFEST_PUT(record, waits, tally->waits);
	if (tally->at_events)
		MANIFEST_PUT(record, event_stacks, tally->at_events);
	if (all)
		MANIFEST_PUT(record, broken_stacks, tally->broken);
	if (tally->cut)
		MANIFEST_PUT(record, cut_stacks, tally->cut);
}

static void put_delivery(struct manifest_record *record, const struct sample_delivery *delivery) {
	if (sample_delivery_falls_short(delivery)) {
		MANIFEST_PUT(record, samples_short_delivered, delivery->delivered);
		MANIFEST_PUT(record, samples_short_expected, delivery->expected);
	}
	if (delivery->throttled)
		MANIFEST_PUT(record, samples_throttled, delivery->throttled);
}

void facts_put_counts(struct manifest_record *record, const struct tally *tally,
		      const struct capture_totals *totals) {
	MANIFEST_PUT(record, events, tally->events);
	put_losses(record, tally->lost);
	put_samples(record, tally, totals->sample_event);
	put_delivery(record, &totals->delivery);
	MANIFEST_PUT(record, gaps, tally->gaps);
	MANIFEST_PUT(record, late, tally->late);
}

void facts_put_no_counts(struct manifest_record *record) {
	record->there.events = record->there.lost = MANIFEST_NULL;
}

void facts_put_cut(struct manifest_record *record, const struct recording_cut *cut) {
	if (!cut->why)
		return;
	MANIFEST_PUT(record, recording_stopped_by, cut->why);
	MANIFEST_PUT(record, recording_stopped_after_seconds, cut->after);
}

double facts_own_cpu_seconds(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void facts_put_cost(struct manifest_record *record, const struct capture_totals *totals,
		    double tracer_cpu_seconds) {
	if (totals->program_stats) {
		MANIFEST_PUT(record, cost_bpf_seconds, (double)totals->program_ns / 1e9);
		MANIFEST_PUT(record, cost_bpf_runs_measured, totals->program_runs);
		MANIFEST_PUT(record, cost_bpf_estimated, totals->program_estimated);
	}
	MANIFEST_PUT(record, cost_tracer_cpu_seconds, tracer_cpu_seconds);
}

// ---- the test as a whole ----

// The kernel's accounting omits processes that the test did not wait for; ours may miss switches.
void facts_put_census(struct manifest_record *record, const struct census *census, bool alive) {
	MANIFEST_PUT(record, cpu_seconds, MAX(record->cpu_seconds, (double)census->cpu_time / 1e9));
	for (size_t i = 0; alive && i < census->alive.count; i++) {
		const struct census_process *process = &census->alive.items[i];
		record->there.outlived = MANIFEST_THERE;
		array_push(&record->outlived,
			   manifest_keep(record,
					 memory_format("%s (%" PRIu32 ")", process->name, process->pid)));
	}
}

void facts_put_metric(struct manifest_record *record, const char *name, uint64_t value) {
	record->there.metrics = MANIFEST_THERE;
	if (value)
		array_push(&record->metrics, (struct manifest_count){name, value});
}

static uint64_t nanoseconds(const struct timeval *time) {
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

void usage_put(struct test_end *end, const struct rusage *usage) {
	end->usage = (struct test_usage){.user_ns = nanoseconds(&usage->ru_utime),
					 .system_ns = nanoseconds(&usage->ru_stime),
					 .faults = (uint64_t)usage->ru_minflt,
					 .major_faults = (uint64_t)usage->ru_majflt,
					 .max_rss = (uint64_t)usage->ru_maxrss * 1024};
	end->cpu_seconds = (double)(end->usage.user_ns + end->usage.system_ns) / 1e9;
}

// The history compares instructions of one kind: those of user code stand for all where no others were
// counted.
void facts_put_counters(struct manifest_record *record, const manifest_counts *counters) {
	bool all = false;
	for (size_t i = 0; i < counters->count; i++)
		all |= strcmp(counters->items[i].name, "instructions") == 0;
	for (size_t i = 0; i < counters->count; i++) {
		const char *name = counters->items[i].name;
		bool user = !all && strcmp(name, "instructions:u") == 0;
		facts_put_metric(record, user ? "instructions" : name, counters->items[i].count);
	}
}

// Estimates of samples are not comparable with counts.
void facts_put_heap(struct manifest_record *record, const struct heap_sums *sums) {
	if (sums->sampled)
		return;
	facts_put_metric(record, "heap_peak", sums->peak);
	facts_put_metric(record, "heap_total", sums->bytes);
}

// What is 0 is left out: a reader takes it for 0 where others are there.
void facts_put_usage(struct manifest_record *record, const struct test_usage *usage) {
	facts_put_metric(record, "cpu_user_ns", usage->user_ns);
	facts_put_metric(record, "cpu_system_ns", usage->system_ns);
	facts_put_metric(record, "faults", usage->faults);
	facts_put_metric(record, "major_faults", usage->major_faults);
	facts_put_metric(record, "max_rss", usage->max_rss);
}

void facts_put_measures(struct manifest_record *record, const struct measures *measures,
			const struct test_end *end) {
	if (measures->switches_seen) {
		facts_put_metric(record, "ready_ns", measures->ready_ns);
		facts_put_metric(record, "blocked_ns", measures->blocked_ns);
		facts_put_metric(record, "io_ns", measures->io_ns);
		facts_put_metric(record, "lock_ns", measures->lock_ns);
		facts_put_metric(record, "switches", measures->switches);
		facts_put_metric(record, "preempted", measures->preempted);
		facts_put_metric(record, "processes", measures->processes);
	}
	facts_put_metric(record, "syscalls", measures->syscalls);
	manifest_counts counters = {0};
	for (size_t i = 0; i < measures->counters.count; i++)
		array_push(&counters, (struct manifest_count){measures->counters.items[i].name,
							      (uint64_t)measures->counters.items[i].value});
	facts_put_counters(record, &counters);
	array_free(&counters);
	char *waits = measures_waits(measures, end->wall_seconds), *functions = measures_functions(measures);
	if (waits)
		MANIFEST_PUT(record, waited, manifest_keep(record, waits));
	if (functions)
		MANIFEST_PUT(record, functions, manifest_keep(record, functions));
}

// What a test that passed spent its time on is for comparisons only.
void facts_put_explanation(struct manifest_record *record, const struct explanation *explanation,
			   bool passed) {
	if (explanation->digest)
		MANIFEST_PUT(record, time_digest, manifest_keep(record, memory_string(explanation->digest)));
	if (explanation->text && *explanation->text && !passed)
		MANIFEST_PUT(record, explanation, manifest_keep(record, memory_string(explanation->text)));
}

// ---- crashes and cases ----

static const char *hexadecimal(struct manifest_record *record, uint64_t value) {
	return manifest_keep(record, memory_format("0x%" PRIx64, value));
}

static void put_stack(struct manifest_record *record, struct manifest_crash *crash, const char *stack) {
	crash->there.stack = MANIFEST_THERE;
	for (const char *line = stack; line && *line;) {
		size_t length = strcspn(line, "\n");
		array_push(&crash->stack, manifest_keep(record, memory_format("%.*s", (int)length, line)));
		line += length + (line[length] == '\n');
	}
}

void facts_put_crashes(struct manifest_record *record, const struct crash_reports *crashes) {
	if (crashes->more)
		MANIFEST_PUT(record, crashes_more, crashes->more);
	for (size_t i = 0; i < crashes->list.count; i++) {
		const struct crash_report *report = &crashes->list.items[i];
		struct manifest_crash crash = {0};
		MANIFEST_PUT(&crash, signal, report->signal);
		MANIFEST_PUT(&crash, name, crash_signal_name(report->signal));
		MANIFEST_PUT(&crash, pid, report->pid);
		if (report->time) {
			MANIFEST_PUT(&crash, tid, report->tid);
			MANIFEST_PUT(&crash, thread, report->name);
			MANIFEST_PUT(&crash, code, report->code);
			MANIFEST_PUT(&crash, address, hexadecimal(record, report->address));
			MANIFEST_PUT(&crash, instruction, hexadecimal(record, report->instruction));
		}
		put_stack(record, &crash, report->stack);
		record->there.crashes = MANIFEST_THERE;
		array_push(&record->crashes, crash);
	}
}

void facts_put_cases(struct manifest_record *record, const struct case_traces *cases) {
	for (size_t i = 0; i < cases->ended.count; i++) {
		const struct case_trace *trace = &cases->ended.items[i];
		struct manifest_case test = {0};
		MANIFEST_PUT(&test, name, trace->name);
		MANIFEST_PUT(&test, result, case_verdict_words[trace->verdict]);
		MANIFEST_PUT(&test, wall_seconds, trace->seconds);
		if (trace->path)
			MANIFEST_PUT(&test, trace, trace->path);
		record->there.cases = MANIFEST_THERE;
		array_push(&record->cases, test);
	}
}

void facts_put_parent(struct manifest_record *record, const struct settings *settings, const char *session) {
	CLEANUP_FREE char *program = session_true_name(settings);
	if (session)
		MANIFEST_PUT(record, parent, session);
	if (!settings->suite)
		MANIFEST_PUT(record, suite, manifest_keep(record, memory_string(program)));
}

void facts_note_case(const struct settings *settings, const char *backend, const struct case_trace *test,
		     const char *session) {
	struct finish finish;
	struct test_end end = {.started = test->started, .wall_seconds = test->seconds};
	struct tally tally = test->tally;
	char name[ARTIFACT_NAME_SIZE];
	artifact_safe_name(test->name, name);
	finish_open(&finish, settings, name);
	MANIFEST_PUT(&finish.record, name, test->name);
	facts_put_parent(&finish.record, settings, session);
	finish_case(&finish, case_verdict_words[test->verdict], &end);
	finish.recorded = true;
	MANIFEST_PUT(&finish.record, backend, backend);
	if (test->not_kept)
		MANIFEST_PUT(&finish.record, not_kept, "the case passed (--keep failed)");
	tally.waits = tally.at_events = 0; // here all count as samples
	if (test->path) {
		finish_add_trace(&finish, "perfetto", test->path, 0, NULL);
		facts_put_counts(&finish.record, &tally, &(struct capture_totals){0});
	} else {
		facts_put_no_counts(&finish.record);
	}
	finish_note(&finish);
	finish_free(&finish);
}

// ---- without a trace ----

void facts_note_measured(const struct settings *settings, const struct measured *measured) {
	struct finish finish;
	struct manifest_record *record = &finish.record;
	char safe[ARTIFACT_NAME_SIZE];
	if (!settings_enabled(settings) || user_make_folder(settings->output_dir))
		return;
	CLEANUP_FREE char *name = measured->name ? memory_string(measured->name)
						 : session_true_name(settings);
	artifact_safe_name(name, safe);
	finish_open(&finish, settings, safe);
	MANIFEST_PUT(record, name, name);
	finish_end(&finish, &measured->end);
	MANIFEST_PUT(record, kind, measured->kind);
	MANIFEST_PUT(record, profile, NULL);
	facts_put_no_counts(record);
	facts_put_usage(record, &measured->end.usage);
	facts_put_counters(record, &measured->counters);
	if (measured->heap)
		facts_put_heap(record, measured->heap);
	finish.recorded = true;
	finish_note(&finish);
	finish_free(&finish);
}

// ---- limits of the control group ----

void limits_begin(struct limits *limits) {
	control_group_names(getpid(), limits->own);
	control_group_read_named(&limits->before, limits->own);
	limits->after = limits->before;
}

// Groups other than the roots, which have no limits: version 1 lists those for a process that is ending.
static bool are_groups(const char *names) {
	for (const char *at = names; (at = strstr(at, ":/")); at += 2)
		if (at[2] && at[2] != '\n')
			return true;
	return false;
}

void limits_look(struct limits *limits, pid_t test) {
	char names[CONTROL_GROUP_NAMES];
	control_group_names(test, names);
	if (!are_groups(names) || !*limits->own ||
	    strcmp(names, *limits->other ? limits->other : limits->own) == 0)
		return;
	snprintf(limits->other, sizeof(limits->other), "%s", names);
	control_group_read_named(&limits->before, names);
}

static uint64_t grown(uint64_t before, uint64_t after) {
	return after > before ? after - before : 0;
}

static struct control_group growth(const struct limits *limits) {
	const struct control_group *before = &limits->before, *after = &limits->after;
	struct control_group group = *after;
	group.periods = grown(before->periods, after->periods);
	group.throttled_periods = grown(before->throttled_periods, after->throttled_periods);
	group.throttled_ns = grown(before->throttled_ns, after->throttled_ns);
	group.oom_kills = grown(before->oom_kills, after->oom_kills);
	return group;
}

// Version 1 of control groups forgets where a process was when it ends, version 2 has one line: "0::/path".
static const char *last_group(const struct limits *limits, const struct test_end *end) {
	bool second = strncmp(end->groups, "0::", 3) == 0;
	return *limits->other ? limits->other : second ? end->groups : limits->own;
}

// What a group had counted before the test came is known only if that was seen. Otherwise it is the test's,
// unless it is more than its time allows.
static void read_unseen(struct limits *limits, const struct test_end *end) {
	enum { KILLED = 9 };
	const double period = 0.1; // seconds
	struct control_group *after = &limits->after;
	limits->before = (struct control_group){0};
	if ((double)after->periods * period > end->wall_seconds + 2 * period)
		after->periods = after->throttled_periods = after->throttled_ns = 0;
	after->oom_kills = after->oom_kills && (end->status & 0x7f) == KILLED;
}

struct number_fact {
	const char *key;
	uint64_t value;
};

static void put_facts(struct spool *spool, const struct number_fact *facts, size_t count) {
	for (size_t i = 0; i < count; i++) {
		char number[32];
		snprintf(number, sizeof(number), "%" PRIu64, facts[i].value);
		if (facts[i].value)
			spool_meta(spool, facts[i].key, number);
	}
}

void machine_put(const struct machine_counters *before, struct spool *spool, const struct test_end *end) {
	struct machine_counters after;
	if (finish_passed(end))
		return;
	machine_read(&after, "/proc");
	struct machine_counters grown = machine_growth(before, &after);
	const struct number_fact facts[] = {
		{FACT_CPU_STALLED, grown.cpu_stalled_ns},
		{FACT_IO_STALLED, grown.io_stalled_ns},
		{FACT_MEMORY_STALLED, grown.memory_stalled_ns},
		{FACT_LISTEN_OVERFLOWS, grown.listen_overflows},
		{FACT_RETRANSMITS, grown.retransmits},
	};
	put_facts(spool, facts, ARRAY_SIZE(facts));
}

// Only what is a limit, or was reached.
void limits_end(struct limits *limits, struct spool *spool, const struct test_end *end) {
	const char *names = last_group(limits, end);
	// Where there was no limit a moment ago, there is none to be read now.
	bool none = !limits->before.cpus && !limits->before.memory_limit && end->wall_seconds < 1;
	if (names != limits->own || !none)
		control_group_read_named(&limits->after, names);
	if (names == end->groups && strcmp(names, limits->own) != 0)
		read_unseen(limits, end);
	struct control_group group = growth(limits);
	const struct number_fact facts[] = {
		{FACT_CPU_LIMIT, (uint64_t)(group.cpus * 1000)},
		{FACT_THROTTLED, group.throttled_ns},
		{FACT_THROTTLED_PERIODS, group.throttled_periods},
		{FACT_PERIODS, group.periods},
		{FACT_MEMORY_LIMIT, group.memory_limit},
		{FACT_MEMORY_PEAK, group.memory_peak},
		{FACT_OOM_KILLS, group.oom_kills},
	};
	put_facts(spool, facts, ARRAY_SIZE(facts));
}

void limits_put(const struct limits *limits, struct manifest_record *record) {
	struct control_group group = growth(limits);
	if (group.cpus > 0) {
		MANIFEST_PUT(record, limits_cpus, group.cpus);
		MANIFEST_PUT(record, limits_periods, group.periods);
		MANIFEST_PUT(record, limits_throttled_periods, group.throttled_periods);
		MANIFEST_PUT(record, limits_throttled_seconds, (double)group.throttled_ns / 1e9);
	}
	if (group.memory_limit) {
		MANIFEST_PUT(record, limits_memory, group.memory_limit);
		MANIFEST_PUT(record, limits_memory_peak, group.memory_peak);
		MANIFEST_PUT(record, limits_oom_kills, group.oom_kills);
	}
}

// ---- the time limit ----

void stuck_put(struct spool *spool, const char *stacks) {
	struct buffer fact = {0};
	if (*stacks)
		stacks_stuck(stacks, &fact);
	if (fact.size) {
		buffer_append(&fact, "", 1);
		spool_meta(spool, FACT_STUCK, (const char *)fact.data);
	}
	buffer_free(&fact);
}
