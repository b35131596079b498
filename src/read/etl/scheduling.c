// Switches and wakeups. The stack at a switch is that of the thread that gets the CPU: it shows where the
// thread has waited. With the times since it left its CPU and since it was ready, it is a sample of time off
// the CPU.
#include "read/etl/events.h"

void etl_set_running(struct etl_events *events, const struct etl_record *record, uint32_t tid) {
	while (events->running.count <= record->cpu)
		array_push(&events->running, ETL_NONE);
	events->running.items[record->cpu] = tid;
}

uint32_t etl_running(const struct etl_events *events, const struct etl_record *record) {
	return record->cpu < events->running.count ? events->running.items[record->cpu] : ETL_NONE;
}

static struct etl_wait *wait_of(struct etl_events *events, uint32_t tid) {
	uint64_t *index = map_put(&events->wait_index, tid);
	if (!*index) {
		array_push(&events->waits, (struct etl_wait){0});
		*index = events->waits.count;
	}
	return &events->waits.items[*index - 1];
}

// The thread that gets the CPU has waited until now.
static int push_wait(struct etl_events *events, const struct etl_record *record, uint32_t tid) {
	struct etl_wait *wait = wait_of(events, tid), waited = *wait;
	uint32_t stack = waited.since ? etl_stacks_of(&events->stacks, record->time, tid) : 0;
	*wait = (struct etl_wait){0};
	if (!stack)
		return 0;
	uint64_t ready = waited.ready >= waited.since ? waited.ready : events->time;
	struct event sample = etl_event_of(events, record, EVENT_SAMPLE);
	sample.tid = tid;
	sample.pid = etl_pid_of(events, tid);
	sample.sample.name = events->wait_name;
	sample.sample.stack = stack;
	sample.sample.weight = ready - waited.since;
	sample.sample.ready = events->time - ready;
	sample.sample.flags = SAMPLE_WAITS | SAMPLE_WAITED;
	return etl_push(events, &sample);
}

int etl_take_switch(struct etl_events *events, const struct etl_record *record) {
	enum { WAITING = 5, TERMINATED = 4 };
	struct cursor in = cursor_of(record->payload, record->size);
	struct event event = etl_event_of(events, record, EVENT_SWITCH);
	uint32_t next = event.switched.next_tid = cursor_u32(&in);
	event.tid = cursor_u32(&in);
	event.pid = etl_pid_of(events, event.tid);
	event.switched.next_priority = (int8_t)cursor_u8(&in);
	event.switched.priority = (int8_t)cursor_u8(&in);
	cursor_take(&in, 2); // C-state, spare
	event.switched.wait_reason = cursor_u8(&in) + 1u;
	cursor_u8(&in); // mode
	uint8_t state = cursor_u8(&in);
	if (in.failed)
		return 0;
	event.switched.state = state == WAITING      ? STATE_SLEEPING
			       : state == TERMINATED ? STATE_DEAD
						     : STATE_RUNNING; // ready: it was preempted
	if (event.tid)
		*wait_of(events, event.tid) = (struct etl_wait){state == WAITING ? events->time : 0, 0};
	int error = next && events->stacks.active ? push_wait(events, record, next) : 0;
	etl_set_running(events, record, next);
	return error ? error : etl_push(events, &event);
}

int etl_take_ready(struct etl_events *events, const struct etl_record *record) {
	struct cursor in = cursor_of(record->payload, record->size);
	struct event event = etl_event_of(events, record, EVENT_WAKING);
	event.waking.wakee_tid = cursor_u32(&in);
	event.waking.target_cpu = record->cpu;
	if (in.failed)
		return 0;
	uint32_t running = etl_running(events, record);
	if (record->tid == ETL_NONE && running != ETL_NONE)
		event.tid = running;
	struct etl_wait *wait = wait_of(events, event.waking.wakee_tid);
	if (wait->since && !wait->ready)
		wait->ready = events->time;
	int error = etl_push(events, &event);
	event.pid = etl_pid_of(events, event.tid);
	return error ? error
		     : etl_push_stack(events, &event, events->ready_name,
				      etl_stacks_of(&events->stacks, record->time, record->tid));
}
