#include "session/recording.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/sources.h"
#include "capture/tasks.h"
#include "event/points.h"
#include "session/artifact.h"
#include "session/convert.h"
#include "session/heap.h"
#include "session/heap_words.h"
#include "session/make_trace.h"
#include "session/record.h"
#include "session/stem.h"
#include "symbol/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { DRAIN_INTERVAL_MS = 100 };
#define COUNTERS_SHORTEST 1e-4 // seconds: more ticks would leave little time for the test

// ---- the beginning ----

static int open_spool(struct recording *recording) {
	const struct settings *settings = recording->settings;
	recording->new_folder = access(settings->output_dir, F_OK) != 0;
	int error = artifact_make_dir(settings->output_dir);
	int fd = error ? error : stem_reserve(settings, recording->name, &recording->stem);
	if (fd < 0) {
		log_warning("no trace: cannot write to %s: %s (name another folder with --output-dir)",
			    settings->output_dir, strerror(-fd));
		return fd;
	}
	recording->spool_path = memory_format("%s.spool", recording->stem);
	spool_open(&recording->spool, fd, clock_boot_now());
	if (settings->type == RECORD_TO_FILE)
		recording->spool.limit = settings->max_size;
	if (settings->type == RECORD_TO_MEMORY) {
		recording->flight = flight_new(settings->ring_size, settings->ring_seconds);
		flight_take(recording->flight, &recording->spool);
	}
	return 0;
}

// Why less is recorded than could be, and what is left out.
static char *describe_less(const char *why, const struct capture_options *options,
			   const struct capture_backend *backend) {
	struct buffer names = {0};
	sources_ignored(options, backend, &names);
	char *text = memory_format("%s; recording less, with perf events%s%.*s", why,
				   names.size ? ": without " : "", (int)names.size,
				   names.size ? (const char *)names.data : "");
	buffer_free(&names);
	return text;
}

static int open_capture(struct recording *recording) {
	struct capture_options options = {.scope = recording->settings->scope,
					  .buffer_size = recording->settings->buffer_size,
					  .sparing = recording->settings->type == RECORD_TO_MEMORY};
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		options.sources[source] = source == RECORD_SOURCE_SAMPLE
						  ? settings_sampled(recording->settings)
						  : !recording->settings->without[source];
	options.sample_frequency = (unsigned)recording->settings->sample;
	options.sample_event = recording->settings->sample_event;
	options.call_graph = (enum call_graph)recording->settings->call_graph;
	options.off_cpu = recording->settings->off_cpu;
	options.stacks = recording->settings->stacks;
	options.hard_faults = recording->settings->hard_faults;
	const struct settings *settings = recording->settings;
	options.counting = (struct counting_options){
		.events = settings->counters && *settings->counters ? settings->counters : NULL,
		.interval = (uint64_t)(MAX(settings->counters_interval, COUNTERS_SHORTEST) * 1e9),
		.per_slice = settings->counters_per_slice};
	static const struct capture_backend *const backends[] = {&capture_bpf, &capture_perf};
	char why[ARRAY_SIZE(backends)][256] = {{0}};
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++) {
		if (backends[i]->open(&options, &recording->capture, why[i]) == 0) {
			recording->backend = backends[i];
			if (i > 0)
				recording->less = describe_less(why[0], &options, backends[i]);
			return 0;
		}
	}
	log_warning("no trace: %s; %s. 'tracelet doctor' shows what to do", why[0], why[1]);
	if (recording->settings->strict || recording->operation || recording->marks < 0)
		return -EPERM;
	recording->backend = &capture_marks; // if there are any, there will be a trace of them
	return 0;
}

static void open_marker(struct recording *recording) {
	int error = marker_open(&recording->marker, recording->marks);
	if (error)
		log_verbose("the test cannot make marks: %s", strerror(-error));
}

// When memory runs out, the test's comes before ours.
static void offer_own_memory(void) {
	static const char first[] = "1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		file_write_all(fd, first, strlen(first));
		close(fd);
	}
}

