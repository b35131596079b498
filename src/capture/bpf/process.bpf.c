/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The life of processes and threads, and how a session follows them: a new task gets the slot of
// its creator before it can run.
#include "capture/bpf/emit.h"

enum { SIGNAL_GROUP_EXIT = 4 };

// After copy_process(), which fork, clone and io_uring workers all pass.
SEC("tp_btf/task_newtask")
int on_newtask(uint64_t *context) {
	struct task_struct *child = (void *)context[0];
	struct task_struct *creator = bpf_get_current_task_btf();
	uint32_t slot = slot_of(creator);
	if (slot == NO_SLOT)
		return 0;
	if (system_slot == NO_SLOT && !join(child, &slot)) {
		struct slot *session = slot_get(slot);
		if (session)
			__sync_fetch_and_add(&session->unfollowed, 1);
	}
	union any_record record = {};
	record.fork = (struct record_fork){
		.head = {.kind = RECORD_FORK},
		.tid = creator->pid,
		.pid = creator->tgid,
		.child_tid = child->pid,
		.child_pid = child->tgid,
		.parent_pid = BPF_CORE_READ(child, real_parent, tgid),
	};
	bpf_probe_read_kernel(record.fork.name, RECORD_NAME_SIZE, &child->comm);
	return EMIT(&record, slot, fork, SOURCE_PROCESS);
}

// An exec is long and rare, so it gets room in the ring directly, with `room` bytes for the
// arguments (a constant; the unused part is not written to the spool).
static __always_inline bool emit_exec(void *ring, uint32_t room, uint64_t *context) {
	struct task_struct *task = (void *)context[0];
	struct linux_binprm *program = (void *)context[2];
	struct batch *batch = bpf_ringbuf_reserve(
		ring, sizeof(*batch) + sizeof(struct record_exec) + EXEC_FILE_SIZE + room + 8, 0);
	if (!batch)
		return false;
	struct record_exec *record = (void *)(batch + 1);
	char *text = (void *)(record + 1);
	long file_size = bpf_probe_read_kernel_str(text, EXEC_FILE_SIZE, BPF_CORE_READ(program, filename));
	if (file_size < 1) {
		file_size = 1;
		text[0] = 0;
	}
	unsigned long begin = BPF_CORE_READ(task, mm, arg_start);
	uint64_t arguments_size = BPF_CORE_READ(task, mm, arg_end) - begin;
	uint8_t flags = 0;
	if (arguments_size > room) {
		arguments_size = room;
		flags = EXEC_TRUNCATED;
	}
	file_size &= EXEC_FILE_SIZE * 2 - 1;
	if (file_size > EXEC_FILE_SIZE)
		file_size = EXEC_FILE_SIZE;
	if (bpf_probe_read_user(text + file_size, arguments_size, (void *)begin))
		arguments_size = 0;
	uint64_t nothing = 0; // after the text, instead of what was in the ring
	bpf_probe_read_kernel(text + file_size + arguments_size, sizeof(nothing), &nothing);
	uint32_t size = (sizeof(*record) + file_size + arguments_size + 7) & ~7u;
	*batch = (struct batch){.base = boot_time(), .cpu = bpf_get_smp_processor_id(), .size = size};
	record->head = (struct record){.kind = RECORD_EXEC, .flags = flags, .size = size};
	record->tid = task->pid;
	record->pid = task->tgid;
	record->old_tid = context[1];
	record->file_size = file_size;
	record->arguments_size = arguments_size;
	bpf_probe_read_kernel(record->name, sizeof(record->name), &task->comm);
	bpf_ringbuf_submit(batch, BPF_RB_NO_WAKEUP);
	return true;
}

// Takes the task out of its session before anything of the new program is recorded. The trace says
// why it ends there.
static __always_inline void leave_session(struct task_struct *task, uint32_t slot) {
	union any_record record = {};
	record.rename = (struct record_rename){.head = {.kind = RECORD_RENAME},
					       .tid = task->pid,
					       .pid = task->tgid,
					       .name = RECORD_NAME_OTHER_USER};
	EMIT(&record, slot, rename, SOURCE_PROCESS);
	forget(task);
	__sync_fetch_and_add(&task_generation, 1);
	struct cpu_state *cpu = this_cpu();
	if (cpu) {
		cpu->slot = NO_SLOT;
		cpu->follower = slot; // the next switch ends its last slice
	}
}

SEC("tp_btf/sched_process_exec")
int on_exec(uint64_t *context) {
	struct task_struct *task = (void *)context[0];
	uint32_t slot = slot_of(task);
	if (slot == NO_SLOT)
		return 0;
	if (system_slot == NO_SLOT && is_beyond_owner(task, slot)) {
		leave_session(task, slot);
		return 0;
	}
	uint32_t index = slot_index(slot);
	struct slot *session = slot_get(slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!session || !session->recording || !ring)
		return 0;
	uint64_t arguments = BPF_CORE_READ(task, mm, arg_end) - BPF_CORE_READ(task, mm, arg_start);
	bool shorter = arguments <= EXEC_ARGUMENTS_SHORT;
	if (!(shorter ? emit_exec(ring, EXEC_ARGUMENTS_SHORT, context)
		      : emit_exec(ring, EXEC_ARGUMENTS_LONG, context)))
		count_loss(slot, SOURCE_PROCESS, 1);
	return 0;
}

SEC("tp_btf/task_rename")
int on_rename(uint64_t *context) {
	struct task_struct *task = (void *)context[0];
	uint32_t slot = slot_of(task);
	if (slot == NO_SLOT)
		return 0;
	union any_record record = {};
	record.rename = (struct record_rename){
		.head = {.kind = RECORD_RENAME}, .tid = task->pid, .pid = task->tgid};
	bpf_probe_read_kernel_str(record.rename.name, RECORD_NAME_SIZE, (void *)context[1]);
	return EMIT(&record, slot, rename, SOURCE_PROCESS);
}

SEC("tp_btf/sched_process_exit")
int on_exit(uint64_t *context) {
	struct task_struct *task = (void *)context[0];
	uint32_t slot = slot_of(task);
	if (slot == NO_SLOT)
		return 0;
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	bool group = BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT;
	union any_record record = {};
	record.exit = (struct record_exit){
		.head = {.kind = RECORD_EXIT,
			 .flags = BPF_CORE_READ(signal, live.counter) == 0 ? EXIT_LAST : 0},
		.tid = task->pid,
		.pid = task->tgid,
		.code = group ? BPF_CORE_READ(signal, group_exit_code) : task->exit_code,
	};
	return EMIT(&record, slot, exit, SOURCE_PROCESS);
}
