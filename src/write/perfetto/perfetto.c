// A Perfetto trace: the native tables of its importer, not look-alike slices.
//
// Processes and threads come from the kernel's own events (task_newtask,
// task_rename, sched_process_free) and a ProcessTree packet for each command
// line. In addition there are a few track events: an instant for each exec and exit on its thread, and one
// track for the whole test, which also shows losses. Thread ids are reused: each life of a task has its own
// track, and none of our events has exactly the time of a task's start or end, where the importer's order is
// undefined.
#include "write/perfetto/perfetto.h"
#include "write/writer.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

enum { MOST_FACTS = 64 };    // all facts are in one packet
enum { CORE_DUMPED = 0x80 }; // in an exit code

// ---- packets ----

size_t perfetto_begin(struct perfetto *perfetto, enum sequence_number sequence, uint64_t time) {
	size_t mark = proto_begin(&perfetto->packet, TRACE_PACKET);
	if (time != NO_TIME)
		proto_uint(&perfetto->packet, PACKET_TIMESTAMP, time);
	proto_uint(&perfetto->packet, PACKET_SEQUENCE_ID, sequence);
	if (!perfetto->sequence_begun[sequence])
		proto_uint(&perfetto->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	perfetto->sequence_begun[sequence] = true;
	return mark;
}

int perfetto_end(struct perfetto *perfetto, size_t mark) {
	proto_end(&perfetto->packet, mark);
	return output_take(perfetto->output, &perfetto->packet);
}

// ---- facts about the whole trace ----

static const char *fact(const struct perfetto *perfetto, const char *key) {
	for (size_t i = 0; i < perfetto->facts.count; i++)
		if (strcmp(strings_get(perfetto->strings, perfetto->facts.items[i].meta.key), key) == 0)
			return strings_get(perfetto->strings, perfetto->facts.items[i].meta.value);
	return NULL;
}

static int write_clocks(struct perfetto *perfetto) {
	const struct {
		uint32_t id;
		uint64_t time;
	} clocks[] = {{CLOCK_ID_BOOTTIME, perfetto->clock_time},
		      {CLOCK_ID_REALTIME, perfetto->wall},
		      {CLOCK_ID_MONOTONIC, perfetto->monotonic}};
	size_t mark = perfetto_begin(perfetto, SEQUENCE_KERNEL, NO_TIME);
	size_t snapshot = proto_begin(&perfetto->packet, PACKET_CLOCK_SNAPSHOT);
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (!clocks[i].time)
			continue;
		size_t clock = proto_begin(&perfetto->packet, SNAPSHOT_CLOCKS);
		proto_uint(&perfetto->packet, CLOCK_ID, clocks[i].id);
		proto_uint(&perfetto->packet, CLOCK_TIMESTAMP, clocks[i].time);
		proto_end(&perfetto->packet, clock);
	}
	proto_uint(&perfetto->packet, SNAPSHOT_PRIMARY, CLOCK_ID_BOOTTIME);
	proto_end(&perfetto->packet, snapshot);
	return perfetto_end(perfetto, mark);
}

// Without the kernel's release, an importer assumes the state numbers of an old kernel.
static int write_system(struct perfetto *perfetto) {
	static const struct {
		const char *key, *otherwise;
		uint32_t field;
	} names[] = {{"system", "Linux", UTSNAME_SYSNAME},
		     {"kernel-version", "", UTSNAME_VERSION},
		     {"kernel", "6.1.0", UTSNAME_RELEASE},
		     {"machine", "", UTSNAME_MACHINE}};
	size_t mark = perfetto_begin(perfetto, SEQUENCE_KERNEL, NO_TIME);
	size_t info = proto_begin(&perfetto->packet, PACKET_SYSTEM_INFO);
	size_t utsname = proto_begin(&perfetto->packet, SYSTEM_UTSNAME);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = fact(perfetto, names[i].key);
		proto_string(&perfetto->packet, names[i].field, value && *value ? value : names[i].otherwise);
	}
	proto_end(&perfetto->packet, utsname);
	proto_string(&perfetto->packet, SYSTEM_SERVICE_VERSION, SERVICE_OURS TRACELET_VERSION);
	proto_end(&perfetto->packet, info);
	return perfetto_end(perfetto, mark);
}

