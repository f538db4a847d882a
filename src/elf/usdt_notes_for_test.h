// SPDX-License-Identifier: Apache-2.0
// Builds images with USDT notes, for the tests of this module and of the fuzz targets.
#pragma once
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"

namespace cicada::elf {

// Code is at 0x401000, 0x1000 into the file; data at 0x403000, 0x2000 into it; both of 0x1000 bytes.
class UsdtImage {
 public:
  static constexpr uint64_t kCode = 0x401000, kData = 0x403000, kBase = 0x404000;

  void add(std::string_view provider, std::string_view name, std::string_view arguments, uint64_t location, uint64_t semaphore = 0, uint64_t base = kBase) {
    std::string content;
    for (const uint64_t word : {location, base, semaphore}) content.append(reinterpret_cast<const char*>(&word), sizeof word);
    for (const std::string_view text : {provider, name, arguments}) content.append(text).push_back('\0');
    add_raw(content);
  }
  void add_raw(std::string content, uint32_t type = 3, std::string owner = std::string("stapsdt\0", 8)) {
    const uint32_t head[] = {static_cast<uint32_t>(owner.size()), static_cast<uint32_t>(content.size()), type};
    notes.append(reinterpret_cast<const char*>(head), sizeof head);
    for (std::string* part : {&owner, &content}) {
      part->resize((part->size() + 3) / 4 * 4);
      notes += *part;
    }
  }
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out(0x3000);
    Elf64_Ehdr file{};
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_ident[EI_DATA] = ELFDATA2LSB;
    file.e_type = ET_EXEC;
    file.e_machine = EM_X86_64;
    file.e_phentsize = sizeof(Elf64_Phdr);
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_phoff = sizeof file;
    file.e_phnum = 2;
    const Elf64_Phdr segments[] = {segment(0x1000, kCode, PF_R | PF_X), segment(0x2000, kData, PF_R | PF_W)};
    std::memcpy(&out[file.e_phoff], segments, sizeof segments);
    const std::string names = std::string("\0.note.stapsdt\0.stapsdt.base\0.shstrtab\0", 39);
    std::vector<Elf64_Shdr> sections(4);
    sections[1] = section(1, SHT_NOTE, 0, out.size(), notes.size());
    out.insert(out.end(), notes.begin(), notes.end());
    sections[2] = section(15, SHT_PROGBITS, base_section, out.size(), 1);
    sections[3] = section(29, SHT_STRTAB, 0, out.size(), names.size());
    out.insert(out.end(), names.begin(), names.end());
    file.e_shoff = out.size();
    file.e_shnum = static_cast<uint16_t>(sections.size());
    file.e_shstrndx = 3;
    const auto* raw = reinterpret_cast<const uint8_t*>(sections.data());
    out.insert(out.end(), raw, raw + sections.size() * sizeof sections[0]);
    std::memcpy(out.data(), &file, sizeof file);
    return out;
  }
  ElfFile parse() const {
    auto image = ElfFile::parse_copy(bytes(), "test image");
    CHECK(image);
    return std::move(*image);
  }

  std::string notes;               // of the section
  uint64_t base_section = kBase;  // where .stapsdt.base is

 private:
  static Elf64_Phdr segment(uint64_t offset, uint64_t address, uint32_t flags) {
    Elf64_Phdr s{};
    s.p_type = PT_LOAD;
    s.p_flags = flags;
    s.p_offset = offset;
    s.p_vaddr = address;
    s.p_filesz = 0x1000;
    s.p_memsz = 0x2000;
    return s;
  }
  static Elf64_Shdr section(uint32_t name, uint32_t type, uint64_t address, uint64_t offset, uint64_t size) {
    Elf64_Shdr s{};
    s.sh_name = name;
    s.sh_type = type;
    s.sh_addr = address;
    s.sh_offset = offset;
    s.sh_size = size;
    return s;
  }
};

}  // namespace cicada::elf
