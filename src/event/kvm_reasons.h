// Why a guest was left, in words.
#pragma once

#include <stdint.h>

// As kvm_exit tells it: the instruction set (1: VMX, 2: SVM, 0: arm64, whose reason is the class of the
// exception) and the number. NULL: nobody knows.
const char *kvm_exit_reason(uint32_t isa, uint32_t reason);
