#include "session/ini_file.h"

#include <ini.h>

int ini_file_read(const char *path, ini_file_taker *take, void *context) {
	return ini_parse(path, take, context);
}
