// SPDX-License-Identifier: Apache-2.0
// For tests and fuzz targets: wraps bytes as the .eh_frame and .debug_frame of a small ELF image whose code is [0x10000, 0x50000); the
// file has `code` of it.
#pragma once
#include <elf.h>

#include <cstring>
#include <vector>

#include "base/byte_cursor.h"

namespace cicada::dwarf {

inline constexpr uint64_t kCodeBegin = 0x10000, kCodeBytes = 0x40000, kFrameAddress = 0x60000;

inline std::vector<uint8_t> wrap_in_elf(Bytes eh_frame, Bytes debug_frame, Bytes code = {}) {
  static constexpr char kNames[] = "\0.eh_frame\0.debug_frame\0.strings\0.text";
  const uint64_t segments = sizeof(Elf64_Ehdr), sections = segments + 2 * sizeof(Elf64_Phdr);
  const uint64_t names = sections + 5 * sizeof(Elf64_Shdr), eh = names + sizeof kNames, debug = eh + eh_frame.size(), text = debug + debug_frame.size();
  std::vector<uint8_t> image(text + code.size());
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_phoff = segments;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_shoff = sections;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 5;
  header.e_shstrndx = 3;
  std::memcpy(image.data(), &header, sizeof header);
  const auto put_segment = [&](unsigned i, uint32_t flags, uint64_t offset, uint64_t address, uint64_t size, uint64_t memory) {
    Elf64_Phdr p{};
    p.p_type = PT_LOAD;
    p.p_flags = flags;
    p.p_offset = offset;
    p.p_vaddr = address;
    p.p_filesz = size;
    p.p_memsz = memory;
    std::memcpy(image.data() + segments + i * sizeof p, &p, sizeof p);
  };
  put_segment(0, PF_R | PF_X, text, kCodeBegin, code.size(), kCodeBytes);
  put_segment(1, PF_R, eh, kFrameAddress, eh_frame.size(), eh_frame.size());
  const auto put_section = [&](unsigned i, uint32_t name, uint32_t type, uint64_t flags, uint64_t address, uint64_t offset, uint64_t size) {
    Elf64_Shdr s{};
    s.sh_name = name;
    s.sh_type = type;
    s.sh_flags = flags;
    s.sh_addr = address;
    s.sh_offset = offset;
    s.sh_size = size;
    std::memcpy(image.data() + sections + i * sizeof s, &s, sizeof s);
  };
  put_section(1, 1, SHT_PROGBITS, SHF_ALLOC, kFrameAddress, eh, eh_frame.size());
  put_section(2, 11, SHT_PROGBITS, 0, 0, debug, debug_frame.size());
  put_section(3, 24, SHT_STRTAB, 0, 0, names, sizeof kNames);
  put_section(4, 33, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, kCodeBegin, 0, kCodeBytes);
  std::memcpy(image.data() + names, kNames, sizeof kNames);
  if (!eh_frame.empty()) std::memcpy(image.data() + eh, eh_frame.data(), eh_frame.size());
  if (!debug_frame.empty()) std::memcpy(image.data() + debug, debug_frame.data(), debug_frame.size());
  if (!code.empty()) std::memcpy(image.data() + text, code.data(), code.size());
  return image;
}

}  // namespace cicada::dwarf
