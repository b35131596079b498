#include "store/place.h"
#include "base/log.h"
#include "base/system.h"
#include "settings/ini_file.h"

#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char digits[] = "0123456789";
#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static const struct scheme {
	const char *begin, *http;
} schemes[] = {
	{"clickhouse+http://", "http://"},
	{"clickhouse+https://", "https://"},
};

// ---- addresses ----

bool store_place_is(const char *text) {
	return strncmp(text, "clickhouse", strlen("clickhouse")) == 0 && strstr(text, "://");
}

bool store_is_identifier(const char *text) {
	size_t length = strlen(text);
	return length && length <= 64 && (strchr(letters, *text) || *text == '_') &&
	       strspn(text, LETTERS_AND_DIGITS "_") == length;
}

static bool consists_of(const char *text, size_t length, const char *allowed) {
	for (size_t i = 0; i < length; i++)
		if (!strchr(allowed, text[i]) || !text[i])
			return false;
	return true;
}

// HOST, HOST:PORT, [ADDRESS] or [ADDRESS]:PORT
static bool is_host(const char *text, size_t length) {
	const char *end = text + length, *after;
	if (length && *text == '[') {
		after = memchr(text, ']', length);
		if (!after || after == text + 1 ||
		    !consists_of(text + 1, (size_t)(after - text - 1), "0123456789abcdefABCDEF:."))
			return false;
		after++;
	} else {
		after = memchr(text, ':', length);
		after = after ? after : end;
		if (after == text || !consists_of(text, (size_t)(after - text), LETTERS_AND_DIGITS ".-_"))
			return false;
	}
	if (after == end)
		return true;
	size_t port = (size_t)(end - after) - 1;
	return *after == ':' && port > 0 && port <= 5 && consists_of(after + 1, port, digits);
}

static char *copy(const char *text, size_t length) {
	return memory_format("%.*s", (int)length, text);
}

static const char *take_parts(struct store_place *place, const char *http, const char *text) {
	const char *slash = strchr(text, '/');
	if (strlen(text) > 1000 || !slash)
		return "expected clickhouse+http://HOST:PORT/DATABASE";
	const char *at = memchr(text, '@', (size_t)(slash - text)), *host = at ? at + 1 : text;
	if (at && memchr(text, ':', (size_t)(at - text)))
		return "a password does not belong into an address, which others can see; "
		       "set TRACELET_STORE_PASSWORD";
	if (at && (at == text || !consists_of(text, (size_t)(at - text), LETTERS_AND_DIGITS "._-")))
		return "bad user name";
	if (!is_host(host, (size_t)(slash - host)))
		return "bad host or port";
	if (!store_is_identifier(slash + 1))
		return "bad name of a database: letters, digits and _ only";
	bool port = memchr(host, ':', (size_t)(slash - host)) && slash[-1] != ']';
	bool plain = strcmp(http, "http://") == 0;
	place->server = memory_format("%s%.*s%s", http, (int)(slash - host), host,
				      port    ? ""
				      : plain ? ":8123"
					      : ":8443");
	place->user = at ? copy(text, (size_t)(at - text)) : NULL;
	place->database = memory_string(slash + 1);
	return NULL;
}

bool store_place_parse(struct store_place *place, const char *text) {
	const char *wrong = "expected clickhouse+http://HOST:PORT/DATABASE";
	*place = (struct store_place){0};
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++)
		if (strncmp(text, schemes[i].begin, strlen(schemes[i].begin)) == 0)
			wrong = take_parts(place, schemes[i].http, text + strlen(schemes[i].begin));
	if (!wrong)
		return true;
	// What follows might be a password after all.
	log_error("bad address of a store, '%.*s...': %s", (int)strcspn(text, ":"), text, wrong);
	return false;
}

bool objects_place_parse(struct objects_place *place, const char *text) {
	static const char s3[] = "s3://";
	*place = (struct objects_place){0};
	if (strncmp(text, s3, strlen(s3)) != 0) {
		if (!*text || strstr(text, "://")) {
			log_error("bad place for objects, '%s': expected s3://BUCKET/PREFIX or a folder",
				  text);
			return false;
		}
		place->folder = memory_string(text);
		return true;
	}
	const char *bucket = text + strlen(s3), *slash = strchrnul(bucket, '/');
	const char *prefix = *slash ? slash + 1 : slash;
	size_t length = (size_t)(slash - bucket);
	// Plain names only: nothing that has to be escaped in a signed request.
	if (length < 3 || length > 63 ||
	    !consists_of(bucket, length, "abcdefghijklmnopqrstuvwxyz0123456789.-") || strlen(prefix) > 500 ||
	    !consists_of(prefix, strlen(prefix), LETTERS_AND_DIGITS "-_./") || strstr(prefix, "//") ||
	    strstr(prefix, "..")) {
		log_error("bad place for objects, '%s': a bucket has small letters, digits, '.' and '-', a "
			  "prefix letters, digits, '-', '_', '.' and '/'",
			  text);
		return false;
	}
	bool ended = !*prefix || prefix[strlen(prefix) - 1] == '/';
	place->bucket = copy(bucket, length);
	place->prefix = memory_format("%s%s", prefix, ended ? "" : "/");
	return true;
}

