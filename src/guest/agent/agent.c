#include "guest/agent/agent.h"
#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t boot_time(void) {
	struct timespec time;
	clock_gettime(CLOCK_BOOTTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// ---- visits ----

static struct visit *find_visit(struct agent *agent, uint64_t session) {
	for (size_t i = 0; i < VISITS_MOST; i++)
		if (agent->visits[i].session == session)
			return &agent->visits[i];
	return NULL;
}

static void visit_end(struct visit *visit) {
	errand_drop(visit);
	if (visit->connection)
		visit->connection->visit = NULL;
	channel_free(&visit->channel);
	*visit = (struct visit){0};
}

// A slot for another visit: a free one, or that of the host that has been lost longest and has nothing
// running.
static struct visit *free_visit(struct agent *agent) {
	struct visit *oldest = NULL, *empty = find_visit(agent, 0);
	for (size_t i = 0; !empty && i < VISITS_MOST; i++) {
		struct visit *visit = &agent->visits[i];
		if (!visit->connection && !visit->errand.begun &&
		    (!oldest || visit->lost_since < oldest->lost_since))
			oldest = visit;
	}
	if (oldest)
		visit_end(oldest);
	return empty ? empty : oldest;
}

static void visit_lose(struct visit *visit) {
	if (!visit)
		return;
	visit->connection = NULL;
	visit->channel.decoder = NULL;
	visit->lost_since = now();
}

// ---- connections ----

static void connection_close(struct agent *agent, struct connection *connection) {
	visit_lose(connection->visit);
	packet_decoder_free(&connection->decoder);
	if (connection->link.kind == LINK_STDIO)
		agent->over = true; // our parent is gone
	link_close(&connection->link);
	*connection = (struct connection){0};
}

// A port stays open when its host goes away; the next host finds no old bytes in it.
static void connection_lost(struct agent *agent, struct connection *connection) {
	if (connection->link.kind == LINK_PORT && connection->link.absent) {
		visit_lose(connection->visit);
		connection->visit = NULL;
		packet_decoder_forget(&connection->decoder);
	} else {
		connection_close(agent, connection);
	}
}

// A place for another one: an empty one, or that of the peer which has proven nothing for longest.
static struct connection *free_connection(struct agent *agent) {
	struct connection *oldest = NULL;
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct connection *connection = &agent->connections[i];
		if (!connection->used)
			return connection;
		if (connection->unproven && (!oldest || connection->since < oldest->since))
			oldest = connection;
	}
	if (oldest)
		connection_close(agent, oldest);
	return oldest;
}

static bool connection_open(struct agent *agent, const struct link *link) {
	struct connection new = {.link = *link, .used = true, .since = now()};
	new.unproven = link->network && agent->token.size;
	if ((link->stranger && !agent->token.size) || (new.unproven && !token_challenge(new.talk.agent)))
		return false;
	struct connection *place = free_connection(agent);
	if (place)
		*place = new;
	return place;
}

static void send_at_once(struct connection *connection, enum guest_packet_type type, const void *payload,
			 size_t size) {
	struct buffer out = {0};
	guest_packet_append(&out, type, 0, 0, payload, (uint32_t)size);
	link_write(&connection->link, out.data, out.size); // small: it fits, or the host is gone
	buffer_free(&out);
}

static void refuse(struct agent *agent, struct connection *connection, const char *why) {
	send_at_once(connection, GUEST_PACKET_REFUSED, why, strlen(why));
	if (!link_stays(&connection->link))
		connection_close(agent, connection);
}

// On a link without connections, HELLO from another host means that the last host is gone.
static void visit_replace(struct connection *connection, struct visit *visit) {
	struct visit *before = connection->visit;
	if (before && before != visit) {
		if (link_stays(&connection->link))
			visit_end(before);
		else
			visit_lose(before);
	}
	if (visit->connection && visit->connection != connection)
		visit->connection->visit = NULL;
	connection->visit = visit;
	visit->connection = connection;
	visit->channel.decoder = &connection->decoder;
}

static void say_hello(struct agent *agent, struct connection *connection, struct visit *visit,
		      const struct hello *theirs) {
	struct utsname name = {0};
	uname(&name);
	struct hello ours = {.session = theirs->session,
			     .flags = (theirs->flags & HELLO_FRESH ? 0 : HELLO_RESUMED) |
				      (theirs->flags & HELLO_PADDED),
			     .expected = visit->channel.expected};
#ifdef HAVE_ZSTD
	ours.features = FEATURE_ZSTD;
#endif
	visit->channel.compress = theirs->flags & HELLO_COMPRESS && theirs->features & FEATURE_ZSTD;
	snprintf(ours.text, sizeof(ours.text), "tracelet-agent %s, Linux %.24s %.16s", TRACELET_VERSION,
		 name.release, name.machine);
	if (!channel_resume(&visit->channel, theirs->expected, &ours)) {
		visit_end(visit);
		refuse(agent, connection, "host and agent disagree about what was sent");
	}
}

