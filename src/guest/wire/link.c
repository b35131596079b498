#include "guest/wire/link.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

enum {
	PORT_WRITE = 32 << 10,  // bytes of one write() that a virtio port takes
	PIPE_BYTES = 512 << 10, // more than a chunk (channel.h) with its header
};

static const struct link no_link = {.in = -1, .out = -1, .edge = -1, .pipe = {-1, -1}};

static int fail(char why[LINK_WHY], int error, const char *what) {
	snprintf(why, LINK_WHY, "%s: %s", what, strerror(-error));
	return error;
}

static void use_socket(struct link *link, int fd) {
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	*link = no_link;
	link->in = link->out = fd;
}

// ---- sockets ----

static int connect_within(int fd, const struct sockaddr *address, socklen_t size, double seconds) {
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (connect(fd, address, size) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	int error = 0;
	socklen_t length = sizeof(error);
	if (poll(&wait, 1, (int)(seconds * 1000)) != 1)
		return -ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	return -error;
}

static int unix_address(const char *path, struct sockaddr_un *address) {
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!*path || strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	strcpy(address->sun_path, path);
	return 0;
}

static int connect_unix(struct link *link, const char *path, double seconds, char why[LINK_WHY]) {
	struct sockaddr_un address;
	int error = unix_address(path, &address);
	int fd = error ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(why, error ? error : -errno, path);
	error = connect_within(fd, (struct sockaddr *)&address, sizeof(address), seconds);
	if (error) {
		close(fd);
		return fail(why, error, path);
	}
	use_socket(link, fd);
	return 0;
}

static bool parse_number(const char *text, unsigned long most, unsigned long *number) {
	char *end;
	*number = strtoul(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end && *number <= most;
}

// Hybrid vsock: a Unix socket that takes "CONNECT PORT" and answers "OK".
static int connect_hybrid(struct link *link, const char *rest, double seconds, char why[LINK_WHY]) {
	CLEANUP_FREE char *path = memory_string(rest);
	unsigned long port = LINK_PORT_NUMBER;
	char *colon = strrchr(path, ':'), line[64], answer[64] = "";
	if (colon && parse_number(colon + 1, UINT32_MAX, &port))
		*colon = 0;
	int error = connect_unix(link, path, seconds, why);
	if (error)
		return error;
	int length = snprintf(line, sizeof(line), "CONNECT %lu\n", port);
	bool good = write(link->out, line, (size_t)length) == length;
	for (size_t size = 0; good && size < sizeof(answer) - 1 && !strchr(answer, '\n'); size++) {
		struct pollfd wait = {.fd = link->in, .events = POLLIN};
		good = poll(&wait, 1, (int)(seconds * 1000)) == 1 && read(link->in, answer + size, 1) == 1;
	}
	if (good && strncmp(answer, "OK ", 3) == 0)
		return 0;
	link_close(link);
	snprintf(why, LINK_WHY, "%s: nothing listens on port %lu in the guest", path, port);
	return -ECONNREFUSED;
}

static int connect_vsock(struct link *link, const char *rest, double seconds, char why[LINK_WHY]) {
	unsigned long cid, port = LINK_PORT_NUMBER;
	CLEANUP_FREE char *text = memory_string(rest);
	char *colon = strchr(text, ':');
	if (colon)
		*colon = 0;
	if (strchr(rest, '/') || !parse_number(text, UINT32_MAX, &cid) ||
	    (colon && !parse_number(colon + 1, UINT32_MAX, &port)))
		return connect_hybrid(link, rest, seconds, why);
	struct sockaddr_vm address = {
		.svm_family = AF_VSOCK, .svm_cid = (unsigned)cid, .svm_port = (unsigned)port};
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	// The kernel's own limit is two seconds, too few for a guest on a busy machine.
	struct timeval limit = {.tv_sec = (time_t)seconds + 1};
	if (fd >= 0)
		setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &limit, sizeof(limit));
	int error = fd < 0 ? -errno
			   : connect_within(fd, (struct sockaddr *)&address, sizeof(address), seconds);
	if (error) {
		if (fd >= 0)
			close(fd);
		return fail(why, error, rest);
	}
	use_socket(link, fd);
	return 0;
}

static int resolve(const char *rest, int flags, struct addrinfo **list, char why[LINK_WHY]) {
	CLEANUP_FREE char *host = memory_string(rest);
	char *colon = strrchr(host, ':'), *name = host;
	if (colon)
		*colon = 0;
	if (*host == '[' && host[strlen(host) - 1] == ']') {
		host[strlen(host) - 1] = 0;
		name++;
	}
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
	char port[16];
	snprintf(port, sizeof(port), "%d", LINK_PORT_NUMBER);
	int code = getaddrinfo(*name ? name : NULL, colon ? colon + 1 : port, &hints, list);
	if (!code)
		return 0;
	snprintf(why, LINK_WHY, "%s: %s", rest, gai_strerror(code));
	return -EINVAL;
}

static int connect_tcp(struct link *link, const char *rest, double seconds, char why[LINK_WHY]) {
	struct addrinfo *list;
	int error = resolve(rest, 0, &list, why), fd = -1;
	if (error)
		return error;
	for (struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		error = fd < 0 ? -errno : connect_within(fd, at->ai_addr, at->ai_addrlen, seconds);
		if (error && fd >= 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	if (fd < 0)
		return fail(why, error, rest);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	use_socket(link, fd);
	return 0;
}

// ---- others ----

static int open_serial(struct link *link, const char *path, char why[LINK_WHY]) {
	struct termios line;
	int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fail(why, -errno, path);
	if (tcgetattr(fd, &line) == 0) {
		cfmakeraw(&line);
		line.c_cflag |= CLOCAL;
		tcsetattr(fd, TCSANOW, &line);
	}
	use_socket(link, fd);
	link->kind = LINK_SERIAL;
	return 0;
}

static int connect_command(struct link *link, const char *command, char why[LINK_WHY]) {
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return fail(why, -errno, command);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		setpgid(0, 0); // the terminal's signals are for the command in the guest
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(ends[1]);
	use_socket(link, ends[0]);
	link->helper = pid;
	return pid < 0 ? fail(why, -errno, command) : 0;
}

int link_connect(struct link *link, const char *address, double seconds, char why[LINK_WHY]) {
	const char *colon = strchr(address, ':'), *rest = colon ? colon + 1 : "";
	size_t length = colon ? (size_t)(colon - address) : 0;
	*link = no_link;
	if (*rest && length == 4 && memcmp(address, "unix", 4) == 0)
		return connect_unix(link, rest, seconds, why);
	if (*rest && length == 5 && memcmp(address, "vsock", 5) == 0)
		return connect_vsock(link, rest, seconds, why);
	if (*rest && length == 3 && memcmp(address, "tcp", 3) == 0)
		return connect_tcp(link, rest, seconds, why);
	if (*rest && length == 6 && memcmp(address, "serial", 6) == 0)
		return open_serial(link, rest, why);
	if (*rest && length == 4 && memcmp(address, "exec", 4) == 0)
		return connect_command(link, rest, why);
	snprintf(why, LINK_WHY,
		 "'%s' is not a guest's address; use unix:PATH, vsock:CID[:PORT], vsock:PATH, tcp:HOST:PORT, "
		 "serial:DEVICE or exec:COMMAND",
		 address);
	return -EINVAL;
}

// ---- listening ----

// /dev/vport0p1 for the port with this name; it appears some time after the driver.
static char *find_port(const char *name) {
	if (*name == '/')
		return memory_string(name);
	DIR *folder = opendir("/sys/class/virtio-ports");
	char *found = NULL;
	for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		CLEANUP_FREE char *path = memory_format("/sys/class/virtio-ports/%s/name", entry->d_name);
		FILE *file = *entry->d_name == '.' ? NULL : fopen(path, "re");
		char text[128] = "";
		if (file && fgets(text, sizeof(text), file)) {
			text[strcspn(text, "\n")] = 0;
			if (strcmp(text, name) == 0)
				found = memory_format("/dev/%s", entry->d_name);
		}
		if (file)
			fclose(file);
	}
	if (folder)
		closedir(folder);
	return found;
}

static void open_pipe(struct link *link) {
	if (pipe2(link->pipe, O_CLOEXEC | O_NONBLOCK))
		link->pipe[0] = link->pipe[1] = -1;
	else
		fcntl(link->pipe[1], F_SETPIPE_SZ, PIPE_BYTES); // refused: it has 64 KiB
}

static void close_pipe(struct link *link) {
	for (int i = 0; i < 2; i++) {
		if (link->pipe[i] >= 0)
			close(link->pipe[i]);
		link->pipe[i] = -1;
	}
}

// While no host is connected, poll() on a port always returns at once. An epoll descriptor that waits for
// edges shows only changes, and can itself be polled.
static int open_port(struct link *link, const char *name, char why[LINK_WHY]) {
	CLEANUP_FREE char *path = find_port(name);
	int fd = path ? open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
	if (fd < 0) {
		snprintf(why, LINK_WHY, "virtio port %s: %s", name,
			 path ? strerror(errno) : "no port with this name");
		return path ? -errno : -ENOENT;
	}
	use_socket(link, fd);
	link->kind = LINK_PORT;
	link->edge = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event edge = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
	link->absent = link->edge >= 0 && epoll_ctl(link->edge, EPOLL_CTL_ADD, fd, &edge) == 0;
	open_pipe(link);
	return 0;
}

static int listen_on(int fd, const struct sockaddr *address, socklen_t size, const char *name,
		     char why[LINK_WHY]) {
	if (fd < 0)
		return fail(why, -errno, name);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(fd, address, size) == 0 && listen(fd, 16) == 0)
		return fd;
	int error = -errno;
	close(fd);
	return fail(why, error, name);
}

static int listen_unix(const char *path, char why[LINK_WHY]) {
	struct sockaddr_un address;
	struct stat status;
	int error = unix_address(path, &address);
	if (error)
		return fail(why, error, path);
	if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
		unlink(path); // left by an agent that is gone
	int flags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
	mode_t mask = umask(0077); // anyone who can connect can run commands
	int fd = listen_on(socket(AF_UNIX, flags, 0), (struct sockaddr *)&address, sizeof(address), path,
			   why);
	umask(mask);
	return fd;
}

static int listen_vsock(const char *rest, char why[LINK_WHY]) {
	unsigned long port = LINK_PORT_NUMBER;
	if (*rest && !parse_number(rest, UINT32_MAX, &port))
		return fail(why, -EINVAL, rest);
	struct sockaddr_vm address = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = (unsigned)port};
	int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return listen_on(fd, (struct sockaddr *)&address, sizeof(address), "vsock", why);
}

