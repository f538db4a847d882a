// SPDX-License-Identifier: Apache-2.0
// Rows of Go code from .gopclntab, which every Go program carries, stripped or not: how far the stack pointer is from the frame's top at
// each instruction. Frame pointers alone leave out the caller of a function that has no frame: 100 % of the stacks of tests/workloads'
// Go program, whose leaf is such a function.
//
// Go 1.18 and later; older tables are left to frame pointers, and so are functions that write the stack pointer themselves
// (runtime.systemstack and the like, which change stacks).
// Source: runtime/symtab.go (moduledata, _func, funcFlag), cmd/internal/obj/pcln.go.
#pragma once
#include <vector>

#include "base/address.h"
#include "elf/elf_file.h"
#include "unwind/rows/code_rule.h"

namespace cicada::unwind {

// The table's bytes; empty: not a Go program, or its table is not in a section.
Bytes find_pclntab(const elf::ElfFile& elf);

// Ascending, disjoint, offsets from `base`. Empty: not a table of this kind. Bounded by 2 Mi entries whatever the bytes say.
std::vector<CodeRule> find_go_rules(Bytes pclntab, LinkAddr base);

}  // namespace cicada::unwind
