// SPDX-License-Identifier: Apache-2.0
// The kernel and ld.so believe program headers only, tools believe sections; both are read, neither is trusted. What lies out of
// the file is an error for the two tables themselves, and an empty span for whatever they point to.
#include "elf/elf_file.h"

#include <algorithm>
#include <array>

namespace cicada::elf {
namespace {

constexpr uint64_t kPageBytes = 4096;
// More than any compiler writes (-ffunction-sections objects of LLVM have 60,000); a stranger's sparse file must not take the memory.
constexpr uint64_t kMaxSections = 1 << 20;
constexpr uint64_t kMaxSegments = 1 << 16;

struct Header {
  uint16_t type = 0, machine = 0;
  LinkAddr entry;
  uint64_t segment_table = 0, section_table = 0;
  uint64_t segment_size = 0, section_size = 0;  // of one entry
  uint64_t segment_count = 0, section_count = 0, name_section = 0;
};

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

Result<Header> read_header(Bytes bytes, const std::string& name) {
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
  Header h;
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
  if (h.machine != EM_X86_64) return make_error(ErrorKind::kUnsupported, "{}: not an x86-64 ELF file", name);
  if (h.segment_table == 0) h.segment_count = 0;
  if (h.section_table == 0) {
    h.section_count = 0;
    return h;
  }
  // Counts that do not fit 16 bits are in section 0.
  if (h.section_count == 0 || h.name_section == SHN_XINDEX || h.segment_count == PN_XNUM) {
    ByteCursor first(bytes, h.section_table);
    uint32_t ignored = 0;
    const Section s = read_section(first, ignored);
    if (first.failed()) return make_error(ErrorKind::kCorrupt, "{}: section table is out of the file", name);
    if (h.section_count == 0) h.section_count = s.size;
    if (h.name_section == SHN_XINDEX) h.name_section = s.link;
    if (h.segment_count == PN_XNUM && s.info != 0) h.segment_count = s.info;
  }
  return h;
}

// A table of `count` entries of `entry_size` bytes at `offset`, or why it cannot be.
Result<Bytes> find_table(Bytes bytes, uint64_t offset, uint64_t count, uint64_t entry_size, uint64_t least_size,
                         uint64_t most, const char* what, const std::string& name) {
  if (count == 0) return Bytes();
  if (entry_size < least_size) {
    return make_error(ErrorKind::kCorrupt, "{}: {} table entries of {} bytes", name, what, entry_size);
  }
  if (count > most) return make_error(ErrorKind::kLimit, "{}: {} {}s, at most {} are read", name, count, what, most);
  const auto table = find_subspan(bytes, offset, count * entry_size);
  if (!table) return make_error(ErrorKind::kCorrupt, "{}: {} table is out of the file", name, what);
  return *table;
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
    if (type == NT_GNU_BUILD_ID && name_size == 4 && std::equal(owner.begin(), owner.end(), "GNU")) {
      return fmt::format("{:02x}", fmt::join(content, ""));
    }
    cursor.skip(std::min<uint64_t>(-uint64_t{content_size} & 3, cursor.remaining()));
  }
  return {};
}

}  // namespace

Result<ElfFile> ElfFile::parse(FileMapping file, const std::string& name) {
  const Bytes bytes = file.bytes();
  ElfFile elf = TRY(parse_bytes(bytes, name));
  elf.file_ = std::move(file);
  return elf;
}

Result<ElfFile> ElfFile::open(const std::string& path) { return parse(TRY(FileMapping::open(path)), path); }

Result<ElfFile> ElfFile::parse_copy(Bytes bytes, const std::string& name) {
  std::vector<uint8_t> copy(bytes.begin(), bytes.end());
  ElfFile elf = TRY(parse_bytes(copy, name));
  elf.copy_ = std::move(copy);  // a vector's bytes stay where they are when it moves
  return elf;
}