static int listen_tcp(const char *rest, char why[LINK_WHY]) {
	struct addrinfo *list;
	// Numbers only: a static program cannot resolve names.
	int error = resolve(rest, AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV, &list, why);
	if (error)
		return error;
	int fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	fd = listen_on(fd, list->ai_addr, list->ai_addrlen, rest, why);
	freeaddrinfo(list);
	return fd;
}

int listener_open(struct listener *listener, const char *address, char why[LINK_WHY]) {
	const char *colon = strchr(address, ':'), *rest = colon ? colon + 1 : "";
	size_t length = colon ? (size_t)(colon - address) : strlen(address);
	*listener = (struct listener){.socket = -1, .link = no_link};
	if (length == 5 && strcmp(address, "stdio") == 0) {
		listener->link.kind = LINK_STDIO;
		listener->link.in = STDIN_FILENO;
		listener->link.out = STDOUT_FILENO;
		fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
		fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
		return 0;
	}
	if (length == 4 && memcmp(address, "port", 4) == 0 && *rest)
		return open_port(&listener->link, rest, why);
	if (length == 6 && memcmp(address, "serial", 6) == 0 && *rest)
		return open_serial(&listener->link, rest, why);
	if (length == 4 && memcmp(address, "unix", 4) == 0)
		listener->socket = listen_unix(rest, why);
	else if (length == 5 && memcmp(address, "vsock", 5) == 0)
		listener->socket = listen_vsock(rest, why);
	else if (length == 3 && memcmp(address, "tcp", 3) == 0)
		listener->socket = listen_tcp(rest, why);
	else
		snprintf(why, LINK_WHY,
			 "cannot listen on '%s'; use port:NAME, vsock:[PORT], tcp:HOST:PORT, unix:PATH, "
			 "serial:DEVICE or stdio",
			 address);
	return listener->socket < 0 ? -EINVAL : 0;
}