void recording_open(struct recording *recording) {
	recording->wait = -1;
	offer_own_memory();
	if (open_capture(recording) == 0 && open_spool(recording) != 0) {
		recording->backend->close(recording->capture);
		recording->backend = NULL;
	}
	// If they have to be read. A flight recorder is on for long, and has no memory to spare.
	if (recording->backend && settings_sampled(recording->settings) &&
	    recording->settings->type != RECORD_TO_MEMORY)
		kernel_symbols_prepare();
	if (recording->backend && recording->marks >= 0)
		open_marker(recording);
}

// From now on the test's marks are recorded too.
static void start_marker(struct recording *recording) {
	if (!recording->marker)
		return;
	int fds[] = {recording->backend->wait_fd(recording->capture), marker_wait_fd(recording->marker)};
	recording->wait = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			epoll_ctl(recording->wait, EPOLL_CTL_ADD, fds[i],
				  &(struct epoll_event){.events = EPOLLIN});
	marker_start(recording->marker);
}

// Where the kernel is, and which build: names of its addresses are looked for only then.
static void write_kernel_facts(struct recording *recording) {
	char build_id[41] = "", address[32] = "";
	uint64_t text = kernel_text_address();
	if (text)
		snprintf(address, sizeof(address), "%016" PRIx64, text);
	kernel_build_id(build_id);
	spool_meta(&recording->spool, "kernel-text", address);
	spool_meta(&recording->spool, "kernel-build-id", build_id);
}

// Some events tell of functions of the kernel.
static bool names_functions(const struct settings *settings) {
	for (int i = 0; i < POINT_COUNT; i++)
		if (points[i].code && !settings->without[points[i].source])
			return true;
	return false;
}

static void write_facts(struct recording *recording) {
	struct utsname system;
	uname(&system);
	struct buffer command = {0};
	for (char **word = recording->settings->command; word && *word; word++)
		buffer_printf(&command, "%s%s", command.size ? " " : "", *word);
	buffer_append(&command, "", 1);
	const char *facts[][2] = {
		{"test", recording->name},
		{"command", (char *)command.data},
		{"tool", "tracelet " TRACELET_VERSION},
		{"scope", recording->settings->scope == SCOPE_SYSTEM ? "system" : "tree"},
		{"backend", recording->backend->name},
		{"host", system.nodename},
		{"system", system.sysname},
		{"kernel", system.release},
		{"kernel-version", system.version},
		{"machine", system.machine},
	};
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		spool_meta(&recording->spool, facts[i][0], facts[i][1]);
	buffer_free(&command);
	if (settings_sampled(recording->settings) || names_functions(recording->settings))
		write_kernel_facts(recording);
}

struct following {
	struct recording *recording;
	pid_t pid;
	int error; // of the first thread of the process that matters
};

static void follow_thread(void *context, pid_t tid) {
	enum { PIDFD_OF_THREAD = O_EXCL }; // since 6.9; before, only first threads have one
	struct following *following = context;
	struct recording *recording = following->recording;
	int pidfd = (int)syscall(SYS_pidfd_open, tid, tid == following->pid ? 0 : PIDFD_OF_THREAD);
	int error = recording->backend->follow(recording->capture, tid, pidfd);
	if (tid == following->pid)
		following->error = error;
	if (pidfd >= 0)
		close(pidfd);
}

bool recording_begin(struct recording *recording, const pid_t *processes, size_t count) {
	if (!recording->backend)
		return false;
	const struct settings *settings = recording->settings;
	char why[256] = "";
	int error = 0;
	write_facts(recording);
	// Marks alone would not tell that a name has changed since.
	if (settings->scope == SCOPE_SYSTEM && recording->backend != &capture_marks)
		spool_tasks(&recording->spool, 0);
	for (size_t i = 0; i < count; i++) {
		struct following following = {.recording = recording, .pid = processes[i], .error = -ESRCH};
		if (settings->scope == SCOPE_TREE && recording->backend != &capture_marks)
			spool_tasks(&recording->spool, processes[i]);
		task_threads(processes[i], follow_thread, &following);
		if (i == 0) // others may have ended meanwhile
			error = following.error;
	}
	if (error)
		snprintf(why, sizeof(why), "the test cannot be followed: %s%s", strerror(-error),
			 error == -ENOBUFS ? " (raise 'ulimit -l' or kernel.perf_event_mlock_kb)" : "");
	else
		error = recording->backend->start(recording->capture, why);
	if (error) {
		log_warning("no trace: %s", why);
		recording_drop(recording);
		recording->backend->close(recording->capture);
		recording->backend = NULL;
		return false;
	}
	if (recording->less)
		log_warning("%s", recording->less);
	start_marker(recording);
	recording->heap_watch = heap_watch_new(recording->heap);
	// On disk before the test begins: if we are killed, there is a spool to convert.
	spool_flush(&recording->spool);
	clock_gettime(CLOCK_REALTIME, &recording->started);
	recording->begun = recording->synced = clock_boot_now();
	recording->deadline = settings->duration > 0
				      ? recording->synced + (uint64_t)(settings->duration * 1e9)
				      : UINT64_MAX;
	recording->pid = processes[0];
	recording->active = true;
	return true;
}

