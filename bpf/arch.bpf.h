// SPDX-License-Identifier: GPL-2.0-only
// The architecture that is compiled for.
#pragma once
#if defined(__TARGET_ARCH_x86)
#include "arch_x86_64.bpf.h"
#else
#error "no bpf/arch_ file for this architecture (HACKING.md, Adding an architecture)"
#endif
