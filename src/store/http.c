#include "store/http.h"
#include "base/log.h"
#include "base/system.h"
#include "base/text.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <time.h>

// ---- libcurl, loaded late ----

#define CURL_FUNCTIONS(FUNCTION)                                                                             \
	FUNCTION(global_init)                                                                                \
	FUNCTION(easy_init)                                                                                  \
	FUNCTION(easy_setopt)                                                                                \
	FUNCTION(easy_perform)                                                                               \
	FUNCTION(easy_getinfo)                                                                               \
	FUNCTION(easy_reset)                                                                                 \
	FUNCTION(easy_cleanup)                                                                               \
	FUNCTION(easy_strerror)                                                                              \
	FUNCTION(slist_append)                                                                               \
	FUNCTION(slist_free_all)

// curl.h wraps some of these in macros that check types.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#define CURL_POINTER(name) typeof(curl_##name) *name;
static struct { CURL_FUNCTIONS(CURL_POINTER) } curl;

// Debian's two builds; both have the same interface.
static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

static bool load_curl(void) {
#ifdef TRACELET_STATIC
	log_error("this is the static program, which cannot load libcurl; for stores, install the package of "
		  "your "
		  "distribution or build from source");
	return false;
#endif
	static void *library;
	if (library)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(libraries) && !library; i++)
		library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	bool whole = library != NULL;
#define CURL_LOAD(name) whole = whole && (curl.name = (typeof(curl.name))dlsym(library, "curl_" #name));
	CURL_FUNCTIONS(CURL_LOAD)
	if (whole && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		return true;
	log_error("there is no libcurl here, which a store needs; install the package libcurl4");
	library = NULL;
	return false;
}

struct http {
	CURL *handle; // keeps connections open between requests
	unsigned patience;
	uint64_t random;
};

struct http *http_open(unsigned patience) {
	if (!load_curl())
		return NULL;
	signal(SIGPIPE, SIG_IGN); // of a connection that the server has closed
	CURL *handle = curl.easy_init();
	if (!handle)
		memory_exhausted();
	struct http *http = memory_alloc(sizeof(*http));
	http->handle = handle;
	http->patience = patience;
	system_random(&http->random, sizeof(http->random));
	http->random |= 1;
	return http;
}

void http_close(struct http *http) {
	if (!http)
		return;
	curl.easy_cleanup(http->handle);
	free(http);
}

void http_answer_free(struct http_answer *answer) {
	buffer_free(&answer->body);
}

// ---- one try ----

struct attempt {
	struct http *http;
	const struct http_request *request;
	struct http_answer *answer;
	struct curl_slist *headers;
	uint64_t sent;  // of the body
	uint64_t taken; // of the answer
	bool delivered; // something went to the request's `take`
	bool too_long, refused;
};

static size_t take_body(char *bytes, size_t one, size_t size, void *context) {
	struct attempt *attempt = context;
	struct http_answer *answer = attempt->answer;
	long status = 0;
	curl.easy_getinfo(attempt->http->handle, CURLINFO_RESPONSE_CODE, &status);
	if (attempt->request->take && status < 300) {
		attempt->delivered = true;
		attempt->taken += size;
		attempt->too_long = attempt->request->most && attempt->taken > attempt->request->most;
		if (attempt->too_long)
			return 0;
		attempt->refused = !attempt->request->take(attempt->request->context, bytes, size);
		return attempt->refused ? 0 : size;
	}
	size_t most = attempt->request->most ? attempt->request->most : HTTP_SMALL_ANSWER;
	attempt->too_long = size > most - MIN(most, answer->body.size);
	if (attempt->too_long)
		return 0;
	buffer_append(&answer->body, bytes, size);
	return size;
}

static size_t give_body(char *out, size_t one, size_t room, void *context) {
	struct attempt *attempt = context;
	const struct http_request *request = attempt->request;
	size_t size = (size_t)MIN((uint64_t)room, request->size - attempt->sent);
	if (request->body) {
		memcpy(out, (const char *)request->body + attempt->sent, size);
	} else if (size) {
		ssize_t got = pread(request->fd, out, size, (off_t)attempt->sent);
		if (got <= 0)
			return CURL_READFUNC_ABORT;
		size = (size_t)got;
	}
	attempt->sent += size;
	return size;
}

// libcurl rewinds if it has to send a body again, on a connection that had been closed meanwhile.
static int seek_body(void *context, curl_off_t offset, int origin) {
	struct attempt *attempt = context;
	if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > attempt->request->size)
		return CURL_SEEKFUNC_CANTSEEK;
	attempt->sent = (uint64_t)offset;
	return CURL_SEEKFUNC_OK;
}

