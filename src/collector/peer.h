// Who is at the other end of a connection, and whose a process is. All comes from the kernel: nothing that a
// client says about itself counts.
#pragma once

#include "format/collector_wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	bool all;              // may trace every process: root with all its rights
	bool sees_all;         // sees names of other users' tasks, and whole kernel stacks
	uint64_t capabilities; // that its tasks may have, too
};

int peer_of(int connection, gid_t admins, struct peer *peer); // 0 or -errno

// Is it in our user namespace? In one of his own, a user can be thousands of users (subuid(5)), each with a
// quota, and no task there is recorded.
bool peer_is_here(const struct peer *peer);

// Fills in `all`, `sees_all` for root, and `capabilities`, from a pidfd of the peer itself.
enum collector_refusal peer_look(struct peer *peer, int pidfd);

// May this peer's session record that process? The programs check it again, at each event, for what may have
// changed since: here it is about an answer that explains.
enum collector_refusal peer_may_follow(const struct peer *peer, int pidfd);
