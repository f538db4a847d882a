// SPDX-License-Identifier: Apache-2.0
// Where in the file the code at an address is. Threads: any.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "elf/elf_file.h"

namespace cicada::symbolize {

// A place in the file, and how much of its segment is behind it.
struct FilePlace {
  FileOffset offset;
  uint64_t bytes = 0;
};

class FilePlaces {
 public:
  explicit FilePlaces(const elf::ElfFile& elf) : file_bytes_(elf.bytes().size()) {
    for (const elf::Segment& segment : elf.segments()) {
      if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0) code_.push_back(segment);
    }
  }
  size_t segments() const { return code_.size(); }
  std::optional<FilePlace> find(LinkAddr address) const {
    for (const elf::Segment& segment : code_) {
      if (address < segment.address || segment.offset.value >= file_bytes_) continue;
      const uint64_t within = address - segment.address, bytes = std::min(segment.file_size, file_bytes_ - segment.offset.value);
      if (within < bytes) return FilePlace{segment.offset + within, bytes - within};
    }
    return std::nullopt;
  }

 private:
  uint64_t file_bytes_;
  std::vector<elf::Segment> code_;
};

}  // namespace cicada::symbolize
