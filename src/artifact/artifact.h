// Where a session's files go: safe names, never the name of an existing file.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ARTIFACT_NAME_SIZE = 160 };

// Makes a name that is one path component and easy to type: each separator, space, shell
// metacharacter, control character and byte that is not UTF-8 becomes `_` (so `::` becomes
// `__`), and so does a leading dot or dash.
void artifact_safe_name(const char *wanted, char name[ARTIFACT_NAME_SIZE]);

// Creates the directory and its parents. 0 or -errno.
int artifact_make_dir(const char *path);

// Creates DIR/NAME_YYYYmmdd_HHMMSS[_N].spool under a stem that neither it nor its .pb
// uses yet, so that parallel runs get different names. A descriptor, or -errno. The stem
// is the path without extension.
int artifact_reserve(const char *dir, const char *name, char **stem);

// DIR/NAME_YYYYmmdd_HHMMSS, to be freed by the caller; and the same for BASE[_N]ENDING.
char *artifact_base(const char *dir, const char *name);
int artifact_reserve_stem(const char *base, const char *ending, char **stem);

// The base name of a test's files: its safe name and, for a variant (settings/variant.h; NULL if none), a
// dash and the variant's hash.
void artifact_variant_name(const char *safe_name, const char *variant, char name[ARTIFACT_NAME_SIZE]);

// The SHA-256 of a file as 64 hexadecimal digits. 0 or -errno.
int artifact_sha256(const char *path, char digits[65]);

// The same for what was added to a sum; frees the sum.
struct sha256;
void artifact_sum_digits(struct sha256 *sum, char digits[65]);
