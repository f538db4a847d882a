// SPDX-License-Identifier: Apache-2.0
#include "symbolize/dwarf/dwarf_names.h"

#include <dwarf.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/seeded_hash.h"
#include "symbolize/dwarf/entry_units.h"
#include "symbolize/dwarf/line_table.h"
#include "symbolize/dwarf/scopes.h"

namespace cicada::symbolize {
namespace {

// Names of entries, by following origins and specifications, within and between units.
class EntryNames {
 public:
  EntryNames(const DwarfFile& file, WorkBudget& budget) : units_(file, budget), budget_(budget) {}
  void set_alternate(EntryNames* alternate) { alternate_ = alternate; }
  void set_home(std::shared_ptr<DwarfUnit> unit, bool is_split) { units_.set_home(std::move(unit), is_split); }

  std::string_view find(uint64_t entry) {
    const auto found = names_.find(entry);
    if (found != names_.end()) return found->second;
    return names_[entry] = follow(entry);
  }

 private:
  std::string_view follow(uint64_t entry) {
    std::string_view plain;
    for (int hop = 0; hop < kMaxHops; ++hop) {
      const std::shared_ptr<const DwarfUnit> unit = units_.find(entry);
      if (unit == nullptr || !budget_.spend(64)) return plain;
      ByteCursor cursor(unit->sections().info.first(unit->header().end), entry);
      const AbbrevTable::Abbrev* abbrev = unit->abbrevs().find(cursor.uleb128());
      if (abbrev == nullptr) return plain;
      AttributeValue next;
      std::string_view linkage;
      unit->abbrevs().run(AbbrevTable::kNamePlan, cursor, *abbrev, unit->header().format, [&](const AttributeSpec& attribute) {
        const bool is_plain = attribute.name == DW_AT_name;
        if (is_plain && !plain.empty()) return skip_form(cursor, attribute.form, unit->header().format);
        const AttributeValue value = unit->read(cursor, attribute);
        if (!budget_.spend(value.text.size())) return;
        if (is_plain) {
          plain = value.text;
        } else if (attribute.name == DW_AT_abstract_origin || attribute.name == DW_AT_specification) {
          next = value;
        } else {
          linkage = value.text;
        }
      });
      if (!linkage.empty()) return linkage;
      if (next.kind == AttributeValue::Kind::kAlternateReference && alternate_ != nullptr) {
        const std::string_view there = alternate_->find(next.number);
        return there.empty() ? plain : there;
      }
      if (next.kind != AttributeValue::Kind::kReference) return plain;
      entry = next.number;
    }
    return plain;
  }

