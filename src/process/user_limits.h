// The resource limits with which a user's session begins, for a test that root runs as that user: what
// /etc/security/limits.conf and limits.d/*.conf say (limits.conf(5), which pam_limits reads at a login), and
// for the rest no more than what process 1 has. PAM itself would open a session: it runs modules that write
// logs, mount homes and want a configured service, and the static agent cannot load them.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

struct user_limits {
	struct rlimit of[RLIM_NLIMITS];
	unsigned char soft_rank[RLIM_NLIMITS], hard_rank[RLIM_NLIMITS]; // how exactly the line that set it
									// meant the user; 0 if none did
	bool exempt; // a line says that nothing limits the user
};

// Whose they are.
struct limits_owner {
	const char *name;
	uid_t uid;
	gid_t gid;
	bool (*is_member)(const char *group);     // of the group with this name
	bool (*is_member_of_number)(gid_t group); // also as its second group
};

// The limits of this process, but none above that of process 1.
void user_limits_begin(struct user_limits *limits);

// Applies the lines of one file. Lines that mean something else are left out, like those that are wrong.
void user_limits_read(struct user_limits *limits, const struct limits_owner *user, FILE *file);

// The files of this folder, usually "/etc/security", in their order.
void user_limits_read_folder(struct user_limits *limits, const struct limits_owner *user, const char *folder);

// Makes them those of this process, as far as it has the right to, except that for `kept` (-1 if none).
void user_limits_apply(const struct user_limits *limits, int kept);
