#include "guest/host/progress.h"
#include "artifact/artifact.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SECOND = 1000000000, PATIENCE = SECOND, EVERY = SECOND / 5 };

void progress_begin(struct progress *progress, const struct receiver *receiver) {
	bool mixed = receiver && receiver->single && strcmp(receiver->single, "-") == 0 &&
		     isatty(STDOUT_FILENO);
	*progress = (struct progress){.wanted = receiver && !receiver->quiet && !mixed &&
						isatty(STDERR_FILENO)};
}

void progress_hide(struct progress *progress) {
	if (progress->visible)
		fputs("\r\033[K", stderr);
	progress->visible = false;
}

static void print(const struct receiver *receiver, uint64_t took) {
	char name[ARTIFACT_NAME_SIZE], done[32], all[32], rate[32];
	artifact_safe_name(receiver->name, name);
	file_size_words(receiver->size, done);
	file_size_words(receiver->announced, all);
	file_size_words((uint64_t)((double)receiver->size * SECOND / (double)took), rate);
	fprintf(stderr, "\r\033[Ktracelet: %.40s: %s of %s, %s/s", name, done, all, rate);
	fflush(stderr);
}

void progress_show(struct progress *progress, const struct receiver *receiver, uint64_t now) {
	if (!progress->wanted)
		return;
	if (!receiver->open) {
		progress_hide(progress);
		progress->begun = 0;
	} else if (!progress->begun) {
		progress->begun = progress->shown = now;
	} else if (now - progress->begun >= PATIENCE && now - progress->shown >= EVERY) {
		print(receiver, now - progress->begun);
		progress->shown = now;
		progress->visible = true;
	}
}