static int write_test_track(struct perfetto *perfetto) {
	size_t mark = perfetto_begin(perfetto, SEQUENCE_TRACKS, NO_TIME);
	size_t track = proto_begin(&perfetto->packet, PACKET_TRACK_DESCRIPTOR);
	proto_uint(&perfetto->packet, TRACK_UUID, UUID_TEST);
	proto_string(&perfetto->packet, TRACK_NAME, "Test");
	proto_end(&perfetto->packet, track);
	return perfetto_end(perfetto, mark);
}

// The facts known before the first event decide how it is written.
static int write_preamble(struct perfetto *perfetto) {
	if (perfetto->preamble_written)
		return 0;
	perfetto->preamble_written = true;
	const char *scope = fact(perfetto, "scope");
	perfetto->system_scope = !scope || strcmp(scope, "tree") != 0;
	int error = write_clocks(perfetto);
	if (!error)
		error = write_system(perfetto);
	return error ? error : write_test_track(perfetto);
}

static int write_attributes(struct perfetto *perfetto) {
	size_t mark = perfetto_begin(perfetto, SEQUENCE_KERNEL, NO_TIME);
	size_t attributes = proto_begin(&perfetto->packet, PACKET_TRACE_ATTRIBUTES);
	for (size_t i = 0; i < perfetto->facts.count; i++) {
		size_t attribute = proto_begin(&perfetto->packet, ATTRIBUTES_ATTRIBUTE);
		proto_string(&perfetto->packet, ATTRIBUTE_KEY,
			     strings_get(perfetto->strings, perfetto->facts.items[i].meta.key));
		proto_string(&perfetto->packet, ATTRIBUTE_STRING,
			     strings_get(perfetto->strings, perfetto->facts.items[i].meta.value));
		proto_end(&perfetto->packet, attribute);
	}
	proto_end(&perfetto->packet, attributes);
	return perfetto_end(perfetto, mark);
}

// ---- track events ----

static struct task *task_born(struct perfetto *perfetto, uint32_t tid, uint32_t pid, uint32_t parent_pid,
			      uint32_t name);

static size_t track_event_begin(struct perfetto *perfetto, unsigned type, uint64_t track, const char *name) {
	size_t event = proto_begin(&perfetto->packet, PACKET_TRACK_EVENT);
	proto_uint(&perfetto->packet, TRACK_EVENT_TYPE, type);
	proto_uint(&perfetto->packet, TRACK_EVENT_TRACK, track);
	if (name) {
		proto_string(&perfetto->packet, TRACK_EVENT_CATEGORIES, "tracelet");
		proto_string(&perfetto->packet, TRACK_EVENT_NAME, name);
	}
	return event;
}

static void annotate_text(struct perfetto *perfetto, const char *name, const char *value) {
	size_t annotation = proto_begin(&perfetto->packet, TRACK_EVENT_ANNOTATIONS);
	proto_string(&perfetto->packet, ANNOTATION_NAME, name);
	proto_string(&perfetto->packet, ANNOTATION_STRING, value);
	proto_end(&perfetto->packet, annotation);
}

static void annotate_int(struct perfetto *perfetto, const char *name, int64_t value) {
	size_t annotation = proto_begin(&perfetto->packet, TRACK_EVENT_ANNOTATIONS);
	proto_string(&perfetto->packet, ANNOTATION_NAME, name);
	proto_int(&perfetto->packet, ANNOTATION_INT, value);
	proto_end(&perfetto->packet, annotation);
}

