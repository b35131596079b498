// The border between a guest and the host's disk: a guest that sends arbitrary names, sizes and
// orders.
#include "aside.h"

#include "guest/host/receive.h"

#include <errno.h>
#include <sys/stat.h>

static struct receiver receiver;
static char outside[512]; // a folder next to the one that receives

static int begin(void **state) {
	if (folder_setup(state))
		return -1;
	snprintf(outside, sizeof(outside), "%s", in_folder("outside"));
	static char folder[512];
	snprintf(folder, sizeof(folder), "%s", in_folder("received"));
	receiver = (struct receiver){.folder = folder, .most = 1000, .fd = -1};
	return mkdir(outside, 0700) || mkdir(folder, 0700);
}

static int end(void **state) {
	receiver_free(&receiver);
	return folder_teardown(state);
}

static void take(const char *name, uint64_t announced, const char *content, uint64_t size) {
	receiver_begin(&receiver, name, announced);
	receiver_bytes(&receiver, (const uint8_t *)content, strlen(content));
	receiver_end(&receiver, size, "");
}

// The same, capturing stderr; returns whether that contains these words.
static bool take_and_say(const char *name, uint64_t announced, const char *content, uint64_t size,
			 const char *words) {
	struct captured captured = capture_begin();
	take(name, announced, content, size);
	CLEANUP_FREE char *said = capture_end(captured);
	return strstr(said, words);
}

static const char *received(const char *name) {
	CLEANUP_FREE char *path = memory_format("received/%s", name);
	return in_folder(path);
}

static bool there(const char *path) {
	struct stat status;
	return lstat(path, &status) == 0;
}

static size_t entries(const char *path) {
	size_t count = 0;
	DIR *folder = opendir(path);
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2; // without . and ..
}

// ---- what a well-behaved guest sends ----

static void test_a_file_has_its_name_when_it_is_whole(void **state) {
	receiver_begin(&receiver, "trace.pb", 5);
	receiver_bytes(&receiver, (const uint8_t *)"hel", 3);
	assert_false(there(received("trace.pb")));
	assert_true(there(received("trace.pb.partial")));
	receiver_bytes(&receiver, (const uint8_t *)"lo", 2);
	receiver_end(&receiver, 5, "");
	assert_file(received("trace.pb"), "hello");
	assert_false(there(received("trace.pb.partial")));
	const struct received *file = receiver_find(&receiver, "trace.pb");
	assert_non_null(file);
	assert_string_equal(file->path, received("trace.pb"));
	assert_int_equal(file->size, 5);
	assert_false(file->partial);
	assert_null(receiver_find(&receiver, "another"));
}

static void test_the_manifest_is_kept_in_memory_and_is_no_file(void **state) {
	take("manifest.jsonl", 3, "{}\n", 3);
	assert_int_equal(receiver.manifest.size, 3);
	assert_int_equal(entries(receiver.folder), 0);
}

static void test_a_file_that_the_user_named_is_replaced(void **state) {
	char path[512];
	snprintf(path, sizeof(path), "%s", received("wanted"));
	put_file(path, "before", 6);
	receiver.single = path;
	take("/etc/shadow", 3, "new", 3);
	assert_file(path, "new");
	assert_int_equal(entries(receiver.folder), 1);
}

// ---- names ----

static void test_no_name_leads_out_of_the_folder(void **state) {
	static const char *const names[] = {"../outside/a",
					    "..",
					    ".",
					    "/etc/passwd",
					    "../../x",
					    "a/../../b",
					    "outside/a",
					    "./manifest.jsonl",
					    "",
					    "a\\..\\b",
					    "nul\nline",
					    "\033[2J",
					    "-rf",
					    ".bashrc",
					    "\xff\xfe\x80",
					    "CON:stream",
					    "$(reboot)",
					    "a b;rm -rf",
					    "..\xc0\xaf..",
					    "manifest.jsonl/"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		take(names[i], 1, "x", 1);
	assert_false(receiver.refused);
	assert_int_equal(receiver.files.count, ARRAY_SIZE(names));
	assert_int_equal(entries(outside), 0);
	assert_int_equal(entries(aside_folder), 2);
	size_t prefix = strlen(receiver.folder) + 1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct received *file = &receiver.files.items[i];
		const char *name = file->path + prefix;
		assert_int_equal(strncmp(file->path, receiver.folder, prefix - 1), 0);
		assert_string_equal(file->name, names[i]);
		assert_null(strpbrk(name, "/\\\n\033;$( "));
		assert_true(*name && *name != '.' && *name != '-');
		assert_true(there(file->path));
		assert_string_not_equal(name, "manifest.jsonl");
	}
}

static void test_a_name_that_is_longer_than_names_may_be_is_cut(void **state) {
	char name[5000];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	take(name, 1, "x", 1);
	assert_false(receiver.failed);
	assert_int_equal(entries(receiver.folder), 1);
}

