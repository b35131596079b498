// The tables of context switches: each run of a thread on a CPU, and the time before it.
#include "analyse/table.h"

#include <stdlib.h>

// By CPU + 1; the first is of no CPU.
static uint32_t *running_on(struct table *table, uint32_t cpu) {
	size_t index = cpu < CPU_COUNT_MOST ? (size_t)cpu + 1 : 0;
	while (table->running.count <= index)
		array_push(&table->running, 0);
	return &table->running.items[index];
}

// The task that leaves gets the time it ran; the one that comes begins anew.
void table_follow_running(struct table *table, const struct event *event) {
	table_task(table, event->switched.next_tid);
	struct task_time *leaves = table_task(table, event->tid);
	if (leaves->came && *running_on(table, event->cpu))
		leaves->running += event->time - leaves->came;
	leaves->came = 0;
	leaves->left = event->time;
	leaves->state = event->switched.state;
	leaves->wait_reason = event->switched.wait_reason;
	leaves->woken = 0;
	*running_on(table, event->cpu) = event->switched.next_tid + 1;
	table_task(table, event->switched.next_tid)->came = event->time;
}

// A task that woke this one, or the kind of interrupt.
static void waker_cells(struct table *table, const struct task_time *task) {
	struct cell *row = table->row;
	uint16_t context = task->waker_context;
	bool task_wakes = task->waker || !context;
	if (task_wakes) {
		row[8] = cell_uint(task->waker);
		row[11] = task->waker_name ? cell_text(task->waker_name)
					   : table_text(table, describer_thread(&table->describer,
										(uint32_t)task->waker));
	}
	if (context)
		row[12] = table_text(table, context & CONTEXT_HARDIRQ ? "hardirq" : "softirq");
}

// A row is one run on a CPU and the time before it.
static void switch_row(struct table *table, const struct event *event, const struct task_time *task) {
	uint32_t pid = task->pid ? task->pid : describer_pid(&table->describer, task->tid);
	bool preempted = task->state == STATE_PREEMPTED || task->state == STATE_RUNNING;
	uint64_t ready_from = task->woken ? task->woken : preempted ? task->left : 0;
	struct cell *row = table->row;
	row[0] = table_time(table, task->came);
	row[1] = cell_cpu(event->cpu);
	row[2] = cell_uint(task->tid);
	row[3] = table_process(table, pid);
	row[4] = table_text(table, describer_thread(&table->describer, task->tid));
	row[5] = cell_microseconds(event->time - task->came);
	if (ready_from && ready_from <= task->came)
		row[6] = cell_microseconds(task->came - ready_from);
	// Without a wakeup event, all the time off the CPU counts as waiting.
	if (task->left && !preempted && (!task->woken || task->woken >= task->left))
		row[7] = cell_microseconds((task->woken ? task->woken : task->came) - task->left);
	if (task->woken)
		waker_cells(table, task);
	if (task->wait_reason)
		row[9] = task->wait_reason <= WAIT_REASON_COUNT
				 ? table_text(table, event_wait_reasons[task->wait_reason - 1])
				 : cell_uint(task->wait_reason - 1u);
	row[10] = cell_uint(event->switched.next_tid);
	table_row(table);
}

void take_switches(struct table *table, const struct event *event) {
	if (event->kind == EVENT_WAKING) {
		struct task_time *task = table_task(table, event->waking.wakee_tid);
		if (!task->came) {
			task->woken = event->time;
			task->waker = event->tid;
			task->waker_context = event->waking.context;
			task->waker_name = event->waking.waker_name;
		}
		return;
	}
	if (event->kind != EVENT_SWITCH)
		return;
	const struct task_time *leaves = table_task(table, event->tid);
	if (leaves->came && event->tid && event->time >= leaves->came)
		switch_row(table, event, leaves);
	table_follow_running(table, event);
}

static int by_time(const void *left, const void *right) {
	const struct cell *a = left, *b = right;
	return a->number < b->number ? -1 : a->number > b->number;
}

// A row is complete when its run ends, but belongs where it begins.
void finish_switches(struct table *table) {
	if (!table->grouped && table->row_count)
		qsort(table->cells.items, table->row_count, table->column_count * sizeof(struct cell),
		      by_time);
}
