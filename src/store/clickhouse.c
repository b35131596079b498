#include "store/clickhouse.h"
#include "base/log.h"
#include "base/system.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { SILENT_SECONDS = 600 };

// ---- requests ----

bool clickhouse_open(struct clickhouse *server, const char *where, unsigned patience) {
	*server = (struct clickhouse){0};
	if (!store_place_parse(&server->place, where))
		return false;
	if (!store_secret_find(&server->secret, &server->place) || !(server->http = http_open(patience))) {
		clickhouse_close(server);
		return false;
	}
	server->where = memory_string(where);
	return true;
}

void clickhouse_close(struct clickhouse *server) {
	http_close(server->http);
	store_place_free(&server->place);
	store_secret_free(&server->secret);
	free(server->where);
	*server = (struct clickhouse){0};
}

// "Code: 60, e.displayText() = DB::Exception: Table db.x doesn't exist., e.what() = DB::Exception": the
// number, and the words in the middle.
static unsigned parse_failure(const struct http_answer *answer, const char **words, size_t *length) {
	static const char begin[] = "Code: ", exception[] = "DB::Exception: ", what[] = ", e.what()";
	const char *text = (const char *)answer->body.data;
	size_t size = answer->body.size;
	*words = NULL;
	*length = 0;
	if (!text || size < strlen(begin) || memcmp(text, begin, strlen(begin)) != 0)
		return 0;
	unsigned code = 0;
	for (size_t i = strlen(begin); i < size && text[i] >= '0' && text[i] <= '9' && code < 100000; i++)
		code = code * 10 + (unsigned)(text[i] - '0');
	const char *at = system_find(text, size, exception, strlen(exception));
	at = at ? at + strlen(exception) : text;
	const char *end = system_find(at, size - (size_t)(at - text), what, strlen(what));
	*words = at;
	*length = (size_t)((end ? end : text + size) - at);
	return code;
}

// Failures that pass: of networks, of a server that has too much to do, of a shard that is away.
static bool may_pass(const struct http_answer *answer) {
	static const unsigned codes[] = {159, 164, 202, 203, 209, 210, 225, 241, 242, 252, 279, 999};
	const char *words;
	size_t length;
	unsigned code = parse_failure(answer, &words, &length);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i] == code)
			return true;
	return !code && http_is_passing(answer);
}

static void note_failure(struct clickhouse *server, const struct http_answer *answer) {
	const char *words;
	size_t length;
	server->code = parse_failure(answer, &words, &length);
	const char *line = words ? memchr(words, '\n', length) : NULL;
	if (server->code)
		snprintf(server->failure, sizeof(server->failure), "%.*s (ClickHouse code %u)",
			 (int)MIN(line ? (size_t)(line - words) : length, (size_t)220), words, server->code);
	else
		snprintf(server->failure, sizeof(server->failure), "%s", answer->failure);
	if (answer->tries > 1) {
		size_t used = strlen(server->failure);
		snprintf(server->failure + used, sizeof(server->failure) - used, " (%u tries)",
			 answer->tries);
	}
}

static int perform(struct clickhouse *server, struct http_request *request, struct buffer *url) {
	struct http_answer answer;
	buffer_append(url, "", 1);
	request->method = "POST";
	request->url = (const char *)url->data;
	request->user = server->secret.user;
	request->password = server->secret.password;
	request->again = may_pass;
	request->silent_seconds = SILENT_SECONDS; // a server says nothing while it computes
	int error = http_send(server->http, request, &answer);
	if (error)
		note_failure(server, &answer);
	http_answer_free(&answer);
	buffer_free(url);
	return error;
}

static struct buffer address(const struct clickhouse *server) {
	struct buffer url = {0};
	buffer_printf(&url, "%s/?database=%s", server->place.server, server->place.database);
	return url;
}

void clickhouse_report(const struct clickhouse *server, const char *what) {
	bool unmade = server->code == CLICKHOUSE_UNKNOWN_TABLE || server->code == CLICKHOUSE_UNKNOWN_DATABASE;
	log_error("%s: %s: %s%s", server->where, what, server->failure,
		  unmade ? "; 'tracelet store init' makes the tables" : "");
}

