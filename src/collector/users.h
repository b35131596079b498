// What each user has and had of the collector: limits and counts.
#pragma once

#include "base/memory.h"

#include <sys/types.h>

struct limits {
	uint32_t sessions;    // of one user at the same time; root has no limit
	uint32_t connections; // that one user may make in a second
	uint32_t samples;     // that a session may take in a second, on each CPU
};

struct user {
	uid_t uid;
	uint32_t connections, sessions; // now
	uint64_t opened, refused, bytes, events, lost;
	double allowance; // connections that it may still make
	uint64_t counted; // when that was
};

struct users;

struct users *users_new(const struct limits *limits);
void users_free(struct users *users);

// The user with this number, in the order in which they came; NULL if there are not so many.
const struct user *users_at(const struct users *users, size_t number);

struct user *users_get(struct users *users, uid_t uid); // never NULL; stays where it is
bool user_may_connect(const struct users *users, struct user *user, uint64_t now);
bool user_may_open(const struct users *users, const struct user *user);
