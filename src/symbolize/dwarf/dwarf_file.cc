// SPDX-License-Identifier: Apache-2.0
#include "symbolize/dwarf/dwarf_file.h"

#include <dwarf.h>

#include <algorithm>
#include <array>

#include "base/diagnostics.h"

namespace cicada::symbolize {
namespace {

constexpr size_t kMaxUnits = 4 << 20;
constexpr size_t kMaxMalformedUnits = 4096;  // of four bytes each in the worst case: a hole in the file is full of them
constexpr size_t kMaxPieces = 64 << 20;
constexpr int kMaxOverlaps = 64;  // pieces looked back through for one that reaches an address

}  // namespace

std::unique_ptr<DwarfFile> DwarfFile::open(const elf::ElfFile& elf, std::string_view suffix) {
  auto file = std::make_unique<DwarfFile>();
  file->name_ = elf.name();
  struct Wanted {
    const char* name;
    Bytes DwarfSections::*section;
  };
  static constexpr std::array<Wanted, 10> kWanted{{{".debug_info", &DwarfSections::info},
                                                   {".debug_abbrev", &DwarfSections::abbrev},
                                                   {".debug_str", &DwarfSections::str},
                                                   {".debug_line_str", &DwarfSections::line_str},
                                                   {".debug_str_offsets", &DwarfSections::str_offsets},
                                                   {".debug_addr", &DwarfSections::addr},
                                                   {".debug_ranges", &DwarfSections::ranges},
                                                   {".debug_rnglists", &DwarfSections::rnglists},
                                                   {".debug_line", &DwarfSections::line},
                                                   {".debug_aranges", &DwarfSections::aranges}}};
  WorkBudget budget = decompression_budget(elf);
  for (const Wanted& wanted : kWanted) {
    Result<SectionContents> contents = SectionContents::load(elf, wanted.name + std::string(suffix), budget);
    if (!contents) {
      diagnostics().warn(elf.name(), "{}", contents.error().message());
      continue;
    }
    file->sections_.*wanted.section = contents->bytes();
    file->contents_.push_back(std::move(*contents));
  }
  for (const Wanted& wanted : {Wanted{".debug_loc", &DwarfSections::loc}, Wanted{".debug_loclists", &DwarfSections::loclists}}) {
    if (suffix.empty()) break;
    Result<SectionContents> contents = SectionContents::load(elf, wanted.name + std::string(suffix), budget);
    if (!contents) continue;
    file->sections_.*wanted.section = contents->bytes();
    file->contents_.push_back(std::move(*contents));
  }
  if (file->sections_.info.empty()) return nullptr;
  file->read_headers();
  return file;
}

void DwarfFile::read_headers() {
  size_t malformed = 0;
  for (uint64_t offset = 0; offset < sections_.info.size() && units_.size() < kMaxUnits;) {
    uint64_t next = 0;
    const auto header = UnitHeader::read(sections_.info, offset, next);
    if (header) units_.push_back(*header);
    if (!header && ++malformed > kMaxMalformedUnits) {
      diagnostics().warn(name_, "more than {} malformed units in .debug_info; the rest is not read", kMaxMalformedUnits);
      break;
    }
    if (next <= offset) break;
    offset = next;
  }
}

std::optional<uint32_t> DwarfFile::find_unit_at(uint64_t offset) const {
  auto at = std::upper_bound(units_.begin(), units_.end(), offset, [](uint64_t o, const UnitHeader& u) { return o < u.offset; });
  if (at == units_.begin()) return std::nullopt;
  --at;
  if (offset < at->entries || offset >= at->end) return std::nullopt;
  return static_cast<uint32_t>(at - units_.begin());
}

size_t DwarfFile::memory_bytes() const {
  size_t bytes = units_.capacity() * sizeof(UnitHeader) + pieces_.capacity() * sizeof(Piece) + furthest_.capacity() * sizeof(uint64_t);
  for (const SectionContents& section : contents_) bytes += section.memory_bytes();
  return bytes;
}

uint64_t DwarfFile::work_budget_bytes() const {
  return (64 << 20) + 4 * (sections_.info.size() + sections_.abbrev.size() + sections_.line.size() + sections_.ranges.size() + sections_.rnglists.size());
}

// Source: DWARF 5, section 6.1.2.
std::vector<bool> DwarfFile::read_aranges() {
  std::vector<bool> covered(units_.size());
  for (uint64_t offset = 0; offset < sections_.aranges.size();) {
    ByteCursor cursor(sections_.aranges, offset);
    uint64_t length = cursor.u32();
    const bool wide = length == 0xffffffff;
    if (wide) length = cursor.u64();
    if (cursor.failed() || length == 0 || length > cursor.remaining()) break;
    const uint64_t end = cursor.position() + length;
    cursor.u16();
    const uint64_t info_offset = wide ? cursor.u64() : cursor.u32();
    const uint8_t address_size = cursor.u8();
    cursor.u8();
    const auto header = std::lower_bound(units_.begin(), units_.end(), info_offset, [](const UnitHeader& u, uint64_t o) { return u.offset < o; });
    if (address_size == 8 && header != units_.end() && header->offset == info_offset) {
      const auto unit = static_cast<uint32_t>(header - units_.begin());
      cursor.seek(offset + (cursor.position() - offset + 15) / 16 * 16);
      while (cursor.position() + 16 <= end && pieces_.size() < kMaxPieces) {
        const uint64_t begin = cursor.u64();
        const uint64_t size = cursor.u64();
        if (begin == 0 && size == 0) break;
        if (begin == 0 || begin + size <= begin) continue;  // functions the linker threw away
        pieces_.push_back({begin, begin + size, unit});
        covered[unit] = true;
      }
    }
    offset = end;
  }
  return covered;
}

void DwarfFile::index_addresses() {
  const std::vector<bool> covered = read_aranges();
  WorkBudget budget(work_budget_bytes());
  for (uint32_t i = 0; i < units_.size() && pieces_.size() < kMaxPieces; ++i) {
    if (covered[i] || units_[i].type == DW_UT_partial || units_[i].type == DW_UT_type || units_[i].type == DW_UT_split_type) continue;
    const auto unit = DwarfUnit::open(sections_, units_[i], budget);
    if (unit == nullptr) break;
    for (const auto& [begin, end] : unit->code) {
      if (begin != 0) pieces_.push_back({begin, end, i});
    }
  }
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end != b.end ? a.end > b.end : a.unit < b.unit;
  });
  furthest_.reserve(pieces_.size());
  uint64_t furthest = 0;
  for (const Piece& piece : pieces_) furthest_.push_back(furthest = std::max(furthest, piece.end));
}

std::optional<uint32_t> DwarfFile::find_unit_of(LinkAddr address) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), address.value, [](uint64_t a, const Piece& p) { return a < p.begin; });
  auto i = after - pieces_.begin();
  for (int overlaps = 0; i-- > 0 && overlaps < kMaxOverlaps; ++overlaps) {
    if (address.value < pieces_[static_cast<size_t>(i)].end) return pieces_[static_cast<size_t>(i)].unit;
    if (furthest_[static_cast<size_t>(i)] <= address.value) break;
  }
  return std::nullopt;
}

}  // namespace cicada::symbolize