static void test_a_file_that_is_there_is_not_overwritten(void **state) {
	put_file(received("trace.pb"), "mine", 4);
	take("trace.pb", 5, "guest", 5);
	take("trace.pb", 5, "again", 5);
	assert_file(received("trace.pb"), "mine");
	assert_file(received("trace_1.pb"), "guest");
	assert_file(received("trace_2.pb"), "again");
}

static void test_a_link_is_not_followed(void **state) {
	CLEANUP_FREE char *target = memory_format("%s/target", outside);
	assert_int_equal(symlink(target, received("trace.pb")), 0);
	assert_int_equal(symlink(target, received("trace.pb.partial")), 0);
	assert_int_equal(symlink(target, received("other.pb.partial")), 0);
	put_file(target, "safe", 4);
	take("trace.pb", 5, "guest", 5);
	take("other.pb", 5, "guest", 5);
	assert_file(target, "safe");
	for (size_t i = 0; i < receiver.files.count; i++) {
		struct stat status;
		assert_int_equal(lstat(receiver.files.items[i].path, &status), 0);
		assert_true(S_ISREG(status.st_mode));
	}
	assert_int_equal(receiver.files.count, 2);
}

static void test_a_link_that_leads_nowhere_makes_no_file_there(void **state) {
	CLEANUP_FREE char *target = memory_format("%s/target", outside);
	assert_int_equal(symlink(target, received("trace.pb.partial")), 0);
	assert_int_equal(symlink(target, received("trace.pb")), 0);
	take("trace.pb", 5, "guest", 5);
	assert_int_equal(entries(outside), 0);
}

// ---- sizes ----

static void test_a_size_that_is_more_than_allowed_is_refused_before_its_bytes(void **state) {
	assert_true(take_and_say("large", 1001, "", 0, "--max-artifact-size"));
	assert_true(receiver.refused);
	assert_int_equal(entries(receiver.folder), 0);
}

static void test_a_size_that_overflows_is_refused(void **state) {
	take("first", 5, "12345", 5);
	assert_true(take_and_say("second", UINT64_MAX - 2, "", 0, "--max-artifact-size"));
	assert_true(receiver.refused);
}

static void test_all_files_together_have_one_limit(void **state) {
	char half[601] = {0};
	memset(half, 'x', 600);
	take("first", 600, half, 600);
	assert_false(receiver.refused);
	assert_true(take_and_say("second", 600, half, 600, "--max-artifact-size"));
	assert_true(receiver.refused);
}

// The announced size is only a hint: the bytes count.
static void test_more_bytes_than_announced_are_limited_all_the_same(void **state) {
	char bytes[400] = {0};
	receiver_begin(&receiver, "small", 1);
	struct captured captured = capture_begin();
	for (int i = 0; i < 1000; i++)
		receiver_bytes(&receiver, (const uint8_t *)bytes, sizeof(bytes));
	receiver_end(&receiver, 1, "");
	free(capture_end(captured));
	assert_true(receiver.refused);
	struct stat status;
	assert_int_equal(stat(received("small.partial"), &status), 0);
	assert_true(status.st_size <= 1000);
	assert_false(there(received("small")));
}

static void test_a_file_that_is_shorter_than_it_says_stays_partial(void **state) {
	assert_true(take_and_say("cut", 10, "12345", 10, "5 of 10 bytes"));
	assert_false(there(received("cut")));
	assert_file(received("cut.partial"), "12345");
	assert_true(receiver_find(&receiver, "cut")->partial);
	assert_true(take_and_say("more", 3, "12345", 3, "5 of 3 bytes"));
	assert_true(receiver_find(&receiver, "more")->partial);
}

static void test_a_manifest_has_its_own_limit(void **state) {
	static uint8_t bytes[64 << 10];
	receiver.most = 1ull << 40;
	receiver_begin(&receiver, "manifest.jsonl", 0);
	struct captured captured = capture_begin();
	for (int i = 0; i < 100; i++)
		receiver_bytes(&receiver, bytes, sizeof(bytes));
	free(capture_end(captured));
	assert_true(receiver.refused);
	assert_true(receiver.manifest.size <= MANIFEST_MOST);
}

static void test_too_many_files_are_refused(void **state) {
	char name[16];
	struct captured captured = capture_begin();
	for (int i = 0; i < RECEIVED_FILES_MOST + 5; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		take(name, 0, "", 0);
	}
	free(capture_end(captured));
	assert_true(receiver.refused);
	assert_int_equal(receiver.files.count, RECEIVED_FILES_MOST);
	assert_int_equal(entries(receiver.folder), RECEIVED_FILES_MOST);
}

