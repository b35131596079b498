// What clients of the collector may send, and what its users may have.
#include "collector/request.h"
#include "collector/users.h"
#include "unit.h"

static struct collector_request request_of(enum collector_type type) {
	return (struct collector_request){.head = {.version = COLLECTOR_VERSION,
						   .type = (uint16_t)type,
						   .size = sizeof(struct collector_request)},
					  .sources = 3,
					  .cookie = 7};
}

static void each_request_has_its_descriptors(void **state) {
	static const size_t wanted[] = {[COLLECTOR_OPEN] = 1, [COLLECTOR_FOLLOW] = 1, [COLLECTOR_STATUS] = 0};
	for (int type = COLLECTOR_OPEN; type < COLLECTOR_REQUESTS_END; type++) {
		struct collector_request sent = request_of((enum collector_type)type), taken;
		for (size_t count = 0; count < 4; count++)
			assert_int_equal(request_check(&sent, sizeof(sent), count, &taken),
					 count == wanted[type] ? COLLECTOR_ACCEPTED : COLLECTOR_NO_MALFORMED);
		assert_int_equal(request_check(&sent, sizeof(sent), wanted[type], &taken),
				 COLLECTOR_ACCEPTED);
		assert_memory_equal(&sent, &taken, sizeof(sent));
	}
}

static void sizes_and_types_are_exact(void **state) {
	struct collector_request sent[2] = {request_of(COLLECTOR_STATUS)}, taken;
	for (size_t size = 0; size < sizeof(sent); size++)
		assert_int_equal(request_check(sent, size, 0, &taken),
				 size == sizeof(taken) ? COLLECTOR_ACCEPTED : COLLECTOR_NO_MALFORMED);
	for (unsigned type = 0; type < 65536; type++) {
		sent->head.type = (uint16_t)type;
		bool known = type == COLLECTOR_FLUSH || type == COLLECTOR_STOP || type == COLLECTOR_STATUS;
		assert_int_equal(request_check(sent, sizeof(*sent), 0, &taken) == COLLECTOR_ACCEPTED, known);
	}
}

static void another_version_is_refused_as_such(void **state) {
	struct collector_request sent = request_of(COLLECTOR_STATUS), taken;
	sent.head.version = COLLECTOR_VERSION + 1;
	assert_int_equal(request_check(&sent, sizeof(sent.head), 0, &taken), COLLECTOR_NO_VERSION);
}

static void a_user_has_so_many_sessions_and_root_as_many_as_it_wants(void **state) {
	struct users *users = users_new(&(struct limits){.sessions = 2, .connections = 5});
	struct user *user = users_get(users, 1000), *root = users_get(users, 0);
	user->sessions = 1;
	assert_true(user_may_open(users, user));
	user->sessions = root->sessions = 2;
	assert_false(user_may_open(users, user));
	assert_true(user_may_open(users, root));
	assert_ptr_equal(users_get(users, 1000), user);
	users_free(users);
}

static void connections_have_a_rate(void **state) {
	struct users *users = users_new(&(struct limits){.sessions = 100, .connections = 5});
	struct user *user = users_get(users, 1000), *other = users_get(users, 1001);
	uint64_t second = 1000000000, now = 50 * second;
	for (int i = 0; i < 5; i++)
		assert_true(user_may_connect(users, user, now));
	assert_false(user_may_connect(users, user, now));
	assert_true(user_may_connect(users, other, now));
	assert_true(user_may_connect(users, user, now + second / 5));
	assert_false(user_may_connect(users, user, now + second / 5));
	users_free(users);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_has_its_descriptors),
		cmocka_unit_test(sizes_and_types_are_exact),
		cmocka_unit_test(another_version_is_refused_as_such),
		cmocka_unit_test(a_user_has_so_many_sessions_and_root_as_many_as_it_wants),
		cmocka_unit_test(connections_have_a_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