// The track for a task's life, described when its first event comes. Idle has
// none, nor does a task whose process is not known yet.
static int task_track(struct perfetto *perfetto, struct task *task, uint64_t time) {
	if (task->track || !task->tid || !task->pid)
		return 0;
	task->track = UUID_FIRST_TASK + ++perfetto->tracks;
	size_t mark = perfetto_begin(perfetto, SEQUENCE_TRACKS, time);
	size_t track = proto_begin(&perfetto->packet, PACKET_TRACK_DESCRIPTOR);
	proto_uint(&perfetto->packet, TRACK_UUID, task->track);
	size_t thread = proto_begin(&perfetto->packet, TRACK_THREAD);
	proto_uint(&perfetto->packet, TRACK_THREAD_PID, task->pid);
	proto_uint(&perfetto->packet, TRACK_THREAD_TID, task->tid);
	proto_end(&perfetto->packet, thread);
	proto_end(&perfetto->packet, track);
	return perfetto_end(perfetto, mark);
}

int perfetto_task_track(struct perfetto *perfetto, const struct event *event, uint64_t *track) {
	*track = 0;
	struct task *task = perfetto_task(perfetto, event->tid);
	if (!event->tid || (task ? !task->pid : !event->pid))
		return 0; // a thread track needs a task
	if (!task)
		task = task_born(perfetto, event->tid, event->pid, 0, 0);
	int error = task_track(perfetto, task, event->time);
	*track = task->track;
	return error;
}

// Writes the whole test as one slice, with everything that is known about it.
static int write_test_slice(struct perfetto *perfetto) {
	const char *name = fact(perfetto, "test");
	size_t mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, perfetto->start);
	size_t event = track_event_begin(perfetto, TYPE_SLICE_BEGIN, UUID_TEST, name ? name : "trace");
	for (size_t i = 0; i < perfetto->facts.count; i++)
		annotate_text(perfetto, strings_get(perfetto->strings, perfetto->facts.items[i].meta.key),
			      strings_get(perfetto->strings, perfetto->facts.items[i].meta.value));
	proto_end(&perfetto->packet, event);
	int error = perfetto_end(perfetto, mark);
	if (error)
		return error;
	mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, MAX(perfetto->end, perfetto->start));
	event = track_event_begin(perfetto, TYPE_SLICE_END, UUID_TEST, NULL);
	proto_end(&perfetto->packet, event);
	return perfetto_end(perfetto, mark);
}

static int write_moment(struct perfetto *perfetto, const char *key, const char *name) {
	const char *time = fact(perfetto, key);
	uint64_t at = time ? strtoull(time, NULL, 10) : 0;
	if (!at || at < perfetto->start || at > perfetto->end)
		return 0;
	size_t mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, at);
	size_t instant = track_event_begin(perfetto, TYPE_INSTANT, UUID_TEST, name);
	proto_end(&perfetto->packet, instant);
	return perfetto_end(perfetto, mark);
}

// Marks when the test was killed, and when recording stopped.
static int write_moments(struct perfetto *perfetto) {
	int error = write_moment(perfetto, "time-limit-over", "time limit over");
	return error ? error : write_moment(perfetto, "recording-stopped-at", "recording stopped");
}

// ---- tasks ----

struct task *perfetto_task(struct perfetto *perfetto, uint32_t tid) {
	struct recent *recent = &perfetto->recent_tasks[tid % RECENT_TASKS];
	if (recent->key != tid || !recent->place) {
		uint64_t *index = map_get(&perfetto->tasks, tid);
		if (!index)
			return NULL;
		*recent = (struct recent){tid, (uint32_t)*index + 1};
	}
	return &perfetto->pool.items[recent->place - 1];
}

uint32_t perfetto_task_name(struct perfetto *perfetto, uint32_t tid) {
	const struct task *task = perfetto_task(perfetto, tid);
	return task ? task->name : 0;
}