// ---- while it goes on ----

static void note_cut(struct recording *recording, const char *why, uint64_t at) {
	if (recording->cut.why)
		return;
	at = MAX(at, recording->begun);
	recording->cut = (struct recording_cut){
		.why = why, .at = at, .after = (double)(at - recording->begun) / 1e9};
	char number[32];
	snprintf(number, sizeof(number), "%" PRIu64, at);
	spool_meta(&recording->spool, "recording-stopped", why);
	spool_meta(&recording->spool, "recording-stopped-at", number);
}

// The last events may be too many, too.
static void warn_of_limit(struct recording *recording) {
	if (!recording->spool.full)
		return;
	note_cut(recording, "--max-size", recording->spool.full_since);
	char size[16];
	log_warning(
		"recording stopped when there were %s of it, after %.3g s (--max-size, or MaximumFileSize "
		"of the profile)",
		file_size_words(recording->settings->max_size, size), recording->cut.after);
}

void recording_stop(struct recording *recording) {
	if (!recording->active)
		return;
	recording->active = false;
	heap_watch_turn(recording->heap_watch, &recording->spool, true);
	if (recording->marker)
		marker_stop(recording->marker, &recording->spool, &recording->totals);
	recording->backend->stop(recording->capture, &recording->spool, &recording->totals);
	struct spool_lost lost = {.time = clock_boot_now(), .unfollowed = recording->totals.unfollowed};
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		lost.count[source] = recording->totals.lost[source];
	spool_append(&recording->spool, SPOOL_LOST, &lost, sizeof(lost));
	spool_clock(&recording->spool);
	warn_of_limit(recording);
}

static void warn_of_full_disk(struct recording *recording) {
	if (recording->spool.error && !recording->told_of_full_disk) {
		recording->told_of_full_disk = true;
		log_warning("recording stopped: %s: %s; what was written is kept", recording->spool_path,
			    strerror(-recording->spool.error));
		note_cut(recording, "disk", clock_boot_now());
		recording_stop(recording);
	}
}

double recording_seconds(const struct recording *recording) {
	return (double)(clock_boot_now() - recording->begun) / 1e9;
}

int recording_wait_fd(const struct recording *recording) {
	if (!recording->active)
		return -1;
	return recording->wait >= 0 ? recording->wait : recording->backend->wait_fd(recording->capture);
}

// Until the next drain is due or, if that is sooner, --duration is over.
int recording_wait_time(const struct recording *recording) {
	uint64_t now = clock_boot_now();
	uint64_t left = recording->deadline > now ? (recording->deadline - now) / 1000000 + 1 : 0;
	uint64_t most = recording->heap_watch ? HEAP_WATCH_MS : DRAIN_INTERVAL_MS;
	return recording->active ? (int)MIN(left, most) : -1;
}

static void sync_now(struct recording *recording) {
	if (recording->marker)
		marker_sync(recording->marker, &recording->spool);
	recording->backend->sync(recording->capture, &recording->spool);
	spool_flush(&recording->spool);
	recording->synced = clock_boot_now();
}

static void drain_now(struct recording *recording) {
	if (recording->marker)
		marker_drain(recording->marker, &recording->spool);
	recording->backend->drain(recording->capture, &recording->spool);
}

