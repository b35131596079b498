// Serves a host's request: a process with its input and output, files to send. Every step sends only what the
// channel accepts now; the rest waits where it is, in a pipe or in its file.
#include "guest/agent/agent.h"
#include "guest/agent/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

void errand_say(struct visit *visit, enum message_type type, uint64_t number, const char *word) {
	struct message message = {.type = type, .numbers = {number}};
	struct buffer out = {0};
	if (word)
		array_push(&message.words, word);
	message_encode(&message, &out);
	channel_message(&visit->channel, &out);
	buffer_free(&out);
	message_free(&message);
}

static void close_one(int *fd) {
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void errand_clear(struct errand *errand) {
	close_one(&errand->input);
	close_one(&errand->output);
	close_one(&errand->errors);
	close_one(&errand->file);
	live_end(&errand->live);
	for (size_t i = 0; i < errand->files.count; i++)
		free(errand->files.items[i]);
	array_free(&errand->files);
	buffer_free(&errand->pending);
	agent_folder_close(&errand->folder);
	*errand = (struct errand){.input = -1,
				  .output = -1,
				  .errors = -1,
				  .file = -1,
				  .folder = AGENT_FOLDER_NONE,
				  .live = LIVE_NONE};
}

void errand_drop(struct visit *visit) {
	struct errand *errand = &visit->errand;
	if (errand->pid > 0) {
		kill(-errand->pid, SIGHUP);
		kill(-errand->pid, SIGKILL);
	}
	errand_clear(errand);
}

static void finish(struct visit *visit) {
	struct errand *errand = &visit->errand;
	errand_say(visit, MESSAGE_RESULT, (uint64_t)(unsigned)errand->status,
		   *errand->why ? errand->why : NULL);
	if (errand->kind == REQUEST_POWER_OFF)
		visit->power_off = true;
	errand_clear(errand);
}

// ---- files ----

static bool is_spool(const char *name) {
	size_t length = strlen(name);
	return length > 6 && strcmp(name + length - 6, ".spool") == 0;
}

static DIR *opendir_at(int fd) {
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = own >= 0 ? fdopendir(own) : NULL;
	if (!folder && own >= 0)
		close(own);
	return folder;
}

// Skips recordings that are still running, and everything that is not a regular file.
static void list_files(struct errand *errand) {
	DIR *folder = opendir_at(errand->folder.fd);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		struct stat status;
		if (*entry->d_name == '.' ||
		    fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(status.st_mode) ||
		    (errand->flags & REQUEST_OPERATIONS && is_spool(entry->d_name)))
			continue;
		array_push(&errand->files, memory_string(entry->d_name));
	}
	if (folder)
		closedir(folder);
}

// `folder` is the descriptor of its directory: links in it are not followed. AT_FDCWD if the host named the
// file.
static bool open_file(struct visit *visit, int folder, const char *path) {
	struct errand *errand = &visit->errand;
	const char *slash = strrchr(path, '/');
	struct stat status;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (folder == AT_FDCWD ? 0 : O_NOFOLLOW);
	errand->file = openat(folder, path, flags);
	if (errand->file < 0 || fstat(errand->file, &status)) {
		snprintf(errand->why, sizeof(errand->why), "%.200s: %s", path, strerror(errno));
		close_one(&errand->file);
		return false;
	}
	if (!S_ISREG(status.st_mode)) {
		snprintf(errand->why, sizeof(errand->why), "%.200s: not a regular file", path);
		close_one(&errand->file);
		return false;
	}
	errand->file_size = 0;
	errand_say(visit, MESSAGE_FILE_BEGIN, (uint64_t)status.st_size, slash ? slash + 1 : path);
	return true;
}

static void close_file(struct visit *visit, const char *why) {
	struct errand *errand = &visit->errand;
	errand_say(visit, MESSAGE_FILE_END, errand->file_size, why);
	close_one(&errand->file);
	if (errand->file_at < errand->files.count && !why)
		unlinkat(errand->folder.fd, errand->files.items[errand->file_at], 0);
	errand->file_at++;
}

static void send_piece(struct visit *visit) {
	struct errand *errand = &visit->errand;
	size_t room;
	uint8_t *at = channel_reserve(&visit->channel, STREAM_FILE, &room);
	ssize_t got = read(errand->file, at, room);
	if (got > 0) {
		channel_commit(&visit->channel, STREAM_FILE, (size_t)got);
		errand->file_size += (uint64_t)got;
	} else {
		close_file(visit, got < 0 ? strerror(errno) : NULL);
	}
}

