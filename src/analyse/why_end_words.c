// What ended a test, in words: limits, signals, crashes, deadlocks; and what its threads did then.
#include "analyse/why_text.h"
#include "base/text.h"
#include "event/crash.h"
#include "format/stuck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- limits of the control group ----

static void add_bytes(struct buffer *out, uint64_t bytes) {
	buffer_printf(out, "%.3g %s", (double)bytes / (bytes < 1000000000 ? 1e6 : 1e9),
		      bytes < 1000000000 ? "MB" : "GB");
}

// Far below its limit, the group is not the reason: the machine had no more memory.
static bool is_at_limit(const struct timeline_victim *victim) {
	return victim->limit && victim->usage >= victim->limit - victim->limit / 8;
}

static bool say_victim(const struct why *why, struct buffer *out) {
	const struct timeline_victim *victim = why_victim(why);
	if (!victim)
		return false;
	const uint64_t *thread = map_get(&why->timeline->by_tid, victim->pid);
	buffer_text(out, "The kernel killed ");
	if (thread)
		why_add_thread(why, out, (uint32_t)*thread);
	else
		buffer_printf(out, "process %" PRIu32, victim->pid);
	buffer_text(out, ": out of memory (");
	if (is_at_limit(victim)) {
		buffer_text(out, "cgroup limit ");
		add_bytes(out, victim->limit);
		buffer_text(out, ", it had ");
		add_bytes(out, victim->usage);
	} else {
		buffer_text(out, "the machine's, not a limit of its cgroup");
	}
	buffer_text(out, ")");
	return true;
}

static bool say_memory(const struct why *why, struct buffer *out) {
	const struct timeline_limits *limits = &why->timeline->limits;
	if (say_victim(why, out))
		return true;
	if (!limits->oom_kills)
		return false;
	buffer_text(out, "The kernel ended a process for lack of memory: the control group may have ");
	add_bytes(out, limits->memory);
	if (limits->memory_peak) {
		buffer_text(out, " and had up to ");
		add_bytes(out, limits->memory_peak);
	}
	return true;
}

static bool say_throttled(const struct why *why, struct buffer *out, bool first) {
	enum { NOTICEABLE = 20 }; // a part of the time
	const struct timeline_limits *limits = &why->timeline->limits;
	if (limits->throttled * NOTICEABLE <= why->to - why->from)
		return false;
	buffer_printf(out, "%she control group may use %.3g CPUs and was stopped for ", first ? "T" : "; t",
		      (double)limits->cpu / 1000);
	why_duration(out, limits->throttled);
	buffer_printf(out, ", in %" PRIu64 " of %" PRIu64 " periods", limits->throttled_periods,
		      limits->periods);
	return true;
}

// ---- signals ----

static bool say_killer(const struct why *why, struct buffer *out) {
	enum { SIGNAL_KILL = 9 };
	const struct timeline_signal *signal = why_killer(why);
	if (!signal)
		return false;
	const struct timeline_thread *sender = timeline_thread(why->timeline, signal->sender);
	if (signal->by_kernel) {
		buffer_printf(out, "The kernel sent signal %" PRIu32 "%s", signal->number,
			      signal->number == SIGNAL_KILL ? ", as when memory runs out" : "");
		return true;
	}
	why_add_thread(why, out, signal->sender);
	buffer_printf(out, " (%" PRIu32 "%s) sent signal %" PRIu32, sender->tid,
		      sender->first && !sender->outside ? "" : ", outside the test", signal->number);
	return true;
}

// ---- crashes ----

// A line of the stack: "#0   0x401136 parse+0x21  /src/test+0x1227  /src/parse.c:11".
struct crash_frame {
	char function[256], module[256], source[256];
};

static void copy_word(char *to, size_t size, const char *from, size_t length) {
	length = MIN(length, size - 1);
	memcpy(to, from, length);
	to[length] = 0;
}

static void cut_offset(char *name) {
	char *plus = strrchr(name, '+');
	if (plus && plus != name && plus[1] == '0' && plus[2] == 'x')
		*plus = 0;
}

