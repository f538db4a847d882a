// SPDX-License-Identifier: Apache-2.0
// What tells an image from others and says where its code is, without the image: all that those who map and name it
// need to know.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace cicada::elf {

struct Segment {
  uint32_t type = 0, flags = 0;
  FileOffset offset;
  LinkAddr address;
  uint64_t file_size = 0, memory_size = 0;
};

struct ImageHeader {
  uint16_t type = 0;            // ET_EXEC, ET_DYN
  std::vector<Segment> loaded;  // PT_LOAD with bytes of the file, kMaxLoaded at most
  std::string build_id;         // lower-case hex, at most 128 digits, or empty

  static constexpr size_t kMaxLoaded = 256;
};

// Up to so many bytes of a file, from an offset: how many there were, 0 at its end.
using ReadAt = std::function<Result<size_t>(uint64_t offset, std::span<uint8_t> to)>;
ReadAt by_pread(int fd);

// Reads at most kMaxHeaderBytes: the file may change meanwhile.
// Fails: kCorrupt (cut off, or tables out of the file), kUnsupported (not ELF64 little-endian of this architecture), kLimit, what
// reading says.
inline constexpr uint64_t kMaxHeaderBytes = 2 << 20;
Result<ImageHeader> read_image_header(const ReadAt& file);

// The load bias of a mapping: runtime address - link address. Nothing if no PT_LOAD covers that file offset.
std::optional<uint64_t> find_bias(std::span<const Segment> segments, RuntimeAddr begin, FileOffset offset,
                                  uint64_t size);

}  // namespace cicada::elf
