// Opens and loads the programs, faster than the skeleton's own functions.
#pragma once

#include <stdbool.h>

struct tracelet;
struct bpf_object;
struct bpf_object_skeleton;

// Like tracelet__open() and tracelet__load(), for one object at a time.
struct tracelet *programs_open(void);
int programs_load(struct tracelet *programs);
// Call when loading failed. True if the caller should destroy, open and load the object again;
// libbpf then does everything itself and reports what is wrong.
bool programs_load_otherwise(int error);

// The same for other objects. If loader_begin() returns true, the object must be opened with `path` as its
// btf_custom_path.
enum { LOADER_PATH = 32 };
bool loader_begin(char path[LOADER_PATH]);
int loader_load(struct bpf_object *object, struct bpf_object_skeleton *skeleton);
