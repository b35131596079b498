// The parts of a session's end that differ between systems.
#pragma once

#include "format/manifest_record.h"
#include "settings/settings.h"

// How a test that was not stopped by us ended, as text; and the members "exit" or "signal".
void finish_status_words(int status, char *words, size_t size);
void finish_put_status(struct manifest_record *record, int status);
bool finish_crashed(int status); // it died of a signal or an exception

// "host", "kernel", "machine", "cpu", "cpus" and "memory".
void finish_put_system(struct manifest_record *record);

const char *finish_scope(const struct settings *settings);