static void test_a_thousand_files_of_one_name_are_refused(void **state) {
	put_file(received("same.partial"), "", 0);
	for (int i = 1; i < 1000; i++) {
		CLEANUP_FREE char *name = memory_format("same_%d.partial", i);
		put_file(received(name), "", 0);
	}
	assert_true(take_and_say("same", 0, "", 0, "a thousand files with the same name"));
	assert_true(receiver.refused);
	assert_int_equal(entries(receiver.folder), 1000);
}

// ---- the order of messages ----

static void test_bytes_and_an_end_without_a_beginning_are_nothing(void **state) {
	receiver_bytes(&receiver, (const uint8_t *)"stray", 5);
	receiver_end(&receiver, 5, "");
	receiver_cut(&receiver);
	receiver_discard(&receiver);
	assert_int_equal(entries(receiver.folder), 0);
	assert_int_equal(receiver.files.count, 0);
}

static void test_a_beginning_in_the_middle_ends_the_one_before(void **state) {
	receiver_begin(&receiver, "first", 5);
	receiver_bytes(&receiver, (const uint8_t *)"12", 2);
	take("second", 2, "ab", 2);
	assert_file(received("first.partial"), "12");
	assert_file(received("second"), "ab");
	receiver_end(&receiver, 2, ""); // a second end
	assert_int_equal(receiver.files.count, 2);
}

static void test_a_connection_that_is_cut_leaves_what_came(void **state) {
	receiver_begin(&receiver, "trace", 5);
	receiver_bytes(&receiver, (const uint8_t *)"12", 2);
	receiver_cut(&receiver);
	assert_file(received("trace.partial"), "12");
	receiver_begin(&receiver, "manifest.jsonl", 5);
	receiver_bytes(&receiver, (const uint8_t *)"{", 1);
	receiver_cut(&receiver);
	assert_int_equal(receiver.manifest.size, 0); // half a line does not count
}

static void test_what_is_not_wanted_any_more_leaves_nothing(void **state) {
	receiver_begin(&receiver, "trace", 5);
	receiver_bytes(&receiver, (const uint8_t *)"12", 2);
	receiver_discard(&receiver);
	assert_int_equal(entries(receiver.folder), 0);
}

static void test_what_the_guest_could_not_read_is_partial(void **state) {
	struct captured captured = capture_begin();
	receiver_begin(&receiver, "trace", 2);
	receiver_bytes(&receiver, (const uint8_t *)"12", 2);
	receiver_end(&receiver, 2, "Input/output error");
	CLEANUP_FREE char *said = capture_end(captured);
	assert_non_null(strstr(said, "Input/output error"));
	assert_true(receiver_find(&receiver, "trace")->partial);
}

static void test_a_folder_that_cannot_be_written_is_said_once(void **state) {
	put_file(in_folder("file"), "", 0);
	receiver.folder = in_folder("file");
	struct captured captured = capture_begin();
	take("one", 1, "x", 1);
	take("two", 1, "x", 1);
	CLEANUP_FREE char *said = capture_end(captured);
	assert_true(receiver.error < 0);
	assert_false(receiver.refused); // it is not the guest's fault
	size_t lines = 0;
	for (const char *at = said; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 1);
}

#define AT_BORDER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
	const struct CMUnitTest tests[] = {
		AT_BORDER(test_a_file_has_its_name_when_it_is_whole),
		AT_BORDER(test_the_manifest_is_kept_in_memory_and_is_no_file),
		AT_BORDER(test_a_file_that_the_user_named_is_replaced),
		AT_BORDER(test_no_name_leads_out_of_the_folder),
		AT_BORDER(test_a_name_that_is_longer_than_names_may_be_is_cut),
		AT_BORDER(test_a_file_that_is_there_is_not_overwritten),
		AT_BORDER(test_a_link_is_not_followed),
		AT_BORDER(test_a_link_that_leads_nowhere_makes_no_file_there),
		AT_BORDER(test_a_size_that_is_more_than_allowed_is_refused_before_its_bytes),
		AT_BORDER(test_a_size_that_overflows_is_refused),
		AT_BORDER(test_all_files_together_have_one_limit),
		AT_BORDER(test_more_bytes_than_announced_are_limited_all_the_same),
		AT_BORDER(test_a_file_that_is_shorter_than_it_says_stays_partial),
		AT_BORDER(test_a_manifest_has_its_own_limit),
		AT_BORDER(test_too_many_files_are_refused),
		AT_BORDER(test_a_thousand_files_of_one_name_are_refused),
		AT_BORDER(test_bytes_and_an_end_without_a_beginning_are_nothing),
		AT_BORDER(test_a_beginning_in_the_middle_ends_the_one_before),
		AT_BORDER(test_a_connection_that_is_cut_leaves_what_came),
		AT_BORDER(test_what_is_not_wanted_any_more_leaves_nothing),
		AT_BORDER(test_what_the_guest_could_not_read_is_partial),
		AT_BORDER(test_a_folder_that_cannot_be_written_is_said_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