static struct task *task_add(struct perfetto *perfetto, uint32_t tid) {
	uint64_t *index = map_put(&perfetto->tasks, tid);
	if (perfetto->free_tasks.count) {
		*index = perfetto->free_tasks.items[--perfetto->free_tasks.count];
	} else {
		*index = perfetto->pool.count;
		array_push(&perfetto->pool, (struct task){0});
	}
	struct task *task = &perfetto->pool.items[*index];
	*task = (struct task){.tid = tid};
	return task;
}

static void task_forget(struct perfetto *perfetto, uint32_t tid) {
	uint64_t *index = map_get(&perfetto->tasks, tid);
	if (!index)
		return;
	struct task *task = &perfetto->pool.items[*index];
	marks_close(perfetto, task, perfetto->end); // the output keeps its error
	if (task->process_track)
		*map_put(&perfetto->ended_processes, tid) = task->process_track;
	array_push(&perfetto->free_tasks, (uint32_t)*index);
	map_delete(&perfetto->tasks, tid);
	perfetto->recent_tasks[tid % RECENT_TASKS].place = 0;
}

static struct task *task_born(struct perfetto *perfetto, uint32_t tid, uint32_t pid, uint32_t parent_pid,
			      uint32_t name) {
	task_forget(perfetto, tid); // the end of the previous life was lost
	map_delete(&perfetto->ended_processes, tid);
	struct task *task = task_add(perfetto, tid);
	task->pid = pid;
	task->parent_pid = parent_pid;
	task->name = name;
	struct task *leader = perfetto_task(perfetto, pid);
	if (leader)
		leader->threads++;
	return task;
}

// A process's first thread is ended last: after it, the importer would take events of the other threads for
// those of a new process.
static int task_end_if_over(struct perfetto *perfetto, const struct event *event, uint32_t tid) {
	struct task *task = perfetto_task(perfetto, tid);
	if (!task || !task->exited || !task->gone || (task->tid == task->pid && task->threads > 0))
		return 0;
	int error = ftrace_free(perfetto, event->cpu, event->time + 1, tid, task->name);
	task_forget(perfetto, tid);
	return error;
}

// The last switch of a task that has exited.
static int task_left_cpu(struct perfetto *perfetto, const struct event *event) {
	struct task *task = perfetto_task(perfetto, event->tid);
	if (!task || !task->exited || task->gone)
		return 0;
	uint32_t pid = task->pid;
	task->gone = true;
	struct task *leader = perfetto_task(perfetto, pid);
	if (leader && leader->threads)
		leader->threads--;
	int error = event->tid == pid ? 0 : task_end_if_over(perfetto, event, event->tid);
	return error ? error : task_end_if_over(perfetto, event, pid);
}

// The arguments in a Windows command line, which is a single text: what follows the program's name,
// or all of it if the name is not in it.
static const char *arguments_of(const char *line, const char *name) {
	size_t length = strlen(name);
	for (const char *at = line; *at && length; at++) {
		size_t same = 0;
		while (same < length &&
		       tolower((unsigned char)at[same]) == tolower((unsigned char)name[same]))
			same++;
		if (same == length)
			return at + length + strspn(at + length, "\" ");
	}
	return line;
}

// The importer uses the first word as the name of the process.
static void write_command_line(struct perfetto *perfetto, const struct task *task, uint32_t command_line) {
	struct buffer *packet = &perfetto->packet;
	const char *word = strings_get(perfetto->strings, command_line);
	const char *end = word + strings_length(perfetto->strings, command_line);
	const char *name = strings_get(perfetto->strings, task->name);
	if (word == end || (perfetto->windows && *name))
		proto_string(packet, PROCESS_CMDLINE, name);
	if (perfetto->windows && *name) {
		word = arguments_of(word, name);
		if (*word)
			proto_string(packet, PROCESS_CMDLINE, word);
		return;
	}
	for (; word < end; word += strlen(word) + 1)
		proto_string(packet, PROCESS_CMDLINE, word);
}

