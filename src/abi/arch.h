// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The architecture that is compiled for: registers, the layout of signal frames, code that the walk knows by its bytes.
#pragma once
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "abi/arch/x86_64.h"
#else
#error "no abi/arch file for this architecture (HACKING.md, Adding an architecture)"
#endif