static void add_header(struct attempt *attempt, const char *header) {
	struct curl_slist *longer = curl.slist_append(attempt->headers, header);
	if (!longer)
		memory_exhausted();
	attempt->headers = longer;
}

// No redirection is followed: it could lead the credentials and the sessions elsewhere.
static void set_common(struct attempt *attempt) {
	CURL *handle = attempt->http->handle;
	const struct http_request *request = attempt->request;
	const char *authorities = getenv("TRACELET_STORE_CA");
	unsigned silent = request->silent_seconds ? request->silent_seconds : HTTP_SILENT_SECONDS;
	curl.easy_setopt(handle, CURLOPT_URL, request->url);
	curl.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
	curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
	curl.easy_setopt(handle, CURLOPT_USERAGENT, "tracelet/" TRACELET_VERSION);
	curl.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT,
			 (long)MAX(1u, MIN((unsigned)HTTP_CONNECT_SECONDS, attempt->http->patience)));
	curl.easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl.easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, (long)MAX(1u, MIN(silent, attempt->http->patience)));
	curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
	curl.easy_setopt(handle, CURLOPT_WRITEDATA, attempt);
	if (authorities && *authorities)
		curl.easy_setopt(handle, CURLOPT_CAINFO, authorities);
	if (request->user) {
		curl.easy_setopt(handle, CURLOPT_USERNAME, request->user);
		curl.easy_setopt(handle, CURLOPT_PASSWORD, request->password ? request->password : "");
		curl.easy_setopt(handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	}
	if (request->signature)
		curl.easy_setopt(handle, CURLOPT_AWS_SIGV4, request->signature);
}

static void set_method(struct attempt *attempt) {
	CURL *handle = attempt->http->handle;
	const struct http_request *request = attempt->request;
	bool post = strcmp(request->method, "POST") == 0, put = strcmp(request->method, "PUT") == 0;
	if (strcmp(request->method, "HEAD") == 0)
		curl.easy_setopt(handle, CURLOPT_NOBODY, 1L);
	else if (post)
		curl.easy_setopt(handle, CURLOPT_POST, 1L);
	else if (put)
		curl.easy_setopt(handle, CURLOPT_UPLOAD, 1L);
	else
		curl.easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method);
	curl.easy_setopt(handle, CURLOPT_READFUNCTION, give_body);
	curl.easy_setopt(handle, CURLOPT_READDATA, attempt);
	curl.easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek_body);
	curl.easy_setopt(handle, CURLOPT_SEEKDATA, attempt);
	curl.easy_setopt(handle, post ? CURLOPT_POSTFIELDSIZE_LARGE : CURLOPT_INFILESIZE_LARGE,
			 (curl_off_t)request->size);
	bool typed = false;
	for (const char *const *header = request->headers; header && *header; header++) {
		add_header(attempt, *header);
		typed |= strncmp(*header, "Content-Type:", strlen("Content-Type:")) == 0;
	}
	add_header(attempt, "Expect:"); // or a server that does not know it costs a second
	if (post && !typed)
		add_header(attempt, "Content-Type: application/octet-stream");
	curl.easy_setopt(handle, CURLOPT_HTTPHEADER, attempt->headers);
}

static const struct {
	CURLcode code;
	int error;
} failures[] = {
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
	{CURLE_COULDNT_CONNECT, -ECONNREFUSED},
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
	{CURLE_SEND_ERROR, -ECONNRESET},
	{CURLE_RECV_ERROR, -ECONNRESET},
	{CURLE_GOT_NOTHING, -ECONNRESET},
	{CURLE_PARTIAL_FILE, -ECONNRESET},
	{CURLE_SSL_CONNECT_ERROR, -ECONNRESET},
	{CURLE_PEER_FAILED_VERIFICATION, -EACCES},
	{CURLE_SSL_CACERT_BADFILE, -EACCES},
	{CURLE_UNSUPPORTED_PROTOCOL, -EPROTONOSUPPORT},
	{CURLE_URL_MALFORMAT, -EINVAL},
};

static int failure_of(CURLcode code) {
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++)
		if (failures[i].code == code)
			return failures[i].error;
	return -EIO;
}