static int write_process(struct perfetto *perfetto, uint64_t time, const struct task *task,
			 uint32_t command_line, uint64_t start) {
	size_t mark = perfetto_begin(perfetto, SEQUENCE_KERNEL, time);
	size_t tree = proto_begin(&perfetto->packet, PACKET_PROCESS_TREE);
	if (task->tid == task->pid) {
		size_t process = proto_begin(&perfetto->packet, TREE_PROCESSES);
		proto_uint(&perfetto->packet, PROCESS_PID, task->pid);
		// On Windows the parent may have ended long ago, and its id may be reused; the
		// importer would make up a parent.
		if (!perfetto->windows || perfetto_task(perfetto, task->parent_pid))
			proto_uint(&perfetto->packet, PROCESS_PPID, task->parent_pid);
		write_command_line(perfetto, task, command_line);
		proto_string(&perfetto->packet, PROCESS_OWN_NAME, strings_get(perfetto->strings, task->name));
		if (start)
			proto_uint(&perfetto->packet, PROCESS_START, start);
		proto_end(&perfetto->packet, process);
	} else {
		size_t thread = proto_begin(&perfetto->packet, TREE_THREADS);
		proto_uint(&perfetto->packet, THREAD_TID, task->tid);
		if (task->name)
			proto_string(&perfetto->packet, THREAD_NAME,
				     strings_get(perfetto->strings, task->name));
		proto_uint(&perfetto->packet, THREAD_TGID, task->pid);
		proto_end(&perfetto->packet, thread);
	}
	proto_end(&perfetto->packet, tree);
	return perfetto_end(perfetto, mark);
}

// ---- one function for each kind of event, in the order of the kinds ----

static int take_start(struct perfetto *perfetto, const struct event *event) {
	perfetto->start = event->time;
	return 0;
}

static int take_meta(struct perfetto *perfetto, const struct event *event) {
	if (strcmp(strings_get(perfetto->strings, event->meta.key), "system") == 0)
		perfetto->windows = strcmp(strings_get(perfetto->strings, event->meta.value), "Windows") == 0;
	if (perfetto->facts.count < MOST_FACTS)
		array_push(&perfetto->facts, *event);
	return 0;
}

// Notes that the wall clock was set during the recording. Importers do not allow a clock to go
// back, so the trace keeps the time of day it began with.
static int report_set_clock(struct perfetto *perfetto, const struct event *event, int64_t jump) {
	char title[96];
	snprintf(title, sizeof(title), "wall clock set %s by %.3f s", jump < 0 ? "back" : "forward",
		 (jump < 0 ? -(double)jump : (double)jump) / 1e9);
	size_t mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, MAX(event->time, perfetto->start));
	size_t instant = track_event_begin(perfetto, TYPE_INSTANT, UUID_TEST, title);
	proto_end(&perfetto->packet, instant);
	return perfetto_end(perfetto, mark);
}

static int take_clock(struct perfetto *perfetto, const struct event *event) {
	enum { SECOND = 1000000000 };
	uint64_t offset = event->clock.wall - event->time;
	if (!perfetto->clock_time)
		perfetto->wall_offset = offset;
	int64_t jump = (int64_t)(offset - perfetto->wall_offset);
	bool was_set = jump > SECOND || jump < -SECOND;
	perfetto->clock_time = event->time;
	perfetto->wall = was_set ? 0 : event->clock.wall;
	perfetto->monotonic = event->clock.monotonic;
	if (!perfetto->preamble_written)
		return 0;
	int error = was_set ? report_set_clock(perfetto, event, jump) : 0;
	return error ? error : write_clocks(perfetto);
}

static int take_task(struct perfetto *perfetto, const struct event *event) {
	struct task *task = task_born(perfetto, event->tid, event->pid, event->task.parent_pid,
				      event->task.name);
	return write_process(perfetto, event->time, task, event->task.command_line, 0);
}

