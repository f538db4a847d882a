// SPDX-License-Identifier: Apache-2.0
// Memory comes from mmap without touching it, so an absurd announced size costs address space, not pages.
#include "symbolize/section_contents.h"

#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <string>

namespace cicada::symbolize {

void SectionContents::Unmap::operator()(uint8_t* memory) const { ::munmap(memory, size); }

struct Decompression {
  static constexpr uint64_t kElfCompressZlib = 1;
  static constexpr uint64_t kElfCompressZstd = 2;
  // deflate cannot do better than 1,032:1; zstd can (a run of one byte), debug information does not.
  static constexpr uint64_t kMaxRatio = 1100;

  static Result<SectionContents> run(Bytes input, uint64_t size, uint64_t algorithm, const std::string& what) {
    if (size > kMaxDecompressedBytes) return make_error(ErrorKind::kLimit, "{}: {} bytes when decompressed", what, size);
    if (size > (input.size() + 1) * kMaxRatio) return make_error(ErrorKind::kCorrupt, "{}: announces {} bytes in {}", what, size, input.size());
    SectionContents contents;
    if (size == 0) return contents;
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return make_error(ErrorKind::kLimit, "{}: no memory for {} bytes", what, size);
    contents.owned_ = {static_cast<uint8_t*>(memory), SectionContents::Unmap(size)};
    const bool ok = algorithm == kElfCompressZlib ? inflate_all(input, contents.owned_.get(), size)
                                                  : ZSTD_decompress(memory, size, input.data(), input.size()) == size;
    if (!ok) return make_error(ErrorKind::kCorrupt, "{}: cannot be decompressed", what);
    contents.bytes_ = Bytes(contents.owned_.get(), size);
    return contents;
  }
  static SectionContents borrow(Bytes bytes) {
    SectionContents contents;
    contents.bytes_ = bytes;
    return contents;
  }

 private:
  static bool inflate_all(Bytes input, uint8_t* output, uint64_t size) {
    constexpr uint64_t kStep = 1 << 30;  // zlib counts in 32 bits
    z_stream stream{};
    if (inflateInit(&stream) != Z_OK) return false;
    uint64_t read = 0, written = 0;
    int status = Z_OK;
    while (status == Z_OK) {
      const auto in = static_cast<uInt>(std::min(kStep, input.size() - read));
      const auto out = static_cast<uInt>(std::min(kStep, size - written));
      stream.next_in = const_cast<Bytef*>(input.data() + read);
      stream.avail_in = in;
      stream.next_out = output + written;
      stream.avail_out = out;
      status = inflate(&stream, Z_NO_FLUSH);
      read += in - stream.avail_in;
      written += out - stream.avail_out;
      if (in == stream.avail_in && out == stream.avail_out) break;
    }
    inflateEnd(&stream);
    return written == size && (status == Z_STREAM_END || status == Z_OK || status == Z_BUF_ERROR);
  }
};

Result<SectionContents> SectionContents::load(const elf::ElfFile& elf, std::string_view name) {
  const std::string what = elf.name() + " " + std::string(name);
  if (const elf::Section* section = elf.find_section(name); section != nullptr) {
    const Bytes raw = elf.contents(*section);
    if ((section->flags & SHF_COMPRESSED) == 0) return Decompression::borrow(raw);
    ByteCursor cursor(raw);
    const uint32_t algorithm = cursor.u32();
    cursor.u32();
    const uint64_t size = cursor.u64();
    cursor.u64();
    if (cursor.failed()) return make_error(ErrorKind::kCorrupt, "{}: compression header out of the section", what);
    if (algorithm != Decompression::kElfCompressZlib && algorithm != Decompression::kElfCompressZstd) {
      return make_error(ErrorKind::kUnsupported, "{}: unknown compression {}", what, algorithm);
    }
    return Decompression::run(cursor.take(cursor.remaining()), size, algorithm, what);
  }
  if (!name.starts_with(".debug_")) return SectionContents();
  const elf::Section* section = elf.find_section(".z" + std::string(name.substr(1)));
  if (section == nullptr) return SectionContents();
  ByteCursor cursor(elf.contents(*section));
  const Bytes magic = cursor.take(4);
  uint64_t size = 0;
  for (int i = 0; i < 8; ++i) size = size << 8 | cursor.u8();
  if (cursor.failed() || std::memcmp(magic.data(), "ZLIB", 4) != 0) return make_error(ErrorKind::kCorrupt, "{}: no ZLIB header", what);
  return Decompression::run(cursor.take(cursor.remaining()), size, Decompression::kElfCompressZlib, what);
}

}  // namespace cicada::symbolize