int clickhouse_do(struct clickhouse *server, const char *sql, bool anywhere) {
	struct buffer url = {0};
	struct http_request request = {.body = sql, .size = strlen(sql)};
	buffer_printf(&url, "%s/?database=%s", server->place.server,
		      anywhere ? "default" : server->place.database);
	return perform(server, &request, &url);
}

// insert_distributed_sync: otherwise the server keeps rows for other shards in files of its own, and answers
// before they have arrived.
int clickhouse_insert(struct clickhouse *server, const char *table, const char *columns,
		      const struct buffer *rows) {
	struct buffer url = address(server);
	CLEANUP_FREE char *sql = memory_format("INSERT INTO %s (%s) FORMAT TabSeparated", table, columns);
	struct http_request request = {.body = rows->data, .size = rows->size};
	if (!rows->size) {
		buffer_free(&url);
		return 0;
	}
	buffer_text(&url, "&insert_distributed_sync=1&query=");
	http_escape(&url, sql, strlen(sql));
	return perform(server, &request, &url);
}

// ---- answers ----

static bool take_piece(void *context, const void *bytes, size_t size) {
	return answer_add(context, bytes, size);
}

// The temporary table goes along as a form with one file, as browsers send it.
static void add_wanted(const struct clickhouse_question *question, struct buffer *body, struct buffer *url,
		       char header[128]) {
	uint64_t random[2];
	char boundary[40];
	system_random(random, sizeof(random));
	snprintf(boundary, sizeof(boundary), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	snprintf(header, 128, "Content-Type: multipart/form-data; boundary=%s", boundary);
	buffer_text(url, "&wanted_format=RowBinary&wanted_structure=");
	http_escape(url, question->wanted_structure, strlen(question->wanted_structure));
	buffer_text(url, "&query=");
	http_escape(url, question->sql, strlen(question->sql));
	buffer_printf(body,
		      "--%s\r\nContent-Disposition: form-data; name=\"wanted\"; filename=\"wanted\"\r\n"
		      "Content-Type: application/octet-stream\r\n\r\n",
		      boundary);
	buffer_append(body, question->wanted, question->wanted_size);
	buffer_printf(body, "\r\n--%s--\r\n", boundary);
}

// wait_end_of_query: a failure in the middle is a failure and no end of the rows. Long answers wait in a file
// of the server's.
int clickhouse_ask(struct clickhouse *server, const struct clickhouse_question *question) {
	struct answer answer = {
		.columns = question->columns, .take = question->take, .context = question->context};
	struct buffer url = address(server), body = {0};
	char header[128] = "";
	const char *const headers[] = {header, NULL};
	buffer_text(&url, "&wait_end_of_query=1&buffer_size=1048576&max_query_size=104857600"
			  "&max_bytes_before_external_sort=1000000000"
			  "&max_bytes_before_external_group_by=1000000000");
	if (question->wanted)
		add_wanted(question, &body, &url, header);
	else
		buffer_text(&body, question->sql);
	struct http_request request = {.body = body.data,
				       .size = body.size,
				       .headers = *header ? headers : NULL,
				       .most = question->most,
				       .take = take_piece,
				       .context = &answer};
	int error = perform(server, &request, &url);
	if (!answer_is_whole(&answer) && (!error || answer.bad)) {
		snprintf(server->failure, sizeof(server->failure),
			 "the server's answer is not as it should be");
		server->code = 0;
		error = -EBADMSG;
	}
	answer_free(&answer);
	buffer_free(&body);
	return error;
}

static void take_number(void *context, const struct cell *cells) {
	*(uint64_t *)context = cell_uint(&cells[0]);
}

int clickhouse_number(struct clickhouse *server, const char *sql, uint64_t *number) {
	struct clickhouse_question question = {
		.sql = sql, .columns = 1, .most = HTTP_SMALL_ANSWER, .take = take_number, .context = number};
	*number = 0;
	return clickhouse_ask(server, &question);
}

int clickhouse_stream(struct clickhouse *server, const char *sql, const char *format, bool write,
		      bool (*take)(void *context, const void *bytes, size_t size), void *context) {
	struct buffer url = address(server);
	struct http_request request = {.body = sql, .size = strlen(sql), .take = take, .context = context};
	buffer_printf(&url, "&wait_end_of_query=1&buffer_size=1048576%s&default_format=",
		      write ? "" : "&readonly=2");
	http_escape(&url, format, strlen(format));
	return perform(server, &request, &url);
}
