// SPDX-License-Identifier: Apache-2.0
// The vDSO, read from our own memory: every 64-bit process of a running kernel has the same one.
#pragma once
#include "elf/elf_file.h"

namespace cicada::symbolize {

// Fails: kNotFound (vdso=0 on the kernel command line), kCorrupt.
Result<elf::ElfFile> load_vdso();

}  // namespace cicada::symbolize
