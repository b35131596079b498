// Names for the reasons of VM exits.
#pragma once

#include <stdint.h>

// As in kvm_exit: the instruction set (1: VMX, 2: SVM, 0: arm64, whose reason is the exception class) and
// the number. NULL if unknown.
const char *kvm_exit_reason(uint32_t isa, uint32_t reason);
