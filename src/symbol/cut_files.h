// Programs of a test may be overwritten while we have them mapped (by `cp`, `strip`, `patchelf`). Reading a
// page that such a file no longer has raises SIGBUS, which would kill us.
#pragma once

// From now on, missing pages read as zeros in this process.
void cut_files_survive(void);
