// Converts while the test runs: a thread reads the spool as it grows and converts it in otherwise
// idle CPU time. When the test ends, only its last moments are left to convert.
#pragma once

#include "flow/convert.h"

struct follower;

// Copies the conversion and its output's name; everything else it points to must stay valid.
// Returns NULL if following is not possible: convert the whole spool at its end instead. Logs
// nothing and leaves nothing behind, whatever happens.
struct follower *follow(const struct conversion *conversion);
void follow_written(struct follower *follower, uint64_t size); // the spool has grown to this size

// The spool is complete: waits for the trace. Returns 0, or -errno if there is no trace.
int follow_end(struct follower *follower, struct conversion_result *result);
void follow_free(struct follower *follower);   // call after follow_end(); waits for the cleanup; NULL is fine
void follow_cancel(struct follower *follower); // call in place of follow_end(): drops the trace and frees the
					       // follower; NULL is fine
