#include "artifact/stem.h"
#include "artifact/artifact.h"
#include "base/system.h"

#include <unistd.h>

int stem_reserve(const struct settings *settings, const char *safe_name, char **stem) {
	const char *ending = settings->is_repro ? ".repro" : "";
	char name[ARTIFACT_NAME_SIZE];
	if (settings->repro_of)
		return artifact_reserve_stem(settings->repro_of, ending, stem);
	artifact_variant_name(safe_name, settings->variant, name);
	CLEANUP_FREE char *base = artifact_base(settings->output_dir, name);
	return artifact_reserve_stem(base, ending, stem);
}

int stem_choose(const struct settings *settings, const char *safe_name, char **stem) {
	int fd = stem_reserve(settings, safe_name, stem);
	if (fd < 0)
		return fd;
	close(fd);
	CLEANUP_FREE char *placeholder = memory_format("%s.spool", *stem);
	system_unlink(placeholder);
	return 0;
}
