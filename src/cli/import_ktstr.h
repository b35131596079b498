#pragma once

// `tracelet guest import-ktstr`: argv[0] is that word. The exit status.
int import_ktstr(int argc, char **argv);
