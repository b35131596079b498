// On Windows a test always runs as the caller, so nothing needs another user's rights.
#include "process/user_files.h"

void user_files_begin(void) {
}

void user_files_end(void) {
}
