// Connections between host and guest: each kind of address, bytes that never block, and the end of
// the other side.
#include "aside.h"

#include "guest/wire/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { PATIENCE = 60 }; // seconds, for what should be immediate

static char why[LINK_WHY];

static int begin(void **state) {
	signal(SIGPIPE, SIG_DFL); // writing to a closed connection must not need an ignored SIGPIPE
	*why = 0;
	return folder_setup(state);
}

static const char *at(const char *kind, const char *name) {
	static char address[600];
	snprintf(address, sizeof(address), "%s:%s", kind, in_folder(name));
	return address;
}

// All of it arrives.
static void assert_arrives(struct link *from, struct link *to, const char *text) {
	char got[64] = "";
	size_t size = 0;
	assert_int_equal(link_write(from, text, strlen(text)), strlen(text));
	while (size < strlen(text)) {
		struct pollfd wait = {.fd = link_input(to), .events = POLLIN};
		assert_int_equal(poll(&wait, 1, PATIENCE * 1000), 1);
		ssize_t part = link_read(to, got + size, sizeof(got) - 1 - size);
		assert_true(part >= 0);
		size += (size_t)part;
	}
	assert_string_equal(got, text);
}

static ssize_t read_when_ready(struct link *link, void *bytes, size_t size) {
	struct pollfd wait = {.fd = link_input(link), .events = POLLIN};
	assert_int_equal(poll(&wait, 1, PATIENCE * 1000), 1);
	return link_read(link, bytes, size);
}

static void connect_both(const char *address, const char *own, struct link *host, struct link *guest) {
	struct listener listener;
	assert_int_equal(listener_open(&listener, own, why), 0);
	assert_int_equal(listener_accept(&listener, guest), -EAGAIN); // no client: it does not wait
	assert_int_equal(link_connect(host, address, PATIENCE, why), 0);
	struct pollfd wait = {.fd = listener.socket, .events = POLLIN};
	assert_int_equal(poll(&wait, 1, PATIENCE * 1000), 1);
	assert_int_equal(listener_accept(&listener, guest), 0);
	close(listener.socket);
}

static void test_bytes_go_both_ways_and_reading_does_not_wait(void **state) {
	struct link host, guest;
	char byte;
	connect_both(at("unix", "socket"), at("unix", "socket"), &host, &guest);
	assert_int_equal(link_read(&guest, &byte, 1), 0);
	assert_arrives(&host, &guest, "to the guest");
	assert_arrives(&guest, &host, "to the host");
	assert_false(link_stays(&host));
	link_close(&guest);
	assert_int_equal(read_when_ready(&host, &byte, 1), -ECONNRESET);
	assert_int_equal(link_write(&host, "x", 1), -EPIPE); // and no signal
	link_close(&host);
	link_close(&host); // twice is fine
}

static void test_a_full_connection_continues_later(void **state) {
	struct link host, guest;
	static char bytes[1 << 16];
	connect_both(at("unix", "socket"), at("unix", "socket"), &host, &guest);
	ssize_t put;
	size_t written = 0, seen = 0;
	while ((put = link_write(&host, bytes, sizeof(bytes))) > 0)
		written += (size_t)put;
	assert_int_equal(put, 0);
	while (seen < written)
		seen += (size_t)read_when_ready(&guest, bytes, sizeof(bytes));
	assert_int_equal(seen, written);
	assert_true(link_write(&host, bytes, 1) == 1);
	link_close(&host);
	link_close(&guest);
}

// Anyone who can connect can run commands.
static void test_a_listening_socket_is_the_users_alone(void **state) {
	struct listener listener;
	struct stat status;
	mode_t mask = umask(0);
	assert_int_equal(listener_open(&listener, at("unix", "socket"), why), 0);
	assert_int_equal(umask(mask), 0); // unchanged
	assert_int_equal(stat(in_folder("socket"), &status), 0);
	assert_int_equal(status.st_mode & 077, 0);
	close(listener.socket);
}

static void test_a_socket_that_was_left_behind_is_replaced_and_no_other_file(void **state) {
	struct listener listener;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(listener_open(&listener, at("unix", "socket"), why), 0);
		close(listener.socket);
	}
	put_file(in_folder("file"), "mine", 4);
	assert_true(listener_open(&listener, at("unix", "file"), why) < 0);
	assert_non_null(strstr(why, "file"));
	assert_file(in_folder("file"), "mine");
}

