// SPDX-License-Identifier: Apache-2.0
// The FDEs of one section of call-frame information, as libdw lists them: so that an FDE which our reader drops is missed. Shares no code with
// src/dwarf.
#pragma once
#include <libelf.h>

#include <cstdint>
#include <vector>

namespace cicada::oracle {

struct LibdwFde {
  uint64_t begin = 0, end = 0;
  auto operator<=>(const LibdwFde&) const = default;
};

// Of all sections named `name` (".eh_frame", ".debug_frame"), in order of address; without those that describe no code (no size, or address 0).
// `unreadable`: entries with an encoding that this does not know, and entries that libdw refuses.
std::vector<LibdwFde> list_fdes(::Elf* elf, const char* name, uint64_t& unreadable);

}  // namespace cicada::oracle
