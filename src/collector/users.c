#include "collector/users.h"
#include "base/array.h"

struct users {
	struct limits limits;
	ARRAY(struct user *)
	list; // as many as users in the group, so it is searched from one end to the other
};

struct users *users_new(const struct limits *limits) {
	struct users *users = memory_alloc(sizeof(*users));
	users->limits = *limits;
	return users;
}

void users_free(struct users *users) {
	for (size_t i = 0; users && i < users->list.count; i++)
		free(users->list.items[i]);
	if (users)
		array_free(&users->list);
	free(users);
}

const struct user *users_at(const struct users *users, size_t number) {
	return number < users->list.count ? users->list.items[number] : NULL;
}

struct user *users_get(struct users *users, uid_t uid) {
	for (size_t i = 0; i < users->list.count; i++)
		if (users->list.items[i]->uid == uid)
			return users->list.items[i];
	struct user *user = memory_alloc(sizeof(*user));
	*user = (struct user){.uid = uid, .allowance = users->limits.connections};
	array_push(&users->list, user);
	return user;
}

bool user_may_connect(const struct users *users, struct user *user, uint64_t now) {
	enum { CONNECTIONS_BESIDES = 16 }; // without a session, as for 'status'
	double most = users->limits.connections;
	if (!user->uid)
		return true;
	user->allowance += (double)(now - user->counted) / 1e9 * most;
	user->allowance = MIN(user->allowance, most);
	user->counted = now;
	if (user->allowance < 1 || user->connections >= users->limits.sessions + CONNECTIONS_BESIDES)
		return false;
	user->allowance -= 1;
	return true;
}

bool user_may_open(const struct users *users, const struct user *user) {
	return !user->uid || user->sessions < users->limits.sessions;
}
