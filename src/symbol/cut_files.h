// Programs that run in a test may be written over while we read them (by `cp`, `strip`, `patchelf`), and
// they are mapped: where such a file has no page any more, reading is a signal that would end us.
#pragma once

// From now on, in this process, what is gone reads as zeros.
void cut_files_survive(void);