int listener_accept(struct listener *listener, struct link *link) {
	struct sockaddr_storage peer = {0};
	socklen_t size = sizeof(peer);
	int fd = accept4(listener->socket, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); // fails for other kinds of sockets
	use_socket(link, fd);
	link->network = peer.ss_family != AF_UNIX;
	link->stranger = peer.ss_family == AF_VSOCK &&
			 ((struct sockaddr_vm *)&peer)->svm_cid != VMADDR_CID_HOST;
	return 0;
}

// ---- bytes ----

int link_input(const struct link *link) {
	return link->absent ? link->edge : link->in;
}

bool link_ready(struct link *link) {
	struct epoll_event event;
	if (!link->absent)
		return true;
	epoll_wait(link->edge, &event, 1, 0); // this edge has been seen
	struct pollfd now = {.fd = link->in, .events = POLLIN};
	link->absent = poll(&now, 1, 0) == 1 && now.revents & POLLHUP;
	return !link->absent;
}

static ssize_t lost(struct link *link, int error) {
	if (link->kind == LINK_PORT && link->edge >= 0)
		link->absent = true;
	return error;
}

ssize_t link_read(struct link *link, void *bytes, size_t size) {
	ssize_t got = read(link->in, bytes, size);
	if (got > 0)
		return got;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got == 0 && link->kind == LINK_SERIAL)
		return 0;
	return lost(link, got < 0 ? -errno : -ECONNRESET);
}