void recording_turn(struct recording *recording) {
	if (recording->active && clock_boot_now() >= recording->deadline) {
		note_cut(recording, "--duration", recording->deadline);
		recording_stop(recording);
	}
	if (!recording->active)
		return;
	heap_watch_turn(recording->heap_watch, &recording->spool, false);
	if (clock_boot_now() - recording->synced >= DRAIN_INTERVAL_MS * 1000000ull)
		sync_now(recording);
	else
		drain_now(recording);
	warn_of_full_disk(recording);
	make_trace_turn(recording);
	if (recording->spool.full)
		recording_stop(recording);
}

// ---- the end ----

static void write_result(struct recording *recording, const struct test_end *end) {
	if (end->operation)
		return;
	char words[128];
	summary_end_words(end->wait_status, end->timed_out ? recording->settings->timeout : 0, words,
			  sizeof(words));
	spool_meta(&recording->spool, "result", words);
	char number[32];
	snprintf(number, sizeof(number), "%d", end->wait_status >> 8 & 0xff);
	spool_meta(&recording->spool, "exit-status", end->wait_status & 0x7f ? "none" : number);
	snprintf(number, sizeof(number), "%.6f", end->wall_seconds);
	spool_meta(&recording->spool, "wall-seconds", number);
	if (end->timed_out) {
		snprintf(number, sizeof(number), "%" PRIu64, end->time_over);
		spool_meta(&recording->spool, "time-limit-over", number);
	}
}

