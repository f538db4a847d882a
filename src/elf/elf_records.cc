// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_records.h"

#include <algorithm>
#include <array>

#include "abi/arch.h"

namespace cicada::elf {
namespace {

constexpr uint32_t kMaxBuildIdBytes = 64;  // three times a SHA-1

}  // namespace

bool FileHeader::needs_first_section() const {
  return section_table != 0 && (section_count == 0 || name_section == SHN_XINDEX || segment_count == PN_XNUM);
}

void FileHeader::take_counts(const Section& first) {
  if (section_count == 0) section_count = first.size;
  if (name_section == SHN_XINDEX) name_section = first.link;
  if (segment_count == PN_XNUM && first.info != 0) segment_count = first.info;
}

Section read_section(ByteCursor& cursor, uint32_t& name) {
  Section s;
  name = cursor.u32();
  s.type = cursor.u32();
  s.flags = cursor.u64();
  s.address = LinkAddr(cursor.u64());
  s.offset = FileOffset(cursor.u64());
  s.size = cursor.u64();
  s.link = cursor.u32();
  s.info = cursor.u32();
  cursor.skip(8);  // alignment
  s.entry_size = cursor.u64();
  return s;
}

Segment read_segment(ByteCursor& cursor) {
  Segment s;
  s.type = cursor.u32();
  s.flags = cursor.u32();
  s.offset = FileOffset(cursor.u64());
  s.address = LinkAddr(cursor.u64());
  cursor.skip(8);  // physical address
  s.file_size = cursor.u64();
  s.memory_size = cursor.u64();
  return s;
}

Result<FileHeader> parse_file_header(Bytes bytes, const std::string& name) {
  static constexpr std::array<uint8_t, 4> kMagic = {0x7f, 'E', 'L', 'F'};
  if (bytes.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return make_error(ErrorKind::kUnsupported, "{}: not an ELF file", name);
  }
  ByteCursor cursor(bytes, EI_CLASS);
  const uint8_t elf_class = cursor.u8();
  const uint8_t order = cursor.u8();
  if (!cursor.failed() && (elf_class != ELFCLASS64 || order != ELFDATA2LSB)) {
    return make_error(ErrorKind::kUnsupported, "{}: not a 64-bit little-endian ELF file", name);
  }
  cursor.skip(EI_NIDENT - EI_VERSION);
  FileHeader h;
  h.type = cursor.u16();
  h.machine = cursor.u16();
  cursor.skip(4);  // version
  h.entry = LinkAddr(cursor.u64());
  h.segment_table = cursor.u64();
  h.section_table = cursor.u64();
  cursor.skip(4 + 2);  // flags, size of this header
  h.segment_size = cursor.u16();
  h.segment_count = cursor.u16();
  h.section_size = cursor.u16();
  h.section_count = cursor.u16();
  h.name_section = cursor.u16();
  if (cursor.failed()) return make_error(ErrorKind::kCorrupt, "{}: ELF header cut off at {} bytes", name, bytes.size());
  if (h.machine != ARCH_ELF_MACHINE) return make_error(ErrorKind::kUnsupported, "{}: not an ELF file for " ARCH_NAME, name);
  if (h.segment_table == 0) h.segment_count = 0;
  if (h.section_table == 0) h.section_count = 0;
  return h;
}

std::string find_build_id(Bytes notes) {
  ByteCursor cursor(notes);
  while (cursor.remaining() >= 12) {
    const uint32_t name_size = cursor.u32();
    const uint32_t content_size = cursor.u32();
    const uint32_t type = cursor.u32();
    const Bytes owner = cursor.take((uint64_t{name_size} + 3) & ~uint64_t{3});
    const Bytes content = cursor.take(content_size);
    if (cursor.failed()) break;
    if (type == NT_GNU_BUILD_ID && name_size == 4 && content_size <= kMaxBuildIdBytes &&
        std::equal(owner.begin(), owner.end(), "GNU")) {
      return fmt::format("{:02x}", fmt::join(content, ""));
    }
    cursor.skip(std::min<uint64_t>(-uint64_t{content_size} & 3, cursor.remaining()));
  }
  return {};
}

}  // namespace cicada::elf