  EntryUnits units_;
  WorkBudget& budget_;
  EntryNames* alternate_ = nullptr;
  std::unordered_map<uint64_t, std::string_view, SeededHash> names_;
};

}  // namespace

std::unique_ptr<DwarfNames> DwarfNames::open(const elf::ElfFile& elf, const elf::ElfFile* alternate, const std::string& image_path,
                                             CompanionFiles& companions) {
  auto file = DwarfFile::open(elf);
  if (file == nullptr) return nullptr;
  auto names = std::make_unique<DwarfNames>();
  names->elf_ = &elf;
  names->file_ = std::move(file);
  if (alternate != nullptr) names->alternate_ = DwarfFile::open(*alternate);
  if (names->alternate_ != nullptr) names->file_->set_alternate_strings(names->alternate_->sections().str);
  names->file_->index_addresses();
  names->split_ = std::make_unique<SplitUnits>(image_path, companions);
  return names;
}

uint64_t DwarfNames::work_bytes() const { return file_->work_budget_bytes(); }

size_t DwarfNames::memory_bytes() const {
  if (split_->has_files()) return std::numeric_limits<size_t>::max();
  return file_->memory_bytes() + (alternate_ == nullptr ? 0 : alternate_->memory_bytes());
}

CodeOfLine DwarfNames::find_code(std::string_view file, uint32_t line, WorkBudget& budget) const {
  CodeOfLine found;
  std::unordered_set<uint64_t> known;  // units may share a table
  for (const UnitHeader& header : file_->units()) {
    const std::shared_ptr<DwarfUnit> unit = DwarfUnit::open(file_->sections(), header, budget);
    if (budget.exhausted()) break;
    if (unit == nullptr || !unit->line_offset || !known.insert(*unit->line_offset).second) continue;
    if (auto program = LineProgram::open(unit->sections(), *unit->line_offset, unit->directory, budget)) program->find_code(file, line, found, budget);
  }
  return found;
}

std::vector<FunctionParameters> DwarfNames::find_parameters(std::span<const LinkAddr> functions, WorkBudget& budget) const {
  DwarfSections sections = file_->sections();
  WorkBudget decompression = decompression_budget(*elf_);
  const auto locations = SectionContents::load(*elf_, ".debug_loc", decompression), lists = SectionContents::load(*elf_, ".debug_loclists", decompression);
  if (locations) sections.loc = locations->bytes();
  if (lists) sections.loclists = lists->bytes();
  std::vector<FunctionParameters> all(functions.size());
  std::map<uint32_t, std::vector<std::pair<uint64_t, size_t>>> units;
  for (size_t i = 0; i < functions.size(); ++i) {
    if (const auto unit = file_->find_unit_of(functions[i])) units[*unit].emplace_back(functions[i].value, i);
  }
  for (auto& [unit, wanted] : units) {
    std::sort(wanted.begin(), wanted.end());
    read_parameters_of(unit, sections, wanted, all, budget);
  }
  return all;
}

void DwarfNames::read_parameters_of(uint32_t unit_index, const DwarfSections& sections, std::span<const std::pair<uint64_t, size_t>> functions, std::vector<FunctionParameters>& all,
                                    WorkBudget& budget) const {
  std::shared_ptr<DwarfUnit> unit = DwarfUnit::open(sections, file_->units()[unit_index], budget);
  if (unit == nullptr) return;
  const bool is_split = !unit->dwo_name.empty();
  if (is_split) unit = split_->find(*unit, budget);
  if (unit == nullptr) return;
  std::vector<uint64_t> addresses;
  for (const auto& [address, place] : functions) addresses.push_back(address);
  ScopeTree scopes(addresses.size());
  find_scopes(*unit, addresses, scopes, budget);
  EntryUnits home(*file_, budget);
  home.set_home(unit, is_split);
  std::optional<EntryUnits> alternate;
  if (alternate_ != nullptr) alternate.emplace(*alternate_, budget);
  for (size_t i = 0; i < functions.size(); ++i) {
    uint32_t at = scopes.innermost[i];
    while (at != 0 && scopes.nodes[at].scope.inlined) at = scopes.nodes[at].around;
    if (at != 0) all[functions[i].second] = read_parameters(home, alternate ? &*alternate : nullptr, scopes.nodes[at].scope.entry, addresses[i], budget);
  }
}

void DwarfNames::resolve(uint32_t unit_index, std::span<const uint64_t> addresses, bool inlines, bool lines, WorkBudget& budget,
                         const Callback& callback) const {
  std::shared_ptr<DwarfUnit> unit = DwarfUnit::open(file_->sections(), file_->units()[unit_index], budget);
  if (unit == nullptr) {
    for (size_t i = 0; i < addresses.size(); ++i) callback(i, {});
    return;
  }

  std::vector<LineOfAddress> rows(addresses.size());
  std::optional<LineProgram> program;
  if (unit->line_offset && lines) program = LineProgram::open(unit->sections(), *unit->line_offset, unit->directory, budget);
  if (program) program->find_lines(addresses, rows, budget);

  std::optional<LineProgram> split_program;  // GCC names the files of a split unit's calls in .debug_line.dwo
  EntryNames names(*file_, budget);
  std::optional<EntryNames> alternate;
  if (alternate_ != nullptr) names.set_alternate(&alternate.emplace(*alternate_, budget));
  ScopeTree scopes(addresses.size());
  if (!unit->dwo_name.empty()) {
    if (auto split = split_->find(*unit, budget)) {
      names.set_home(split, true);
      if (split->line_offset && lines) split_program = LineProgram::open(split->sections(), *split->line_offset, unit->directory, budget);
      find_scopes(*split, addresses, scopes, budget);
    }
  } else {
    names.set_home(unit, false);
    find_scopes(*unit, addresses, scopes, budget);
  }

  LineProgram* call_files = split_program ? &*split_program : program ? &*program : nullptr;
  std::vector<DwarfFrame> frames;
  for (size_t i = 0; i < addresses.size(); ++i) {
    frames.clear();
    std::string_view file = rows[i].found ? program->file_path(rows[i].file, budget) : std::string_view();
    uint32_t line = rows[i].line;
    for (uint32_t at = scopes.innermost[i]; at != 0; at = scopes.nodes[at].around) {
      const Scope& scope = scopes.nodes[at].scope;
      if (inlines || !scope.inlined) frames.push_back({names.find(scope.entry), file, line, scope.inlined});
      if (!scope.inlined) continue;
      file = call_files == nullptr ? std::string_view() : call_files->file_path(scope.call_file, budget);
      line = lines ? scope.call_line : 0;
    }
    if (frames.empty()) frames.push_back({{}, file, line, false});
    callback(i, frames);
  }
}

}  // namespace cicada::symbolize