// Two blanks are between the parts.
static bool read_frame(const char *line, struct crash_frame *frame) {
	int begin = 0;
	*frame = (struct crash_frame){0};
	if (sscanf(line, "#%*u 0x%*x %n", &begin) < 0 || !begin)
		return false;
	char *parts[] = {frame->function, frame->module, frame->source};
	const char *at = line + begin, *end = line + strcspn(line, "\n");
	for (size_t i = 0; i < ARRAY_SIZE(parts) && at < end; i++) {
		const char *blanks = strstr(at, "  ");
		const char *stop = blanks && blanks < end ? blanks : end;
		copy_word(parts[i], sizeof(frame->function), at, (size_t)(stop - at));
		at = stop + strspn(stop, " ");
	}
	static const char inlined[] = " (inlined)";
	char *mark = strstr(frame->function, inlined);
	if (mark)
		*mark = 0;
	cut_offset(frame->function);
	cut_offset(frame->module);
	return true;
}

static void add_crash_function(struct buffer *out, const struct crash_frame *frame) {
	buffer_printf(out, "%s%s", frame->function, strchr(frame->function, '(') ? "" : "()");
	const char *name = strrchr(frame->source, '/');
	if (*frame->source)
		buffer_printf(out, " (%s)", name ? name + 1 : frame->source);
}

// The first function of the program's own, and the one that called it.
static void add_crash_place(const struct why *why, struct buffer *out, uint32_t stack) {
	const char *line = strings_get(why->timeline->tables->strings, stack);
	unsigned found = 0;
	for (; line && *line && found < 2; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		struct crash_frame frame;
		if (!read_frame(line, &frame) || !*frame.function ||
		    function_is_runtime(frame.function, frame.module))
			continue;
		buffer_text(out, found++ ? ", called by " : " in ");
		add_crash_function(out, &frame);
	}
}

static bool say_crash(const struct why *why, struct buffer *out) {
	const struct timeline_crash *crash = why_crash(why);
	if (!crash)
		return false;
	char words[128];
	const struct timeline_thread *thread = timeline_thread(why->timeline, crash->thread);
	crash_words(crash->signal, crash->code, crash->address, thread->pid, words, sizeof(words));
	why_add_thread(why, out, crash->thread);
	if (thread->pid != timeline_thread(why->timeline, why->thread)->pid)
		buffer_printf(out, " (process %" PRIu32 ")", thread->pid);
	buffer_text(out, " crashed");
	add_crash_place(why, out, crash->stack);
	buffer_printf(out, ": %s", words);
	return true;
}

bool why_say_end(const struct why *why, struct buffer *out) {
	buffer_text(out, " ");
	bool memory = say_memory(why, out), throttled = say_throttled(why, out, !memory);
	if (memory || throttled)
		return true;
	if (say_crash(why, out) || say_killer(why, out))
		return true;
	out->size--; // the blank
	return false;
}

// ---- what threads waited for ----

enum { MOST_STUCK = 256 }; // threads that are looked at

static bool find_stuck(const struct why *why, uint32_t tid, struct stuck *stuck) {
	const char *fact = strings_get(why->timeline->tables->strings, why->timeline->stuck);
	for (int i = 0; i < MOST_STUCK && stuck_next(&fact, stuck); i++)
		if (stuck->tid == tid)
			return true;
	return false;
}

static void add_lock(struct buffer *out, const struct stuck *lock, bool address) {
	if (!*lock->words)
		buffer_printf(out, "the lock 0x%" PRIx64, lock->address);
	else if (address)
		buffer_printf(out, "%s (0x%" PRIx64 ")", lock->words, lock->address);
	else
		buffer_text(out, lock->words);
}

static const struct why_ending *ending_of(const struct why *why, const struct why_endings *endings,
					  uint32_t tid) {
	for (size_t i = 0; i < endings->list.count; i++)
		if (timeline_thread(why->timeline, endings->list.items[i].thread)->tid == tid)
			return &endings->list.items[i];
	return NULL;
}

enum { LONGEST_CYCLE = 8 };

// Follows the owners of locks from this thread. The number of threads if that leads back to it, otherwise 0.
static size_t follow_cycle(const struct why *why, uint32_t tid, struct stuck *cycle) {
	size_t count = 0;
	for (uint32_t at = tid; count < LONGEST_CYCLE; at = cycle[count++].other) {
		if (count && at == tid)
			return count;
		if (!find_stuck(why, at, &cycle[count]) || cycle[count].kind != STUCK_LOCK)
			return 0;
	}
	return 0;
}

