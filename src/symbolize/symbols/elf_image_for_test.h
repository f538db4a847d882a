// SPDX-License-Identifier: Apache-2.0
// Builds small ELF files in memory, and real ones with the compiler, for the tests of this directory and the fuzz corpora.
#pragma once
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "elf/elf_file.h"

namespace cicada::symbolize {

class ElfImage {
 public:
  struct Part {
    std::string name;
    uint32_t type = SHT_PROGBITS;
    uint64_t flags = 0, address = 0, entry_size = 0;
    uint32_t link = 0;
    std::vector<uint8_t> bytes;
  };
  // Returns the section's index. Index 0 is the null section.
  uint32_t add(Part part) {
    parts_.push_back(std::move(part));
    return static_cast<uint32_t>(parts_.size());
  }
  uint32_t add_text(uint64_t address, uint64_t size) {
    return add({".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, address, 0, 0, std::vector<uint8_t>(size, 0xcc)});
  }
  // From now on each executable section is in a PT_LOAD of its own.
  void load_code() { loads_code_ = true; }
  struct Sym {
    std::string name;
    uint64_t value = 0, size = 0;
    uint8_t type = STT_FUNC, binding = STB_GLOBAL;
    uint16_t section = 1;
  };
  void add_symbols(const std::string& table, const std::vector<Sym>& symbols) {
    std::vector<uint8_t> strings(1), entries(sizeof(Elf64_Sym));
    for (const Sym& from : symbols) {
      Elf64_Sym to{};
      to.st_name = static_cast<Elf64_Word>(strings.size());
      to.st_value = from.value;
      to.st_size = from.size;
      to.st_info = static_cast<uint8_t>(ELF64_ST_INFO(from.binding, from.type));
      to.st_shndx = from.section;
      strings.insert(strings.end(), from.name.begin(), from.name.end());
      strings.push_back(0);
      const auto* raw = reinterpret_cast<const uint8_t*>(&to);
      entries.insert(entries.end(), raw, raw + sizeof to);
    }
    const uint32_t strtab = add({table == ".dynsym" ? ".dynstr" : ".strtab", SHT_STRTAB, 0, 0, 0, 0, std::move(strings)});
    add({table, table == ".dynsym" ? uint32_t{SHT_DYNSYM} : uint32_t{SHT_SYMTAB}, 0, 0, sizeof(Elf64_Sym), strtab, std::move(entries)});
  }
  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out(sizeof(Elf64_Ehdr)), names(1);
    std::vector<Elf64_Shdr> headers(1);
    std::memset(headers.data(), 0, sizeof(Elf64_Shdr));
    for (const Part& part : parts_) {
      Elf64_Shdr header{};
      header.sh_name = append_name(names, part.name);
      header.sh_type = part.type;
      header.sh_flags = part.flags;
      header.sh_addr = part.address;
      header.sh_offset = out.size();
      header.sh_size = part.bytes.size();
      header.sh_entsize = part.entry_size;
      header.sh_link = part.link;
      headers.push_back(header);
      out.insert(out.end(), part.bytes.begin(), part.bytes.end());
    }
    Elf64_Shdr header{};
    header.sh_name = append_name(names, ".shstrtab");
    header.sh_type = SHT_STRTAB;
    header.sh_offset = out.size();
    header.sh_size = names.size();
    headers.push_back(header);
    out.insert(out.end(), names.begin(), names.end());
    Elf64_Ehdr file{};
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_ident[EI_DATA] = ELFDATA2LSB;
    file.e_ident[EI_VERSION] = EV_CURRENT;
    file.e_type = ET_DYN;
    file.e_machine = EM_X86_64;
    file.e_version = EV_CURRENT;
    file.e_ehsize = sizeof file;
    file.e_phentsize = sizeof(Elf64_Phdr);
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_shnum = static_cast<uint16_t>(headers.size());
    file.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    file.e_shoff = out.size();
    const auto* raw = reinterpret_cast<const uint8_t*>(headers.data());
    out.insert(out.end(), raw, raw + headers.size() * sizeof(Elf64_Shdr));
    if (loads_code_) append_segments(headers, file, out);
    std::memcpy(out.data(), &file, sizeof file);
    return out;
  }
  elf::ElfFile parse() const {
    auto file = elf::ElfFile::parse_copy(bytes(), "test image");
    CHECK(file);
    return std::move(*file);
  }

 private:
  static void append_segments(const std::vector<Elf64_Shdr>& sections, Elf64_Ehdr& file, std::vector<uint8_t>& out) {
    file.e_phoff = out.size();
    for (const Elf64_Shdr& section : sections) {
      if ((section.sh_flags & SHF_EXECINSTR) == 0) continue;
      Elf64_Phdr segment{};
      segment.p_type = PT_LOAD;
      segment.p_flags = PF_R | PF_X;
      segment.p_offset = section.sh_offset;
      segment.p_vaddr = section.sh_addr;
      segment.p_filesz = segment.p_memsz = section.sh_size;
      const auto* raw = reinterpret_cast<const uint8_t*>(&segment);
      out.insert(out.end(), raw, raw + sizeof segment);
      ++file.e_phnum;
    }
  }
  static Elf64_Word append_name(std::vector<uint8_t>& names, const std::string& name) {
    const auto at = static_cast<Elf64_Word>(names.size());
    names.insert(names.end(), name.begin(), name.end());
    names.push_back(0);
    return at;
  }
  std::vector<Part> parts_;
  bool loads_code_ = false;
};

// A directory that goes away with the test.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cicada-symbolize-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;
  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  void write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  // Runs a shell command inside the directory; its output is shown only if it fails.
  bool run(const std::string& command) const {
    const std::string all = "cd '" + path_ + "' && { " + command + "; } > log 2>&1 || { cat log >&2; false; }";
    return std::system(all.c_str()) == 0;
  }

 private:
  std::string path_;
};

}  // namespace cicada::symbolize
