// SPDX-License-Identifier: Apache-2.0
// The kernel and ld.so believe program headers only, tools believe sections; both are read, neither is trusted. What lies out of
// the file is an error for the two tables themselves, and an empty span for whatever they point to.
#include "elf/elf_file.h"

#include <algorithm>

#include "elf/elf_records.h"

namespace cicada::elf {
namespace {

// More than any compiler writes (-ffunction-sections objects of LLVM have 60,000); a stranger's sparse file must not take the memory.
constexpr uint64_t kMaxSections = 1 << 17;
constexpr uint64_t kMaxSegments = 1 << 16;
constexpr uint64_t kMaxNameBytes = 256;  // of a section: a longer name is none that is looked for
constexpr uint64_t kMaxNotesBytes = 1 << 20;  // of all sections and segments, which may share them

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
  FileHeader header = TRY(parse_file_header(bytes, name));
  if (header.needs_first_section()) {
    ByteCursor cursor(bytes, header.section_table);
    uint32_t ignored = 0;
    const Section first = read_section(cursor, ignored);
    if (cursor.failed()) return make_error(ErrorKind::kCorrupt, "{}: section table is out of the file", name);
    header.take_counts(first);
  }
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
      if (elf.segments_.back().type == PT_LOAD) elf.loaded_.push_back(elf.segments_.back());
    }
    std::stable_sort(elf.loaded_.begin(), elf.loaded_.end(), [](const Segment& a, const Segment& b) { return a.address < b.address; });
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
      elf.sections_[i].name = text_at(strings, names[i], kMaxNameBytes);
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
  const auto after = std::upper_bound(loaded_.begin(), loaded_.end(), address, [](LinkAddr a, const Segment& segment) { return a < segment.address; });
  if (after == loaded_.begin()) return {};
  const Segment& segment = *std::prev(after);
  const uint64_t skipped = address - segment.address;
  if (skipped >= segment.file_size) return {};
  const auto whole = find_subspan(bytes_, segment.offset.value, segment.file_size);
  return whole ? whole->subspan(skipped) : Bytes();
}

// Sections first: in a separate debug file the segments keep their sizes but not their contents.
std::string ElfFile::build_id() const {
  uint64_t left = kMaxNotesBytes;
  const auto find_in = [&](Bytes notes) {
    notes = notes.first(std::min<uint64_t>(notes.size(), left));
    left -= notes.size();
    return find_build_id(notes);
  };
  for (const Section& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    if (std::string id = find_in(contents(section)); !id.empty()) return id;
  }
  for (const Segment& segment : segments_) {
    if (segment.type != PT_NOTE) continue;
    if (std::string id = find_in(find_subspan(bytes_, segment.offset.value, segment.file_size).value_or(Bytes())); !id.empty()) return id;
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

}  // namespace cicada::elf