// A stranger says hello: he is asked for a proof, and says hello again after it.
static void take_from_stranger(struct agent *agent, struct connection *connection,
			       const struct guest_packet *packet) {
	enum { SESSION = 8, SIZE = SESSION + TOKEN_CHALLENGE + TOKEN_PROOF };
	uint8_t proof[TOKEN_PROOF];
	uint64_t session;
	if (packet->type == GUEST_PACKET_HELLO)
		send_at_once(connection, GUEST_PACKET_CHALLENGE, connection->talk.agent, TOKEN_CHALLENGE);
	if (packet->type != GUEST_PACKET_PROOF || packet->size != SIZE)
		return;
	memcpy(&session, packet->payload, SESSION);
	memcpy(connection->talk.host, packet->payload + SESSION, TOKEN_CHALLENGE);
	if (!token_check(&agent->token, TOKEN_OF_HOST, &connection->talk, session,
			 packet->payload + SESSION + TOKEN_CHALLENGE)) {
		refuse(agent, connection, "the host has another token (--token-file)");
		return;
	}
	token_prove(&agent->token, TOKEN_OF_AGENT, &connection->talk, session, proof);
	send_at_once(connection, GUEST_PACKET_PROOF, proof, sizeof(proof));
	connection->unproven = false;
}

static void take_hello(struct agent *agent, struct connection *connection,
		       const struct guest_packet *packet) {
	struct hello hello;
	if (!hello_decode(packet, &hello))
		return;
	struct visit *visit = find_visit(agent, hello.session);
	if (!visit && !(hello.flags & HELLO_FRESH)) {
		refuse(agent, connection,
		       "unknown session: the agent was restarted, or gave up waiting for this host");
		return;
	}
	if (!visit && connection->visit && link_stays(&connection->link))
		visit_end(connection->visit); // makes room, too
	if (!visit && !(visit = free_visit(agent))) {
		refuse(agent, connection, "too many hosts are connected");
		return;
	}
	if (!visit->session) {
		visit->session = hello.session;
		visit->errand = (struct errand){.input = -1,
						.output = -1,
						.errors = -1,
						.file = -1,
						.folder = AGENT_FOLDER_NONE,
						.live = LIVE_NONE};
		channel_init(&visit->channel, CHANNEL_CHUNK);
	}
	visit_replace(connection, visit);
	say_hello(agent, connection, visit, &hello);
}

static void take_ping(struct connection *connection, const struct guest_packet *packet, uint64_t arrived) {
	uint64_t answer[3] = {0, arrived, 0};
	if (packet->size != 8)
		return;
	memcpy(answer, packet->payload, 8);
	answer[2] = boot_time();
	if (connection->visit)
		channel_urgent(&connection->visit->channel, GUEST_PACKET_PONG, answer, sizeof(answer));
	else
		send_at_once(connection, GUEST_PACKET_PONG, answer, sizeof(answer));
}

static void take_message(struct visit *visit, const struct guest_packet *packet) {
	struct message message;
	if (!message_decode(packet->payload, packet->size, &message))
		return;
	if (message.type == MESSAGE_REQUEST)
		errand_begin(visit, &message);
	else
		errand_message(visit, &message);
	message_free(&message);
}

static void end_all(struct agent *agent) {
	if (agent->init)
		init_power_off();
	agent->over = true;
}

// It may arrive together with the acknowledgement that a power-off waits for.
static void take_bye(struct agent *agent, struct visit *visit) {
	if (visit->power_off)
		end_all(agent);
	visit_end(visit);
}

// Handles one packet. Returns false if the connection no longer has a visit, or has another one.
static void take_packet(struct agent *agent, struct connection *connection, const struct guest_packet *packet,
			uint64_t arrived) {
	struct visit *visit = connection->visit;
	if (connection->unproven)
		take_from_stranger(agent, connection, packet);
	else if (packet->type == GUEST_PACKET_HELLO)
		take_hello(agent, connection, packet);
	else if (packet->type == GUEST_PACKET_PING)
		take_ping(connection, packet, arrived);
	else if (packet->type == GUEST_PACKET_BYE && visit)
		take_bye(agent, visit);
	else if (packet->type == GUEST_PACKET_RESYNC && visit)
		channel_urgent(&visit->channel, GUEST_PACKET_RESYNC, NULL, 0);
	else if (packet->type == GUEST_PACKET_DATA && visit && packet->stream == STREAM_STDIN)
		errand_input(visit, packet->payload, packet->size);
	else if (packet->type == GUEST_PACKET_DATA && visit && packet->stream == STREAM_CONTROL)
		take_message(visit, packet);
}

