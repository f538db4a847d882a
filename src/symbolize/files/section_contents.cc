// SPDX-License-Identifier: Apache-2.0
// Memory comes from mmap without touching it, so an absurd announced size costs address space, not pages.
#include "symbolize/files/section_contents.h"

#include <libdeflate.h>
#include <sys/mman.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string>

namespace cicada::symbolize {

void SectionContents::Unmap::operator()(uint8_t* memory) const { ::munmap(memory, size); }

struct Decompression {
  static constexpr uint64_t kElfCompressZlib = 1;
  static constexpr uint64_t kElfCompressZstd = 2;
  // deflate cannot do better than 1,032:1; zstd can (a run of one byte), debug information does not.
  static constexpr uint64_t kMaxRatio = 1100;

  static Result<SectionContents> run(Bytes input, uint64_t size, uint64_t algorithm, const std::string& what, WorkBudget& budget) {
    if (size > (input.size() + 1) * kMaxRatio) return make_error(ErrorKind::kCorrupt, "{}: announces {} bytes in {}", what, size, input.size());
    if (!budget.spend(size)) return make_error(ErrorKind::kLimit, "{}: {} bytes when decompressed, beside the file's other sections", what, size);
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
  // libdeflate: what zlib inflates in 100 ms takes it 35 (bench/whole_machine: a quarter of cicada's own time was zlib, over libc6-dbg).
  static bool inflate_all(Bytes input, uint8_t* output, uint64_t size) {
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(libdeflate_alloc_decompressor(),
                                                                                                         libdeflate_free_decompressor);
    size_t written = 0;
    return decompressor != nullptr &&
           libdeflate_zlib_decompress(decompressor.get(), input.data(), input.size(), output, size, &written) == LIBDEFLATE_SUCCESS && written == size;
  }
};

WorkBudget decompression_budget(const elf::ElfFile& elf) {
  constexpr uint64_t kMostBytes = uint64_t{4} << 30, kLeastBytes = 64 << 20, kUsualRatio = 16;
  return WorkBudget(std::min(kMostBytes, kLeastBytes + kUsualRatio * elf.bytes().size()));
}

Result<SectionContents> SectionContents::load(const elf::ElfFile& elf, std::string_view name, WorkBudget& budget) {
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
    return Decompression::run(cursor.take(cursor.remaining()), size, algorithm, what, budget);
  }
  if (!name.starts_with(".debug_")) return SectionContents();
  const elf::Section* section = elf.find_section(".z" + std::string(name.substr(1)));
  if (section == nullptr) return SectionContents();
  ByteCursor cursor(elf.contents(*section));
  const Bytes magic = cursor.take(4);
  uint64_t size = 0;
  for (int i = 0; i < 8; ++i) size = size << 8 | cursor.u8();
  if (cursor.failed() || std::memcmp(magic.data(), "ZLIB", 4) != 0) return make_error(ErrorKind::kCorrupt, "{}: no ZLIB header", what);
  return Decompression::run(cursor.take(cursor.remaining()), size, Decompression::kElfCompressZlib, what, budget);
}

}  // namespace cicada::symbolize
