// SPDX-License-Identifier: Apache-2.0
#include "symbolize/dwarf/split_dwarf.h"

#include <dwarf.h>

#include "base/diagnostics.h"

namespace cicada::symbolize {
namespace {

constexpr size_t kMaxOpenFiles = 1024;

}  // namespace

std::optional<DwarfSections> find_package_sections(Bytes cu_index, const DwarfSections& package, uint64_t dwo_id) {
  ByteCursor header(cu_index);
  const uint16_t version = header.u16();
  header.u16();
  const uint64_t columns = header.u32();
  const uint64_t units = header.u32();
  const uint64_t slots = header.u32();
  if (header.failed() || (version != 2 && version != 5) || columns > 16 || slots == 0 || (slots & (slots - 1)) != 0) return std::nullopt;
  const uint64_t hashes = header.position();
  const uint64_t rows = hashes + slots * 8;
  const uint64_t ids = rows + slots * 4;
  const uint64_t offsets = ids + columns * 4;
  const uint64_t sizes = offsets + units * columns * 4;
  if (sizes + units * columns * 4 > cu_index.size()) return std::nullopt;
  // open addressing with double hashing
  uint64_t slot = dwo_id & (slots - 1);
  const uint64_t step = ((dwo_id >> 32) & (slots - 1)) | 1;
  uint64_t row = 0;
  for (uint64_t tries = 0; tries < slots; ++tries, slot = (slot + step) & (slots - 1)) {
    row = ByteCursor(cu_index, rows + slot * 4).u32();
    if (row == 0) return std::nullopt;
    if (ByteCursor(cu_index, hashes + slot * 8).u64() == dwo_id) break;
    row = 0;
  }
  if (row == 0 || row > units) return std::nullopt;
  DwarfSections sections = package;
  for (uint64_t column = 0; column < columns; ++column) {
    const uint32_t id = ByteCursor(cu_index, ids + column * 4).u32();
    const uint64_t at = ((row - 1) * columns + column) * 4;
    const uint32_t offset = ByteCursor(cu_index, offsets + at).u32();
    const uint32_t size = ByteCursor(cu_index, sizes + at).u32();
    Bytes DwarfSections::*section = nullptr;
    if (id == 1) section = &DwarfSections::info;
    if (id == 3) section = &DwarfSections::abbrev;
    if (id == 4) section = &DwarfSections::line;
    if (id == 5) section = version == 5 ? &DwarfSections::loclists : &DwarfSections::loc;
    if (id == 6) section = &DwarfSections::str_offsets;
    if (id == 8 && version == 5) section = &DwarfSections::rnglists;
    if (section == nullptr) continue;
    const auto part = find_subspan(package.*section, offset, size);
    if (!part) return std::nullopt;
    sections.*section = *part;
  }
  return sections;
}

const SplitUnits::File* SplitUnits::find_file(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(path);
  if (found != files_.end()) return found->second.get();
  if (files_.size() >= kMaxOpenFiles) return nullptr;
  auto& slot = files_[path];
  Result<CompanionElf> elf = open_companion(companions_, CompanionFiles::Place::kImage, path);
  if (!elf) {
    if (elf.error().kind() != ErrorKind::kNotFound) diagnostics().warn(path, "{}", elf.error().message());
    return nullptr;
  }
  auto file = std::make_unique<File>();
  file->elf = std::move(elf->elf);
  file->dwarf = DwarfFile::open(*file->elf, ".dwo");
  if (file->dwarf == nullptr) {
    diagnostics().warn(path, "no .debug_info.dwo in it");
    return nullptr;
  }
  WorkBudget budget = decompression_budget(*file->elf);
  if (auto index = SectionContents::load(*file->elf, ".debug_cu_index", budget)) file->cu_index = std::move(*index);
  slot = std::move(file);
  return slot.get();
}

std::shared_ptr<DwarfUnit> SplitUnits::find_in_package(const DwarfUnit& skeleton, WorkBudget& budget) {
  const File* package = find_file(image_path_ + ".dwp");
  if (package == nullptr) return nullptr;
  const auto sections = find_package_sections(package->cu_index.bytes(), package->dwarf->sections(), skeleton.dwo_id);
  if (!sections) return nullptr;
  uint64_t next = 0;
  const auto header = UnitHeader::read(sections->info, 0, next);
  return header ? DwarfUnit::open(*sections, *header, budget, &skeleton) : nullptr;
}

std::shared_ptr<DwarfUnit> SplitUnits::find_in_file(const File& file, const DwarfUnit& skeleton, WorkBudget& budget) {
  for (const UnitHeader& header : file.dwarf->units()) {
    if (header.type == DW_UT_split_type) continue;
    auto unit = DwarfUnit::open(file.dwarf->sections(), header, budget, &skeleton);
    if (unit == nullptr) return nullptr;
    if (unit->dwo_id == skeleton.dwo_id) return unit;
  }
  return nullptr;
}

std::shared_ptr<DwarfUnit> SplitUnits::find(const DwarfUnit& skeleton, WorkBudget& budget) {
  const std::string name(skeleton.dwo_name);
  if (name.empty() || name.size() > 4096) return nullptr;
  if (auto unit = find_in_package(skeleton, budget)) return unit;
  std::vector<std::string> candidates;
  candidates.push_back(name.starts_with('/') ? name : std::string(skeleton.directory) + "/" + name);
  const size_t slash = image_path_.rfind('/');
  if (slash != std::string::npos) candidates.push_back(image_path_.substr(0, slash + 1) + name.substr(name.rfind('/') + 1));
  bool refused = false;
  for (const std::string& candidate : candidates) {
    if (!candidate.starts_with('/')) continue;
    const File* file = find_file(candidate);
    if (file == nullptr) continue;
    if (auto unit = find_in_file(*file, skeleton, budget)) return unit;
    refused = true;
  }
  if (refused) {
    diagnostics().warn(candidates[0], "not the split debug information {} was linked with", image_path_);
  } else {
    diagnostics().warn(image_path_, "no inlined calls and lines for parts of it: {} is missing (and there is no .dwp)", candidates[0]);
  }
  return nullptr;
}

}  // namespace cicada::symbolize