static bool next_packet(struct connection *connection, struct guest_packet *packet) {
	return connection->visit ? channel_next(&connection->visit->channel, packet)
				 : packet_decoder_next(&connection->decoder, packet);
}

static void connection_read(struct agent *agent, struct connection *connection) {
	size_t room;
	uint8_t *at = packet_decoder_room(&connection->decoder, 64 << 10, &room);
	ssize_t got = link_read(&connection->link, at, room);
	uint64_t arrived = boot_time();
	if (got < 0) {
		connection_lost(agent, connection);
		return;
	}
	packet_decoder_added(&connection->decoder, (size_t)got);
	struct guest_packet packet;
	while (connection->used && next_packet(connection, &packet))
		take_packet(agent, connection, &packet, arrived);
	if (connection->used && connection->decoder.other_version) {
		connection->decoder.other_version = 0;
		refuse(agent, connection, "the host speaks another version of the protocol");
	}
	struct visit *visit = connection->visit;
	if (connection->used && visit && visit->channel.broken) {
		refuse(agent, connection, visit->channel.broken);
		visit_end(visit);
	} else if (connection->used && visit) {
		channel_acknowledge(&visit->channel);
	}
}

// Writes as much as possible, within reason: acknowledgements that are read soon free memory that is still in
// the CPU's cache. Writing makes room for more, so the errand works in between.
static void visit_write(struct agent *agent, struct visit *visit) {
	enum { TURN = 512 << 10 };
	struct connection *connection = visit->connection;
	size_t size;
	for (size_t done = 0; done < TURN;) {
		errand_work(visit);
		const uint8_t *bytes = channel_output(&visit->channel, &size);
		if (!bytes)
			return;
		ssize_t put = link_write(&connection->link, bytes, size);
		if (put < 0)
			connection_lost(agent, connection);
		if (put <= 0)
			return;
		channel_wrote(&visit->channel, (size_t)put);
		done += (size_t)put;
	}
}

// ---- signals ----

static void take_signals(struct agent *agent) {
	struct signalfd_siginfo signal;
	while (read(agent->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal))
		if (signal.ssi_signo != SIGCHLD)
			agent->over = true;
	int status;
	pid_t pid;
	// As process 1 we adopt all orphans of the machine and must reap them.
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (size_t i = 0; i < VISITS_MOST && !agent_collector_ended(agent, pid, status); i++)
			if (agent->visits[i].session && errand_process_ended(&agent->visits[i], pid, status))
				break;
}

static void open_signals(struct agent *agent) {
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	agent->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// ---- the loop ----

static void wake_at(double left, double *next) {
	if (*next < 0 || left < *next)
		*next = left;
}

// Gives up hosts that have been lost for too long, and strangers who prove nothing. Returns the milliseconds
// until the next one, -1 if there is none.
static int give_up(struct agent *agent) {
	enum { STRANGER_SECONDS = 5 };
	double time = now(), next = -1;
	for (size_t i = 0; i < VISITS_MOST; i++) {
		struct visit *visit = &agent->visits[i];
		if (!visit->session || visit->connection)
			continue;
		double left = visit->lost_since + agent->linger - time;
		if (left <= 0)
			visit_end(visit);
		else
			wake_at(left, &next);
	}
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct connection *connection = &agent->connections[i];
		double left = connection->since + STRANGER_SECONDS - time;
		if (connection->unproven && left <= 0)
			connection_close(agent, connection);
		else if (connection->unproven)
			wake_at(left, &next);
	}
	return next < 0 ? -1 : (int)(next * 1000) + 1;
}

enum { POLLED_MOST = 1 + LISTENERS_MOST + 2 * CONNECTIONS_MOST + ERRAND_POLLED * VISITS_MOST };

struct polled {
	struct pollfd list[POLLED_MOST];
	size_t count, connections, visits[VISITS_MOST + 1];
	bool busy; // there is work that waits for nothing
};

static void add(struct polled *polled, int fd, short events) {
	polled->list[polled->count++] = (struct pollfd){.fd = fd, .events = events};
}

