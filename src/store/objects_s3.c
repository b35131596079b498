// Objects in S3 and in servers that speak its language, with the signatures of libcurl. libcurl signs the
// headers and the query as they are: so the digest of the body is a header of ours, and the query is sorted
// and escaped here.
#include "base/log.h"
#include "store/objects.h"
#include "store/objects_list.h"
#include "store/place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { LARGEST_LIST = 8 * 1024 * 1024 };

struct bucket {
	struct objects objects;
	struct http *http;
	struct store_secret secret;
	char *address; // of the bucket, with a slash at its end
	char *prefix;
	char *signature;
};

static struct bucket *bucket_of(struct objects *objects) {
	return CONTAINER_OF(objects, struct bucket, objects);
}

// Fills in what all requests have in common. The answer is to be freed.
static int send(struct bucket *bucket, struct http_request *request, const char *url, const char *sha256,
		struct http_answer *answer) {
	char empty[OBJECTS_DIGEST];
	objects_digest("", 0, empty);
	CLEANUP_FREE char *digest = memory_format("x-amz-content-sha256: %s", sha256 ? sha256 : empty);
	CLEANUP_FREE char *token = bucket->secret.token
					   ? memory_format("x-amz-security-token: %s", bucket->secret.token)
					   : NULL;
	const char *const headers[] = {digest, token, NULL};
	request->url = url;
	request->headers = headers;
	request->user = bucket->secret.user;
	request->password = bucket->secret.password;
	request->signature = bucket->signature;
	int error = http_send(bucket->http, request, answer);
	if (error)
		snprintf(bucket->objects.failure, sizeof(bucket->objects.failure), "%s", answer->failure);
	request->headers = NULL;
	return error;
}

static int send_key(struct bucket *bucket, struct http_request *request, const char *key, const char *sha256,
		    struct http_answer *answer) {
	CLEANUP_FREE char *url = memory_format("%s%s%s", bucket->address, bucket->prefix, key);
	return send(bucket, request, url, sha256, answer);
}

// Without the right to list a bucket, a key that is not there is forbidden.
static int s3_has(struct objects *objects, const char *key, uint64_t *size) {
	struct http_answer answer;
	struct http_request request = {.method = "HEAD"};
	int error = send_key(bucket_of(objects), &request, key, NULL, &answer);
	*size = answer.length;
	http_answer_free(&answer);
	return !error ? 1 : error == -ENOENT || answer.status == 403 ? 0 : error;
}

static int s3_put(struct objects *objects, const char *key, const void *bytes, int fd, uint64_t size,
		  const char *sha256) {
	struct http_answer answer;
	struct http_request request = {.method = "PUT", .body = bytes, .fd = fd, .size = size};
	int error = send_key(bucket_of(objects), &request, key, sha256, &answer);
	http_answer_free(&answer);
	return error;
}

static int s3_get(struct objects *objects, const char *key, struct buffer *out, size_t most) {
	struct http_answer answer;
	struct http_request request = {.method = "GET", .most = most};
	int error = send_key(bucket_of(objects), &request, key, NULL, &answer);
	if (!error)
		buffer_append(out, answer.body.data, answer.body.size);
	http_answer_free(&answer);
	return error;
}

static int s3_remove(struct objects *objects, const char *key) {
	struct http_answer answer;
	struct http_request request = {.method = "DELETE"};
	int error = send_key(bucket_of(objects), &request, key, NULL, &answer);
	http_answer_free(&answer);
	return error == -ENOENT ? 0 : error;
}

static int s3_settle(struct objects *objects) {
	return 0; // what S3 has acknowledged is safe
}

// ---- lists ----

struct page {
	struct bucket *bucket;
	struct objects_list list;
	unsigned empty; // pages in a row without an entry
};

// Pages may be empty, but a server that only ever promises more must not hold us up.
static int read_page(struct page *page, const struct buffer *body) {
	enum { MOST_EMPTY_PAGES = 100 };
	bool good = objects_list_read(&page->list, body->data, body->size);
	page->empty = page->list.entries ? 0 : page->empty + 1;
	if (good && page->empty <= MOST_EMPTY_PAGES)
		return 0;
	snprintf(page->bucket->objects.failure, sizeof(page->bucket->objects.failure), "%s",
		 "the server's list of objects is not as it should be");
	return -EBADMSG;
}

