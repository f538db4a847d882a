// SPDX-License-Identifier: Apache-2.0
// The vDSO of our own process as a file: every 64-bit process of a running kernel has the same one.
#pragma once
#include "base/result.h"
#include "base/unique_fd.h"

namespace cicada::elf {

// A memfd. Fails: kNotFound (vdso=0 on the kernel command line), the system's error.
Result<UniqueFd> open_vdso();

}  // namespace cicada::elf
