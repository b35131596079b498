// Keeps a test of another user from typing on our terminal.
#pragma once

// For a child before it becomes the test's user. If it has a terminal, the calls that put characters into a terminal's
// input fail with EPERM from now on, also in the programs that it starts; nothing else changes. Returns 0, or -errno if
// the kernel does not let us: that takes CAP_SYS_ADMIN.
int typing_forbid(void);
