#include "guest/agent/agent.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

void live_begin(struct live *live, const char *folder) {
	live->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (live->changes >= 0)
		inotify_add_watch(live->changes, folder, IN_CREATE | IN_MODIFY);
}

void live_end(struct live *live) {
	if (live->changes >= 0)
		close(live->changes);
	if (live->file >= 0)
		close(live->file);
	*live = LIVE_NONE;
}

static void find_recording(struct visit *visit) {
	struct errand *errand = &visit->errand;
	DIR *folder = opendir(errand->folder.path);
	for (struct dirent *entry; folder && errand->live.file < 0 && (entry = readdir(folder));) {
		size_t length = strlen(entry->d_name);
		if (length < 6 || strcmp(entry->d_name + length - 6, ".spool") != 0)
			continue;
		errand->live.file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (errand->live.file >= 0)
			errand_say(visit, MESSAGE_TRACE_BEGIN, 0, entry->d_name);
	}
	if (folder)
		closedir(folder);
}

void live_changed(struct visit *visit) {
	struct live *live = &visit->errand.live;
	char events[4096]; // all that matters is that something has changed
	while (read(live->changes, events, sizeof(events)) > 0)
		;
	if (live->file < 0)
		find_recording(visit);
	live->more = live->file >= 0;
}

void live_work(struct visit *visit) {
	struct live *live = &visit->errand.live;
	size_t room;
	while (live->more && channel_may_send(&visit->channel, STREAM_TRACE)) {
		uint8_t *at = channel_reserve(&visit->channel, STREAM_TRACE, &room);
		ssize_t got = read(live->file, at, room);
		if (got > 0)
			channel_commit(&visit->channel, STREAM_TRACE, (size_t)got);
		live->more = got > 0;
	}
}