// ---- the process ----

// Sends a piece of its output. Returns false if there is none now.
static bool pump(struct visit *visit, int *fd, enum channel_stream stream) {
	size_t room;
	uint8_t *at = *fd >= 0 ? channel_reserve(&visit->channel, stream, &room) : NULL;
	if (!at)
		return false;
	ssize_t got = read(*fd, at, room);
	if (got > 0)
		channel_commit(&visit->channel, stream, (size_t)got);
	else if (got == 0 || (errno != EAGAIN && errno != EINTR))
		close_one(fd);
	return got > 0;
}

static void feed(struct visit *visit) {
	struct errand *errand = &visit->errand;
	size_t left = errand->pending.size - errand->pending_done;
	if (left && errand->input >= 0) {
		ssize_t put = write(errand->input, errand->pending.data + errand->pending_done, left);
		if (put > 0) {
			errand->pending_done += (size_t)put;
			channel_consumed(&visit->channel, STREAM_STDIN, (size_t)put);
		} else if (put < 0 && errno != EAGAIN && errno != EINTR) {
			close_one(&errand->input); // it reads no more
		}
		left = errand->pending.size - errand->pending_done;
	}
	if (errand->input < 0) {
		channel_consumed(&visit->channel, STREAM_STDIN, left);
		errand->pending_done = errand->pending.size;
	}
	if (errand->pending_done * 2 >= errand->pending.size) { // rarely, for it moves the rest
		buffer_drop(&errand->pending, errand->pending_done);
		errand->pending_done = 0;
	}
	if (errand->input_ends && !errand->pending.size && !(errand->flags & REQUEST_TERMINAL))
		close_one(&errand->input);
}

void errand_input(struct visit *visit, const uint8_t *bytes, size_t size) {
	buffer_append(&visit->errand.pending, bytes, size);
	feed(visit);
}

// Sends a signal to the command, or to its whole group, as a terminal does: shells expect their child to get
// it, too. But not to `tracelet run`, which would forward it a second time.
static void pass_on(const struct errand *errand, int signal, bool typed) {
	DIR *folder = typed ? opendir("/proc") : NULL;
	if (!folder || !errand->folder.path) {
		kill(typed ? -errand->pid : errand->pid, signal);
	} else {
		for (struct dirent *entry; (entry = readdir(folder));) {
			pid_t pid = (pid_t)atoi(entry->d_name);
			if (pid > 0 && pid != errand->pid && getpgid(pid) == errand->pid)
				kill(pid, signal);
		}
	}
	if (folder)
		closedir(folder);
}

void errand_message(struct visit *visit, const struct message *message) {
	struct errand *errand = &visit->errand;
	struct winsize window = {.ws_row = (unsigned short)message->numbers[0],
				 .ws_col = (unsigned short)message->numbers[1]};
	if (message->type == MESSAGE_SIGNAL && errand->pid > 0 && message->numbers[0] < 65)
		pass_on(errand, (int)message->numbers[0], message->numbers[1] == 1);
	else if (message->type == MESSAGE_WINDOW && errand->flags & REQUEST_TERMINAL && errand->output >= 0)
		ioctl(errand->output, TIOCSWINSZ, &window);
	else if (message->type == MESSAGE_INPUT_END) {
		errand->input_ends = true;
		feed(visit);
	}
}

bool errand_process_ended(struct visit *visit, pid_t pid, int status) {
	struct errand *errand = &visit->errand;
	if (errand->pid != pid)
		return false;
	errand->pid = 0;
	errand->status = status;
	errand->ended = true;
	return true;
}

// ---- the beginning ----

static void spawn(struct visit *visit, const struct message *message) {
	struct errand *errand = &visit->errand;
	struct spawn spawned = {.kind = errand->kind,
				.terminal = errand->flags & REQUEST_TERMINAL,
				.rows = (unsigned short)message->numbers[2],
				.columns = (unsigned short)message->numbers[3],
				.words = message->words.items,
				.word_count = message->words.count,
				.folder = errand->folder.path};
	int error = agent_spawn(&spawned);
	if (error) {
		snprintf(errand->why, sizeof(errand->why), "cannot start a process: %s", strerror(-error));
		errand->status = 126 << 8;
		errand->ended = true;
		return;
	}
	errand->pid = spawned.pid;
	errand->input = spawned.input;
	errand->output = spawned.output;
	errand->errors = spawned.errors;
	errand_say(visit, MESSAGE_STARTED, (uint64_t)spawned.pid, errand->folder.path);
}

