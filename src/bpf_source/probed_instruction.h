// SPDX-License-Identifier: Apache-2.0
// What the kernel does with an instruction that it has replaced by a breakpoint: emulates it (a push, a jump, a nop), or executes a copy of it and steps over that by a debug
// exception, which costs a virtual machine ten times what the rest of a hit does. Source: arch/x86/kernel/uprobes.c. Threads: any.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace cicada::bpf_source {

inline constexpr size_t kMaxInstructionBytes = 15;

// Behind endbr64, if a push follows: that is part of the same beginning, nothing jumps there, and it is emulated. Else 0.
size_t bytes_of_landing_pad(std::span<const uint8_t> code);

// A vector instruction (VEX, EVEX) that the kernel takes for a jump, by its opcode alone, and does not execute: memset and strlen begin with such ones. Seen in
// Linux 6.18; a program with a probe there goes wrong.
bool is_taken_for_a_jump(std::span<const uint8_t> code);

// One that returns from a function: ret, or ret N, also behind a prefix.
bool is_return(std::span<const uint8_t> code);

}  // namespace cicada::bpf_source
