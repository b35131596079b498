// Where a session's files go: safe names, never one that exists.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ARTIFACT_NAME_SIZE = 160 };

// A name that is one path component and plain to type: each separator, space,
// sign of the shell's, control character and byte that is not UTF-8 becomes `_`
// (so `::` becomes `__`), and so does a leading dot or dash.
void artifact_safe_name(const char *wanted, char name[ARTIFACT_NAME_SIZE]);

// Makes the folder (and its parents). 0 or -errno.
int artifact_make_dir(const char *path);

// Creates DIR/NAME_YYYYmmdd_HHMMSS[_N].spool for a name that no file of any kind
// has, together with its .pb: parallel runs get different ones. The descriptor,
// or -errno. The stem is the path without extension.
int artifact_reserve(const char *dir, const char *name, char **stem);

// DIR/NAME_YYYYmmdd_HHMMSS, the caller's to free; and the same for BASE[_N]ENDING.
char *artifact_base(const char *dir, const char *name);
int artifact_reserve_stem(const char *base, const char *ending, char **stem);

// What the files of a test are called: its safe name and, if it is a variant (session/variant.h; or
// NULL), a dash and the variant's hash.
void artifact_variant_name(const char *safe_name, const char *variant, char name[ARTIFACT_NAME_SIZE]);

// The SHA-256 of a file as 64 hexadecimal digits. 0 or -errno.
int artifact_sha256(const char *path, char digits[65]);

// The same of what was added to a sum, which is gone then.
struct sha256;
void artifact_sum_digits(struct sha256 *sum, char digits[65]);
