// SPDX-License-Identifier: Apache-2.0
// What libdw says about one row, in terms of unwind_rule: the second opinion. Shares no code with src/dwarf or src/unwind.
#pragma once
#include <elfutils/libdw.h>

#include <string>

#include "abi/unwind_table.h"

namespace cicada::oracle {

// Whether our rule says the same as libdw's frame. Empty: it does. Else what differs, for people.
// An unsupported rule of ours is no difference if libdw's does not fit unwind_rule either; it is one if it would fit.
std::string compare(Dwarf_Frame* frame, bool signal_frame, const unwind_rule& rule);

}  // namespace cicada::oracle