static void prepare(struct agent *agent, struct polled *polled) {
	polled->count = 0;
	polled->busy = false;
	add(polled, agent->signals, POLLIN);
	for (size_t i = 0; i < agent->listener_count; i++)
		add(polled, agent->listeners[i].socket, POLLIN);
	polled->connections = polled->count;
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct connection *connection = &agent->connections[i];
		size_t size;
		bool writes = connection->used && connection->visit && !connection->link.absent &&
			      channel_output(&connection->visit->channel, &size);
		add(polled, connection->used ? link_input(&connection->link) : -1, POLLIN);
		add(polled, writes ? connection->link.out : -1, POLLOUT);
	}
	for (size_t i = 0; i < VISITS_MOST; i++) {
		polled->visits[i] = polled->count;
		if (agent->visits[i].session) {
			polled->count += errand_poll(&agent->visits[i], polled->list + polled->count);
			polled->busy |= errand_may_work(&agent->visits[i]);
		}
	}
	polled->visits[VISITS_MOST] = polled->count;
}

static void attend_connections(struct agent *agent, const struct polled *polled) {
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct connection *connection = &agent->connections[i];
		short events = polled->list[polled->connections + 2 * i].revents;
		if (connection->used && events & (POLLIN | POLLHUP | POLLERR) &&
		    link_ready(&connection->link))
			connection_read(agent, connection);
	}
	for (size_t i = 0; i < VISITS_MOST; i++)
		if (agent->visits[i].connection)
			visit_write(agent, &agent->visits[i]);
		else if (agent->visits[i].session)
			errand_work(&agent->visits[i]);
}

static void attend(struct agent *agent, const struct polled *polled) {
	// Errands first, so that their output goes out in the same turn.
	for (size_t i = 0; i < VISITS_MOST; i++) {
		size_t begin = polled->visits[i], count = polled->visits[i + 1] - begin;
		if (agent->visits[i].session && count)
			errand_attend(&agent->visits[i], polled->list + begin, count);
	}
	for (size_t i = 0; i < agent->listener_count; i++) {
		struct link link;
		if (!(polled->list[1 + i].revents & POLLIN) || listener_accept(&agent->listeners[i], &link))
			continue;
		if (!connection_open(agent, &link))
			link_close(&link);
	}
	attend_connections(agent, polled);
}

static void loop(struct agent *agent) {
	struct polled polled;
	while (!agent->over) {
		int timeout = give_up(agent);
		prepare(agent, &polled);
		if (poll(polled.list, polled.count, polled.busy ? 0 : timeout) < 0 && errno != EINTR)
			break;
		if (polled.list[0].revents)
			take_signals(agent);
		attend(agent, &polled);
		for (size_t i = 0; i < VISITS_MOST; i++) {
			struct visit *visit = &agent->visits[i];
			if (visit->power_off && channel_all_acked(&visit->channel))
				end_all(agent);
		}
	}
	for (size_t i = 0; i < VISITS_MOST; i++)
		if (agent->visits[i].session)
			visit_end(&agent->visits[i]);
}

// ---- beginning ----

// A virtio port appears some time after its driver, and its name after that.
static int open_listener(struct agent *agent, const char *address, double seconds) {
	struct listener *listener = &agent->listeners[agent->listener_count];
	char why[LINK_WHY] = "";
	if (strncmp(address, "tcp:", 4) == 0 && !agent->token.size) {
		log_error("%s: anyone could connect and run commands; give a secret with --token-file",
			  address);
		return -EPERM;
	}
	double deadline = now() + seconds;
	int error;
	while ((error = listener_open(listener, address, why)) == -ENOENT && now() < deadline)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	if (error) {
		log_error("%s", why);
		return error;
	}
	if (listener->socket >= 0)
		agent->listener_count++;
	else
		connection_open(agent, &listener->link);
	return 0;
}

int agent_main(const struct agent_options *options) {
	struct agent *agent = memory_alloc(sizeof(*agent));
	agent->linger = options->linger;
	agent->init = getpid() == 1;
	size_t opened = 0;
	if (options->token_file && !token_read(&agent->token, options->token_file)) {
		free(agent);
		return 1;
	}
	open_signals(agent);
	for (size_t i = 0; i < options->address_count && i < LISTENERS_MOST; i++)
		opened += open_listener(agent, options->addresses[i], options->wait_port) == 0;
	if (opened) {
		log_verbose("the agent is listening");
		agent_collector_begin(agent, options);
		loop(agent);
		agent_collector_end(agent);
	}
	free(agent);
	return opened ? 0 : 1;
}