static int fetch_page(struct page *page, const char *prefix) {
	struct bucket *bucket = page->bucket;
	struct http_answer answer;
	struct http_request request = {.method = "GET", .most = LARGEST_LIST};
	struct buffer url = {0};
	CLEANUP_FREE char *whole = memory_format("%s%s", bucket->prefix, prefix);
	buffer_printf(&url, "%s?", bucket->address);
	if (*page->list.token) {
		buffer_text(&url, "continuation-token=");
		http_escape(&url, page->list.token, strlen(page->list.token));
		buffer_text(&url, "&");
	}
	buffer_text(&url, "list-type=2&prefix=");
	http_escape(&url, whole, strlen(whole));
	buffer_append(&url, "", 1);
	int error = send(bucket, &request, (char *)url.data, NULL, &answer);
	if (!error)
		error = read_page(page, &answer.body);
	http_answer_free(&answer);
	buffer_free(&url);
	return error;
}

static int s3_list(struct objects *objects, const char *prefix,
		   void (*take)(void *context, const struct objects_entry *entry), void *context) {
	struct page page = {.bucket = bucket_of(objects),
			    .list = {.prefix = bucket_of(objects)->prefix, .take = take, .context = context}};
	char last[OBJECTS_LONGEST_TOKEN];
	int error;
	do {
		memcpy(last, page.list.token, sizeof(last));
		error = fetch_page(&page, prefix);
	} while (!error && *page.list.token && strcmp(last, page.list.token) != 0);
	return error;
}

// ---- opening ----

static void s3_close(struct objects *objects) {
	struct bucket *bucket = bucket_of(objects);
	store_secret_free(&bucket->secret);
	free(bucket->address);
	free(bucket->prefix);
	free(bucket->signature);
}

static bool is_endpoint(const char *text) {
	bool http = strncmp(text, "http://", 7) == 0, https = strncmp(text, "https://", 8) == 0;
	const char *host = text + (http ? 7 : 8);
	size_t length = http || https ? strcspn(host, "/?#@") : 0;
	return length && (!host[length] || strcmp(host + length, "/") == 0);
}

// A name with dots does not fit the certificate of Amazon's servers; other servers have no names for buckets.
static char *address_of(const struct store_secret *secret, const char *bucket) {
	if (secret->endpoint)
		return memory_format("%.*s/%s/",
				     (int)(strlen(secret->endpoint) -
					   (secret->endpoint[strlen(secret->endpoint) - 1] == '/')),
				     secret->endpoint, bucket);
	if (strchr(bucket, '.'))
		return memory_format("https://s3.%s.amazonaws.com/%s/", secret->region, bucket);
	return memory_format("https://%s.s3.%s.amazonaws.com/", bucket, secret->region);
}

struct objects *objects_open_s3(const char *name, const char *prefix, struct http *http) {
	static const struct objects_operations operations = {
		.has = s3_has,
		.put = s3_put,
		.get = s3_get,
		.list = s3_list,
		.settle = s3_settle,
		.remove = s3_remove,
		.close = s3_close,
	};
	struct store_secret secret;
	if (!objects_secret_find(&secret))
		return NULL;
	const char *wrong = strspn(secret.region, "abcdefghijklmnopqrstuvwxyz0123456789-") !=
					    strlen(secret.region)
				    ? "AWS_REGION: not the name of a region"
			    : secret.endpoint && !is_endpoint(secret.endpoint)
				    ? "AWS_ENDPOINT_URL: expected http://HOST:PORT or https://HOST:PORT"
				    : NULL;
	if (wrong) {
		log_error("%s", wrong);
		store_secret_free(&secret);
		return NULL;
	}
	struct bucket *bucket = memory_alloc(sizeof(*bucket));
	bucket->objects.operations = &operations;
	bucket->http = http;
	bucket->secret = secret;
	bucket->address = address_of(&secret, name);
	bucket->prefix = memory_string(prefix);
	bucket->signature = memory_format("aws:amz:%s:s3", secret.region);
	return &bucket->objects;
}
