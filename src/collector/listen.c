#include "collector/listen.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

// The protocol of systemd: LISTEN_PID is us, and the first socket is descriptor 3. -1 if there is none.
static int passed_socket(void) {
	enum { FIRST = 3 };
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int type = 0;
	socklen_t size = sizeof(type);
	bool ours = pid && count && strtol(pid, NULL, 10) == getpid() && strtol(count, NULL, 10) == 1;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (!ours || getsockopt(FIRST, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET)
		return -1;
	fcntl(FIRST, F_SETFD, FD_CLOEXEC);
	fcntl(FIRST, F_SETFL, O_NONBLOCK);
	return FIRST;
}

// A socket that a killed collector left; one that is in use stays.
static bool remove_stale(const struct sockaddr_un *address) {
	struct stat file;
	if (lstat(address->sun_path, &file) || !S_ISSOCK(file.st_mode))
		return errno == ENOENT;
	int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool stale = connect(probe, (const struct sockaddr *)address, sizeof(*address)) &&
		     errno == ECONNREFUSED;
	close(probe);
	return stale && unlink(address->sun_path) == 0;
}

// A name or a number; false if there is no such group.
static bool find_group(const char *text, gid_t *gid) {
	const struct group *group = getgrnam(text);
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	*gid = group ? group->gr_gid : (gid_t)number;
	return group || (*text && !*end && number < (gid_t)-1);
}

bool listen_find_admins(const struct collector_options *options, gid_t *gid) {
	bool found = find_group(options->admins ? options->admins : "tracelet-admin", gid);
	if (!found)
		*gid = (gid_t)-1;
	if (!found && options->admins)
		log_error("there is no group '%s'", options->admins);
	return found || !options->admins;
}

// Gives the socket to the group. -errno if the group that was named does not exist.
static int open_to_group(const char *path, const char *name) {
	gid_t gid;
	if (!find_group(name ? name : "tracelet", &gid))
		return name ? -ENOENT : 0;
	return chown(path, (uid_t)-1, gid) || chmod(path, 0660) ? -errno : 0;
}

static int open_socket(const struct collector_options *options, const struct sockaddr_un *address) {
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask = umask(0177); // ours alone until it has its group
	int error = fd < 0 || bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
	umask(mask);
	if (!error)
		error = open_to_group(address->sun_path, options->group);
	if (!error && listen(fd, BACKLOG))
		error = -errno;
	if (error && fd >= 0)
		close(fd);
	return error ? error : fd;
}

static void make_folder(const char *path) {
	CLEANUP_FREE char *folder = memory_string(path);
	char *slash = strrchr(folder, '/');
	if (slash && slash != folder) {
		*slash = 0;
		mkdir(folder, 0755);
	}
}

int listen_open(const struct collector_options *options, bool *made) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = passed_socket();
	*made = fd < 0;
	if (fd >= 0)
		return fd;
	if (strlen(options->socket) >= sizeof(address.sun_path)) {
		log_error("%s: longer than a socket's path may be (%zu bytes)", options->socket,
			  sizeof(address.sun_path) - 1);
		return -1;
	}
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", options->socket);
	make_folder(options->socket);
	fd = remove_stale(&address) ? open_socket(options, &address) : -EADDRINUSE;
	if (fd < 0)
		log_error("%s: cannot listen: %s", options->socket,
			  fd == -EADDRINUSE ? "another collector listens there, or it is not a socket"
			  : fd == -ENOENT && options->group ? "there is no such group or directory"
							    : strerror(-fd));
	return MAX(fd, -1);
}