// A virtio port takes 32 KiB per write(), with an exit to the host for each. From a pipe it takes everything
// at once, and the pages themselves: no extra copy, and one exit. It takes all or nothing.
static ssize_t write_by_pipe(struct link *link, const void *bytes, size_t size) {
	struct pollfd port = {.fd = link->out, .events = POLLOUT};
	if (poll(&port, 1, 0) != 1 || !(port.revents & POLLOUT))
		return 0;
	ssize_t held = write(link->pipe[1], bytes, size);
	if (held <= 0)
		return 0;
	ssize_t put = splice(link->pipe[0], NULL, link->out, NULL, (size_t)held, SPLICE_F_NONBLOCK);
	if (put == held)
		return put;
	bool possible = put >= 0 || errno != EINVAL;
	close_pipe(link); // with what it holds
	if (possible)
		open_pipe(link);
	return MAX(put, 0);
}

ssize_t link_write(struct link *link, const void *bytes, size_t size) {
	ssize_t put = 0;
	if (link->pipe[0] >= 0 && size > PORT_WRITE)
		put = write_by_pipe(link, bytes, size);
	if (!put)
		put = link->kind == LINK_SOCKET ? send(link->out, bytes, size, MSG_NOSIGNAL)
						: write(link->out, bytes, size);
	if (put >= 0)
		return put;
	return errno == EAGAIN || errno == EINTR ? 0 : lost(link, -errno);
}

void link_close(struct link *link) {
	if (link->in >= 0 && link->kind != LINK_STDIO)
		close(link->in);
	if (link->edge >= 0)
		close(link->edge);
	close_pipe(link);
	if (link->helper > 0) {
		kill(-link->helper, SIGTERM);
		waitpid(link->helper, NULL, 0);
	}
	*link = no_link;
}