static void test_a_failed_connection_reports_the_reason(void **state) {
	struct link link;
	assert_int_equal(link_connect(&link, at("unix", "nobody"), PATIENCE, why), -ENOENT);
	assert_non_null(strstr(why, "nobody"));
	struct listener listener;
	assert_int_equal(listener_open(&listener, at("unix", "left"), why), 0);
	close(listener.socket);
	assert_int_equal(link_connect(&link, at("unix", "left"), PATIENCE, why), -ECONNREFUSED);
	char name[200];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_int_equal(link_connect(&link, at("unix", name), PATIENCE, why), -ENAMETOOLONG);
	assert_true(listener_open(&listener, at("unix", name), why) < 0);
}

static void test_what_is_no_address_is_refused_with_those_that_are(void **state) {
	static const char *const bad[] = {"",        "unix",    "unix:", "vsock:",  "tcp:",
					  "serial:", "exec:",   "/path", "port:x",  "stdio",
					  "UNIX:x",  "unixx:y", ":",     "ssh:host"};
	struct link link;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(link_connect(&link, bad[i], PATIENCE, why), -EINVAL);
		assert_non_null(strstr(why, "exec:COMMAND"));
		assert_int_equal(link.in, -1);
	}
	static const char *const no_listener[] = {"", "exec:cat", "port", "port:", "serial:", "stdin", "x:y"};
	struct listener listener;
	for (size_t i = 0; i < ARRAY_SIZE(no_listener); i++) {
		assert_int_equal(listener_open(&listener, no_listener[i], why), -EINVAL);
		assert_non_null(strstr(why, "port:NAME"));
	}
}

// ---- TCP ----

static void assert_tcp(int family, const char *host) {
	struct listener listener;
	struct link near, far;
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	CLEANUP_FREE char *any = memory_format("tcp:%s:0", host);
	assert_int_equal(listener_open(&listener, any, why), 0);
	assert_int_equal(getsockname(listener.socket, (struct sockaddr *)&bound, &size), 0);
	assert_int_equal(bound.ss_family, family);
	CLEANUP_FREE char *address = memory_format("tcp:%s:%d", host,
						   ntohs(((struct sockaddr_in *)&bound)->sin_port));
	assert_int_equal(link_connect(&near, address, PATIENCE, why), 0);
	struct pollfd wait = {.fd = listener.socket, .events = POLLIN};
	assert_int_equal(poll(&wait, 1, PATIENCE * 1000), 1);
	assert_int_equal(listener_accept(&listener, &far), 0);
	assert_arrives(&near, &far, "by TCP");
	close(listener.socket);
	link_close(&near);
	link_close(&far);
	assert_int_equal(link_connect(&near, address, PATIENCE, why), -ECONNREFUSED);
}

static void test_tcp(void **state) {
	assert_tcp(AF_INET, "127.0.0.1");
	struct link link;
	assert_int_equal(link_connect(&link, "tcp:127.0.0.1:no-such-port", PATIENCE, why), -EINVAL);
	assert_non_null(strstr(why, "no-such-port"));
	struct listener listener;
	// A static program cannot resolve names.
	assert_true(listener_open(&listener, "tcp:localhost:0", why) < 0);
}

static void test_tcp_with_an_address_in_brackets(void **state) {
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	bool possible = fd >= 0 && bind(fd, (struct sockaddr *)&loopback, sizeof(loopback)) == 0;
	if (fd >= 0)
		close(fd);
	if (!possible)
		skip();
	assert_tcp(AF_INET6, "[::1]");
}

// ---- a Unix socket that needs the port of a vsock ----

// Accepts one connection, expects a line, sends an answer and some more data.
static pid_t answer_once(const char *path, const char *expected, const char *answer) {
	struct listener listener;
	assert_int_equal(listener_open(&listener, path, why), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char line[64] = "";
		struct pollfd wait = {.fd = listener.socket, .events = POLLIN};
		poll(&wait, 1, PATIENCE * 1000);
		int fd = accept(listener.socket, NULL, NULL);
		for (size_t size = 0; !strchr(line, '\n') && size < sizeof(line) - 1; size++)
			if (read(fd, line + size, 1) != 1)
				_exit(2);
		if (write(fd, answer, strlen(answer)) < 0)
			_exit(3);
		_exit(strcmp(line, expected) == 0 ? 0 : 1);
	}
	close(listener.socket);
	return pid;
}

