// SPDX-License-Identifier: Apache-2.0
#include "stepped_space.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "abi/mapping.h"

namespace cicada::oracle {

uint32_t SteppedSpace::open(const std::string& path, uint64_t begin, uint64_t size) {
  const auto [known, is_new] = by_path_.try_emplace(path, 0);
  if (!is_new) return known->second;
  std::vector<uint8_t> copy;
  if (path == "[vdso]") {
    copy.resize(size);
    copy.resize(process_.read(begin, copy));
  }
  auto elf = path == "[vdso]" ? elf::ElfFile::parse_copy(copy, path) : elf::ElfFile::open(path);
  if (!elf) return 0;
  auto shared = std::make_shared<const elf::ElfFile>(*std::move(elf));
  images_.push_back({path.substr(path.rfind('/') + 1), shared, std::make_unique<unwind::ImageUnwinder>(shared)});
  return known->second = static_cast<uint32_t>(images_.size());
}

void SteppedSpace::look() {
  mappings_.clear();
  std::ifstream maps(fmt::format("/proc/{}/maps", process_.pid()));
  for (std::string line; std::getline(maps, line);) {
    std::istringstream in(line);
    std::string range, flags, offset, device, inode, path;
    in >> range >> flags >> offset >> device >> inode;
    std::getline(in >> std::ws, path);
    if (flags.find('x') == std::string::npos || path == "[vsyscall]") continue;
    const uint64_t begin = std::stoull(range, nullptr, 16), end = std::stoull(range.substr(range.find('-') + 1), nullptr, 16);
    Mapping mapping{{RuntimeAddr(begin), RuntimeAddr(end)}, 0, 0, MAPPING_JIT};
    const uint32_t image = path.empty() ? 0 : open(path, begin, end - begin);
    if (image != 0) {
      const Image& found = images_[image - 1];
      const auto bias = elf::find_bias(found.elf->segments(), RuntimeAddr(begin), FileOffset(std::stoull(offset, nullptr, 16)), end - begin);
      if (bias) mapping = {mapping.range, *bias, image, found.unwinder->rows().empty() ? uint32_t{MAPPING_NO_CFI} : 0};
    }
    mappings_.push_back(mapping);
  }
}

std::optional<SteppedSpace::Mapping> SteppedSpace::find_mapping(RuntimeAddr address) {
  const auto after = std::upper_bound(mappings_.begin(), mappings_.end(), address, [](RuntimeAddr wanted, const Mapping& mapping) { return wanted < mapping.range.begin; });
  if (after == mappings_.begin() || !std::prev(after)->range.contains(address)) return std::nullopt;
  return *std::prev(after);
}

uint64_t SteppedSpace::frame_of(uint64_t address) {
  const auto mapping = find_mapping(RuntimeAddr(address));
  if (!mapping) return frame_at(FRAME_UNKNOWN, address);
  return mapping->image == 0 ? frame_at(FRAME_JIT, address) : frame_in_image(mapping->image, address - mapping->bias);
}

std::string SteppedSpace::image_of(uint64_t address) {
  const auto mapping = find_mapping(RuntimeAddr(address));
  return !mapping ? "[nothing]" : mapping->image == 0 ? "[generated code]" : images_[mapping->image - 1].name;
}

std::string SteppedSpace::text_of(uint64_t address) {
  const auto mapping = find_mapping(RuntimeAddr(address));
  return mapping && mapping->image != 0 ? fmt::format("{}+{:#x}", images_[mapping->image - 1].name, address - mapping->bias) : fmt::format("{:#x}", address);
}

std::optional<uint64_t> SteppedSpace::find_symbol(const std::string& name) {
  for (const Mapping& mapping : mappings_) {
    if (mapping.image == 0) continue;
    const elf::ElfFile& elf = *images_[mapping.image - 1].elf;
    for (const char* table : {".symtab", ".dynsym"}) {
      const elf::Section* section = elf.find_section(table);
      if (section == nullptr || section->link >= elf.sections().size()) continue;
      const Bytes symbols = elf.contents(*section), texts = elf.contents(elf.sections()[section->link]);
      for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
        if (symbol.st_value != 0 && symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && text_at(texts, symbol.st_name, 4096) == name) return symbol.st_value + mapping.bias;
      }
    }
  }
  return std::nullopt;
}

}  // namespace cicada::oracle
