#include "history/index.h"
#include "base/file.h"
#include "base/log.h"
#include "base/system.h"

#include <errno.h>
#include <sys/stat.h>

enum { INDEX_VERSION = 2, INDEX_OF_TRACELET = 0x7472636c };

// ---- opening ----

// The file may have been made by others: its schema gets no rights, and its pages are checked.
static int set_up(struct index *index) {
	sqlite3_db_config(index->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(index->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_busy_timeout(index->db, 60000);
	return index_run(index,
			 "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -16384;"
			 "PRAGMA temp_store = FILE;");
}

static int open_file(struct index *index, const char *path, int flags) {
	flags |= SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(path, &index->db, flags, NULL) != SQLITE_OK) {
		log_verbose("%s: %s", path, sqlite3_errmsg(index->db));
		return -EIO;
	}
	return set_up(index);
}

static bool is_current(struct index *index) {
	return index_number(index, "PRAGMA application_id", 0) == INDEX_OF_TRACELET &&
	       index_number(index, "PRAGMA user_version", 0) == INDEX_VERSION;
}

static void forget_file(struct index *index) {
	sqlite3_finalize(index->read_text);
	index->read_text = NULL;
	sqlite3_close(index->db);
	index->db = NULL;
	index->damaged = false;
	index->by_id.count = 0;
}

void index_close(struct index *index) {
	if (!index)
		return;
	forget_file(index);
	array_free(&index->by_id);
	strings_free(index->texts);
	free(index->folder);
	free(index->path);
	free(index);
}

static void remove_files(const char *path) {
	CLEANUP_FREE char *journal = memory_format("%s-journal", path);
	unlink(path);
	unlink(journal);
}

void index_delete(const char *folder) {
	CLEANUP_FREE char *path = index_place(folder);
	if (path)
		remove_files(path);
}

// ---- making it ----

// A new index is made beside its place and put there when it is complete, so it needs no journal: a
// process that is killed leaves nothing that counts.
static int make_new(struct index *index) {
	CLEANUP_FREE char *fresh = memory_format("%s.new", index->path), *version = NULL;
	remove_files(fresh);
	int fd = file_create_private(fresh, O_RDWR | O_EXCL | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	close(fd);
	version = memory_format("PRAGMA application_id = %d; PRAGMA user_version = %d;", INDEX_OF_TRACELET,
				INDEX_VERSION);
	int error = open_file(index, fresh, SQLITE_OPEN_READWRITE);
	error = error ? error
		      : index_run(index, "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF;"
					 "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
					 "PRAGMA cell_size_check = OFF;");
	error = error ? error : index_run(index, index_schema);
	error = error ? error : index_run(index, version);
	error = error ? error : index_catch_up(index);
	forget_file(index);
	if (!error && (fd = open(fresh, O_RDWR | O_CLOEXEC | O_NOFOLLOW)) >= 0) {
		error = fsync(fd) || rename(fresh, index->path) ? -errno : 0;
		close(fd);
	}
	if (error)
		remove_files(fresh);
	return error;
}

static int open_existing(struct index *index) {
	int error = open_file(index, index->path, SQLITE_OPEN_READWRITE);
	if (!error && !is_current(index))
		error = -EUCLEAN;
	if (!error)
		error = index_run(index, "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = NORMAL;");
	return error;
}

// With the lock held.
static int open_or_make(struct index *index) {
	struct stat status;
	for (int attempt = 0; attempt < 2; attempt++) {
		int error = 0;
		if (lstat(index->path, &status))
			error = make_new(index);
		error = error ? error : open_existing(index);
		error = error ? error : index_catch_up(index);
		if (!error || !(index->damaged || error == -EUCLEAN))
			return error;
		log_verbose("%s: damaged or of another version; making it again", index->path);
		forget_file(index);
		remove_files(index->path);
	}
	return -EUCLEAN;
}

static struct index *index_new(const char *folder) {
	struct index *index = memory_alloc(sizeof(*index));
	index->store.operations = &index_operations;
	index->folder = memory_string(folder);
	index->path = index_place(folder);
	index->texts = strings_new();
	return index;
}

// Where there is no place for a file: as long as this process.
static int make_in_memory(struct index *index) {
	index->path = memory_string(":memory:");
	int error = open_file(index, index->path, SQLITE_OPEN_READWRITE);
	error = error ? error : index_run(index, index_schema);
	return error ? error : index_catch_up(index);
}

// One process catches up at a time; the others wait, and then have nothing to do.
static int lock_index(const struct index *index) {
	CLEANUP_FREE char *path = memory_format("%s.lock", index->path);
	int fd = file_create_private(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	while (system_lock(fd))
		if (errno != EINTR) {
			close(fd);
			return -errno;
		}
	return fd;
}

// Where there is no manifest, nothing is made.
static int find_manifest(const char *folder) {
	CLEANUP_FREE char *path = memory_format("%s/manifest.jsonl", folder);
	int found = file_find_regular(path, 0);
	if (found >= 0)
		close(found);
	if (found >= 0 || found == -ENODATA) // empty
		return 0;
	log_error("%s: %s%s", path, strerror(-found),
		  found == -ENOENT ? "; 'tracelet run' makes it, --output-dir names another folder" : "");
	return found;
}

int index_open(const char *folder, struct index **opened) {
	int missing = find_manifest(folder);
	if (missing)
		return missing;
	struct index *index = index_new(folder);
	bool has_place = index->path;
	int lock = has_place ? lock_index(index) : -1;
	int error = !has_place ? make_in_memory(index) : lock < 0 ? lock : open_or_make(index);
	if (lock >= 0)
		close(lock);
	if (error) {
		if (!index->reported)
			log_error("%s: cannot make the index of the history: %s",
				  has_place ? index->path : folder, strerror(-error));
		index_close(index);
		return error;
	}
	*opened = index;
	return 0;
}

int index_open_as_is(const char *folder, struct index **opened) {
	struct index *index = index_new(folder);
	struct stat status;
	int error = !index->path || lstat(index->path, &status)
			    ? -ENOENT
			    : open_file(index, index->path, SQLITE_OPEN_READONLY);
	if (!error && !is_current(index))
		error = -ENOENT;
	if (error)
		index_close(index);
	else
		*opened = index;
	return error;
}
