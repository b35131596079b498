// Requests to a session's tracer: how it handles valid ones, nonsense, and clients that send
// nothing.
#include "aside.h"

#include "session/control.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

// A tracer in its own process, with a recording that records nothing. It ends on request, or when
// the other end of its pipe is closed; its exit status is the result of control_attend().
struct tracer {
	struct state state;
	pid_t pid;
	int pipe;
};

static void be_tracer(bool operation, int ready, int waiter) {
	struct control control;
	CLEANUP_FREE char *stem = memory_string(in_folder("test"));
	struct recording recording = {.operation = operation, .name = "test", .stem = stem};
	control_take_signals(operation);
	if (control_open(&control, &recording, "") || write(ready, &control.state, sizeof(control.state)) < 0)
		_exit(99);
	int request = control_attend(&control, &recording, waiter);
	struct control_answer answer = {.events = 7};
	snprintf(answer.path, sizeof(answer.path), "%s.pb", recording.stem);
	control_answer(&control, &answer);
	control_close(&control);
	_exit(request);
}

static struct tracer start(bool operation) {
	struct tracer tracer;
	int ready[2], waiter[2];
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(waiter, O_CLOEXEC), 0);
	tracer.pid = fork();
	if (tracer.pid == 0) {
		close(waiter[1]);
		be_tracer(operation, ready[1], waiter[0]);
	}
	close(ready[1]);
	close(waiter[0]);
	tracer.pipe = waiter[1];
	assert_int_equal(read(ready[0], &tracer.state, sizeof(tracer.state)), sizeof(tracer.state));
	close(ready[0]);
	return tracer;
}

