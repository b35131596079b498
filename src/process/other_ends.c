// /proc lists the descriptors of each process, and the sockets of each network with the number that a
// descriptor has, too. A pipe has one number for both of its ends: how a descriptor is open tells which.
#include "process/other_ends.h"

#include "base/array.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_DESCRIPTORS = 1 << 16, MOST_NAMED = 3 };

struct open_descriptor {
	pid_t pid;
	int number;
	bool is_pipe;
	uint64_t inode;
};

struct other_ends {
	ARRAY(struct open_descriptor) list;
};

// ---- all descriptors ----

static bool read_target(const char *target, bool *is_pipe, uint64_t *inode) {
	*is_pipe = strncmp(target, "pipe:[", 6) == 0;
	return sscanf(target, *is_pipe ? "pipe:[%" SCNu64 "]" : "socket:[%" SCNu64 "]", inode) == 1;
}

static void add_process(struct other_ends *ends, pid_t pid) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder && (entry = readdir(folder)) && ends->list.count < MOST_DESCRIPTORS) {
		char target[64];
		struct open_descriptor one = {.pid = pid, .number = atoi(entry->d_name)};
		ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		target[size > 0 ? size : 0] = 0;
		if (read_target(target, &one.is_pipe, &one.inode))
			array_push(&ends->list, one);
	}
	if (folder)
		closedir(folder);
}

struct other_ends *other_ends_new(void) {
	struct other_ends *ends = memory_alloc(sizeof(*ends));
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	while (folder && (entry = readdir(folder)))
		if (atoi(entry->d_name) > 0)
			add_process(ends, (pid_t)atoi(entry->d_name));
	if (folder)
		closedir(folder);
	return ends;
}

void other_ends_free(struct other_ends *ends) {
	if (ends)
		array_free(&ends->list);
	free(ends);
}

// ---- who has them ----

// O_RDONLY, O_WRONLY or O_RDWR; -1 if unknown.
static int how_open(const struct open_descriptor *descriptor) {
	char path[64];
	unsigned flags = 0;
	bool known = false;
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)descriptor->pid, descriptor->number);
	FILE *file = fopen(path, "re");
	for (char line[128]; file && !known && fgets(line, sizeof(line), file);)
		known = sscanf(line, "flags: %o", &flags) == 1;
	if (file)
		fclose(file);
	return known ? (int)(flags & O_ACCMODE) : -1;
}

static void add_name(struct buffer *out, pid_t pid) {
	char path[64], name[64] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *file = fopen(path, "re");
	if (file && fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = 0;
	if (file)
		fclose(file);
	CLEANUP_FREE char *plain = text_plain_copy(name);
	buffer_printf(out, "%s (%d)", plain, (int)pid);
}

// The processes that have this open, in a way that is not `not_open`; "no process" if there are none.
static void add_holders(const struct other_ends *ends, uint64_t inode, bool is_pipe, int not_open,
			struct buffer *out) {
	pid_t last = 0;
	unsigned count = 0;
	for (size_t i = 0; i < ends->list.count; i++) {
		const struct open_descriptor *one = &ends->list.items[i];
		if (one->inode != inode || one->is_pipe != is_pipe || one->pid == last ||
		    (is_pipe && how_open(one) == not_open))
			continue;
		last = one->pid;
		if (++count > MOST_NAMED)
			continue;
		buffer_text(out, count > 1 ? ", " : "");
		add_name(out, one->pid);
	}
	if (count > MOST_NAMED)
		buffer_printf(out, " and %u more", count - MOST_NAMED);
	if (!count)
		buffer_text(out, "no process");
}

static void describe_pipe(const struct other_ends *ends, uint64_t inode, struct buffer *out) {
	buffer_text(out, "read by ");
	add_holders(ends, inode, true, O_WRONLY, out);
	buffer_text(out, ", written by ");
	add_holders(ends, inode, true, O_RDONLY, out);
}

// ---- sockets ----

struct socket_line {
	char local[33], remote[33];
	unsigned local_port, remote_port, state;
	uint64_t inode;
};

static bool read_socket(const char *line, struct socket_line *socket) {
	return sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %*u %*u %" SCNu64,
		      socket->local, &socket->local_port, socket->remote, &socket->remote_port,
		      &socket->state, &socket->inode) == 6;
}

