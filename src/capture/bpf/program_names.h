// What the code of the loaded programs is called, for stacks that are taken inside them. The kernel's list
// of symbols has them, too; but that is read while they are being loaded.
#pragma once

struct bpf_object;

void program_names_tell(struct bpf_object *object);