static int take_switch(struct perfetto *perfetto, const struct event *event) {
	int error = ftrace_switch(perfetto, event);
	bool dead = event->switched.state == STATE_DEAD || event->switched.state == STATE_ZOMBIE;
	return error || !dead ? error : task_left_cpu(perfetto, event);
}

static int take_fork(struct perfetto *perfetto, const struct event *event) {
	uint32_t name = event->fork.name ? event->fork.name : perfetto_task_name(perfetto, event->tid);
	bool process = perfetto->windows && event->fork.child_tid == event->fork.child_pid;
	// On Windows, the threads of a process end after it: it is over only when its id is reused.
	const struct task *before = process ? perfetto_task(perfetto, event->fork.child_tid) : NULL;
	int error = before ? ftrace_free(perfetto, event->cpu, event->time, before->tid, before->name) : 0;
	if (error)
		return error;
	struct task *task = task_born(perfetto, event->fork.child_tid, event->fork.child_pid,
				      event->fork.parent_pid, name);
	// A thread created by another process (Windows) can be assigned to its own process only
	// with a process tree.
	bool strange = task->tid != task->pid && event->pid && event->pid != task->pid;
	if (process || strange || event->cpu >= CPU_COUNT_MOST)
		return write_process(perfetto, event->time, task, 0, event->time);
	return ftrace_newtask(perfetto, event, name);
}

static int write_exec_instant(struct perfetto *perfetto, const struct event *event, const struct task *task) {
	const char *file = strings_get(perfetto->strings, event->exec.file);
	char title[320];
	snprintf(title, sizeof(title), "exec %s", file);
	size_t mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, event->time);
	size_t instant = track_event_begin(perfetto, TYPE_INSTANT, task->track, title);
	annotate_text(perfetto, "file", file);
	struct buffer words = {0};
	buffer_append(&words, strings_get(perfetto->strings, event->exec.arguments),
		      strings_length(perfetto->strings, event->exec.arguments));
	words.size -= words.size && !words.data[words.size - 1];
	for (size_t i = 0; i < words.size; i++)
		if (!words.data[i])
			words.data[i] = ' ';
	buffer_append(&words, event->exec.truncated ? " ..." : "", event->exec.truncated ? 5 : 1);
	annotate_text(perfetto, "arguments", (char *)words.data);
	buffer_free(&words);
	if (event->cpu < CPU_COUNT_MOST)
		annotate_int(perfetto, "cpu", event->cpu);
	if (event->exec.old_tid && event->exec.old_tid != event->tid)
		annotate_int(perfetto, "old_tid", event->exec.old_tid);
	proto_end(&perfetto->packet, instant);
	return perfetto_end(perfetto, mark);
}

static int take_exec(struct perfetto *perfetto, const struct event *event) {
	if (event->exec.old_tid && event->exec.old_tid != event->tid) {
		if (event->cpu < CPU_COUNT_MOST)
			ftrace_take_over(perfetto, event);
		task_forget(perfetto, event->exec.old_tid);
	}
	struct task *task = perfetto_task(perfetto, event->tid);
	if (!task)
		task = task_born(perfetto, event->tid, event->pid, 0, event->exec.name);
	task->name = event->exec.name;
	task->threads = 1;
	task->exited = task->gone = false;
	int error = marks_close(perfetto, task, event->time);
	if (!error)
		error = task_track(perfetto, task, event->time);
	if (!error)
		error = write_process(perfetto, event->time + 1, task, event->exec.arguments, 0);
	return error || !task->track ? error : write_exec_instant(perfetto, event, task);
}

int perfetto_rename(struct perfetto *perfetto, const struct event *event) {
	struct task *task = perfetto_task(perfetto, event->tid);
	uint32_t old_name = task ? task->name : 0;
	if (!task && event->cpu >= CPU_COUNT_MOST && event->tid && event->pid)
		task = task_born(perfetto, event->tid, event->pid, 0, 0);
	if (task)
		task->name = event->rename.name;
	if (event->cpu >= CPU_COUNT_MOST)
		return task && task->pid ? write_process(perfetto, event->time, task, 0, 0) : 0;
	return ftrace_rename(perfetto, event, old_name);
}

