// SPDX-License-Identifier: Apache-2.0
// What the psABI of x86-64 says about calls into other images: relocations that fill a GOT slot, and stubs that jump through one.
#pragma once
#include <elf.h>

#include <optional>

#include "base/byte_cursor.h"

namespace cicada::symbolize::x86_64 {

constexpr uint64_t kLazyHeaderSlot = 16;  // of DT_PLTGOT: where the first stub, which all unbound ones go through, jumps

inline bool binds_slot_to_symbol(uint64_t relocation) { return relocation == R_X86_64_JUMP_SLOT || relocation == R_X86_64_GLOB_DAT; }
inline bool binds_slot_at_start(uint64_t relocation) { return relocation == R_X86_64_IRELATIVE; }
// Bytes from one stub to the next in a section.
inline uint64_t stub_bytes(std::string_view section, uint64_t entry_bytes) { return section == ".plt.got" && entry_bytes == 8 ? 8 : 16; }

// The GOT slot that an instruction `jmp *disp(%rip)` (ff 25 disp32) in the stub at `address` reads.
inline std::optional<uint64_t> find_slot(Bytes stub, uint64_t address) {
  for (size_t i = 0; i + 6 <= stub.size(); ++i) {
    if (stub[i] != 0xff || stub[i + 1] != 0x25) continue;
    const int32_t displacement = ByteCursor(stub, i + 2).s32();
    return address + i + 6 + static_cast<uint64_t>(int64_t{displacement});
  }
  return std::nullopt;
}

}  // namespace cicada::symbolize::x86_64
