// SPDX-License-Identifier: Apache-2.0
// The library half of shared_library: calls back into the program.
#include "workload.h"
NOINLINE void library_leaf(void) { burn(about(500000)); }
NOINLINE void library_entry(void (*callback)(void)) {
  library_leaf();
  callback();
  NO_TAIL_CALL();
}
