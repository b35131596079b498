// The trace is made while the test runs: a thread reads the spool as it grows and converts it, in time of
// the processors that nobody else wants. When the test has ended only its last moments are left to do.
#pragma once

#include "session/convert.h"

struct follower;

// Takes a copy of the conversion and of its output's name; what else that points to must stay. NULL: the
// spool is converted at its end, as a whole. Nothing is said and nothing is left behind, whatever happens.
struct follower *follow(const struct conversion *conversion);
void follow_written(struct follower *follower, uint64_t size); // so much of the spool is there now

// The spool is complete: waits for its trace. 0, or -errno and there is none.
int follow_end(struct follower *follower, struct conversion_result *result);
void follow_free(struct follower *follower);   // after its end; waits until it has tidied up; NULL is fine
void follow_cancel(struct follower *follower); // instead of an end: no trace, and it is freed; NULL is fine
