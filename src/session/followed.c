#include "session/followed.h"
#include "base/log.h"
#include "base/text.h"
#include "capture/tasks.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

void followed_choose(struct followed *followed, pid_t pid) {
	*followed = FOLLOWED_NONE;
	pid_t chosen = pid ? pid : ancestor_caller();
	if (!ancestor_read(chosen, &followed->process))
		followed->process.pid = chosen; // following it will fail and report why
	if (!pid)
		ancestors_in_job(chosen, &followed->wider);
}

// -1 if it has ended; its pid may have been reused.
static int open_process(const struct ancestor *process) {
	struct ancestor now;
	int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (fd >= 0 && ancestor_read(process->pid, &now) && now.start == process->start)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

void followed_begin(struct followed *followed) {
	followed->ended = open_process(&followed->process);
}

void followed_free(struct followed *followed) {
	if (followed->ended >= 0)
		close(followed->ended);
	array_free(&followed->wider);
}

static bool follow(struct followed *followed, struct recording *recording, const struct ancestor *process) {
	pid_array processes = {0};
	followed->ended = open_process(process);
	if (followed->ended < 0)
		return false;
	task_tree(process->pid, getpid(), &processes);
	bool follows = recording_follow(recording, processes.items, processes.count) == 0;
	array_free(&processes);
	if (!follows) {
		close(followed->ended);
		followed->ended = -1;
	}
	return follows;
}

bool followed_next(struct followed *followed, struct recording *recording, char *words, size_t size) {
	CLEANUP_FREE char *name = text_plain_copy(followed->process.name);
	int pid = (int)followed->process.pid;
	close(followed->ended);
	followed->ended = -1;
	while (followed->tried < followed->wider.count) {
		const struct ancestor *next = &followed->wider.items[followed->tried++];
		if (!follow(followed, recording, next))
			continue;
		log_verbose("process %d (%s) has ended; recording process %d and what it starts", pid, name,
			    (int)next->pid);
		followed->process = *next;
		return true;
	}
	snprintf(words, size,
		 "process %d (%s), which it followed, has ended: new processes are not recorded; follow one "
		 "that outlives the steps (start --pid PID) or record the whole system (--scope system)",
		 pid, name);
	log_warning("%s: %s", recording->name, words);
	return false;
}
