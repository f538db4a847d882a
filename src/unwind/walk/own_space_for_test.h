// SPDX-License-Identifier: Apache-2.0
// For tests: the process that runs, with its own mappings and files, as the walk sees it.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "unwind/walk/deferred_walk.h"

namespace cicada::unwind {

class OwnSpace final : public AddressSpaceView {
 public:
  OwnSpace() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      std::istringstream in(line);
      std::string range, flags, offset, device, inode, path;
      in >> range >> flags >> offset >> device >> inode;
      std::getline(in >> std::ws, path);  // it may have spaces
      if (flags.find('x') == std::string::npos || path.empty() || path[0] != '/') continue;
      const uint64_t begin = std::stoull(range, nullptr, 16), end = std::stoull(range.substr(range.find('-') + 1), nullptr, 16);
      auto elf = elf::ElfFile::open(path);
      if (!elf) continue;
      const auto bias = elf::find_bias(elf->segments(), RuntimeAddr(begin), FileOffset(std::stoull(offset, nullptr, 16)), end - begin);
      if (!bias) continue;
      files_.push_back(std::make_shared<elf::ElfFile>(*std::move(elf)));
      images_.push_back(std::make_unique<ImageUnwinder>(files_.back()));
      mappings_.push_back({{RuntimeAddr(begin), RuntimeAddr(end)}, *bias, static_cast<uint32_t>(images_.size()), 0});
    }
  }
  std::optional<Mapping> find_mapping(RuntimeAddr address) override {
    for (const Mapping& mapping : mappings_) {
      if (mapping.range.contains(address)) return mapping;
    }
    return std::nullopt;
  }
  const ImageUnwinder* find_image(uint32_t image) override { return images_[image - 1].get(); }
  Bytes code_at(uint32_t image, LinkAddr address) const { return files_[image - 1]->contents_at(address); }
  uint64_t bias_of(uint32_t image) const { return mappings_[image - 1].bias; }

 private:
  std::vector<Mapping> mappings_;
  std::vector<std::shared_ptr<const elf::ElfFile>> files_;
  std::vector<std::unique_ptr<ImageUnwinder>> images_;
};

}  // namespace cicada::unwind