void errand_begin(struct visit *visit, const struct message *message) {
	struct errand *errand = &visit->errand;
	if (errand->begun)
		errand_drop(visit); // a host has one at a time
	errand_clear(errand);
	errand->begun = true;
	errand->kind = (enum request_kind)message->numbers[0];
	errand->flags = (unsigned)message->numbers[1];
	if (errand->kind == REQUEST_VERB)
		agent_folder_open(&errand->folder, errand->flags & REQUEST_OPERATIONS, errand->why);
	if (errand->folder.path && errand->flags & REQUEST_LIVE)
		live_begin(&errand->live, errand->folder.path);
	if (errand->kind == REQUEST_FILE) {
		errand->ended = true;
		if (!open_file(visit, AT_FDCWD, message_word(message)))
			errand->status = 1 << 8;
	} else if (errand->kind == REQUEST_POWER_OFF) {
		errand->ended = true;
	} else if (errand->kind == REQUEST_VERB || errand->kind == REQUEST_COMMAND ||
		   errand->kind == REQUEST_KMSG) {
		spawn(visit, message);
	} else {
		errand->ended = true;
		errand->status = 1 << 8;
		snprintf(errand->why, sizeof(errand->why), "unknown request");
	}
}

// ---- the loop ----

size_t errand_poll(struct visit *visit, struct pollfd *list) {
	struct errand *errand = &visit->errand;
	bool out = channel_may_send(&visit->channel, STREAM_STDOUT);
	bool errors = channel_may_send(&visit->channel, STREAM_STDERR);
	list[0] = (struct pollfd){.fd = out ? errand->output : -1, .events = POLLIN};
	list[1] = (struct pollfd){.fd = errors ? errand->errors : -1, .events = POLLIN};
	list[2] = (struct pollfd){.fd = errand->pending.size ? errand->input : -1, .events = POLLOUT};
	list[3] = (struct pollfd){.fd = errand->live.changes, .events = POLLIN};
	return ERRAND_POLLED;
}

void errand_attend(struct visit *visit, const struct pollfd *list, size_t count) {
	struct errand *errand = &visit->errand;
	if (list[0].revents)
		pump(visit, &errand->output, STREAM_STDOUT);
	if (list[1].revents)
		pump(visit, &errand->errors, STREAM_STDERR);
	if (list[2].revents)
		feed(visit);
	if (list[3].revents)
		live_changed(visit);
}

// Sends what the process wrote before it ended, without waiting for others that hold its pipes.
static bool drained(struct visit *visit) {
	struct errand *errand = &visit->errand;
	while (pump(visit, &errand->output, STREAM_STDOUT) || pump(visit, &errand->errors, STREAM_STDERR))
		;
	return (errand->output < 0 || channel_may_send(&visit->channel, STREAM_STDOUT)) &&
	       (errand->errors < 0 || channel_may_send(&visit->channel, STREAM_STDERR));
}

bool errand_may_work(const struct visit *visit) {
	struct channel *channel = (struct channel *)(uintptr_t)&visit->channel;
	size_t size;
	return visit->errand.begun && visit->errand.ended && visit->errand.file >= 0 &&
	       !channel_output(channel, &size) && channel_may_send(channel, STREAM_FILE);
}

void errand_work(struct visit *visit) {
	struct errand *errand = &visit->errand;
	size_t size;
	if (!errand->begun)
		return;
	if (!errand->ended) {
		live_work(visit);
		return;
	}
	live_end(&errand->live);
	if (!errand->listed) {
		if (!drained(visit))
			return;
		close_one(&errand->output);
		close_one(&errand->errors);
		if (errand->folder.path)
			list_files(errand);
		errand->listed = true;
	}
	// A file is read only as fast as the connection accepts it.
	while (errand->file >= 0 || errand->file_at < errand->files.count) {
		if (channel_output(&visit->channel, &size) || !channel_may_send(&visit->channel, STREAM_FILE))
			return;
		if (errand->file >= 0)
			send_piece(visit);
		else if (!open_file(visit, errand->folder.fd, errand->files.items[errand->file_at]))
			errand->file_at++; // it is gone
	}
	finish(visit);
}