static void assert_answered(pid_t pid) {
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_a_hybrid_socket_is_sent_the_port(void **state) {
	struct link link;
	char text[16] = "";
	pid_t server = answer_once(at("unix", "hybrid"), "CONNECT 1234\n", "OK 1073741824\nfirst");
	CLEANUP_FREE char *address = memory_format("vsock:%s:1234", in_folder("hybrid"));
	assert_int_equal(link_connect(&link, address, PATIENCE, why), 0);
	assert_answered(server);
	assert_int_equal(read_when_ready(&link, text, sizeof(text)), 5); // none of it is lost
	assert_string_equal(text, "first");
	link_close(&link);
	server = answer_once(at("unix", "hybrid"), "CONNECT 21580\n", "OK 1\n");
	assert_int_equal(link_connect(&link, at("vsock", "hybrid"), PATIENCE, why), 0);
	assert_answered(server);
	link_close(&link);
}

static void test_a_hybrid_socket_that_does_not_agree(void **state) {
	static const char *const answers[] = {"NO\n", "", "OKAY\n", "\n",
					      "a line that does not end and is longer than any answer could "
					      "be, since it has no end"};
	struct link link;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		pid_t server = answer_once(at("unix", "hybrid"), "CONNECT 21580\n", answers[i]);
		assert_int_equal(link_connect(&link, at("vsock", "hybrid"), PATIENCE, why), -ECONNREFUSED);
		assert_non_null(strstr(why, "port 21580"));
		assert_int_equal(link.in, -1);
		assert_answered(server);
	}
}

// ---- a command, a line, a port ----

static void test_a_command_is_a_connection_and_ends_with_it(void **state) {
	struct link link;
	assert_int_equal(link_connect(&link, "exec:cat", PATIENCE, why), 0);
	assert_arrives(&link, &link, "there and back");
	pid_t helper = link.helper;
	assert_true(helper > 0);
	link_close(&link);
	assert_int_equal(kill(helper, 0), -1);
	char byte;
	assert_int_equal(link_connect(&link, "exec:exit 3", PATIENCE, why), 0);
	assert_int_equal(read_when_ready(&link, &byte, 1), -ECONNRESET);
	link_close(&link);
}

static void test_a_serial_line_passes_all_bytes_and_stays(void **state) {
	int master, slave;
	char name[64];
	if (openpty(&master, &slave, name, NULL, NULL))
		skip();
	CLEANUP_FREE char *address = memory_format("serial:%s", name);
	struct listener listener;
	assert_int_equal(listener_open(&listener, address, why), 0);
	assert_int_equal(listener.socket, -1);
	assert_true(link_stays(&listener.link));
	struct link other = {.kind = LINK_SERIAL, .in = master, .out = master, .edge = -1, .pipe = {-1, -1}};
	assert_arrives(&other, &listener.link, "a\rb\nc\003d\004e\021\023");
	assert_arrives(&listener.link, &other, "\n\r\n");
	char byte;
	assert_int_equal(link_read(&listener.link, &byte, 1), 0); // silence is not a lost connection
	link_close(&listener.link);
	close(slave);
	close(master);
	assert_true(listener_open(&listener, at("serial", "no-such-line"), why) < 0);
}

static void test_a_missing_port_is_reported(void **state) {
	struct listener listener;
	assert_int_equal(listener_open(&listener, "port:no.such.port", why), -ENOENT);
	assert_non_null(strstr(why, "no.such.port"));
}

#define LINKED(test) cmocka_unit_test_setup_teardown(test, begin, folder_teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		LINKED(test_bytes_go_both_ways_and_reading_does_not_wait),
		LINKED(test_a_full_connection_continues_later),
		LINKED(test_a_listening_socket_is_the_users_alone),
		LINKED(test_a_socket_that_was_left_behind_is_replaced_and_no_other_file),
		LINKED(test_a_failed_connection_reports_the_reason),
		LINKED(test_what_is_no_address_is_refused_with_those_that_are),
		LINKED(test_tcp),
		LINKED(test_tcp_with_an_address_in_brackets),
		LINKED(test_a_hybrid_socket_is_sent_the_port),
		LINKED(test_a_hybrid_socket_that_does_not_agree),
		LINKED(test_a_command_is_a_connection_and_ends_with_it),
		LINKED(test_a_serial_line_passes_all_bytes_and_stays),
		LINKED(test_a_missing_port_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