// The first line of what the server says, which may be anything.
static void describe_rejection(struct http_answer *answer) {
	struct buffer words = {0};
	const char *text = (const char *)answer->body.data;
	size_t length = 0;
	while (length < answer->body.size && length < 180 && text[length] != '\n' && text[length] != '\r')
		length++;
	text_plain(&words, text, length);
	snprintf(answer->failure, sizeof(answer->failure), "HTTP status %ld%s%.*s", answer->status,
		 words.size ? ": " : "", (int)MIN(words.size, 200u), words.data ? (char *)words.data : "");
	buffer_free(&words);
}

static int judge(struct attempt *attempt, CURLcode code, const char *details) {
	struct http_answer *answer = attempt->answer;
	curl_off_t length = -1;
	curl.easy_getinfo(attempt->http->handle, CURLINFO_RESPONSE_CODE, &answer->status);
	curl.easy_getinfo(attempt->http->handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	answer->length = length > 0 ? (uint64_t)length : 0;
	if (code != CURLE_OK) {
		const char *why = attempt->too_long  ? "the answer is too long"
				  : attempt->refused ? "the answer could not be written"
				  : *details         ? details
						     : curl.easy_strerror(code);
		snprintf(answer->failure, sizeof(answer->failure), "%s", why);
		answer->status = 0;
		return attempt->too_long ? -EMSGSIZE : attempt->refused ? -EPIPE : failure_of(code);
	}
	if (answer->status >= 200 && answer->status < 300)
		return 0;
	describe_rejection(answer);
	return answer->status == 404                            ? -ENOENT
	       : answer->status == 401 || answer->status == 403 ? -EACCES
								: -EIO;
}

static int try_once(struct attempt *attempt) {
	char details[CURL_ERROR_SIZE] = "";
	attempt->answer->body.size = 0;
	attempt->answer->failure[0] = 0;
	attempt->answer->status = 0;
	attempt->sent = 0;
	attempt->too_long = attempt->refused = false;
	curl.easy_reset(attempt->http->handle); // keeps connections
	set_common(attempt);
	set_method(attempt);
	curl.easy_setopt(attempt->http->handle, CURLOPT_ERRORBUFFER, details);
	int error = judge(attempt, curl.easy_perform(attempt->http->handle), details);
	curl.easy_setopt(attempt->http->handle, CURLOPT_ERRORBUFFER, NULL);
	curl.slist_free_all(attempt->headers);
	attempt->headers = NULL;
	return error;
}

// ---- several ----

bool http_is_passing(const struct http_answer *answer) {
	return answer->status == 408 || answer->status == 429 || answer->status >= 500;
}

static double now_seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// At random within a range that doubles, so that the jobs of a fleet that a server has turned away do not
// come back at the same moment.
static double pause_before(struct http *http, unsigned tries) {
	http->random ^= http->random << 13;
	http->random ^= http->random >> 7;
	http->random ^= http->random << 17;
	double share = (double)(http->random >> 11) / (double)(1ull << 53);
	return MIN(0.5 * (double)(1u << tries), 15) * (0.5 + share / 2);
}

static void rest(double seconds) {
	struct timespec left = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};
	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static bool may_help(const struct attempt *attempt, int error) {
	const struct http_answer *answer = attempt->answer;
	if (attempt->delivered || error == -EMSGSIZE || error == -EINVAL || error == -EPROTONOSUPPORT)
		return false;
	if (!answer->status)
		return error != -EACCES;
	return attempt->request->again ? attempt->request->again(answer) : http_is_passing(answer);
}

int http_send(struct http *http, const struct http_request *request, struct http_answer *answer) {
	struct attempt attempt = {.http = http, .request = request, .answer = answer};
	double begun = now_seconds();
	int error = 0;
	*answer = (struct http_answer){0};
	for (unsigned tries = 1;; tries++) {
		answer->tries = tries;
		error = try_once(&attempt);
		if (!error || tries == HTTP_TRIES || !may_help(&attempt, error))
			break;
		double wait = pause_before(http, tries);
		if (now_seconds() - begun + wait > http->patience)
			break;
		log_verbose("try %u of %u: %s; again in %.1f s", tries, HTTP_TRIES, answer->failure, wait);
		rest(wait);
	}
	return error;
}

void http_escape(struct buffer *url, const void *text, size_t size) {
	static const char plain[] = "-._~";
	for (const uint8_t *at = text, *end = at + size; at < end; at++) {
		bool letter = (*at | 0x20) >= 'a' && (*at | 0x20) <= 'z', digit = *at >= '0' && *at <= '9';
		if (letter || digit || (*at && strchr(plain, *at)))
			buffer_append(url, at, 1);
		else
			buffer_printf(url, "%%%02X", *at);
	}
}
