// SPDX-License-Identifier: Apache-2.0
// Where an image keeps its call-frame information: .eh_frame by its section, else (no section table: packed or stripped to the
// bone, the vDSO of a core) by PT_GNU_EH_FRAME; and .debug_frame, which fills what .eh_frame leaves out.
#pragma once
#include <vector>

#include "dwarf/call_frame_section.h"
#include "elf/elf_file.h"

namespace cicada::dwarf {

// In order of precedence; borrows from `elf`. Empty: the image has no such information.
std::vector<CallFrameSection> find_frame_sections(const elf::ElfFile& elf);

}  // namespace cicada::dwarf
