// One line of manifest.jsonl, which --json writes as well: what a session left, or which artifacts
// were deleted since. docs/manifest.md describes every member.
//
// The tables below are the format. The structs, the writer and the reader are made from them, so a new
// member is one line here (and one in the document).
#pragma once

#include "base/array.h"
#include "base/buffer.h"

#include <time.h>

// ---- the members, in the order in which they are written ----
//
// MEMBER(type, name) is "name", in the field `name`. INSIDE(type, object, name) is the member "name" of the
// object "object", in the field `object_name`; the members of one object stand together.

#define MANIFEST_ARTIFACT(MEMBER)                                                                            \
	MEMBER(TEXT, kind)                                                                                   \
	MEMBER(TEXT, path)                                                                                   \
	MEMBER(COUNT, size)                                                                                  \
	MEMBER(TEXT, sha256)                                                                                 \
	MEMBER(FLAG, partial)

#define MANIFEST_DELETION(MEMBER)                                                                            \
	MEMBER(TEXT, test)                                                                                   \
	MEMBER(TEXT, kind)                                                                                   \
	MEMBER(TEXT, path)                                                                                   \
	MEMBER(COUNT, size)

#define MANIFEST_CRASH(MEMBER)                                                                               \
	MEMBER(COUNT, signal)                                                                                \
	MEMBER(TEXT, name)                                                                                   \
	MEMBER(COUNT, pid)                                                                                   \
	MEMBER(COUNT, tid)                                                                                   \
	MEMBER(TEXT, thread)                                                                                 \
	MEMBER(INTEGER, code)                                                                                \
	MEMBER(TEXT, address)                                                                                \
	MEMBER(TEXT, instruction)                                                                            \
	MEMBER(WORDS, stack)

#define MANIFEST_CASE(MEMBER)                                                                                \
	MEMBER(TEXT, name)                                                                                   \
	MEMBER(TEXT, result)                                                                                 \
	MEMBER(NUMBER, wall_seconds)                                                                         \
	MEMBER(TEXT, trace)

#define MANIFEST_RECORD(MEMBER, INSIDE)                                                                      \
	MEMBER(COUNT, version)                                                                               \
	MEMBER(TEXT, session)                                                                                \
	MEMBER(TEXT, parent)                                                                                 \
	MEMBER(TEXT, run)                                                                                    \
	MEMBER(COUNT, attempt)                                                                               \
	MEMBER(TEXT, project)                                                                                \
	MEMBER(TEXT, test)                                                                                   \
	MEMBER(TEXT, name)                                                                                   \
	MEMBER(TEXT, suite)                                                                                  \
	MEMBER(WORDS, command)                                                                               \
	MEMBER(TEXT, kind)                                                                                   \
	MEMBER(TEXT, status)                                                                                 \
	MEMBER(TEXT, result)                                                                                 \
	MEMBER(TEXT, guest_failed)                                                                           \
	MEMBER(NUMBER, timed_out_after)                                                                      \
	MEMBER(INTEGER, signal)                                                                              \
	MEMBER(INTEGER, exit)                                                                                \
	MEMBER(JSON, variant)                                                                                \
	MEMBER(TEXT, variant_hash)                                                                           \
	MEMBER(FLAG, repro)                                                                                  \
	MEMBER(TIME, started)                                                                                \
	MEMBER(NUMBER, wall_seconds)                                                                         \
	MEMBER(NUMBER, cpu_seconds)                                                                          \
	MEMBER(COUNTS, metrics)                                                                              \
	MEMBER(JSON, waited)                                                                                 \
	MEMBER(JSON, functions)                                                                              \
	INSIDE(NUMBER, limits, cpus)                                                                         \
	INSIDE(COUNT, limits, periods)                                                                       \
	INSIDE(COUNT, limits, throttled_periods)                                                             \
	INSIDE(NUMBER, limits, throttled_seconds)                                                            \
	INSIDE(COUNT, limits, memory)                                                                        \
	INSIDE(COUNT, limits, memory_peak)                                                                   \
	INSIDE(COUNT, limits, oom_kills)                                                                     \
	MEMBER(WORDS, outlived)                                                                              \
	MEMBER(TEXT, explanation)                                                                            \
	MEMBER(JSON, time_digest)                                                                            \
	INSIDE(TEXT, source, commit)                                                                         \
	INSIDE(TEXT, source, branch)                                                                         \
	INSIDE(TEXT, source, head)                                                                           \
	INSIDE(TEXT, source, change)                                                                         \
	INSIDE(FLAG, source, fork)                                                                           \
	INSIDE(FLAG, source, dirty)                                                                          \
	INSIDE(TEXT, source, ci)                                                                             \
	INSIDE(TEXT, source, job)                                                                            \
	MEMBER(TEXT, host)                                                                                   \
	MEMBER(TEXT, kernel)                                                                                 \
	MEMBER(TEXT, machine)                                                                                \
	MEMBER(TEXT, cpu)                                                                                    \
	MEMBER(COUNT, cpus)                                                                                  \
	MEMBER(COUNT, memory)                                                                                \
	MEMBER(TEXT, machine_class)                                                                          \
	MEMBER(FLAG, kvm)                                                                                    \
	MEMBER(TEXT, tracelet)                                                                               \
	MEMBER(TEXT, profile)                                                                                \
	MEMBER(TEXT, scope)                                                                                  \
	MEMBER(TEXT, backend)                                                                                \
	MEMBER(ARTIFACTS, artifacts)                                                                         \
	MEMBER(TEXT, not_kept)                                                                               \
	MEMBER(COUNT, events)                                                                                \
	MEMBER(COUNTS, lost)                                                                                 \
	MEMBER(COUNT, samples)                                                                               \
	MEMBER(TEXT, sample_event)                                                                           \
	INSIDE(COUNT, samples_short, delivered)                                                              \
	INSIDE(COUNT, samples_short, expected)                                                               \
	MEMBER(COUNT, samples_throttled)                                                                     \
	INSIDE(TEXT, recording_stopped, by)                                                                  \
	INSIDE(NUMBER, recording_stopped, after_seconds)                                                     \
	MEMBER(NUMBER, held_seconds)                                                                         \
	MEMBER(COUNT, waits)                                                                                 \
	MEMBER(COUNT, event_stacks)                                                                          \
	MEMBER(COUNT, broken_stacks)                                                                         \
	MEMBER(COUNT, cut_stacks)                                                                            \
	MEMBER(COUNT, gaps)                                                                                  \
	MEMBER(COUNT, late)                                                                                  \
	MEMBER(CRASHES, crashes)                                                                             \
	MEMBER(COUNT, crashes_more)                                                                          \
	MEMBER(CASES, cases)                                                                                 \
	INSIDE(NUMBER, cost, bpf_seconds)                                                                    \
	INSIDE(COUNT, cost, bpf_runs_measured)                                                               \
	INSIDE(FLAG, cost, bpf_estimated)                                                                    \
	INSIDE(NUMBER, cost, tracer_cpu_seconds)                                                             \
	MEMBER(TEXT, guest)                                                                                  \
	INSIDE(INTEGER, guest_clock, offset_ns)                                                              \
	INSIDE(COUNT, guest_clock, bound_ns)                                                                 \
	MEMBER(DELETIONS, deleted)                                                                           \
	MEMBER(TEXT, why)                                                                                    \
	MEMBER(TEXT, when)

