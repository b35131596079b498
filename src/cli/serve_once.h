// Serves one file once, to Perfetto's user interface.
#pragma once

// Converts the recording, prints the link, serves the trace once on loopback and ends. Returns an exit
// status.
int serve_to_perfetto(const char *path);