static double cpu_seconds_of_self(void) {
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void add_to_manifest(struct recording *recording, const struct summary *summary) {
	struct buffer line = {0};
	summary_json(summary, &line);
	record_append(recording->settings->output_dir, &line, summary->trace);
	buffer_free(&line);
}

// The folder's limits; they may cost us the trace that was just made.
static void keep_limits(struct recording *recording, struct summary *summary) {
	const struct settings *settings = recording->settings;
	if (record_keep_limits(settings, summary->trace)) {
		summary->not_kept = RECORD_NO_ROOM;
		summary->trace = NULL;
		summary->spool = NULL;
		array_free(&summary->files);
	}
}

static void take_counts(struct summary *summary, const struct conversion_result *result) {
	summary->events = result->tally.events;
	memcpy(summary->lost, result->tally.lost, sizeof(summary->lost));
	summary->waits = result->tally.waits;
	summary->event_stacks = result->tally.at_events;
	summary->samples = result->tally.kinds[EVENT_SAMPLE] - summary->waits - summary->event_stacks;
	summary->broken = result->tally.broken;
	summary->gaps = result->tally.gaps;
	summary->late = result->late;
	summary->trace_size = result->size;
}

static void warn_of_broken_stacks(const struct recording *recording, const struct summary *summary) {
	enum { MOST_PERCENT = 2, FEW = 10 };
	uint64_t stacks = summary->samples + summary->waits + summary->event_stacks;
	if (summary->broken < FEW || summary->broken * 100 <= stacks * MOST_PERCENT)
		return;
	log_warning("%.1f %% of the stacks are broken: they end before the outermost function%s",
		    (double)summary->broken * 100 / (double)stacks,
		    recording->settings->call_graph == CALL_GRAPH_FP
			    ? " (--call-graph auto needs no frame pointers)"
			    : "");
}

static uint64_t file_size(const char *path) {
	struct stat status;
	return lstat(path, &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
}

static void add_file(struct summary *summary, const char *kind, const char *path) {
	if (!path || !*path)
		return;
	struct summary_file file = {.kind = kind, .path = path, .size = file_size(path)};
	artifact_sha256(path, file.sha256);
	array_push(&summary->files, file);
}

static void add_pictures(struct summary *summary, const struct pictures *pictures) {
	for (int kind = 0; kind < PICTURE_COUNT; kind++)
		add_file(summary, picture_kind_name(kind), pictures->paths[kind]);
}

// NULL: there is to be a trace.
static const char *why_not_kept(const struct recording *recording, const struct test_end *end) {
	bool passed = !end->wait_status && !end->timed_out && !end->operation &&
		      !(recording->leaked && recording->settings->fail_on_leak);
	int keep = recording->settings->keep;
	return keep == KEEP_NEVER              ? "--keep never"
	       : passed && keep == KEEP_FAILED ? "the test passed (--keep failed)"
	       : passed && recording->flight   ? "a flight recorder is saved when a test fails"
					       : NULL;
}

// ---- the heap ----

static bool leaks_wanted(const struct settings *settings) {
	return settings->heap_leaks || settings->heap_suppressions || settings->fail_on_leak;
}

// Before it is decided what is kept: a leak may be a failure. What a test has that was ended by others
// is no leak.
static void collect_heap(struct recording *recording, const struct test_end *end,
			 const struct heap_time *when) {
	const struct settings *settings = recording->settings;
	struct heap_suppressions suppressions;
	if (recording->heap < 0 || (why_not_kept(recording, end) && !leaks_wanted(settings)))
		return;
	recording_stop(recording); // what follows is not the test's
	heap_collect(recording->heap, settings->command, when, &recording->heap_results);
	if (!leaks_wanted(settings) || end->timed_out || end->wait_status & 0x7f)
		return;
	heap_suppressions_load(&suppressions, settings->heap_suppressions);
	for (size_t i = 0; i < recording->heap_results.items.count; i++) {
		const struct heap_made *made = recording->heap_results.items.items[i].made;
		heap_leaks_add(&recording->leaks, made, &suppressions,
			       settings->heap_children ? made->profile.command : NULL);
	}
	heap_suppressions_tell_unused(&suppressions, settings->heap_suppressions);
	heap_suppressions_free(&suppressions);
	recording->leaked = recording->leaks.blocks;
}

static void save_leaks(struct recording *recording, struct summary *summary) {
	struct heap_leaks *leaks = &recording->leaks;
	struct output output;
	if (!leaks->blocks)
		return;
	char *path = memory_format("%s.leaks.txt", recording->stem);
	int error = output_open(&output, path, OUTPUT_CREATE);
	if (!error) {
		error = output_write(&output, leaks->text.data, leaks->text.size);
		if (!error)
			error = output_commit(&output);
		output_abandon(&output);
	}
	if (error)
		log_warning("%s: cannot be written: %s", path, strerror(-error));
	recording->leaks_file = path;
	add_file(summary, "leaks", error ? NULL : path);
}

// A name for files, also where there is no trace.
static int reserve_stem(struct recording *recording) {
	int error = artifact_make_dir(recording->settings->output_dir);
	if (error || recording->stem)
		return error;
	int fd = stem_reserve(recording->settings, recording->name, &recording->stem);
	CLEANUP_FREE char *spool = fd < 0 ? NULL : memory_format("%s.spool", recording->stem);
	if (fd >= 0) {
		close(fd);
		unlink(spool);
	}
	return MIN(fd, 0);
}

// Beside the trace, or where it would be.
static void save_heap(struct recording *recording, const struct test_end *end, struct summary *summary) {
	const struct settings *settings = recording->settings;
	if (!recording->heap_results.items.count || why_not_kept(recording, end))
		return;
	int error = reserve_stem(recording);
	if (error) {
		log_warning("no heap profile: %s: %s", settings->output_dir, strerror(-error));
		return;
	}
	heap_save(&recording->heap_results, recording->stem, &recording->heap_files);
	for (size_t i = 0; i < recording->heap_files.items.count; i++) {
		const struct heap_file *file = &recording->heap_files.items.items[i];
		add_file(summary, file->child ? SUMMARY_HEAP_OF_CHILD : "heap", file->path);
	}
	for (size_t i = 0; i < recording->heap_results.items.count; i++)
		if (recording->heap_results.items.items[i].first)
			heap_words(recording->heap_results.items.items[i].made, "          ",
				   &recording->heap_words);
	summary->heap_words = recording->heap_words.size ? &recording->heap_words : NULL;
	save_leaks(recording, summary);
	if (settings->heap_children && recording->trace)
		heap_warn_of_children(&recording->heap_results, &recording->execs, recording->pid);
}

void recording_tell_leaks(const struct recording *recording) {
	const struct heap_leaks *leaks = &recording->leaks;
	if (!leaks->blocks)
		return;
	fprintf(stderr,
		"tracelet: leaked: %" PRIu64 " byte%s in %" PRIu64 " block%s, from %" PRIu64 " place%s\n",
		leaks->bytes, leaks->bytes == 1 ? "" : "s", leaks->blocks, leaks->blocks == 1 ? "" : "s",
		leaks->places, leaks->places == 1 ? "" : "s");
	fwrite(leaks->beginning.data, 1, leaks->beginning.size, stderr);
}

// Ends the spool; false: there is nothing in it to make a trace of.
static bool end_spool(struct recording *recording, const struct test_end *end) {
	recording_stop(recording);
	if (recording->backend->crashes)
		crash_report_all(&recording->crashes, recording->backend->crashes(recording->capture),
				 &recording->spool);
	if (!end->operation && !end->timed_out)
		crash_report_test(&recording->crashes, recording->pid, end->wait_status);
	write_result(recording, end);
	spool_flush(&recording->spool);
	bool wanted = !why_not_kept(recording, end);
	if (recording->flight && wanted)
		recording->spool.error = flight_save(recording->flight, recording->spool.fd);
	warn_of_full_disk(recording);
	spool_close(&recording->spool);
	// On a full disk there is no room for a trace either, as was said already.
	return wanted && !recording->spool.error;
}

// Where nothing but marks can be recorded and there were none, nothing is left.
static void give_up_if_empty(struct recording *recording) {
	if (recording->backend != &capture_marks)
		return;
	recording_stop(recording);
	if (recording->marker && marker_count(recording->marker))
		return;
	recording_drop(recording);
	if (recording->new_folder)
		rmdir(recording->settings->output_dir);
	recording->backend = NULL;
}

// Looked for only in tests that make marks. NULL: they are not wanted.
static struct case_traces *cases_wanted(struct recording *recording) {
	const struct settings *settings = recording->settings;
	if (!settings->cases || recording->operation || !recording->marker ||
	    !marker_count(recording->marker))
		return NULL;
	recording->cases = (struct case_traces){.folder = settings->output_dir,
						.prefix = settings->name,
						.variant = settings->variant,
						.failed_only = settings->keep == KEEP_FAILED};
	return &recording->cases;
}

static void add_cases_to_manifest(struct recording *recording, const struct summary *whole) {
	for (size_t i = 0; i < recording->cases.ended.count; i++) {
		const struct case_trace *test = &recording->cases.ended.items[i];
		char name[ARTIFACT_NAME_SIZE];
		artifact_safe_name(test->name, name);
		struct summary summary = {.settings = whole->settings,
					  .test = name,
					  .verdict = case_verdict_words[test->verdict],
					  .started = test->started,
					  .wall_seconds = test->seconds,
					  .backend = whole->backend,
					  .trace = test->path,
					  .trace_size = test->size,
					  .not_kept = test->not_kept ? "the case passed (--keep failed)"
								     : NULL,
					  .events = test->tally.events,
					  .samples = test->tally.kinds[EVENT_SAMPLE],
					  .broken = test->tally.broken,
					  .gaps = test->tally.gaps};
		memcpy(summary.lost, test->tally.lost, sizeof(summary.lost));
		if (summary.trace)
			artifact_sha256(summary.trace, summary.sha256);
		add_to_manifest(recording, &summary);
	}
}

void recording_finish(struct recording *recording, const struct test_end *end, struct summary *summary) {
	const struct settings *settings = recording->settings;
	struct heap_time when = heap_time_now();
	*summary = (struct summary){.settings = settings,
				    .test = recording->name,
				    .wait_status = end->wait_status,
				    .timed_out = end->timed_out,
				    .operation = end->operation,
				    .started = end->started,
				    .wall_seconds = end->wall_seconds,
				    .test_cpu_seconds = end->cpu_seconds};
	add_file(summary, "stacks", end->stacks);
	add_file(summary, "core", end->core);
	collect_heap(recording, end, &when);
	summary->leaked = recording->leaked && settings->fail_on_leak;
	give_up_if_empty(recording);
	if (recording->backend) {
		struct conversion_result result = {0};
		if (end_spool(recording, end))
			recording->trace = make_trace(recording, recording->spool_path, recording->stem,
						      cases_wanted(recording), &result);
		summary->crashes = &recording->crashes;
		summary->cases = &recording->cases;
		summary->backend = recording->backend->name;
		summary->missing = recording->backend->missing;
		summary->totals = recording->totals;
		summary->cut = recording->cut;
		summary->trace = recording->trace;
		add_pictures(summary, &recording->pictures);
		summary->not_kept = why_not_kept(recording, end);
		take_counts(summary, &result);
		warn_of_broken_stacks(recording, summary);
		memcpy(summary->sha256, result.sha256, sizeof(summary->sha256));
		if (summary->not_kept || (recording->trace && !settings->keep_spool)) {
			unlink(recording->spool_path);
		} else {
			summary->spool = recording->spool_path;
			summary->spool_size = file_size(recording->spool_path);
		}
	}
	save_heap(recording, end, summary);
	add_file(summary, "output", settings->repro_output); // with what we had to say ourselves
	summary->tracer_cpu_seconds = cpu_seconds_of_self();
	if (recording->backend || summary->files.count)
		add_to_manifest(recording, summary);
	add_cases_to_manifest(recording, summary);
	keep_limits(recording, summary);
}

// ---- a look in between ----

static int save_snapshot(struct recording *recording, const char *stem, int fd) {
	make_trace_leave(recording);
	CLEANUP_FREE char *spool = memory_format("%s.spool", stem);
	struct conversion_result result = {0};
	int error = recording->flight ? flight_save(recording->flight, fd) : 0;
	close(fd);
	if (error)
		log_warning("no snapshot: %s: %s", spool, strerror(-error));
	else
		recording->trace = make_trace(recording, recording->flight ? spool : recording->spool_path,
					      stem, NULL, &result);
	unlink(spool);
	if (error || !recording->trace)
		return 1;
	struct summary summary = {.settings = recording->settings,
				  .test = recording->name,
				  .operation = true,
				  .started = recording->started,
				  .wall_seconds = recording_seconds(recording),
				  .backend = recording->backend->name,
				  .trace = recording->trace};
	take_counts(&summary, &result);
	add_pictures(&summary, &recording->pictures);
	memcpy(summary.sha256, result.sha256, sizeof(summary.sha256));
	add_to_manifest(recording, &summary);
	return 0;
}

pid_t recording_snapshot(struct recording *recording, char **path) {
	char *stem;
	if (!recording->backend)
		return -ENODATA;
	if (recording->active)
		sync_now(recording);
	int fd = stem_reserve(recording->settings, recording->name, &stem);
	if (fd < 0)
		return fd;
	pid_t child = fork();
	if (child == 0)
		_exit(save_snapshot(recording, stem, fd));
	int error = errno;
	close(fd);
	*path = memory_format("%s.pb", stem);
	free(stem);
	return child < 0 ? -error : child;
}

void recording_drop(struct recording *recording) {
	make_trace_cancel(recording);
	if (recording->spool_path) {
		spool_close(&recording->spool);
		unlink(recording->spool_path);
	}
}

void recording_leave_spool(struct recording *recording) {
	recording_stop(recording);
	make_trace_cancel(recording);
	if (recording->backend)
		spool_close(&recording->spool);
}

void recording_close(struct recording *recording) {
	make_trace_cancel(recording);
	marker_close(recording->marker);
	if (recording->wait >= 0)
		close(recording->wait);
	if (recording->backend)
		recording->backend->close(recording->capture);
	flight_free(recording->flight);
	crash_reports_free(&recording->crashes);
	case_traces_free(&recording->cases);
	free(recording->less);
	free(recording->stem);
	free(recording->spool_path);
	free(recording->trace);
	heap_watch_free(recording->heap_watch);
	heap_results_free(&recording->heap_results);
	heap_files_free(&recording->heap_files);
	heap_execs_free(&recording->execs);
	heap_leaks_free(&recording->leaks);
	buffer_free(&recording->heap_words);
	free(recording->leaks_file);
	pictures_free(&recording->pictures);
}
