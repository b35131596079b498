#include "collector/session.h"
#include "capture/spool.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { MOST_PIECES = 64 };
// The stack of a long wait has the time of the switch, and is written a moment after it.
enum { MOMENT = 100 * 1000 };

// The draining thread hears once when the socket has room again. It does not always listen: each time that
// the client reads, it would wake up for the few events that came meanwhile.
static void await_room(const struct session *session) {
	struct epoll_event room = {.events = EPOLLOUT | EPOLLONESHOT, .data.u64 = session->index};
	epoll_ctl(session->drain_epoll, EPOLL_CTL_MOD, session->fd, &room);
}

// False if there is no room for it now.
static bool send_packet(struct session *session, struct iovec *pieces, size_t count) {
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
	if (sendmsg(session->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return true;
	if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
		await_room(session);
	else
		session->broken = true;
	return false;
}

static bool send_one(struct session *session, void *message, size_t size) {
	return send_packet(session, &(struct iovec){message, size}, 1);
}

static struct collector_head head_of(enum collector_type type, size_t size) {
	return (struct collector_head){
		.version = COLLECTOR_VERSION, .type = (uint16_t)type, .size = (uint32_t)size};
}

bool session_answer(struct session *session, enum collector_type type, struct collector_answer *answer) {
	answer->head = head_of(type, sizeof(*answer));
	return send_one(session, answer, sizeof(*answer));
}

// A packet being filled with batches, which stay where they are, except stacks.
struct packet {
	struct collector_data data;
	struct iovec pieces[MOST_PIECES];
	size_t count, size;
	uint64_t events; // in them
	uint64_t end;    // the ring's position after the last of them
	bool last;       // there is no more, or it is being written just now
	bool all;        // there is no more
	bool stuck;      // a name could not be sent
	size_t used;     // of `rewritten`
	uint8_t rewritten[COLLECTOR_MOST_DATA];
};

static bool tell_name(void *context, struct collector_name *name) {
	name->head = head_of(COLLECTOR_NAME, sizeof(*name));
	return send_one(context, name, sizeof(*name));
}

// They are about to be copied, so this has them in the cache.
static uint64_t count_records(const void *batch, size_t size) {
	uint64_t count = 0;
	struct record head;
	for (size_t at = sizeof(struct batch); at + sizeof(head) <= size;
	     at += MAX(head.size, sizeof(head))) {
		memcpy(&head, (const uint8_t *)batch + at, sizeof(head));
		count++;
	}
	return count;
}

// The batch as the client gets it. False if the packet has no room for it, or a name could not be sent.
static bool take_batch(struct packet *packet, struct samples *samples, struct session *session,
		       const struct batch *batch) {
	size_t size = sizeof(*batch) + batch->size;
	const void *bytes = batch;
	if (samples_are_in(batch)) {
		if (sizeof(packet->rewritten) - packet->used < size + SAMPLES_MORE)
			return false;
		size = samples_rewrite(samples, batch, session->peer.sees_all, &session->told, tell_name,
				       session, packet->rewritten + packet->used);
		packet->stuck = !size;
		bytes = packet->rewritten + packet->used;
	}
	if (!size || (packet->count > 1 && packet->size + size > COLLECTOR_MOST_DATA))
		return false;
	if (bytes != batch)
		packet->used += size;
	packet->events += count_records(bytes, size);
	packet->pieces[packet->count++] = (struct iovec){(void *)(uintptr_t)bytes, size};
	packet->size += size;
	return true;
}

// Only as much of a batch as its size says: an exec reserves more room than it uses.
static void fill_packet(struct packet *packet, struct samples *samples, struct session *session) {
	const struct ring_view *ring = &session->place->ring;
	packet->count = 1;
	packet->size = sizeof(packet->data);
	packet->events = 0;
	packet->end = ring_position(ring);
	packet->last = packet->all = packet->stuck = false;
	packet->used = 0;
	while (packet->count < MOST_PIECES) {
		uint64_t position = packet->end;
		const struct batch *batch = ring_next(ring, &position);
		if (!batch) {
			packet->end = position; // past what was discarded
			packet->last = true;
			packet->all = ring_is_at_end(ring, position);
			return;
		}
		if (!take_batch(packet, samples, session, batch))
			return;
		packet->end = position;
	}
}

// True if all that was in the ring is sent.
static bool send_batches(struct samples *samples, struct session *session) {
	struct packet packet;
	do {
		fill_packet(&packet, samples, session);
		packet.data = (struct collector_data){.head = head_of(COLLECTOR_DATA, packet.size),
						      .watermark = packet.all ? session->watermark : 0};
		packet.pieces[0] = (struct iovec){&packet.data, sizeof(packet.data)};
		if (packet.count > 1) {
			if (!send_packet(session, packet.pieces, packet.count))
				return false;
			session->bytes += packet.size;
			session->events += packet.events;
			if (packet.all)
				session->watermark = 0;
		}
		ring_take(&session->place->ring, packet.end);
	} while (!packet.last && !packet.stuck);
	return packet.all;
}

// The watermark goes with the last data. Without data only those who ask get one.
static bool send_flushed(struct session *session) {
	struct collector_data data = {.head = head_of(COLLECTOR_DATA, sizeof(data)),
				      .watermark = session->watermark};
	struct collector_answer answer = {.cookie = session->cookie};
	if (session->watermark && !send_one(session, &data, sizeof(data)))
		return false;
	session->watermark = 0;
	session->flushing = !session_answer(session, COLLECTOR_FLUSHED, &answer);
	return !session->flushing;
}

static void send_end(struct kernel *kernel, struct session *session) {
	const struct session_slot *slot = kernel_slot(kernel, session->place);
	struct collector_end end = {.head = head_of(COLLECTOR_END, sizeof(end)),
				    .unfollowed = slot->slot.unfollowed,
				    .left = slot->left};
	_Static_assert((int)RECORD_SOURCE_COUNT <= (int)COLLECTOR_SOURCES, "room for all sources");
	for (int source = 0; source < RECORD_SOURCE_COUNT; source++)
		end.lost[source] = slot->slot.lost[source];
	if (send_one(session, &end, sizeof(end)))
		session->state = SESSION_ENDED;
}

void session_drain(struct kernel *kernel, struct samples *samples, struct session *session, bool flush) {
	if (session->state != SESSION_OPEN && session->state != SESSION_STOPPING)
		return;
	if (flush) {
		session->watermark = clock_boot_now() - MOMENT;
		kernel_flush(kernel, session->place, session->handle);
	}
	if (session->broken || !send_batches(samples, session))
		return;
	if (session->flushing && !send_flushed(session))
		return;
	if (session->state == SESSION_STOPPING)
		send_end(kernel, session);
}