static int status_of(const struct tracer *tracer) {
	int status = -1;
	assert_int_equal(waitpid(tracer->pid, &status, 0), tracer->pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

// Closes the waiter's pipe and returns the result of control_attend().
static int end_of(struct tracer *tracer) {
	close(tracer->pipe);
	return status_of(tracer);
}

static int begin(void **state) {
	if (folder_setup(state))
		return -1;
	setenv("TRACELET_STATE_DIR", in_folder("state"), 1);
	alarm(60); // kills the test if the tracer does not answer
	return 0;
}

static int end(void **state) {
	alarm(0);
	return folder_teardown(state);
}

static int connect_to(const struct tracer *tracer) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	strcpy(address.sun_path, tracer->state.socket);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

// ---- valid requests ----

static void test_an_operation_is_stopped_and_the_answer_comes_when_it_has_ended(void **state) {
	struct tracer tracer = start(true);
	struct control_answer answer;
	assert_int_equal(control_ask(&tracer.state, CONTROL_STOP, &answer), 0);
	assert_int_equal(answer.error, 0);
	assert_int_equal(answer.events, 7);
	assert_string_equal(answer.path, in_folder("test.pb"));
	assert_int_equal(end_of(&tracer), CONTROL_STOP);
}

static void test_an_operation_is_cancelled(void **state) {
	struct tracer tracer = start(true);
	struct control_answer answer;
	assert_int_equal(control_ask(&tracer.state, CONTROL_CANCEL, &answer), 0);
	assert_int_equal(end_of(&tracer), CONTROL_CANCEL);
}

static void test_a_signal_ends_an_operation(void **state) {
	struct tracer tracer = start(true);
	assert_int_equal(kill(tracer.pid, SIGTERM), 0);
	assert_int_equal(status_of(&tracer), CONTROL_STOP);
	close(tracer.pipe);
}

static void test_a_test_ends_by_itself_only(void **state) {
	struct tracer tracer = start(false);
	struct control_answer answer;
	for (int request = CONTROL_STOP; request <= CONTROL_CANCEL; request++) {
		assert_int_equal(control_ask(&tracer.state, (enum control_request)request, &answer), 0);
		assert_int_equal(answer.error, -EPERM);
		assert_non_null(strstr(answer.said, "ends when the test ends"));
	}
	assert_int_equal(kill(tracer.pid, SIGTERM), 0);
	assert_int_equal(control_ask(&tracer.state, CONTROL_STOP, &answer), 0); // it is still there
	assert_int_equal(end_of(&tracer), 0);
}

// ---- invalid requests ----

static void test_nonsense_does_no_harm(void **state) {
	struct tracer tracer = start(true);
	struct control_answer answer;
	uint32_t unknown = 4711;
	char byte = 1;
	int fd = connect_to(&tracer);
	assert_int_equal(send(fd, &byte, 1, 0), 1);
	assert_int_equal(recv(fd, &answer, sizeof(answer), 0), 0); // the connection is closed
	close(fd);
	fd = connect_to(&tracer);
	assert_int_equal(send(fd, &unknown, sizeof(unknown), 0), sizeof(unknown));
	assert_int_equal(recv(fd, &answer, sizeof(answer), 0), sizeof(answer));
	assert_int_equal(answer.error, -EPERM);
	close(fd);
	fd = connect_to(&tracer);
	close(fd); // a client that leaves without sending anything
	assert_int_equal(control_ask(&tracer.state, CONTROL_STOP, &answer), 0);
	assert_int_equal(end_of(&tracer), CONTROL_STOP);
}

static void test_a_silent_connection_does_not_block_others(void **state) {
	struct tracer tracer = start(true);
	struct control_answer answer;
	int silent = connect_to(&tracer);
	assert_int_equal(control_ask(&tracer.state, CONTROL_STOP, &answer), 0);
	assert_int_equal(end_of(&tracer), CONTROL_STOP);
	close(silent);
}

static void test_a_client_that_leaves_before_the_answer_does_not_end_the_tracer(void **state) {
	struct tracer tracer = start(true);
	uint32_t request = CONTROL_STOP;
	int fd = connect_to(&tracer);
	assert_int_equal(send(fd, &request, sizeof(request), 0), sizeof(request));
	close(fd);
	assert_int_equal(status_of(&tracer), CONTROL_STOP); // not a signal
	close(tracer.pipe);
}

// ---- beginning and end ----

static void test_a_session_is_known_while_it_is_there(void **state) {
	struct tracer tracer = start(false);
	state_array sessions = {0};
	assert_int_equal(state_list(&sessions), 0);
	assert_int_equal(sessions.count, 1);
	assert_string_equal(sessions.items[0].name, "test");
	assert_string_equal(sessions.items[0].artifact, in_folder("test.pb"));
	assert_string_equal(sessions.items[0].spool, in_folder("test.spool"));
	assert_int_equal(end_of(&tracer), 0);
	sessions.count = 0;
	assert_int_equal(state_list(&sessions), 0);
	assert_int_equal(sessions.count, 0);
	assert_int_equal(access(tracer.state.socket, F_OK), -1);
	array_free(&sessions);
}

static void test_a_tracer_that_is_gone_cannot_be_asked(void **state) {
	struct tracer tracer = start(true);
	struct control_answer answer;
	assert_int_equal(kill(tracer.pid, SIGKILL), 0);
	assert_int_equal(waitpid(tracer.pid, NULL, 0), tracer.pid);
	close(tracer.pipe);
	assert_int_equal(control_ask(&tracer.state, CONTROL_STOP, &answer), -ECONNREFUSED);
	unlink(tracer.state.socket);
	assert_int_equal(control_ask(&tracer.state, CONTROL_STOP, &answer), -ENOENT);
}

#define WITH_TRACER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
	const struct CMUnitTest tests[] = {
		WITH_TRACER(test_an_operation_is_stopped_and_the_answer_comes_when_it_has_ended),
		WITH_TRACER(test_an_operation_is_cancelled),
		WITH_TRACER(test_a_signal_ends_an_operation),
		WITH_TRACER(test_a_test_ends_by_itself_only),
		WITH_TRACER(test_nonsense_does_no_harm),
		WITH_TRACER(test_a_silent_connection_does_not_block_others),
		WITH_TRACER(test_a_client_that_leaves_before_the_answer_does_not_end_the_tracer),
		WITH_TRACER(test_a_session_is_known_while_it_is_there),
		WITH_TRACER(test_a_tracer_that_is_gone_cannot_be_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
