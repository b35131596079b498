// Stores of a fleet: addresses, names of objects, values on their way, what has been pushed.
#include "store/answer.h"
#include "store/http.h"
#include "store/objects.h"
#include "store/objects_list.h"
#include "store/place.h"
#include "store/push_state.h"

#include "base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int quiet(void **state) {
	log_set_descriptor(open("/dev/null", O_WRONLY | O_CLOEXEC));
	return 0;
}

// ---- addresses ----

static void check_store(const char *text, const char *server, const char *user, const char *database) {
	struct store_place place;
	assert_true(store_place_parse(&place, text));
	assert_string_equal(place.server, server);
	assert_string_equal(place.user ? place.user : "(none)", user ? user : "(none)");
	assert_string_equal(place.database, database);
	store_place_free(&place);
}

static void test_addresses_of_stores(void **state) {
	static const char *const bad[] = {
		"clickhouse+http://h",
		"clickhouse+http://h/",
		"clickhouse+http:///d",
		"clickhouse+http://h:/d",
		"clickhouse+http://h:x/d",
		"clickhouse+http://u:p@h/d",
		"clickhouse+http://@h/d",
		"clickhouse+http://h/d/e",
		"clickhouse+http://h/d?x=y",
		"clickhouse+http://h/1d",
		"clickhouse+ftp://h/d",
		"clickhouse+http://[::1/d",
		"clickhouse+http://[]:8123/d",
		"clickhouse://h/d",
		"clickhouse+http://a b/d",
		"clickhouse+http://h\n/d",
		"http://h/d",
		"",
	};
	struct store_place place;
	check_store("clickhouse+http://h/d", "http://h:8123", NULL, "d");
	check_store("clickhouse+https://h.example/_d1", "https://h.example:8443", NULL, "_d1");
	check_store("clickhouse+http://me@h:99/d", "http://h:99", "me", "d");
	check_store("clickhouse+http://[::1]/d", "http://[::1]:8123", NULL, "d");
	check_store("clickhouse+http://[::1]:8/d", "http://[::1]:8", NULL, "d");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(store_place_parse(&place, bad[i]));
}

static void test_places_for_objects(void **state) {
	static const char *const bad[] = {"s3://",         "s3://a",        "s3://Abc/x",
					  "s3://abc/a//b", "s3://abc/../x", "s3://abc/a?b",
					  "s3://abc/a b",  "http://x",      ""};
	struct objects_place place;
	assert_true(objects_place_parse(&place, "s3://abc"));
	assert_string_equal(place.prefix, "");
	objects_place_free(&place);
	assert_true(objects_place_parse(&place, "s3://abc.d-e/x/y"));
	assert_string_equal(place.bucket, "abc.d-e");
	assert_string_equal(place.prefix, "x/y/");
	objects_place_free(&place);
	assert_true(objects_place_parse(&place, "some/folder"));
	assert_string_equal(place.folder, "some/folder");
	objects_place_free(&place);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(objects_place_parse(&place, bad[i]));
}

static void test_texts_in_addresses_are_escaped(void **state) {
	struct buffer url = {0};
	http_escape(&url, "aZ0-._~ /+=&%\xff", 14);
	buffer_append(&url, "", 1);
	assert_string_equal(url.data, "aZ0-._~%20%2F%2B%3D%26%25%FF");
	buffer_free(&url);
}

// ---- objects ----