bool why_say_deadlock(struct why *why, const struct why_endings *endings, struct buffer *out) {
	struct stuck cycle[LONGEST_CYCLE], one;
	const char *fact = strings_get(why->timeline->tables->strings, why->timeline->stuck);
	size_t count = 0;
	for (int i = 0; !count && i < MOST_STUCK && stuck_next(&fact, &one); i++)
		count = one.kind == STUCK_LOCK ? follow_cycle(why, one.tid, cycle) : 0;
	for (size_t i = 0; i < count; i++) {
		const uint64_t *thread = map_get(&why->timeline->by_tid, cycle[i].tid);
		const struct why_ending *ending = ending_of(why, endings, cycle[i].tid);
		const uint64_t *owner = map_get(&why->timeline->by_tid, cycle[i].other);
		buffer_text(out, !i ? " Deadlock: " : "; ");
		why_add_thread(why, out, thread ? (uint32_t)*thread : 0);
		buffer_text(out, " waits for ");
		add_lock(out, &cycle[i], true);
		if (ending)
			why_add_place(why, out, ending->own);
		buffer_text(out, ", held by ");
		why_add_thread(why, out, owner ? (uint32_t)*owner : 0);
	}
	return count;
}

static void add_stuck(const struct why *why, struct buffer *out, uint32_t thread) {
	struct stuck stuck;
	if (!find_stuck(why, timeline_thread(why->timeline, thread)->tid, &stuck))
		return;
	const uint64_t *other = map_get(&why->timeline->by_tid, stuck.other);
	if (stuck.kind == STUCK_DESCRIPTOR) {
		buffer_printf(out, " (descriptor %" PRIu32 ": %s)", stuck.other, stuck.words);
		return;
	}
	buffer_text(out, " (");
	if (stuck.kind == STUCK_LOCK) {
		add_lock(out, &stuck, false);
		buffer_text(out, ", held by ");
	}
	why_add_thread(why, out, other ? (uint32_t)*other : 0);
	buffer_text(out, ")");
}

void why_say_endings(const struct why *why, const struct why_endings *endings, uint32_t but,
		     struct buffer *out) {
	enum { MOST = 4 };
	size_t shown = 0, all = 0;
	for (size_t i = 0; i < endings->list.count; i++)
		all += endings->list.items[i].thread != but;
	for (size_t i = 0; i < endings->list.count && shown < MOST; i++) {
		const struct why_ending *ending = &endings->list.items[i];
		if (ending->thread == but)
			continue;
		if (!shown && endings->stuck) {
			buffer_text(out, " Nothing could run for ");
			why_duration(out, endings->list.items[MIN(endings->list.count, (size_t)MOST) - 1].ns);
			buffer_text(out, ": ");
		} else if (!shown) {
			buffer_printf(out, " When it %s, ", why_crash(why) ? "crashed" : "was killed");
		}
		shown++;
		buffer_text(out, shown == 1 ? "" : shown == MIN(all, (size_t)MOST) ? ", and " : ", ");
		why_add_thread(why, out, ending->thread);
		buffer_printf(out, " %s", ending->words ? ending->words : reason_words[ending->reason]);
		why_add_place(why, out, ending->own);
		add_stuck(why, out, ending->thread);
	}
	if (shown)
		buffer_text(out, endings->stuck ? ", as in a deadlock." : ".");
}

// ---- what it left ----

void why_say_left(const struct why *why, struct buffer *out) {
	enum { MOST = 2 };
	struct why_left left;
	why_left(why, &left);
	size_t count = left.threads.count;
	for (size_t i = 0; i < MIN(count, (size_t)MOST); i++) {
		buffer_text(out, i ? ", " : "; ");
		why_add_thread(why, out, left.threads.items[i]);
		buffer_printf(out, " (%" PRIu32 ")",
			      timeline_thread(why->timeline, left.threads.items[i])->tid);
	}
	if (count > MOST)
		buffer_printf(out, " and %zu more", count - MOST);
	if (count)
		buffer_printf(out, " %s still running at the end", count == 1 ? "was" : "were");
	array_free(&left.threads);
}

// ---- the machine ----

static void say_stalled(const struct why *why, struct buffer *out, const char *what, uint64_t ns) {
	enum { NOTICEABLE = 5 }; // a part of the time
	if (ns * NOTICEABLE <= why->to - why->from)
		return;
	buffer_printf(out, "; tasks of this machine waited for %s for ", what);
	why_duration(out, ns);
}

void why_say_machine(const struct why *why, struct buffer *out) {
	const struct timeline_limits *limits = &why->timeline->limits;
	if (limits->listen_overflows)
		buffer_printf(out, "; a TCP listener's queue was full, %" PRIu64 " time%s on this machine",
			      limits->listen_overflows, limits->listen_overflows == 1 ? "" : "s");
	say_stalled(why, out, "disks", limits->io_stalled);
	say_stalled(why, out, "memory", limits->memory_stalled);
}
