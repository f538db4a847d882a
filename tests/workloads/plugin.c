// SPDX-License-Identifier: Apache-2.0
// Built twice, with the same layout and other names.
#include "workload.h"
NOINLINE void PLUGIN_LEAF(void) { burn(400000000 / 4); }
NOINLINE void PLUGIN_ENTRY(void) { PLUGIN_LEAF(); NO_TAIL_CALL(); }
void plugin(void);
void plugin(void) { PLUGIN_ENTRY(); NO_TAIL_CALL(); }
