// Requests to the servers of a fleet, over HTTP and HTTPS with libcurl.
//
// libcurl is loaded when the first request is made: it brings thirty libraries with it, which would cost
// every start of the program some milliseconds, and most starts need no server.
#pragma once

#include "base/buffer.h"

enum {
	HTTP_TRIES = 5,
	HTTP_PATIENCE = 60,          // seconds; how long a request is tried again
	HTTP_SMALL_ANSWER = 1 << 20, // bytes, for answers that say little
	HTTP_CONNECT_SECONDS = 10,
	HTTP_SILENT_SECONDS = 30, // a server that sends and takes nothing for so long is gone
};

struct http;

struct http_answer {
	long status;        // of HTTP; 0 if there was no answer
	struct buffer body; // of the last try
	char failure[256];  // one line; "" if the server took the request
	uint64_t length;    // of the body, as the server names it; for HEAD
	unsigned tries;
};

struct http_request {
	const char *method;         // GET, HEAD, PUT, POST, DELETE
	const char *url;            // http:// or https://
	const char *const *headers; // "Name: value", the last one is NULL; or NULL
	// The body: bytes, or `size` bytes from the beginning of the file `fd`.
	const void *body;
	size_t size;
	int fd;                      // used if there is no `body` and the size is not 0
	const char *user, *password; // NULL if none
	const char *signature; // as CURLOPT_AWS_SIGV4 takes it; then user and password are the key; or NULL
	size_t most; // bytes that the answer's body may have; 0 for HTTP_SMALL_ANSWER, or any if it is taken
	unsigned silent_seconds; // 0 for HTTP_SILENT_SECONDS
	// Called with the pieces of the body of a good answer instead of collecting them; or NULL. Such a
	// request is not repeated after the first piece. False ends it.
	bool (*take)(void *context, const void *bytes, size_t size);
	void *context;
	// Whether a request that this answer rejects may succeed later; NULL for http_is_passing().
	bool (*again)(const struct http_answer *answer);
};

// `patience`: HTTP_PATIENCE, or how many seconds to try again. NULL, after an error message, if there is no
// libcurl here.
struct http *http_open(unsigned patience);
void http_close(struct http *http);

// Makes the request, up to HTTP_TRIES times with random waits in between that grow. 0 if the server answered
// with a status below 300, otherwise -errno and `failure`: -ENOENT for 404, -EACCES for 401 and 403, -EIO for
// other answers, -ETIMEDOUT, -ECONNREFUSED and so on if there was none, -EMSGSIZE if it was too long.
int http_send(struct http *http, const struct http_request *request, struct http_answer *answer);
void http_answer_free(struct http_answer *answer);

bool http_is_passing(const struct http_answer *answer); // overload, or a fault of a machine in between

// Appends a text to a URL: what is not a letter, a digit or one of -._~ becomes %XX.
void http_escape(struct buffer *url, const void *text, size_t size);