static int take_exit(struct perfetto *perfetto, const struct event *event) {
	struct task *task = perfetto_task(perfetto, event->tid);
	if (!task)
		task = task_born(perfetto, event->tid, event->pid, 0, 0);
	task->exited = true;
	int error = marks_close(perfetto, task, event->time);
	if (!error)
		error = task_track(perfetto, task, event->time);
	if (error || !task->track)
		return error;
	int signal = event->exit.has_status ? 0 : event->exit.code & 0x7f;
	char title[64];
	if (event->exit.has_status)
		snprintf(title, sizeof(title),
			 event->exit.status > 65535 ? "exit 0x%" PRIx32 : "exit %" PRIu32,
			 event->exit.status);
	else if (event->exit.unknown)
		snprintf(title, sizeof(title), "exit");
	else if (signal)
		snprintf(title, sizeof(title), "killed by signal %d", signal);
	else
		snprintf(title, sizeof(title), "exit %d", event->exit.code >> 8 & 0xff);
	size_t mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, event->time);
	size_t instant = track_event_begin(perfetto, TYPE_INSTANT, task->track, title);
	if (event->exit.has_status)
		annotate_int(perfetto, "status", (int32_t)event->exit.status);
	else if (!event->exit.unknown)
		annotate_int(perfetto, signal ? "signal" : "status",
			     signal ? signal : event->exit.code >> 8 & 0xff);
	if (!event->exit.unknown && event->exit.code & CORE_DUMPED)
		annotate_int(perfetto, "core_dumped", 1);
	if (event->exit.last)
		annotate_int(perfetto, "last_thread", 1);
	if (event->cpu < CPU_COUNT_MOST)
		annotate_int(perfetto, "cpu", event->cpu);
	proto_end(&perfetto->packet, instant);
	return perfetto_end(perfetto, mark);
}

static int take_lost(struct perfetto *perfetto, const struct event *event) {
	// Losses for the whole trace have no CPU and no kind; losses of marks have no CPU.
	bool buffers = event->lost.source == SOURCE_BUFFER;
	if (!buffers && event->lost.source != SOURCE_TRACE && event->lost.source != SOURCE_MARKER)
		ftrace_lost(perfetto, event);
	char title[96];
	snprintf(title, sizeof(title), buffers ? "%" PRIu64 " %ss lost" : "%" PRIu64 " %s events lost",
		 event->lost.count, event_source_names[event->lost.source]);
	size_t mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, MAX(event->time, perfetto->start));
	size_t instant = track_event_begin(perfetto, TYPE_INSTANT, UUID_TEST, title);
	if (event->cpu != CPU_NONE)
		annotate_int(perfetto, "cpu", event->cpu);
	annotate_int(perfetto, "count", (int64_t)event->lost.count);
	proto_end(&perfetto->packet, instant);
	return perfetto_end(perfetto, mark);
}

static int (*const handlers[EVENT_KIND_COUNT])(struct perfetto *, const struct event *) = {
	[EVENT_START] = take_start,         [EVENT_META] = take_meta,
	[EVENT_CLOCK] = take_clock,         [EVENT_TASK] = take_task,
	[EVENT_SWITCH] = take_switch,       [EVENT_WAKING] = ftrace_waking,
	[EVENT_FORK] = take_fork,           [EVENT_EXEC] = take_exec,
	[EVENT_RENAME] = perfetto_rename,   [EVENT_EXIT] = take_exit,
	[EVENT_IRQ_ENTRY] = ftrace_irq,     [EVENT_IRQ_EXIT] = ftrace_irq,
	[EVENT_SOFTIRQ_ENTRY] = ftrace_irq, [EVENT_SOFTIRQ_EXIT] = ftrace_irq,
	[EVENT_CRASH] = crash_take,         [EVENT_CRASH_STACK] = crash_take_stack,
	[EVENT_SAMPLE] = events_sample,     [EVENT_GENERIC] = events_generic,
	[EVENT_MARK] = marks_take,          [EVENT_LOST] = take_lost,
	[EVENT_COUNTER] = events_counter,   [EVENT_POINT] = ftrace_point,
	[EVENT_PATH] = path_take,
};

