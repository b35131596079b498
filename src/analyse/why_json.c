// The answer as JSON; docs/why.md has the contract.
#include "analyse/why.h"
#include "base/json.h"

static void add_thread(const struct why *why, struct json *json, uint32_t thread) {
	json_string(json, "thread", timeline_name(why->timeline, thread));
	json_uint(json, "tid", timeline_thread(why->timeline, thread)->tid);
}

static void add_place(const struct why *why, struct json *json, uint32_t frame) {
	struct why_place place = why_place(why, frame);
	json_string(json, "function", place.function && *place.function ? place.function : NULL);
	json_string(json, "file", place.file);
	if (place.file && place.line)
		json_uint(json, "line", place.line);
	else
		json_string(json, "line", NULL);
}

static const char *context_of(const struct why_segment *segment) {
	if (segment->state == PATH_READY)
		return "cpu";
	return segment->woken & WOKEN_HARDIRQ   ? "hardirq"
	       : segment->woken & WOKEN_SOFTIRQ ? "softirq"
	       : segment->woken & WOKEN_OUTSIDE ? "outside"
						: "task";
}

static void add_waker(const struct why *why, struct json *json, const struct why_segment *segment) {
	if (!segment->waker && !segment->has_wakeup) {
		json_string(json, "waker", NULL);
		return;
	}
	json_object(json, "waker");
	if (segment->waker) {
		add_thread(why, json, segment->waker);
	} else { // an interrupt: the task that it interrupted has nothing to do with it
		json_string(json, "thread", NULL);
		json_string(json, "tid", NULL);
	}
	json_string(json, "context", context_of(segment));
	json_close_object(json);
}

static void add_chain(const struct why *why, struct json *json, const struct why_segment *segment) {
	json_array(json, "chain");
	for (uint32_t i = 0; i < segment->chain_count; i++) {
		const struct why_waiter *waiter = &segment->chain[i];
		json_object(json, NULL);
		add_thread(why, json, waiter->thread);
		json_string(json, "process", timeline_process_name(why->timeline, waiter->thread));
		json_string(json, "reason", reason_names[waiter->reason]);
		add_place(why, json, waiter->own);
		json_close_object(json);
	}
	json_close_array(json);
}

static void add_segment(const struct why *why, struct json *json, const struct why_segment *segment) {
	json_object(json, NULL);
	add_thread(why, json, segment->thread);
	json_string(json, "process", timeline_process_name(why->timeline, segment->thread));
	json_string(json, "state", path_state_names[segment->state]);
	json_string(json, "reason", reason_names[segment->reason]);
	add_place(why, json, segment->own);
	json_uint(json, "ns", segment->ns);
	json_double(json, "share", (double)segment->ns / (double)(why->to - why->from));
	add_waker(why, json, segment);
	add_chain(why, json, segment);
	json_close_object(json);
}

static void add_path(const struct why *why, struct json *json) {
	uint64_t from = why->from, start = MIN(why->timeline->start, why->from);
	json_array(json, "path");
	for (size_t i = 0; i < why->path.count; i++) {
		json_object(json, NULL);
		json_uint(json, "from_ns", from - start);
		json_uint(json, "to_ns", why->path.items[i].to - start);
		json_uint(json, "segment", why->path.items[i].segment);
		json_close_object(json);
		from = why->path.items[i].to;
	}
	json_close_array(json);
}

void why_json_part(struct json *json, const struct why_change *change) {
	json_string(json, "role", change->role);
	json_string(json, "reason", change->reason);
	json_string(json, "function", change->function);
	json_string(json, "caller", change->caller);
}

static void add_difference(struct json *json, const struct why *why,
			   const struct why_difference *difference) {
	if (!difference) {
		json_string(json, "difference", NULL);
		return;
	}
	json_object(json, "difference");
	json_string(json, "baseline", difference->baseline);
	json_uint(json, "baseline_wall_ns", difference->baseline_wall);
	json_string(json, "unfinished", difference->unfinished);
	json_uint(json, "unfinished_ns", difference->unfinished_ns);
	json_array(json, "segments");
	for (size_t i = 0; i < difference->changes.count; i++) {
		const struct why_change *change = &difference->changes.items[i];
		json_object(json, NULL);
		why_json_part(json, change);
		json_uint(json, "ns", change->ns);
		json_uint(json, "baseline_ns", change->baseline_ns);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

void why_json(struct why *why, const struct why_difference *difference, struct buffer *out) {
	struct strings *strings = why->timeline->tables->strings;
	struct json json = json_into(out);
	struct buffer text = {0};
	why_sentences(why, difference, &text);
	json_object(&json, NULL);
	json_string(&json, "test", why->timeline->test ? strings_get(strings, why->timeline->test) : NULL);
	json_string(&json, "result", *why->result ? why->result : NULL);
	json_uint(&json, "wall_ns", why->to - why->from);
	json_text(&json, "text", (const char *)text.data, text.size);
	json_array(&json, "segments");
	for (size_t i = 0; i < why->segments.count; i++)
		add_segment(why, &json, &why->segments.items[i]);
	json_close_array(&json);
	add_path(why, &json);
	json_uint(&json, "unknown_ns", why->unknown_ns);
	add_difference(&json, why, difference);
	json_close_object(&json);
	buffer_free(&text);
}
