#include "capture/collector_wire.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 10 }; // it may have to be started first, on a busy machine

// Only root or we ourselves may record for us. A socket of systemd has the credentials of its listener.
static bool is_trusted(int socket) {
	struct ucred peer;
	socklen_t size = sizeof(peer);
	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

int collector_connect(const char *path) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = ANSWER_SECONDS};
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	int error = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (!error && !is_trusted(fd))
		error = -EPERM;
	if (error)
		close(fd);
	return error ? error : fd;
}

int collector_send(int socket, enum collector_type type, struct collector_request request, int fd) {
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr part;
	} control = {0};
	struct iovec piece = {&request, sizeof(request)};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	request.head = (struct collector_head){
		.version = COLLECTOR_VERSION, .type = (uint16_t)type, .size = sizeof(request)};
	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.part.cmsg_level = SOL_SOCKET;
		control.part.cmsg_type = SCM_RIGHTS;
		control.part.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.part), &fd, sizeof(fd));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(request) ? 0 : -errno;
}

long collector_receive(int socket, void *packet, size_t room, bool wait) {
	struct collector_head head;
	ssize_t got;
	while ((got = recv(socket, packet, room, MSG_TRUNC | (wait ? 0 : MSG_DONTWAIT))) < 0 &&
	       errno == EINTR)
		;
	if (got < 0)
		return errno == EAGAIN ? -EAGAIN : 0;
	if (got == 0)
		return 0;
	if ((size_t)got < sizeof(head) || (size_t)got > room)
		return -EPROTO;
	memcpy(&head, packet, sizeof(head));
	return head.version == COLLECTOR_VERSION && head.size == (size_t)got ? got : -EPROTO;
}

const char *collector_refusal_words(unsigned refusal) {
	static const char *const words[COLLECTOR_REFUSAL_COUNT] = {
#define REFUSAL(name, text) [COLLECTOR_NO_##name] = text,
		COLLECTOR_REFUSALS
#undef REFUSAL
	};
	return refusal < ARRAY_SIZE(words) && words[refusal] ? words[refusal] : "it gave no reason";
}