Result<ElfFile> ElfFile::parse_bytes(Bytes bytes, const std::string& name) {
  const Header header = TRY(read_header(bytes, name));
  const Bytes segments = TRY(find_table(bytes, header.segment_table, header.segment_count, header.segment_size,
                                        sizeof(Elf64_Phdr), kMaxSegments, "segment", name));
  const Bytes sections = TRY(find_table(bytes, header.section_table, header.section_count, header.section_size,
                                        sizeof(Elf64_Shdr), kMaxSections, "section", name));
  ElfFile elf;
  elf.name_ = name;
  elf.bytes_ = bytes;
  elf.type_ = header.type;
  elf.entry_ = header.entry;
  if (!segments.empty()) {
    elf.segments_.reserve(header.segment_count);
    for (uint64_t i = 0; i < header.segment_count; ++i) {
      ByteCursor cursor(segments, i * header.segment_size);
      elf.segments_.push_back(read_segment(cursor));
    }
  }
  if (sections.empty()) return elf;
  std::vector<uint32_t> names(header.section_count);
  elf.sections_.reserve(header.section_count);
  for (uint64_t i = 0; i < header.section_count; ++i) {
    ByteCursor cursor(sections, i * header.section_size);
    elf.sections_.push_back(read_section(cursor, names[i]));
  }
  if (header.name_section < header.section_count) {
    const Bytes strings = elf.contents(elf.sections_[header.name_section]);
    for (uint64_t i = 0; i < header.section_count; ++i) {
      if (names[i] < strings.size()) elf.sections_[i].name = ByteCursor(strings, names[i]).c_string();
    }
  }
  return elf;
}

const Section* ElfFile::find_section(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

Bytes ElfFile::contents(const Section& section) const {
  if (section.type == SHT_NOBITS || section.type == SHT_NULL) return {};
  return find_subspan(bytes_, section.offset.value, section.size).value_or(Bytes());
}

Bytes ElfFile::contents_at(LinkAddr address) const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    const uint64_t skipped = address - segment.address;
    if (skipped >= segment.file_size) continue;
    const auto whole = find_subspan(bytes_, segment.offset.value, segment.file_size);
    return whole ? whole->subspan(skipped) : Bytes();
  }
  return {};
}

// Sections first: in a separate debug file the segments keep their sizes but not their contents.
std::string ElfFile::build_id() const {
  for (const Section& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    if (std::string id = find_build_id(contents(section)); !id.empty()) return id;
  }
  for (const Segment& segment : segments_) {
    if (segment.type != PT_NOTE) continue;
    const auto notes = find_subspan(bytes_, segment.offset.value, segment.file_size);
    if (!notes) continue;
    if (std::string id = find_build_id(*notes); !id.empty()) return id;
  }
  return {};
}

std::string ElfFile::interpreter() const {
  for (const Segment& segment : segments_) {
    if (segment.type != PT_INTERP) continue;
    const auto path = find_subspan(bytes_, segment.offset.value, segment.file_size);
    return path ? std::string(ByteCursor(*path).c_string()) : std::string();
  }
  return {};
}

// Neighbouring segments share a file page when the linker packs them (lld, `ld -z noseparate-code`): that page is mapped twice, at
// two distances from the link address. Those who ask have an executable mapping, and whole segments are the rule: executable
// segments are preferred, then an equal first page, then an equal size.
std::optional<uint64_t> ElfFile::find_bias(RuntimeAddr begin, FileOffset offset, uint64_t size) const {
  const Segment* best = nullptr;
  int best_score = -1;
  for (const Segment& segment : segments_) {
    if (segment.type != PT_LOAD || segment.file_size == 0) continue;
    const uint64_t lead = segment.offset.value % kPageBytes;
    const FileOffset first = segment.offset - lead;
    if (offset < first || offset - first >= lead + segment.file_size) continue;
    const uint64_t pages = (lead + segment.file_size + kPageBytes - 1) / kPageBytes * kPageBytes;
    const int score = ((segment.flags & PF_X) != 0 ? 4 : 0) + (offset == first ? 2 : 0) + (pages == size ? 1 : 0);
    if (score > best_score) {
      best = &segment;
      best_score = score;
    }
  }
  if (best == nullptr) return std::nullopt;
  return begin.value - (best->address.value + (offset.value - best->offset.value));
}

}  // namespace cicada::elf