// ---- the sink ----

// Events about a CPU cannot be written without the CPU; those about tasks can.
static bool misses_its_cpu(const struct event *event) {
	bool of_cpu = event->kind == EVENT_SWITCH || event->kind == EVENT_WAKING ||
		      event->kind == EVENT_POINT ||
		      (event->kind >= EVENT_IRQ_ENTRY && event->kind <= EVENT_SOFTIRQ_EXIT);
	return of_cpu && event->cpu >= CPU_COUNT_MOST;
}

static bool about_the_whole(const struct event *event) {
	return event->kind == EVENT_START || event->kind == EVENT_META || event->kind == EVENT_CLOCK ||
	       event->kind == EVENT_WATERMARK;
}

static int push(struct sink *sink, const struct event *event) {
	struct perfetto *perfetto = CONTAINER_OF(sink, struct perfetto, sink);
	if (!handlers[event->kind] || misses_its_cpu(event))
		return 0;
	// Not every input says when it begins.
	if (!perfetto->start && !about_the_whole(event))
		perfetto->start = event->time;
	int error = about_the_whole(event) ? 0 : write_preamble(perfetto);
	perfetto->end = MAX(perfetto->end, event->time);
	return error ? error : handlers[event->kind](perfetto, event);
}

static int finish(struct sink *sink) {
	struct perfetto *perfetto = CONTAINER_OF(sink, struct perfetto, sink);
	int error = write_preamble(perfetto);
	if (!error)
		error = marks_finish(perfetto);
	if (!error)
		error = activities_finish(perfetto);
	if (!error)
		error = heap_finish(perfetto);
	if (!error)
		error = crash_finish(perfetto);
	if (!error)
		error = ftrace_finish(perfetto);
	if (!error)
		error = write_attributes(perfetto);
	if (!error)
		error = write_moments(perfetto);
	return error ? error : write_test_slice(perfetto);
}

static void destroy(struct sink *sink) {
	struct perfetto *perfetto = CONTAINER_OF(sink, struct perfetto, sink);
	ftrace_destroy(perfetto);
	marks_destroy(perfetto);
	path_destroy(perfetto);
	heap_destroy(perfetto);
	events_destroy(perfetto->more);
	activities_destroy(perfetto->activities);
	counters_destroy(perfetto->counters);
	buffer_free(&perfetto->packet);
	array_free(&perfetto->facts);
	array_free(&perfetto->crashes);
	array_free(&perfetto->pool);
	array_free(&perfetto->free_tasks);
	map_free(&perfetto->tasks);
	map_free(&perfetto->outsiders);
	free(perfetto);
}

static struct sink *perfetto_open(struct output *output, struct tables *tables) {
	tables->details = true;
	struct perfetto *perfetto = memory_alloc(sizeof(*perfetto));
	perfetto->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	perfetto->output = output;
	perfetto->strings = tables->strings;
	perfetto->stacks = tables->stacks;
	perfetto->more = events_new();
	perfetto->activities = activities_new();
	perfetto->counters = counters_new();
	perfetto->outside_name = strings_add(tables->strings, NAME_OUTSIDE);
	perfetto->lost_name = strings_add(tables->strings, NAME_LOST);
	perfetto->off_cpu_name = strings_add(tables->strings, EVENT_OFF_CPU);
	return &perfetto->sink;
}

const struct writer perfetto_writer = {
	.name = "perfetto",
	.extension = "pb",
	.description = "a trace for ui.perfetto.dev and trace_processor",
	.binary = true,
	.open = perfetto_open,
};
