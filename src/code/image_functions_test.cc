// SPDX-License-Identifier: Apache-2.0
#include "code/image_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace cicada::code {
namespace {

// With `stubs` bytes in .plt; static programs that may lie anywhere say so in PT_DYNAMIC.
elf::ElfFile image(uint16_t type, uint64_t stubs, bool is_pie = false) {
  const std::string names("\0.plt\0.names", 12);
  Elf64_Shdr sections[3] = {};
  sections[1].sh_name = 1, sections[1].sh_type = SHT_PROGBITS, sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR, sections[1].sh_addr = 0x1000, sections[1].sh_size = stubs;
  sections[2].sh_name = 6, sections[2].sh_type = SHT_STRTAB, sections[2].sh_size = names.size() + 1;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB, header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = type, header.e_machine = EM_X86_64, header.e_version = EV_CURRENT, header.e_entry = 0x1000;
  header.e_ehsize = sizeof header, header.e_shentsize = sizeof(Elf64_Shdr), header.e_shnum = 3, header.e_shstrndx = 2, header.e_shoff = sizeof header;
  sections[2].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_offset = sections[2].sh_offset + sections[2].sh_size;
  Elf64_Phdr segment{};
  const Elf64_Dyn entries[] = {{DT_FLAGS_1, {is_pie ? DF_1_PIE : 0u}}, {DT_NULL, {0}}};
  segment.p_type = PT_DYNAMIC, segment.p_offset = sections[1].sh_offset + stubs, segment.p_filesz = sizeof entries;
  header.e_phentsize = sizeof segment, header.e_phnum = 1, header.e_phoff = segment.p_offset + sizeof entries;
  std::vector<uint8_t> bytes(header.e_phoff + sizeof segment, 0xcc);
  std::memcpy(bytes.data() + segment.p_offset, entries, sizeof entries);
  std::memcpy(bytes.data() + header.e_phoff, &segment, sizeof segment);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, sections, sizeof sections);
  std::copy(names.begin(), names.end(), bytes.begin() + static_cast<ptrdiff_t>(sections[2].sh_offset));
  bytes[sections[1].sh_offset - 1] = 0;
  auto file = elf::ElfFile::parse_copy(bytes, "test image");
  CHECK(file);
  return std::move(*file);
}

TEST(ImageFunctions, LibrariesMayHaveMoreAssemblyThanC) {
  const elf::ElfFile library = image(ET_DYN, 0);
  EXPECT_TRUE(is_compiled_without_cfi(library, 0, 1000));
  EXPECT_TRUE(is_compiled_without_cfi(library, 124, 1000));
  EXPECT_FALSE(is_compiled_without_cfi(library, 125, 1000));
  for (const bool is_pie : {false, true}) {
    const elf::ElfFile program = image(is_pie ? ET_DYN : ET_EXEC, 0, is_pie);
    EXPECT_TRUE(is_compiled_without_cfi(program, 499, 1000)) << "a libc may be in it";
    EXPECT_FALSE(is_compiled_without_cfi(program, 500, 1000));
  }
}

TEST(ImageFunctions, DoesNotCountTheStubsOfTheLinker) {
  const elf::ElfFile library = image(ET_DYN, 200);
  EXPECT_TRUE(is_compiled_without_cfi(library, 200, 1200));
  EXPECT_TRUE(is_compiled_without_cfi(library, 324, 1200));
  EXPECT_FALSE(is_compiled_without_cfi(library, 325, 1200));
  EXPECT_TRUE(is_compiled_without_cfi(library, 100, 1200)) << "they have no CFI";
}

}  // namespace
}  // namespace cicada::code
