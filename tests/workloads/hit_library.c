// SPDX-License-Identifier: Apache-2.0
// A function with two names.
#include "workload.h"
NOINLINE void library_hit(void) { NO_TAIL_CALL(); }
void library_hit_too(void) __attribute__((alias("library_hit")));
