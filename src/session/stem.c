#include "session/stem.h"
#include "session/artifact.h"

int stem_reserve(const struct settings *settings, const char *safe_name, char **stem) {
	const char *ending = settings->is_repro ? ".repro" : "";
	char name[ARTIFACT_NAME_SIZE];
	if (settings->repro_of)
		return artifact_reserve_stem(settings->repro_of, ending, stem);
	artifact_variant_name(safe_name, settings->variant, name);
	CLEANUP_FREE char *base = artifact_base(settings->output_dir, name);
	return artifact_reserve_stem(base, ending, stem);
}
