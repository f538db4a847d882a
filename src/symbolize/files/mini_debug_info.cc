// SPDX-License-Identifier: Apache-2.0
#include "symbolize/files/mini_debug_info.h"

#include <lzma.h>

#include <algorithm>
#include <vector>

namespace cicada::symbolize {
namespace {

constexpr uint64_t kDecoderMemoryBytes = 64 << 20;
constexpr uint64_t kMaxRatio = 64;  // symbol tables come to five times their compressed size

Result<std::vector<uint8_t>> decompress_xz(Bytes input, const std::string& name) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kDecoderMemoryBytes, LZMA_CONCATENATED) != LZMA_OK) {
    return make_error(ErrorKind::kLimit, "{}: no memory for xz", name);
  }
  std::vector<uint8_t> output;
  const uint64_t most = std::min(kMaxMiniDebugInfoBytes, (uint64_t{1} << 20) + input.size() * kMaxRatio);
  lzma_ret status = LZMA_OK;
  stream.next_in = input.data();
  stream.avail_in = input.size();
  while (status == LZMA_OK && output.size() < most) {
    const size_t before = output.size();
    output.resize(before + std::max<size_t>(64 << 10, before));
    stream.next_out = output.data() + before;
    stream.avail_out = output.size() - before;
    status = lzma_code(&stream, LZMA_FINISH);
    output.resize(output.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (status == LZMA_STREAM_END) return output;
  if (status == LZMA_OK || status == LZMA_MEMLIMIT_ERROR) {
    return make_error(ErrorKind::kLimit, "{}: .gnu_debugdata comes to more than {} bytes", name, most);
  }
  return make_error(ErrorKind::kCorrupt, "{}: .gnu_debugdata cannot be decompressed (xz code {})", name, static_cast<int>(status));
}

}  // namespace

Result<std::optional<elf::ElfFile>> load_mini_debug_info(const elf::ElfFile& elf) {
  const elf::Section* section = elf.find_section(".gnu_debugdata");
  if (section == nullptr) return std::optional<elf::ElfFile>();
  const std::vector<uint8_t> bytes = TRY(decompress_xz(elf.contents(*section), elf.name()));
  return std::optional<elf::ElfFile>(TRY(elf::ElfFile::parse_copy(bytes, elf.name() + " .gnu_debugdata")));
}

}  // namespace cicada::symbolize