static const char digest[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"; // of nothing

static void test_names_of_objects(void **state) {
	static const char *const others[] = {
		"",
		"objects/e3/e3b0",
		"objects/ff/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"objects/e3/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855x",
		"objects/e3/E3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"runs/2026/11/16/a/b.jsonl",
		"runs/2026/11/1/b.jsonl",
		"runs/2026/11/16/.json",
		"other",
	};
	char key[OBJECTS_LONGEST_KEY], sum[OBJECTS_DIGEST];
	unsigned month;
	bool trusted;
	objects_digest("", 0, sum);
	assert_string_equal(sum, digest);
	objects_key(digest, key);
	assert_string_equal(key,
			    "objects/e3/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_int_equal(objects_kind_of(key, &month, &trusted), OBJECTS_ARTIFACT);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(objects_kind_of(others[i], &month, &trusted), OBJECTS_OTHER);
}

static void test_names_of_raw_lines(void **state) {
	static const char run[] = "cd613e30-d8f1-4adf-91b7-584a2265b1f5";
	char key[OBJECTS_LONGEST_KEY];
	unsigned month;
	bool trusted;
	objects_piece_key(20773, run, true, digest, key);
	assert_string_equal(key,
			    "runs/2026/11/16/cd613e30-d8f1-4adf-91b7-584a2265b1f5-e3b0c44298fc1c14.jsonl");
	assert_int_equal(objects_kind_of(key, &month, &trusted), OBJECTS_PIECE);
	assert_int_equal(month, 202611);
	assert_true(trusted);
	// A run may be called anything.
	objects_piece_key(20773, "../../x y", false, digest, key);
	assert_null(strstr(key, ".."));
	assert_null(strchr(key, ' '));
	assert_int_equal(objects_kind_of(key, &month, &trusted), OBJECTS_PIECE);
	assert_false(trusted);
}

static void note_entry(void *context, const struct objects_entry *entry) {
	buffer_printf(context, "%s %ju %jd;", entry->key, (uintmax_t)entry->size, (intmax_t)entry->changed);
}

static void test_a_page_of_a_list(void **state) {
	static const char page[] = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Prefix>p/</Prefix>"
				   "<Contents><Key>p/a&amp;b</Key><LastModified>1970-01-02T00:00:01.000Z</"
				   "LastModified><Size>7</Size>"
				   "</Contents><Contents><Key>elsewhere</Key><Size>8</Size></Contents>"
				   "<NextContinuationToken>t/+=</NextContinuationToken></ListBucketResult>";
	struct buffer seen = {0};
	struct objects_list list = {.prefix = "p/", .take = note_entry, .context = &seen};
	assert_true(objects_list_read(&list, page, strlen(page)));
	buffer_append(&seen, "", 1);
	assert_string_equal(seen.data, "a&b 7 86401;");
	assert_string_equal(list.token, "t/+=");
	for (size_t cut = 0; cut < strlen(page); cut++)
		assert_false(objects_list_read(&list, page, cut));
	static const char doctype[] =
		"<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult>&a;</ListBucketResult>";
	assert_false(objects_list_read(&list, doctype, strlen(doctype)));
	buffer_free(&seen);
}

// ---- values ----

static void note_cells(void *context, const struct cell *cells) {
	for (int i = 0; i < 3; i++) {
		buffer_printf(context, "(%zu)", cells[i].text ? cells[i].size : 999);
		buffer_append(context, cells[i].text ? cells[i].text : "", cells[i].size);
	}
	buffer_text(context, "\n");
}

// Whatever the pieces are in which it comes.
static void test_rows_of_an_answer(void **state) {
	static const char rows[] = "a\\tb\t\\N\t\\\\N\n\tx\\0y\t\\'\n";
	static const char expected[] = "(3)a\tb(999)(2)\\N\n(0)(3)x\0y(1)'\n";
	size_t size = strlen(rows);
	for (size_t cut = 0; cut <= size; cut++) {
		struct buffer seen = {0};
		struct answer answer = {.columns = 3, .take = note_cells, .context = &seen};
		assert_true(answer_add(&answer, rows, cut));
		assert_true(answer_add(&answer, rows + cut, size - cut));
		assert_true(answer_is_whole(&answer));
		assert_int_equal(seen.size, sizeof(expected) - 1);
		assert_memory_equal(seen.data, expected, seen.size);
		answer_free(&answer);
		buffer_free(&seen);
	}
}

static void test_answers_that_are_none(void **state) {
	static const char *const bad[] = {"a\tb\n", "a\tb\tc\td\n", "\n", "a\tb\tc", "Code: 1"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct buffer seen = {0};
		struct answer answer = {.columns = 3, .take = note_cells, .context = &seen};
		answer_add(&answer, bad[i], strlen(bad[i]));
		assert_false(answer_is_whole(&answer));
		assert_int_equal(seen.size, 0);
		answer_free(&answer);
		buffer_free(&seen);
	}
}

static void keep_cell(void *context, const struct cell *cells) {
	buffer_append(context, cells[0].text, cells[0].size);
}

static void test_any_bytes_come_back_from_a_row(void **state) {
	struct buffer row = {0}, back = {0}, sql = {0};
	uint8_t bytes[256];
	for (int i = 0; i < 256; i++)
		bytes[i] = (uint8_t)i;
	row_text(&row, bytes, sizeof(bytes));
	row_end(&row);
	struct answer answer = {.columns = 1, .take = keep_cell, .context = &back};
	assert_true(answer_add(&answer, row.data, row.size) && answer_is_whole(&answer));
	assert_int_equal(back.size, sizeof(bytes));
	assert_memory_equal(back.data, bytes, sizeof(bytes));
	sql_text(&sql, "a'\0\xff", 4);
	buffer_append(&sql, "", 1);
	assert_string_equal(sql.data, "unhex('612700ff')");
	row.size = 0;
	row_int(&row, INT64_MIN);
	row_next(&row);
	row_int(&row, 7);
	assert_memory_equal(row.data, "-9223372036854775808\t7", row.size);
	answer_free(&answer);
	buffer_free(&row);
	buffer_free(&back);
	buffer_free(&sql);
}

// ---- what has been pushed ----

struct folder {
	char path[64];
	int manifest;
};

static void open_folder(struct folder *folder) {
	char name[128];
	strcpy(folder->path, "/tmp/tracelet-test.XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	snprintf(name, sizeof(name), "%s/manifest.jsonl", folder->path);
	folder->manifest = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(folder->manifest, "first\nsecond\nthird\n", 19), 19);
}

static void close_folder(struct folder *folder) {
	char command[128];
	close(folder->manifest);
	snprintf(command, sizeof(command), "rm -r %s", folder->path);
	assert_int_equal(system(command), 0);
}

static uint64_t pushed(const struct folder *folder, const char *to) {
	struct push_state push;
	assert_int_equal(push_state_open(&push, folder->path, to, NULL), 0);
	uint64_t offset = push_state_begin(&push, folder->manifest);
	push_state_close(&push);
	return offset;
}

static void advance(const struct folder *folder, const char *to, uint64_t offset) {
	struct push_state push;
	assert_int_equal(push_state_open(&push, folder->path, to, NULL), 0);
	assert_int_equal(push_state_advance(&push, folder->manifest, offset), 0);
	push_state_close(&push);
}

static void test_each_store_has_its_own_state(void **state) {
	struct folder folder;
	open_folder(&folder);
	assert_int_equal(pushed(&folder, "one"), 0);
	advance(&folder, "one", 6);
	advance(&folder, "two \"quoted\"", 13);
	advance(&folder, "one", 19);
	assert_int_equal(pushed(&folder, "one"), 19);
	assert_int_equal(pushed(&folder, "two \"quoted\""), 13);
	assert_int_equal(pushed(&folder, "three"), 0);
	close_folder(&folder);
}

static void test_a_manifest_that_was_replaced_begins_again(void **state) {
	struct folder folder;
	open_folder(&folder);
	advance(&folder, "one", 13);
	assert_int_equal(pwrite(folder.manifest, "X", 1, 7), 1);
	assert_int_equal(pushed(&folder, "one"), 0);
	advance(&folder, "one", 13);
	assert_int_equal(ftruncate(folder.manifest, 12), 0);
	assert_int_equal(pushed(&folder, "one"), 0);
	close_folder(&folder);
}

static void test_a_torn_state_swallows_nothing(void **state) {
	struct folder folder;
	char name[128];
	open_folder(&folder);
	advance(&folder, "one", 6);
	snprintf(name, sizeof(name), "%s/pushed.jsonl", folder.path);
	int fd = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "{\"to\":\"one\",\"obj", 16), 16);
	close(fd);
	assert_int_equal(pushed(&folder, "one"), 6);
	advance(&folder, "one", 19);
	assert_int_equal(pushed(&folder, "one"), 19);
	for (int i = 0; i < 6000; i++) // it does not grow for ever
		advance(&folder, "one", i % 2 ? 6 : 13);
	struct stat status;
	assert_int_equal(stat(name, &status), 0);
	assert_true(status.st_size < 300 * 1024);
	assert_int_equal(pushed(&folder, "one"), 6);
	close_folder(&folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_of_stores),
		cmocka_unit_test(test_places_for_objects),
		cmocka_unit_test(test_texts_in_addresses_are_escaped),
		cmocka_unit_test(test_names_of_objects),
		cmocka_unit_test(test_names_of_raw_lines),
		cmocka_unit_test(test_a_page_of_a_list),
		cmocka_unit_test(test_rows_of_an_answer),
		cmocka_unit_test(test_answers_that_are_none),
		cmocka_unit_test(test_any_bytes_come_back_from_a_row),
		cmocka_unit_test(test_each_store_has_its_own_state),
		cmocka_unit_test(test_a_manifest_that_was_replaced_begins_again),
		cmocka_unit_test(test_a_torn_state_swallows_nothing),
	};
	return cmocka_run_group_tests(tests, quiet, NULL);
}