void store_place_free(struct store_place *place) {
	free(place->server);
	free(place->user);
	free(place->database);
}

void objects_place_free(struct objects_place *place) {
	free(place->folder);
	free(place->bucket);
	free(place->prefix);
}

// ---- credentials ----

static char *variable(const char *name) {
	const char *value = getenv(name);
	return value && *value ? memory_string(value) : NULL;
}

// The first of these that is set.
static char *either(const char *const *names) {
	char *value = NULL;
	for (; *names && !value; names++)
		value = variable(*names);
	return value;
}

struct ini_wish {
	const char *section; // NULL for any
	const char *user, *password, *token, *region;
	struct store_secret *secret;
};

static void keep(char **field, const char *value) {
	if (!*field)
		*field = memory_string(value);
}

static int take_line(void *context, const char *section, const char *key, const char *value) {
	struct ini_wish *wish = context;
	const struct {
		const char *name;
		char **field;
	} keys[] = {
		{wish->user, &wish->secret->user},
		{wish->password, &wish->secret->password},
		{wish->token, &wish->secret->token},
		{wish->region, &wish->secret->region},
	};
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].name && strcmp(keys[i].name, key) == 0 &&
		    (!wish->section || strcmp(section, wish->section) == 0))
			keep(keys[i].field, value);
	return 1;
}

static bool read_file(const char *path, struct ini_wish *wish, bool must) {
	char why[INI_FILE_WHY] = "";
	int line = ini_file_read(path, INI_FILE_OF_USER, take_line, wish, why);
	if (line == 0 || (line == INI_FILE_UNREADABLE && !must))
		return true;
	log_error("%s: credentials cannot be read%s%s", path, *why ? ": " : "", why);
	return false;
}

bool store_secret_find(struct store_secret *secret, const struct store_place *place) {
	CLEANUP_FREE char *file = variable("TRACELET_STORE_CREDENTIALS");
	*secret = (struct store_secret){.user = variable("TRACELET_STORE_USER"),
					.password = variable("TRACELET_STORE_PASSWORD")};
	if (place->user) {
		free(secret->user);
		secret->user = memory_string(place->user);
	}
	struct ini_wish wish = {.user = "user", .password = "password", .secret = secret};
	if (file && !read_file(file, &wish, true)) {
		store_secret_free(secret);
		return false;
	}
	if (secret->password && !secret->user)
		secret->user = memory_string("default");
	return true;
}

bool objects_secret_find(struct store_secret *secret) {
	static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION", NULL};
	static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", NULL};
	*secret = (struct store_secret){
		.user = variable("AWS_ACCESS_KEY_ID"),
		.password = variable("AWS_SECRET_ACCESS_KEY"),
		.token = variable("AWS_SESSION_TOKEN"),
		.region = either(regions),
		.endpoint = either(endpoints),
	};
	if (!secret->user || !secret->password) {
		CLEANUP_FREE char *named = variable("AWS_SHARED_CREDENTIALS_FILE");
		CLEANUP_FREE char *profile = variable("AWS_PROFILE");
		const char *home = getenv("HOME");
		CLEANUP_FREE char *usual = memory_format("%s/.aws/credentials", home ? home : "");
		struct ini_wish wish = {.section = profile ? profile : "default",
					.user = "aws_access_key_id",
					.password = "aws_secret_access_key",
					.token = "aws_session_token",
					.region = "region",
					.secret = secret};
		free(secret->user);
		free(secret->password);
		secret->user = secret->password = NULL;
		if (!read_file(named ? named : usual, &wish, named != NULL))
			goto failed;
	}
	keep(&secret->region, "us-east-1");
	if (secret->user && secret->password)
		return true;
	log_error("there are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
		  "AWS_SHARED_CREDENTIALS_FILE");
failed:
	store_secret_free(secret);
	return false;
}

void store_secret_free(struct store_secret *secret) {
	char *const secrets[] = {secret->password, secret->token};
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		if (secrets[i])
			explicit_bzero(secrets[i], strlen(secrets[i]));
	free(secret->user);
	free(secret->password);
	free(secret->token);
	free(secret->region);
	free(secret->endpoint);
	*secret = (struct store_secret){0};
}
