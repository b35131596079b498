#include "collector/peer.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// Does the other end belong to this group? The kernel knows from when it connected.
static bool is_in_group(int connection, const struct ucred *peer, gid_t group) {
	enum { USUAL = 64 };
	gid_t usual[USUAL], *groups = usual;
	CLEANUP_FREE gid_t *many = NULL;
	socklen_t size = sizeof(usual);
	if (group == (gid_t)-1 || peer->gid == group)
		return group != (gid_t)-1;
	int error = getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups, &size) ? errno : 0;
	if (error == ERANGE) { // it has set the size
		groups = many = memory_alloc(size);
		error = getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups, &size) ? errno : 0;
	}
	for (size_t i = 0; !error && i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

int peer_of(int connection, gid_t admins, struct peer *peer) {
	struct ucred found;
	socklen_t size = sizeof(found);
	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &found, &size))
		return -errno;
	*peer = (struct peer){.uid = found.uid,
			      .gid = found.gid,
			      .pid = found.pid,
			      .sees_all = is_in_group(connection, &found, admins)};
	return 0;
}

// A small file of /proc as text; false if it cannot be read.
static bool read_proc(const char *path, char *text, size_t room) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, room - 1);
	if (fd >= 0)
		close(fd);
	text[MAX(got, 0)] = 0;
	return got > 0;
}

// The process id behind a pidfd; 0 if it is something else, or its process has ended or is not visible here.
static pid_t pid_of(int pidfd) {
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	const char *line = read_proc(path, text, sizeof(text)) ? strstr(text, "\nPid:") : NULL;
	int pid = 0;
	return line && sscanf(line, "\nPid: %d", &pid) == 1 ? MAX(pid, 0) : 0;
}

// As long as a process has not ended, its id means no other.
static bool has_ended(int pidfd) {
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) != 0;
}

static bool has_all_rights(uint64_t capabilities) {
	enum { CAP_SYS_PTRACE = 19, CAP_SYS_ADMIN = 21 };
	return capabilities >> CAP_SYS_PTRACE & capabilities >> CAP_SYS_ADMIN & 1;
}

// In a user namespace of its own, root's rights are worth nothing here.
static bool same_ids_as_here(pid_t pid) {
	char path[64], ours[1024], theirs[1024];
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	return read_proc("/proc/self/uid_map", ours, sizeof(ours)) &&
	       read_proc(path, theirs, sizeof(theirs)) && strcmp(ours, theirs) == 0;
}

bool peer_is_here(const struct peer *peer) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)peer->pid);
	// Where /proc hides processes of others, as much is known as before.
	return same_ids_as_here(peer->pid) || (access(path, F_OK) && kill(peer->pid, 0) && errno == EPERM);
}

enum collector_refusal peer_look(struct peer *peer, int pidfd) {
	char path[64], text[4096];
	if (pid_of(pidfd) != peer->pid)
		return COLLECTOR_NO_NOT_YOURS;
	if (peer->uid) // of others no task with any capability is recorded
		return peer_may_follow(peer, pidfd);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)peer->pid);
	const char *line = read_proc(path, text, sizeof(text)) ? strstr(text, "\nCapPrm:") : NULL;
	if (line)
		sscanf(line, "\nCapPrm: %" SCNx64, &peer->capabilities);
	peer->all = has_all_rights(peer->capabilities) && same_ids_as_here(peer->pid);
	peer->sees_all |= peer->all;
	return has_ended(pidfd) ? COLLECTOR_NO_GONE : COLLECTOR_ACCEPTED;
}

enum collector_refusal peer_may_follow(const struct peer *peer, int pidfd) {
	struct stat folder;
	char path[64];
	pid_t pid = pid_of(pidfd);
	if (!pid || has_ended(pidfd))
		return COLLECTOR_NO_GONE;
	// The folder belongs to the process's effective user, or to root if it may not be looked into.
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	bool foreign = !peer->all && stat(path, &folder) == 0 &&
		       (folder.st_uid != peer->uid || folder.st_gid != peer->gid);
	if (has_ended(pidfd))
		return COLLECTOR_NO_GONE;
	return foreign ? COLLECTOR_NO_NOT_YOURS : COLLECTOR_ACCEPTED;
}
