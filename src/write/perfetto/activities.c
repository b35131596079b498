// Activities of Windows' providers in a Perfetto trace: what an event with the opcode Start begins and one
// with Stop and the same activity id ends is a slice, on lanes of its provider and name, because an activity
// may change threads. An event that names a related activity came from there: a flow leads from that
// activity's slice to the event, or to the slice that the event begins. The events themselves stay instants.
#include "write/perfetto/perfetto.h"

#include <string.h>

enum {
	OPCODE_START = 1,
	OPCODE_STOP = 2,
	MOST_OPEN = 1 << 16, // activities; further ones are not slices
	MOST_FLOWS = 32,     // out of one slice
	GUID_TEXT = 37,
};

struct activity {
	uint64_t key; // 0 if not in use
	uint64_t id;  // hash of the activity id
	uint64_t begin;
	uint32_t provider, name;
	uint64_t arrives; // the flow that leads to it; 0 if none
	uint64_t leaves[MOST_FLOWS];
	uint32_t leave_count;
	char guid[GUID_TEXT], related[GUID_TEXT];
};

struct activities {
	ARRAY(struct activity) open;
	ARRAY(uint32_t) unused;
	struct map by_key; // index + 1 in `open`
	struct map by_id;  // the same; of several with one id the newest
	uint64_t flows;
};

struct activities *activities_new(void) {
	return memory_alloc(sizeof(struct activities));
}

void activities_destroy(struct activities *activities) {
	array_free(&activities->open);
	array_free(&activities->unused);
	map_free(&activities->by_key);
	map_free(&activities->by_id);
	free(activities);
}

static uint64_t id_of(const char *guid) {
	return hash_bytes(guid, strlen(guid));
}

// "Request" of "Request/Start", "RequestStart" and "Request".
static uint32_t stem_of(struct perfetto *perfetto, uint32_t name) {
	static const char *const ends[] = {"/Start", "/Stop", "Start", "Stop"};
	const char *text = strings_get(perfetto->strings, name);
	size_t length = strlen(text);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i]);
		if (length > end && strcmp(text + length - end, ends[i]) == 0)
			return strings_add_bytes(perfetto->strings, text, length - end);
	}
	return name;
}

// Start and Stop have the same provider, task and activity; without a task, the same name but for its end.
static uint64_t key_of(const struct event *event, uint32_t stem) {
	const struct event_numbers *numbers = event->generic.numbers;
	uint64_t what = numbers->task ? (uint64_t)1 << 32 | numbers->task : stem;
	return hash_u64(id_of(numbers->activity) ^ hash_u64((uint64_t)event->generic.provider << 33 ^ what)) |
	       1;
}

static struct activity *find(struct activities *activities, const struct map *map, uint64_t key) {
	const uint64_t *index = map_get(map, key);
	return index && *index ? &activities->open.items[*index - 1] : NULL;
}

static void forget(struct activities *activities, struct activity *activity) {
	uint32_t index = (uint32_t)(activity - activities->open.items);
	const uint64_t *newest = map_get(&activities->by_id, activity->id);
	if (newest && *newest == index + 1u)
		map_delete(&activities->by_id, activity->id);
	map_delete(&activities->by_key, activity->key);
	activity->key = 0;
	array_push(&activities->unused, index);
}

static int write_activity(struct perfetto *perfetto, const struct activity *activity, uint64_t end) {
	struct event_field fields[2] = {{.name = "activity",
					 .type = FIELD_TEXT,
					 .text = activity->guid,
					 .size = strlen(activity->guid)},
					{.name = "related_activity",
					 .type = FIELD_TEXT,
					 .text = activity->related,
					 .size = strlen(activity->related)}};
	uint64_t flows[MOST_FLOWS + 1];
	memcpy(flows, activity->leaves, sizeof(activity->leaves));
	size_t count = activity->leave_count;
	if (activity->arrives)
		flows[count++] = activity->arrives;
	struct event slice = {.kind = EVENT_GENERIC, .time = end, .cpu = CPU_NONE};
	slice.generic.provider = activity->provider;
	slice.generic.name = activity->name;
	slice.generic.duration = MAX(end - MIN(end, activity->begin), 1);
	slice.generic.fields = fields;
	slice.generic.field_count = *activity->related ? 2 : 1;
	return events_slice(perfetto, &slice, flows, count);
}

static void copy_guid(char *out, const char *guid) {
	size_t size = guid ? MIN(strlen(guid), (size_t)GUID_TEXT - 1) : 0;
	if (size)
		memcpy(out, guid, size);
	out[size] = 0;
}

// A second Start of an activity that has not stopped replaces the first, whose end is unknown.
static void start(struct perfetto *perfetto, const struct event *event, uint64_t flow) {
	struct activities *activities = perfetto->activities;
	uint32_t stem = stem_of(perfetto, event->generic.name);
	uint64_t key = key_of(event, stem);
	struct activity *old = find(activities, &activities->by_key, key);
	if (old)
		forget(activities, old);
	uint32_t index = (uint32_t)activities->open.count;
	if (activities->unused.count)
		index = activities->unused.items[--activities->unused.count];
	else if (index == MOST_OPEN)
		return;
	else
		array_push(&activities->open, (struct activity){0});
	struct activity *activity = &activities->open.items[index];
	*activity = (struct activity){.key = key,
				      .id = id_of(event->generic.numbers->activity),
				      .begin = event->time,
				      .provider = event->generic.provider,
				      .name = stem,
				      .arrives = flow};
	copy_guid(activity->guid, event->generic.numbers->activity);
	copy_guid(activity->related, event->generic.numbers->related_activity);
	*map_put(&activities->by_key, key) = index + 1u;
	*map_put(&activities->by_id, activity->id) = index + 1u;
}

static int stop(struct perfetto *perfetto, const struct event *event) {
	struct activities *activities = perfetto->activities;
	uint64_t key = key_of(event, stem_of(perfetto, event->generic.name));
	struct activity *activity = find(activities, &activities->by_key, key);
	if (!activity)
		return 0;
	int error = write_activity(perfetto, activity, event->time);
	forget(activities, activity);
	return error;
}

// A flow out of the related activity's slice; 0 if that is not open, or has enough of them.
static uint64_t flow_from(struct activities *activities, const char *related) {
	struct activity *from = related ? find(activities, &activities->by_id, id_of(related)) : NULL;
	if (!from || from->leave_count == MOST_FLOWS)
		return 0;
	uint64_t flow = hash_u64(from->id ^ ++activities->flows);
	from->leaves[from->leave_count++] = flow;
	return flow;
}

int activities_take(struct perfetto *perfetto, const struct event *event, uint64_t *flow) {
	const struct event_numbers *numbers = event->generic.numbers;
	bool starts = numbers->opcode == OPCODE_START && numbers->activity;
	uint64_t from = flow_from(perfetto->activities, numbers->related_activity);
	*flow = starts ? 0 : from;
	if (starts)
		start(perfetto, event, from);
	return numbers->opcode == OPCODE_STOP && numbers->activity ? stop(perfetto, event) : 0;
}

int activities_finish(struct perfetto *perfetto) {
	struct activities *activities = perfetto->activities;
	int error = 0;
	for (size_t i = 0; !error && i < activities->open.count; i++)
		if (activities->open.items[i].key)
			error = write_activity(perfetto, &activities->open.items[i], perfetto->end);
	return error;
}
