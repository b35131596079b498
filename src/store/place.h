// Where a fleet keeps its history: the addresses that users give, taken apart and checked. No address holds a
// password: other users of the machine see the words of a command.
#pragma once

#include "base/memory.h"

// clickhouse+http://[USER@]HOST[:PORT]/DATABASE, or clickhouse+https://
struct store_place {
	char *server;   // http://HOST:PORT
	char *user;     // NULL if none is named
	char *database; // letters, digits and _
};

// s3://BUCKET[/PREFIX], or a folder
struct objects_place {
	char *folder;          // NULL for S3
	char *bucket, *prefix; // the prefix is "" or ends with a slash
};

bool store_place_is(const char *text); // whether this is meant to be such an address, and not a folder

// False, after an error message: there is nothing to free.
bool store_place_parse(struct store_place *place, const char *text);
bool objects_place_parse(struct objects_place *place, const char *text);
void store_place_free(struct store_place *place);
void objects_place_free(struct objects_place *place);

// A name that may stand in SQL without quotes: a letter or _, then letters, digits and _, 64 at most.
bool store_is_identifier(const char *text);

// Name and password, or key id and secret. The values end with the struct.
struct store_secret {
	char *user, *password;
	char *token, *region, *endpoint; // S3 only; NULL if none
};

// For ClickHouse: TRACELET_STORE_USER and TRACELET_STORE_PASSWORD, then the file TRACELET_STORE_CREDENTIALS
// with lines `user = ...` and `password = ...`. For S3: the variables and the file of Amazon's own tools.
// False, after an error message.
bool store_secret_find(struct store_secret *secret, const struct store_place *place);
bool objects_secret_find(struct store_secret *secret);
void store_secret_free(struct store_secret *secret);
