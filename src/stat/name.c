// Names of reports with placeholders, as in WindowsPerf.
#include "stat/stat.h"

#include <stdio.h>
#include <string.h>

bool stat_wants_files(const struct stat_options *options) {
	return options->output && options->per_core && options->format == STAT_CSV &&
	       strstr(options->output, "{core}");
}

char *stat_file_name(const struct stat_options *options, const struct timespec *time, int core) {
	char timestamp[32], number[16];
	struct tm parts;
	localtime_r(&time->tv_sec, &parts);
	strftime(timestamp, sizeof(timestamp), "%Y_%m_%d_%H_%M_%S", &parts);
	snprintf(number, sizeof(number), "%d", core);
	const struct {
		const char *word, *value;
	} words[] = {{"{timestamp}", timestamp},
		     {"{class}", options->per_core     ? "core"
				 : options->per_thread ? "thread"
				 : options->per_test   ? "test"
						       : "all"},
		     {"{core}", core == STAT_ALL_PLACES ? "all" : number}};
	struct buffer name = {0};
	for (const char *at = options->output; *at;) {
		const char *value = NULL;
		size_t length = 1;
		for (size_t i = 0; i < ARRAY_SIZE(words) && !value; i++)
			if (strncmp(at, words[i].word, strlen(words[i].word)) == 0) {
				value = words[i].value;
				length = strlen(words[i].word);
			}
		if (value)
			buffer_append(&name, value, strlen(value));
		else
			buffer_append(&name, at, 1);
		at += length;
	}
	buffer_append(&name, "", 1);
	return (char *)name.data;
}
