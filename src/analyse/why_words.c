// The answer in sentences, and as a table.
#include "analyse/why_text.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *text_of(const struct why *why, uint32_t string) {
	return strings_get(why->timeline->tables->strings, string);
}

static double percent(uint64_t part, uint64_t whole) {
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void why_duration(struct buffer *out, uint64_t nanoseconds) {
	static const struct {
		double size;
		const char *unit;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t unit = 0;
	while (unit + 1 < ARRAY_SIZE(units) && (double)nanoseconds < units[unit].size)
		unit++;
	double value = (double)nanoseconds / units[unit].size;
	int digits = value >= 99.95 || unit == 3 ? 0 : value >= 9.995 ? 1 : 2;
	buffer_printf(out, "%.*f %s", digits, value, units[unit].unit);
}

static const char *base_name(const char *path) {
	const char *name = path;
	for (const char *at = path; *at; at++)
		if (*at == '/' || *at == '\\')
			name = at + 1;
	return name;
}

void why_add_thread(const struct why *why, struct buffer *out, uint32_t thread) {
	const char *name = timeline_name(why->timeline, thread);
	uint32_t tid = timeline_thread(why->timeline, thread)->tid;
	if (tid >= TID_OUTSIDE)
		buffer_text(out, "tasks outside the test");
	else if (*name)
		buffer_text(out, name);
	else
		buffer_printf(out, "thread %" PRIu32, tid);
}

void why_add_place(const struct why *why, struct buffer *out, uint32_t frame) {
	struct why_place place = why_place(why, frame);
	if (!place.function || !*place.function)
		return;
	buffer_printf(out, " in %s%s", place.function, strchr(place.function, '(') ? "" : "()");
	if (place.file)
		buffer_printf(out, " (%s:%" PRIu32 ")", base_name(place.file), place.line);
}

// A helper says little without the function that called it.
static void add_caller(const struct why *why, struct buffer *out, uint32_t caller) {
	struct why_place place = why_place(why, caller);
	if (place.function && *place.function)
		buffer_printf(out, ", called by %s%s", place.function,
			      strchr(place.function, '(') ? "" : "()");
}

// ---- sentences ----

// A flight recorder has only the end.
static void say_cut(const struct why *why, struct buffer *out) {
	double seconds = strtod(text_of(why, why->timeline->wall_seconds), NULL);
	if (seconds > 0 && seconds < 1e9) {
		buffer_text(out, " it took ");
		why_duration(out, (uint64_t)(seconds * 1e9));
		buffer_text(out, ", and this is about the last ");
	} else {
		buffer_text(out, *why->result ? " this is about its last " : ": this is about its last ");
	}
}

static void say_result(const struct why *why, struct buffer *out) {
	const char *test = text_of(why, why->timeline->test);
	buffer_text(out, *test ? test : timeline_process_name(why->timeline, why->thread));
	if (*why->result)
		buffer_printf(out, " %s;", why->result);
	if (why->cut)
		say_cut(why, out);
	else
		buffer_text(out, *why->result ? " it took " : " took ");
	why_duration(out, why->to - why->from);
	buffer_text(out, ".");
}

// ---- segments that are the same in several threads ----

// Six processes that sleep one after the other, or four workers that run the same function.
struct group {
	const struct why_segment *first; // the largest
	uint64_t ns, longest;
	uint32_t pieces, count;
	bool processes; // of different processes, not threads of one
	bool same_name;
};

static bool same_role(const char *left, const char *right) {
	for (;; left++, right++) {
		left += strspn(left, "0123456789");
		right += strspn(right, "0123456789");
		if (*left != *right || !*left)
			return *left == *right;
	}
}

static uint32_t symbol_of(const struct why *why, const struct why_segment *segment) {
	bool named = segment->own && segment->state != PATH_READY;
	return named ? stacks_frame(why->timeline->tables->stacks, segment->own - 1)->symbol : 0;
}

static bool same_group(const struct why *why, const struct why_segment *left,
		       const struct why_segment *right) {
	return left == right ||
	       (left->state == right->state && left->reason == right->reason &&
		left->limited == right->limited && symbol_of(why, left) == symbol_of(why, right) &&
		same_role(timeline_name(why->timeline, left->thread),
			  timeline_name(why->timeline, right->thread)));
}

enum { LOOKED_AT = 256 }; // segments

static struct group group_of(const struct why *why, const struct why_segment *first) {
	struct group group = {.first = first, .same_name = true};
	uint32_t pid = timeline_thread(why->timeline, first->thread)->pid;
	for (size_t i = 0; i < MIN(why->segments.count, (size_t)LOOKED_AT); i++) {
		const struct why_segment *segment = &why->segments.items[i];
		if (!same_group(why, first, segment))
			continue;
		group.ns += segment->ns;
		group.longest = MAX(group.longest, segment->longest);
		group.pieces += segment->pieces;
		group.count++;
		group.processes |= timeline_thread(why->timeline, segment->thread)->pid != pid;
		group.same_name &= strcmp(timeline_name(why->timeline, first->thread),
					  timeline_name(why->timeline, segment->thread)) == 0;
	}
	return group;
}

// If one of them has most of the time, the sentence is about that one. For ready ones the sum counts:
// together they say how busy the machine was.
static struct group without_small_ones(struct group group) {
	const struct why_segment *first = group.first;
	if (!first || first->state == PATH_READY || first->ns * 4 < group.ns * 3)
		return group;
	return (struct group){.first = first,
			      .ns = first->ns,
			      .longest = first->longest,
			      .pieces = first->pieces,
			      .count = 1,
			      .same_name = true};
}

// The largest group; with `cause` of those that are neither ready nor unknown. `first` is NULL if none.
static struct group largest_group(const struct why *why, bool cause) {
	struct group largest = {0};
	for (size_t i = 0; i < MIN(why->segments.count, (size_t)LOOKED_AT); i++) {
		const struct why_segment *segment = &why->segments.items[i];
		if (cause && (segment->state == PATH_READY || segment->state == PATH_UNKNOWN))
			continue;
		// What is left is too small, even if it is all of one group.
		if (largest.first && segment->ns * (why->segments.count - i) < largest.ns)
			break;
		struct group group = group_of(why, segment);
		if (group.ns > largest.ns)
			largest = group;
	}
	return without_small_ones(largest);
}

// ---- what had the CPU ----

struct holder {
	uint32_t thread;
	uint64_t ns;
};

static int by_holding(const void *left, const void *right) {
	const struct holder *a = left, *b = right;
	return a->ns != b->ns ? (a->ns < b->ns) - (a->ns > b->ns)
			      : (a->thread > b->thread) - (a->thread < b->thread);
}

static bool is_named(const struct why *why, uint32_t thread) {
	return timeline_thread(why->timeline, thread)->tid < TID_OUTSIDE &&
	       *timeline_name(why->timeline, thread);
}

struct holders {
	ARRAY(struct holder) list;
};

// By name: hundreds of compilers are one.
static void add_holder(const struct why *why, struct holders *holders, uint32_t thread, uint64_t ns) {
	for (size_t i = 0; i < holders->list.count; i++) {
		struct holder *holder = &holders->list.items[i];
		if (holder->thread == thread || (is_named(why, thread) && is_named(why, holder->thread) &&
						 same_role(timeline_name(why->timeline, thread),
							   timeline_name(why->timeline, holder->thread)))) {
			holder->ns += ns;
			return;
		}
	}
	array_push(&holders->list, (struct holder){.thread = thread, .ns = ns});
}

static void find_holders(const struct why *why, const struct group *group, struct holders *holders) {
	for (size_t i = 0; i < MIN(why->segments.count, (size_t)LOOKED_AT); i++) {
		const struct why_segment *segment = &why->segments.items[i];
		if (!same_group(why, group->first, segment))
			continue;
		for (size_t slot = 0; slot < why->holders.capacity; slot++) {
			const struct map_slot *held = &why->holders.slots[slot];
			if (held->used && held->key >> 32 == segment->number &&
			    !timeline_is_idle(why->timeline, (uint32_t)held->key))
				add_holder(why, holders, (uint32_t)held->key, held->value);
		}
	}
	if (holders->list.count)
		qsort(holders->list.items, holders->list.count, sizeof(struct holder), by_holding);
}

static void say_holders(const struct why *why, struct buffer *out, const struct group *group) {
	enum { MOST = 3 };
	struct holders holders = {0};
	uint64_t rest = 0;
	find_holders(why, group, &holders);
	for (size_t i = 0; i < holders.list.count; i++) {
		const struct holder *holder = &holders.list.items[i];
		if (i >= MOST || (i && holder->ns * 10 < holders.list.items[0].ns)) {
			rest += holder->ns;
			continue;
		}
		buffer_text(out, i ? ", " : ", while ");
		why_add_thread(why, out, holder->thread);
		buffer_text(out, i ? " for " : " had it for ");
		why_duration(out, holder->ns);
	}
	if (rest * 10 > group->ns) {
		buffer_text(out, ", and others for ");
		why_duration(out, rest);
	}
	array_free(&holders.list);
}

// ---- sentences about a segment ----

static void say_wakeup(const struct why *why, struct buffer *out, const struct why_segment *segment) {
	bool chosen = segment->reason == REASON_SLEEP || segment->reason == REASON_TIMEOUT;
	bool device = segment->reason == REASON_DISK || segment->reason == REASON_FSYNC;
	if (segment->waker && why_is_tracer(why, segment->waker)) {
		buffer_text(out, " until it was killed");
	} else if (segment->waker && !(device && timeline_is_kernel(why->timeline, segment->waker))) {
		buffer_text(out, " until ");
		why_add_thread(why, out, segment->waker);
		buffer_printf(out, " (%" PRIu32 "%s) woke it",
			      timeline_thread(why->timeline, segment->waker)->tid,
			      segment->woken & WOKEN_OUTSIDE ? ", outside the test" : "");
	} else if (segment->has_wakeup && !segment->waker && segment->reason == REASON_SOCKET) {
		buffer_text(out, " until a packet came");
	} else if (segment->has_wakeup && !segment->waker && !chosen && !device) {
		buffer_text(out, " until an interrupt woke it");
	}
}

static void say_running(const struct why *why, struct buffer *out, const struct why_segment *segment) {
	buffer_text(out, segment->reason == REASON_PAGE_FAULT ? " handled page faults" : " ran");
	why_add_place(why, out, segment->own);
	add_caller(why, out, segment->caller);
}

static void say_ready(const struct why *why, struct buffer *out, const struct group *group) {
	const char *was = group->count > 1 ? "were" : "was";
	if (group->first->reason == REASON_THROTTLED) {
		buffer_printf(out, " %s ready to run %s, as when a CPU limit is used up", was,
			      group->first->in_beat ? "and got a CPU every 100 ms" : "on an idle CPU");
		return;
	}
	buffer_printf(out, " %s ready to run without a CPU", was);
	say_holders(why, out, group);
}

static void say_waiting(const struct why *why, struct buffer *out, const struct group *group) {
	const struct why_segment *segment = group->first;
	buffer_printf(out, " %s", segment->words ? segment->words : reason_words[segment->reason]);
	if (segment->reason == REASON_TIMEOUT && !segment->words)
		buffer_printf(out, " (%s)", reason_names[segment->limited]);
	if (segment->reason == REASON_OTHER && segment->inner && !segment->words)
		buffer_printf(out, " in the kernel's %s", text_of(why, segment->inner));
	why_add_place(why, out, segment->own);
	add_caller(why, out, segment->caller);
	if (group->pieces > 1 && group->longest * 10 < group->ns * 7) {
		buffer_printf(out, ", %" PRIu32 " times for up to ", group->pieces);
		why_duration(out, group->longest);
	} else {
		say_wakeup(why, out, segment);
	}
}

static void add_threads(const struct why *why, struct buffer *out, const struct group *group) {
	if (group->count > 1)
		buffer_printf(out, "%" PRIu32 " %s %s ", group->count,
			      group->processes ? "processes" : "threads",
			      group->same_name ? "named" : "like");
	why_add_thread(why, out, group->first->thread);
}

// What the threads did, without the end of the sentence.
static void say_group(const struct why *why, struct buffer *out, const struct group *group) {
	const struct why_segment *segment = group->first;
	if (segment->state == PATH_UNKNOWN) {
		buffer_text(out, "it is unknown what ");
		why_add_thread(why, out, segment->thread);
		buffer_text(out, " did");
		return;
	}
	add_threads(why, out, group);
	if (segment->state == PATH_RUNS)
		say_running(why, out, segment);
	else if (segment->state == PATH_READY)
		say_ready(why, out, group);
	else
		say_waiting(why, out, group);
}

// The same with its time.
static void say_segment(const struct why *why, struct buffer *out, const struct group *group) {
	why_duration(out, group->ns);
	buffer_printf(out, " (%.0f %%), ", percent(group->ns, why->to - why->from));
	say_group(why, out, group);
}

// What a thread that looks again and again may have looked for. False if that is not known.
static bool say_meanwhile(struct why *why, struct buffer *out, const struct why_segment *segment) {
	struct why other;
	if (!why_meanwhile(why, segment, &other))
		return false;
	struct group largest = largest_group(&other, true);
	buffer_text(out, " Meanwhile, for ");
	why_duration(out, largest.ns);
	buffer_text(out, ", ");
	say_group(&other, out, &largest);
	buffer_text(out, ".");
	why_free(&other);
	return true;
}

static void say_chain(const struct why *why, struct buffer *out, const struct why_segment *segment) {
	enum { MOST = 3 };
	size_t count = MIN(segment->chain_count, (uint32_t)MOST);
	for (size_t i = 0; i < count; i++) {
		const struct why_waiter *waiter = &segment->chain[i];
		buffer_text(out, !i ? " For this, " : i + 1 == count ? ", and for that, " : ", for that, ");
		why_add_thread(why, out, waiter->thread);
		const char *words = waiter->words ? waiter->words : reason_words[waiter->reason];
		buffer_printf(out, " %s", waiter->reason == REASON_UNKNOWN || !*words ? "waited" : words);
		why_add_place(why, out, waiter->own);
	}
	if (count)
		buffer_text(out, ".");
}

static void say_difference(struct buffer *out, const struct why_difference *difference) {
	buffer_text(out, difference->chosen ? " The baseline took " : " The last passing run took ");
	why_duration(out, difference->baseline_wall);
	if (difference->changes.count) {
		const struct why_change *change = &difference->changes.items[0];
		buffer_printf(out, "; there, %s spent ", change->role);
		if (change->baseline_ns)
			why_duration(out, change->baseline_ns);
		else
			buffer_text(out, "no time");
		buffer_printf(out, " (%s", change->reason);
		if (change->function)
			buffer_printf(out, " in %s", change->function);
		if (change->caller)
			buffer_printf(out, ", called by %s", change->caller);
		buffer_text(out, ") and here ");
		why_duration(out, change->ns);
	} else if (!difference->unfinished && !difference->few) {
		buffer_text(out, ", and nothing on the path grew");
	}
	if (difference->unfinished) {
		buffer_printf(out, "; there, %s had ended ", difference->unfinished);
		why_duration(out, difference->unfinished_ns);
		buffer_text(out, " before the test did, here it had not");
	}
	buffer_text(out, ".");
}

// The time in a state about which there is no stack.
static uint64_t unexplained(const struct why *why, enum path_state state) {
	uint64_t sum = 0;
	for (size_t i = 0; i < why->segments.count; i++)
		if (why->segments.items[i].state == state && !why->segments.items[i].own &&
		    !why->segments.items[i].inner)
			sum += why->segments.items[i].ns;
	return sum;
}

static void say_caveats(const struct why *why, struct buffer *out) {
	enum { LONG_ENOUGH = 20 * 1000 * 1000 }; // to be sampled
	const struct timeline *timeline = why->timeline;
	uint64_t wall = why->to - why->from;
	struct buffer words = {0};
	why_say_left(why, &words);
	why_say_machine(why, &words);
	if (why->unknown_ns * 100 > wall)
		buffer_printf(&words, "; %.0f %% of the time is unknown", percent(why->unknown_ns, wall));
	if (timeline->lost)
		buffer_printf(&words, "; %" PRIu64 " event%s lost", timeline->lost,
			      timeline->lost == 1 ? " was" : "s were");
	if (why->tracer_ns * 100 > wall)
		buffer_printf(&words, "; the tracer had the CPU for %.0f %% of the time",
			      percent(why->tracer_ns, wall));
	if (unexplained(why, PATH_WAITS) * 10 > wall && !timeline->has_stacks)
		buffer_text(&words, "; stacks of waits were not recorded (--waits)");
	if (unexplained(why, PATH_RUNS) * 10 > wall && !timeline->has_samples && wall > LONG_ENOUGH)
		buffer_text(&words, "; CPU samples were not recorded (--sample)");
	if (words.size)
		buffer_printf(out, " Note: %.*s.", (int)words.size - 2, (const char *)words.data + 2);
	buffer_free(&words);
}

// Returns the segment whose chain follows. A busy machine explains a part of the time, and hides the cause of
// the rest: what comes after it is named, too.
static const struct why_segment *say_largest(const struct why *why, struct buffer *out, bool begun) {
	enum { LEAST_SHARE = 20 };
	struct group largest = largest_group(why, false);
	struct group beside = largest.first->state == PATH_READY ? largest_group(why, true)
								 : (struct group){0};
	bool both = beside.ns * LEAST_SHARE > why->to - why->from;
	buffer_text(out, begun ? "; for " : " For ");
	say_segment(why, out, &largest);
	if (both) {
		buffer_text(out, "; apart from that, for ");
		say_segment(why, out, &beside);
	}
	buffer_text(out, ".");
	return both ? beside.first : largest.first;
}

// At most two sentences.
static void say_cause(struct why *why, struct buffer *out) {
	struct why_endings endings;
	const struct timeline_crash *crash = why_crash(why);
	const struct why_segment *said = NULL;
	why_endings(why, &endings);
	bool deadlock = why_say_deadlock(why, &endings, out);
	if (deadlock) {
		buffer_text(out, ".");
	} else if (!endings.stuck && why->segments.count) {
		bool begun = why_say_end(why, out);
		said = say_largest(why, out, begun);
	}
	if (said && said->chain_count && !crash && !why_killer(why))
		say_chain(why, out, said);
	else if (!deadlock && (!said || endings.killed || crash || !say_meanwhile(why, out, said)))
		why_say_endings(why, &endings, crash ? crash->thread : said ? said->thread : 0, out);
	array_free(&endings.list);
}

void why_cause(struct why *why, struct buffer *out) {
	struct buffer text = {0};
	say_cause(why, &text);
	if (text.size)
		text_plain(out, (const char *)text.data + 1, text.size - 1); // without the blank
	buffer_free(&text);
}

void why_say_difference(const struct why_difference *difference, struct buffer *out) {
	size_t begin = out->size;
	say_difference(out, difference);
	text_plain_from(out, begin);
}

void why_sentences(struct why *why, const struct why_difference *difference, struct buffer *out) {
	size_t begin = out->size;
	say_result(why, out);
	say_cause(why, out);
	if (difference)
		say_difference(out, difference);
	say_caveats(why, out);
	text_plain_from(out, begin);
}

// ---- the table ----

static void add_row(const struct why *why, const struct why_segment *segment, struct buffer *out) {
	struct buffer thread = {0}, duration = {0}, place = {0};
	why_add_thread(why, &thread, segment->thread);
	why_duration(&duration, segment->ns);
	why_add_place(why, &place, segment->own);
	const char *where = place.size > 4 ? (const char *)place.data + 4 : "";
	text_append_line(out, "%5.1f %%  %9.*s  %-15.*s  %-7s  %-11s  %.*s",
			 percent(segment->ns, why->to - why->from), (int)duration.size, (char *)duration.data,
			 (int)thread.size, (char *)thread.data, path_state_names[segment->state],
			 reason_names[segment->reason], (int)(place.size > 4 ? place.size - 4 : 0), where);
	buffer_free(&thread);
	buffer_free(&duration);
	buffer_free(&place);
}

void why_table(const struct why *why, size_t limit, struct buffer *out) {
	size_t count = limit ? MIN(limit, why->segments.count) : why->segments.count;
	text_append_line(out, "%7s  %9s  %-15s  %-7s  %-11s  %s", "SHARE", "TIME", "THREAD", "STATE",
			 "REASON", "FUNCTION");
	for (size_t i = 0; i < count; i++)
		add_row(why, &why->segments.items[i], out);
	if (count < why->segments.count)
		text_append_line(out, "and %zu more (--limit 0 shows all)", why->segments.count - count);
}