// ---- the structs ----

// Whether a member is in the line. Its value says nothing unless it is MANIFEST_THERE.
enum manifest_presence { MANIFEST_ABSENT, MANIFEST_THERE, MANIFEST_NULL };

// How each type of member is kept.
#define MANIFEST_TYPE_TEXT      const char *
#define MANIFEST_TYPE_JSON      const char * // well-formed, without a line end
#define MANIFEST_TYPE_NUMBER    double
#define MANIFEST_TYPE_COUNT     uint64_t
#define MANIFEST_TYPE_INTEGER   int64_t
#define MANIFEST_TYPE_FLAG      bool
#define MANIFEST_TYPE_TIME      struct timespec // wall clock; milliseconds are written
#define MANIFEST_TYPE_WORDS     manifest_words
#define MANIFEST_TYPE_COUNTS    manifest_counts
#define MANIFEST_TYPE_ARTIFACTS manifest_artifacts
#define MANIFEST_TYPE_DELETIONS manifest_deletions
#define MANIFEST_TYPE_CRASHES   manifest_crashes
#define MANIFEST_TYPE_CASES     manifest_cases

#define MANIFEST_FIELD(type, name)                   MANIFEST_TYPE_##type name;
#define MANIFEST_INSIDE_FIELD(type, object, name)    MANIFEST_TYPE_##type object##_##name;
#define MANIFEST_PRESENCE(type, name)                uint8_t name;
#define MANIFEST_INSIDE_PRESENCE(type, object, name) uint8_t object##_##name;

#define MANIFEST_STRUCT(members)                                                                             \
	members(MANIFEST_FIELD) struct { members(MANIFEST_PRESENCE) } there // enum manifest_presence of each

typedef ARRAY(const char *) manifest_words;

struct manifest_count {
	const char *name;
	uint64_t count;
};
typedef ARRAY(struct manifest_count) manifest_counts;

struct manifest_artifact {
	MANIFEST_STRUCT(MANIFEST_ARTIFACT);
};
typedef ARRAY(struct manifest_artifact) manifest_artifacts;

struct manifest_deletion {
	MANIFEST_STRUCT(MANIFEST_DELETION);
};
typedef ARRAY(struct manifest_deletion) manifest_deletions;

struct manifest_crash {
	MANIFEST_STRUCT(MANIFEST_CRASH);
};
typedef ARRAY(struct manifest_crash) manifest_crashes;

struct manifest_case {
	MANIFEST_STRUCT(MANIFEST_CASE);
};
typedef ARRAY(struct manifest_case) manifest_cases;

// The lists belong to the record. The texts belong to the caller, except those that the reader made or
// that manifest_keep() was given.
struct manifest_record {
	MANIFEST_RECORD(MANIFEST_FIELD, MANIFEST_INSIDE_FIELD)
	struct {
		MANIFEST_RECORD(MANIFEST_PRESENCE, MANIFEST_INSIDE_PRESENCE)
	} there;
	ARRAY(char *) kept;
};

// Sets a member of a record, an artifact, a crash and so on. A text that is NULL is written as null.
#define MANIFEST_PUT(record, member, ...)                                                                    \
	((record)->member = (__VA_ARGS__), (record)->there.member = MANIFEST_THERE)

// Takes a text over; it lives as long as the record.
const char *manifest_keep(struct manifest_record *record, char *text);
void manifest_put_word(struct manifest_record *record, const char *word); // one more of the command
// One more artifact. `sha256` is "" or NULL where it is not known. The item is good until the next one.
struct manifest_artifact *manifest_put_artifact(struct manifest_record *record, const char *kind,
						const char *path, uint64_t size, const char *sha256);
void manifest_record_free(struct manifest_record *record);

// ---- writing and reading ----

void manifest_write(const struct manifest_record *record, struct buffer *line); // with its end

// Reads a line back. Members that are unknown or of another type are left out, and so are artifacts
// without a path. False, with nothing to free: this is neither a line about a test ("test") nor one
// about deletions ("deleted"), or it is not whole.
bool manifest_parse(const char *line, size_t size, struct manifest_record *record);