// The kernel prints addresses as words in the machine's order of bytes.
static void add_address(struct buffer *out, const char *hexadecimal, unsigned port) {
	uint32_t words[4] = {0};
	char text[INET6_ADDRSTRLEN] = "";
	size_t count = strlen(hexadecimal) / 8;
	for (size_t i = 0; i < MIN(count, ARRAY_SIZE(words)); i++) {
		char digits[9] = "";
		memcpy(digits, hexadecimal + 8 * i, 8);
		words[i] = (uint32_t)strtoul(digits, NULL, 16);
	}
	inet_ntop(count > 1 ? AF_INET6 : AF_INET, words, text, sizeof(text));
	buffer_printf(out, count > 1 ? "[%s]:%u" : "%s:%u", text, port);
}

static bool is_peer(const struct socket_line *one, const struct socket_line *other) {
	return one->remote_port && one->local_port == other->remote_port &&
	       one->remote_port == other->local_port && strcmp(one->local, other->remote) == 0 &&
	       strcmp(one->remote, other->local) == 0;
}

static const char *state_words(unsigned state) {
	static const char *const words[] = {
		"",        "established", "connecting",         "connecting", "closing",   "closing",
		"closing", "closed",      "closed by the peer", "closing",    "listening", "closing"};
	return state < ARRAY_SIZE(words) ? words[state] : "";
}

static FILE *open_sockets(pid_t pid, const char *protocol) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, protocol);
	return fopen(path, "re");
}

// A socket that is the other end of this one, on the same machine.
static void add_peer(const struct other_ends *ends, pid_t pid, const char *protocol,
		     const struct socket_line *socket, struct buffer *out) {
	FILE *file = open_sockets(pid, protocol);
	struct socket_line other;
	for (char line[512]; file && fgets(line, sizeof(line), file);)
		if (read_socket(line, &other) && other.inode && is_peer(socket, &other)) {
			buffer_text(out, "; its peer is ");
			add_holders(ends, other.inode, false, -1, out);
			break;
		}
	if (file)
		fclose(file);
}

static void describe_internet(const struct other_ends *ends, pid_t pid, const char *protocol,
			      const struct socket_line *socket, struct buffer *out) {
	bool is_tcp = protocol[0] == 't';
	buffer_printf(out, "%s ", is_tcp ? "TCP" : "UDP");
	add_address(out, socket->local, socket->local_port);
	if (socket->remote_port) {
		buffer_text(out, " to ");
		add_address(out, socket->remote, socket->remote_port);
	}
	if (is_tcp && *state_words(socket->state))
		buffer_printf(out, ", %s", state_words(socket->state));
	if (socket->remote_port)
		add_peer(ends, pid, protocol, socket, out);
}

static bool find_internet(const struct other_ends *ends, pid_t pid, uint64_t inode, struct buffer *out) {
	static const char *const protocols[] = {"tcp", "tcp6", "udp", "udp6"};
	bool found = false;
	for (size_t i = 0; i < ARRAY_SIZE(protocols) && !found; i++) {
		FILE *file = open_sockets(pid, protocols[i]);
		struct socket_line socket;
		for (char line[512]; file && !found && fgets(line, sizeof(line), file);)
			found = read_socket(line, &socket) && socket.inode == inode;
		if (file)
			fclose(file);
		if (found)
			describe_internet(ends, pid, protocols[i], &socket, out);
	}
	return found;
}

static bool find_local(pid_t pid, uint64_t inode, struct buffer *out) {
	FILE *file = open_sockets(pid, "unix");
	bool found = false;
	for (char line[512]; file && !found && fgets(line, sizeof(line), file);) {
		uint64_t number;
		char path[256] = "";
		int fields = sscanf(line, "%*x: %*x %*x %*x %*x %*x %" SCNu64 " %255[^\n]", &number, path);
		found = fields >= 1 && number == inode;
		if (!found)
			continue;
		CLEANUP_FREE char *plain = text_plain_copy(path);
		buffer_printf(out, "Unix socket%s%s", *path ? " " : "", plain);
	}
	if (file)
		fclose(file);
	return found;
}

bool other_ends_describe(const struct other_ends *ends, pid_t pid, const char *target, struct buffer *out) {
	uint64_t inode;
	bool is_pipe;
	if (!read_target(target, &is_pipe, &inode))
		return false;
	if (!is_pipe)
		return find_internet(ends, pid, inode, out) || find_local(pid, inode, out);
	describe_pipe(ends, inode, out);
	return true;
}
