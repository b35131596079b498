#include "session/recording.h"
#include "artifact/artifact.h"
#include "artifact/stem.h"
#include "base/file.h"
#include "base/log.h"
#include "capture/bpf/hidden.h"
#include "capture/choose.h"
#include "capture/disks.h"
#include "capture/tasks.h"
#include "event/points.h"
#include "flow/convert.h"
#include "heap/heap.h"
#include "heap/words.h"
#include "process/urgent.h"
#include "process/user.h"
#include "session/make_trace.h"
#include "session/summary.h"
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

enum { DRAIN_INTERVAL_MS = 100, PUSHED_INTERVAL_MS = 1000, LOOK_AFTER_MS = 2 };

// ---- the beginning ----

static int open_spool(struct recording *recording) {
	const struct settings *settings = recording->settings;
	recording->new_folder = access(settings->output_dir, F_OK) != 0;
	int error = user_make_folder(settings->output_dir);
	int fd = error ? error : stem_reserve(settings, recording->name, &recording->stem);
	if (fd < 0) {
		log_warning("no trace: cannot write to %s: %s (choose another directory with --output-dir)",
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

static enum capture_collector_use collector_use(const struct recording *recording) {
	static const enum capture_collector_use uses[] = {[COLLECTOR_AUTO] = USE_COLLECTOR_FIRST,
							  [COLLECTOR_NEVER] = USE_COLLECTOR_NOT,
							  [COLLECTOR_REQUIRED] = USE_COLLECTOR_ONLY};
	return recording->without_collector ? USE_COLLECTOR_NOT : uses[recording->settings->collector];
}

static int open_capture(struct recording *recording) {
	const struct settings *settings = recording->settings;
	struct capture_options options = capture_options_of(settings);
	options.keeps_members = recording->operation;
	struct capture_choice choice;
	if (capture_choose(&options, collector_use(recording), &choice)) {
		recording->backend = choice.backend;
		recording->capture = choice.capture;
		recording->less = choice.less;
		return 0;
	}
	if (settings->strict || recording->operation || recording->marks < 0)
		return -EPERM;
	recording->backend = &capture_marks; // if there are marks, they get a trace
	return 0;
}

// The collector failed before anything was recorded: opens the next best. False if there is none.
static bool open_without_collector(struct recording *recording) {
	if (recording->backend != &capture_collector || recording->settings->collector == COLLECTOR_REQUIRED)
		return false;
	capture_collector.close(recording->capture);
	recording->capture = NULL;
	recording->backend = NULL;
	recording->without_collector = true;
	return open_capture(recording) == 0;
}

static void open_marker(struct recording *recording) {
	int error = marker_open(&recording->marker, recording->marks);
	if (error)
		log_verbose("marks from the test are not available: %s", strerror(-error));
}

void recording_open(struct recording *recording) {
	recording->wait = recording->ended_spool = -1;
	urgent_offer_memory();
	int error = open_capture(recording);
	user_files_begin(); // applies to everything we write from now on
	if (!error && open_spool(recording) != 0) {
		recording->backend->close(recording->capture);
		recording->backend = NULL;
	}
	// If they must be read at all. A flight recorder runs for long and has no memory to spare.
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

// The kernel's address and build: its symbols are looked up only if these are known.
static void write_kernel_facts(struct recording *recording) {
	char build_id[41] = "", address[32] = "";
	uint64_t text = kernel_text_address();
	if (text && user_is_other())
		text = HIDDEN_TEXT;
	if (text)
		snprintf(address, sizeof(address), "%016" PRIx64, text);
	kernel_build_id(build_id);
	spool_meta(&recording->spool, "kernel-text", address);
	spool_meta(&recording->spool, "kernel-build-id", build_id);
}

// Some events contain kernel functions.
static bool names_functions(const struct settings *settings) {
	for (int i = 0; i < POINT_COUNT; i++)
		if (point_names_code(&points[i]) && !settings->without[points[i].source])
			return true;
	return false;
}

static void write_disks(struct recording *recording) {
	struct buffer disks = {0};
	disks_list(&disks);
	buffer_append(&disks, "", 1);
	if (disks.size > 1)
		spool_meta(&recording->spool, DISKS_FACT, (char *)disks.data);
	buffer_free(&disks);
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
	if (settings_stacked(recording->settings) || names_functions(recording->settings))
		write_kernel_facts(recording);
	if (!recording->settings->without[SOURCE_BLOCK])
		write_disks(recording);
}

struct following {
	struct recording *recording;
	pid_t pid;
	int error; // of the main thread of the process that matters
};

static void follow_thread(void *context, pid_t tid) {
	enum { PIDFD_OF_THREAD = O_EXCL }; // since 6.9; before, only main threads have a pidfd
	struct following *following = context;
	struct recording *recording = following->recording;
	int pidfd = (int)syscall(SYS_pidfd_open, tid, tid == following->pid ? 0 : PIDFD_OF_THREAD);
	int error = recording->backend->follow(recording->capture, tid, pidfd);
	if (tid == following->pid)
		following->error = error;
	if (pidfd >= 0)
		close(pidfd);
}

int recording_follow(struct recording *recording, const pid_t *processes, size_t count) {
	const struct settings *settings = recording->settings;
	int error = 0;
	for (size_t i = 0; i < count; i++) {
		struct following following = {.recording = recording, .pid = processes[i], .error = -ESRCH};
		if (settings->scope == SCOPE_TREE && recording->backend != &capture_marks)
			spool_tasks(&recording->spool, processes[i]);
		task_threads(processes[i], follow_thread, &following);
		if (i == 0) // others may have ended meanwhile
			error = following.error;
	}
	return error;
}

bool recording_begin(struct recording *recording, const pid_t *processes, size_t count) {
	if (!recording->backend)
		return false;
	const struct settings *settings = recording->settings;
	char why[256] = "";
	int error;
	write_facts(recording);
	// With marks alone, a later change of a name would not show.
	if (settings->scope == SCOPE_SYSTEM && recording->backend != &capture_marks)
		spool_tasks(&recording->spool, 0);
	error = recording_follow(recording, processes, count);
	if (error && open_without_collector(recording)) {
		spool_meta(&recording->spool, "backend", recording->backend->name);
		error = recording_follow(recording, processes, count);
	}
	if (error)
		snprintf(why, sizeof(why), "cannot follow the test: %s%s", strerror(-error),
			 error == -ENOBUFS ? " (raise 'ulimit -l' or kernel.perf_event_mlock_kb)" : "");
	else
		error = recording->backend->start(recording->capture, why);
	if (error) {
		log_warning("no trace: %s", why);
		recording_drop(recording);
		if (recording->backend)
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

void recording_begun(struct recording *recording) {
	limits_begin(&recording->limits);
	machine_read_pressure(&recording->machine, "/proc");
	if (!urgent_begin())
		log_verbose("cannot raise the tracer's priority: events may be lost under full load");
}

// What a test that ends at once can do without.
static void look_around(struct recording *recording) {
	if (recording->looked || clock_boot_now() - recording->begun < LOOK_AFTER_MS * 1000000ull)
		return;
	recording->looked = true;
	machine_read_network(&recording->machine, "/proc");
	if (recording->marker)
		marker_watch(recording->marker);
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

// Even the last events may be too many.
static void warn_of_limit(struct recording *recording) {
	if (!recording->spool.full)
		return;
	note_cut(recording, "--max-size", recording->spool.full_since);
	char size[16];
	log_warning("recording stopped after %s and %.3g s (--max-size, or the profile's MaximumFileSize)",
		    file_size_words(recording->settings->max_size, size), recording->cut.after);
}

static const char *why_broken(const struct recording *recording) {
	return recording->backend->broken ? recording->backend->broken(recording->capture) : NULL;
}

// What came before is kept.
static void warn_of_break(struct recording *recording) {
	const char *why = why_broken(recording);
	if (!why)
		return;
	note_cut(recording, why, clock_boot_now());
	log_warning("recording stopped after %.3g s: %s", recording->cut.after, why);
}

void recording_stop(struct recording *recording) {
	if (!recording->active)
		return;
	recording->active = false;
	heap_watch_turn(recording->heap_watch, &recording->spool, true);
	if (recording->marker)
		marker_stop(recording->marker, &recording->spool, &recording->totals);
	recording->backend->stop(recording->capture, &recording->spool, &recording->totals);
	warn_of_break(recording);
	urgent_end();
	struct spool_lost lost = {.time = clock_boot_now(), .unfollowed = recording->totals.unfollowed};
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		lost.count[source] = recording->totals.lost[source];
	spool_append(&recording->spool, SPOOL_LOST, &lost, sizeof(lost));
	spool_clock(&recording->spool);
	spool_flush(&recording->spool); // the test may run on for long, and the tracer may be killed
	warn_of_limit(recording);
}

static void warn_of_full_disk(struct recording *recording) {
	if (recording->spool.error && !recording->full_disk_reported) {
		recording->full_disk_reported = true;
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

// A flight recorder asks all the same: it forgets by watermarks, which come with events only.
static bool is_pushed(const struct recording *recording) {
	return recording->backend && recording->backend->pushes && !recording->flight;
}

// Until the next drain is due, or until --duration is over if that is sooner.
int recording_wait_time(const struct recording *recording) {
	uint64_t now = clock_boot_now();
	uint64_t left = recording->deadline > now ? (recording->deadline - now) / 1000000 + 1 : 0;
	uint64_t most = !recording->looked      ? LOOK_AFTER_MS
			: recording->heap_watch ? HEAP_WATCH_MS
			: is_pushed(recording)  ? PUSHED_INTERVAL_MS
						: DRAIN_INTERVAL_MS;
	return recording->active ? (int)MIN(left, most) : -1;
}

static void sync_now(struct recording *recording) {
	if (recording->marker)
		marker_sync(recording->marker, &recording->spool);
	recording->backend->sync(recording->capture, &recording->spool);
	if (!recording->operation)
		limits_look(&recording->limits, recording->pid);
	spool_flush(&recording->spool);
	recording->synced = clock_boot_now();
}

// The same for a backend that sends what it has without being asked.
static void take_pushed(struct recording *recording) {
	if (recording->marker)
		marker_sync(recording->marker, &recording->spool);
	recording->backend->drain(recording->capture, &recording->spool);
	if (clock_boot_now() - recording->synced >= DRAIN_INTERVAL_MS * 1000000ull) {
		if (!recording->operation)
			limits_look(&recording->limits, recording->pid);
		spool_flush(&recording->spool);
		recording->synced = clock_boot_now();
	}
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
	look_around(recording);
	heap_watch_turn(recording->heap_watch, &recording->spool, false);
	if (is_pushed(recording))
		take_pushed(recording);
	else if (clock_boot_now() - recording->synced >= DRAIN_INTERVAL_MS * 1000000ull)
		sync_now(recording);
	else
		drain_now(recording);
	warn_of_full_disk(recording);
	make_trace_turn(recording);
	if (recording->spool.full || why_broken(recording))
		recording_stop(recording);
}

// ---- the end ----

static void write_result(struct recording *recording, const struct test_end *end) {
	if (end->operation)
		return;
	char words[128];
	struct test_end alone = *end;
	alone.leaked = false; // the trace shows what the test itself did
	finish_words(recording->settings, &alone, words, sizeof(words));
	spool_meta(&recording->spool, "result", words);
	char number[32];
	snprintf(number, sizeof(number), "%d", end->status >> 8 & 0xff);
	bool exited = !(end->status & 0x7f) && !end->abandoned;
	spool_meta(&recording->spool, "exit-status", exited ? number : "none");
	snprintf(number, sizeof(number), "%.6f", end->wall_seconds);
	spool_meta(&recording->spool, "wall-seconds", number);
	limits_end(&recording->limits, &recording->spool, end);
	machine_put(&recording->machine, &recording->spool, end);
	if (end->timed_out) {
		snprintf(number, sizeof(number), "%" PRIu64, end->time_over);
		spool_meta(&recording->spool, "time-limit-over", number);
		stuck_put(&recording->spool, end->stacks);
	}
}

static void warn_of_broken_stacks(const struct recording *recording, const struct manifest_record *record) {
	enum { MOST_PERCENT = 2, FEW = 10 };
	uint64_t stacks = record->samples + record->waits + record->event_stacks;
	if (!settings_sampled(recording->settings)) // those of long waits were not asked for
		return;
	if (record->broken_stacks < FEW || record->broken_stacks * 100 <= stacks * MOST_PERCENT)
		return;
	log_warning("%.1f %% of the stacks are broken: they end before the outermost function%s",
		    (double)record->broken_stacks * 100 / (double)stacks,
		    recording->settings->call_graph == CALL_GRAPH_FP
			    ? " (--call-graph auto needs no frame pointers)"
			    : "");
}

static void add_pictures(struct finish *finish, const struct pictures *pictures) {
	for (int kind = 0; kind < PICTURE_COUNT; kind++)
		finish_add_file(finish, picture_kind_name(kind), pictures->paths[kind]);
}

// Makes the trace, counts while doing so, and makes the pictures next to it.
static void add_trace(struct recording *recording, const struct conversion_result *result,
		      struct finish *finish) {
	if (recording->trace) {
		finish_add_trace(finish, "perfetto", recording->trace, result->size, result->sha256);
		facts_put_counts(&finish->record, &result->tally, &recording->totals);
		facts_put_cut(&finish->record, &recording->cut);
		if (recording->flight)
			MANIFEST_PUT(&finish->record, held_seconds,
				     (double)(result->tally.last - result->tally.first) / 1e9);
	}
	add_pictures(finish, &recording->pictures);
}

// ---- the heap ----

// Before deciding what to keep: a leak may be a failure. Memory still held by a test that was
// stopped by a signal or limit is not a leak.
static void collect_heap(struct recording *recording, const struct test_end *end,
			 const struct heap_time *when) {
	const struct settings *settings = recording->settings;
	struct heap_suppressions suppressions;
	if (recording->heap < 0 || (finish_not_kept(settings, end) && !settings_leaks(settings)))
		return;
	recording_stop(recording); // what follows is not part of the test
	heap_collect(recording->heap, settings->command, when, &recording->heap_results);
	if (!settings_leaks(settings) || end->timed_out || end->abandoned || end->status & 0x7f)
		return;
	heap_suppressions_load(&suppressions, settings->heap_suppressions);
	for (size_t i = 0; i < recording->heap_results.items.count; i++) {
		const struct heap_made *made = recording->heap_results.items.items[i].made;
		heap_leaks_add(&recording->leaks, made, &suppressions,
			       settings->heap_children ? made->profile.command : NULL);
	}
	heap_suppressions_report_unused(&suppressions, settings->heap_suppressions);
	heap_suppressions_free(&suppressions);
	recording->leaked = recording->leaks.blocks;
}

static void save_leaks(struct recording *recording, struct finish *finish) {
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
	finish_add_file(finish, "leaks", error ? NULL : path);
}

// A name for files, even if there is no trace.
static int reserve_stem(struct recording *recording) {
	int error = user_make_folder(recording->settings->output_dir);
	if (error || recording->stem)
		return error;
	return stem_choose(recording->settings, recording->name, &recording->stem);
}

// Next to the trace, or where it would be.
static void save_heap(struct recording *recording, const struct test_end *end, struct finish *finish) {
	const struct settings *settings = recording->settings;
	struct heap_sums sums;
	if (!recording->heap_results.items.count || finish_not_kept(settings, end))
		return;
	int error = reserve_stem(recording);
	if (error) {
		log_warning("no heap profile: %s: %s", settings->output_dir, strerror(-error));
		return;
	}
	heap_results_sum(&recording->heap_results, &sums);
	facts_put_heap(&finish->record, &sums);
	heap_save(&recording->heap_results, recording->stem, &recording->heap_files);
	for (size_t i = 0; i < recording->heap_files.items.count; i++) {
		const struct heap_file *file = &recording->heap_files.items.items[i];
		finish_add_file(finish, file->child ? SUMMARY_HEAP_OF_CHILD : "heap", file->path);
	}
	for (size_t i = 0; i < recording->heap_results.items.count; i++)
		if (recording->heap_results.items.items[i].first)
			heap_words(recording->heap_results.items.items[i].made, "          ",
				   &recording->heap_words);
	finish->heap_words = recording->heap_words.size ? &recording->heap_words : NULL;
	save_leaks(recording, finish);
	if (settings->heap_children && recording->trace)
		heap_warn_of_children(&recording->heap_results, &recording->execs, recording->pid);
}

static void describe_leaks(struct recording *recording, struct finish *finish) {
	heap_leaks_describe(&recording->leaks, &recording->leak_words);
	if (recording->leak_words.size)
		finish->leaks = &recording->leak_words;
}

// Is the spool deleted once there is a trace? A flight recorder has its spool in memory.
static bool is_only_for_trace(const struct recording *recording) {
	return !recording->settings->keep_spool && !recording->operation && !recording->flight;
}

// Ends the spool; false if it holds nothing to make a trace from.
static bool end_spool(struct recording *recording, const struct test_end *end) {
	recording_stop(recording);
	if (recording->backend->crashes)
		crash_report_all(&recording->crashes, recording->backend->crashes(recording->capture),
				 &recording->spool);
	if (!end->operation && !end->timed_out)
		crash_report_test(&recording->crashes, recording->pid, end->status, end->core);
	write_result(recording, end);
	spool_flush(&recording->spool);
	bool wanted = !finish_not_kept(recording->settings, end);
	if (recording->flight && wanted)
		recording->spool.error = flight_save(recording->flight, recording->spool.fd);
	warn_of_full_disk(recording);
	if (wanted && is_only_for_trace(recording))
		recording->ended_spool = fcntl(recording->spool.fd, F_DUPFD_CLOEXEC, 0);
	spool_close(&recording->spool);
	// On a full disk there is no room for a trace either; this has been reported.
	return wanted && !recording->spool.error;
}

// If only marks could be recorded and there were none, leaves nothing.
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

// Searched only in tests that make marks. NULL if not wanted.
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

// A run that passed, whose trace is not kept, is what a later failure is compared with. Only if it is cheap.
static void explain_without_trace(struct recording *recording, const struct test_end *end) {
	enum { SMALL = 1 << 20 }; // bytes of the spool
	if (!end->operation && !recording->flight && recording->spool.written < SMALL &&
	    !recording->spool.error && finish_not_kept(recording->settings, end))
		explain_spool(recording->spool_path, &recording->explanation,
			      (struct tap){measures_open, &recording->measures});
}

// Other sources record some of the system calls.
static void put_measures(struct recording *recording, const struct test_end *end,
			 struct manifest_record *record) {
	if (recording->settings->without[SOURCE_SYSTEM_CALL] || recording->totals.lost[SOURCE_SYSTEM_CALL])
		recording->measures.syscalls = 0;
	facts_put_measures(record, &recording->measures, end);
}

// Makes the trace and adds what the recording found. False if the spool should be kept.
static bool finish_recording(struct recording *recording, const struct test_end *end, struct finish *finish) {
	const struct settings *settings = recording->settings;
	struct manifest_record *record = &finish->record;
	struct conversion_result result = {0};
	if (end_spool(recording, end))
		recording->trace = make_trace(recording, recording->spool_path, recording->stem,
					      cases_wanted(recording), &result);
	if (recording->ended_spool >= 0)
		close(recording->ended_spool);
	recording->ended_spool = -1;
	const struct capture_backend *backend = recording->backend;
	finish->missing = backend->lacks ? backend->lacks(recording->capture) : backend->missing;
	finish->bpf_measured_seconds = (double)recording->totals.program_measured / 1e9;
	finish->failed_cases = recording->cases.failed_only;
	MANIFEST_PUT(record, backend, recording->backend->name);
	add_trace(recording, &result, finish);
	if (recording->trace && settings->scope == SCOPE_TREE)
		facts_put_census(record, &recording->census,
				 !end->operation && !result.tally.lost[SOURCE_PROCESS]);
	if (!recording->trace)
		explain_without_trace(recording, end);
	if (!end->operation && settings->scope == SCOPE_TREE)
		put_measures(recording, end, record);
	if (recording->explanation.digest && !finish->passed)
		explain_difference(&recording->explanation, settings->output_dir, record);
	if (recording->explanation.digest)
		facts_put_explanation(record, &recording->explanation, finish->passed);
	facts_put_crashes(record, &recording->crashes);
	facts_put_cases(record, &recording->cases);
	warn_of_broken_stacks(recording, record);
	const char *not_kept = finish_not_kept(settings, end);
	if (not_kept)
		MANIFEST_PUT(record, not_kept, not_kept);
	return not_kept || (recording->trace && !settings->keep_spool);
}

void recording_finish(struct recording *recording, struct test_end *end, struct finish *finish) {
	const struct settings *settings = recording->settings;
	struct heap_time when = heap_time_now();
	bool spool_done = true;
	finish_open(finish, settings, recording->name);
	facts_put_no_counts(&finish->record);
	finish_add_file(finish, "stacks", end->stacks);
	finish_add_file(finish, "core", end->core);
	collect_heap(recording, end, &when);
	end->leaked = recording->leaked && settings->fail_on_leak;
	finish_end(finish, end);
	if (!end->operation)
		facts_put_usage(&finish->record, &end->usage);
	give_up_if_empty(recording);
	finish->recorded = recording->backend;
	if (recording->backend)
		spool_done = finish_recording(recording, end, finish);
	if (recording->backend && spool_done)
		unlink(recording->spool_path);
	save_heap(recording, end, finish);
	describe_leaks(recording, finish);
	finish_add_file(finish, "output", settings->repro_output); // includes our own messages
	if (!spool_done)
		finish_add_file(finish, "spool", recording->spool_path);
	facts_put_cost(&finish->record, &recording->totals, facts_own_cpu_seconds());
	limits_put(&recording->limits, &finish->record);
	finish_page(finish);
	finish_note(finish);
	for (size_t i = 0; i < recording->cases.ended.count; i++)
		facts_note_case(settings, recording->backend->name, &recording->cases.ended.items[i],
				finish->record.session);
	finish_keep_limits(finish);
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
	struct finish finish;
	finish_open(&finish, recording->settings, recording->name);
	finish_end(&finish, &(struct test_end){.operation = true,
					       .started = recording->started,
					       .wall_seconds = recording_seconds(recording)});
	MANIFEST_PUT(&finish.record, backend, recording->backend->name);
	add_trace(recording, &result, &finish);
	facts_put_cost(&finish.record, &(struct capture_totals){0}, 0);
	finish_note(&finish);
	finish_free(&finish);
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

void recording_close(struct recording *recording) {
	make_trace_cancel(recording);
	make_trace_tidy(recording);
	marker_close(recording->marker);
	if (recording->wait >= 0)
		close(recording->wait);
	if (recording->backend)
		recording->backend->close(recording->capture);
	flight_free(recording->flight);
	crash_reports_free(&recording->crashes);
	census_free(&recording->census);
	explanation_free(&recording->explanation);
	measures_free(&recording->measures);
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
	buffer_free(&recording->leak_words);
	free(recording->leaks_file);
	pictures_free(&recording->pictures);
}
