// Names that stand for an open descriptor.
#pragma once

// The descriptor that "5", "-", "/dev/stdout", "/dev/stderr" or "/dev/fd/5" stands for;
// -1 if it is the name of a file.
int descriptor_named(const char *name);
