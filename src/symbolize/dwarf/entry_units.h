// SPDX-License-Identifier: Apache-2.0
// Units by the entries in them, for whoever follows references from one entry to the next. Borrows the file and the budget. One thread.
#pragma once
#include <memory>
#include <unordered_map>

#include "base/seeded_hash.h"
#include "symbolize/dwarf/dwarf_file.h"

namespace cicada::symbolize {

constexpr int kMaxHops = 16;  // abstract origin -> specification -> …; a loop ends here

class EntryUnits {
 public:
  EntryUnits(const DwarfFile& file, WorkBudget& budget) : file_(file), budget_(budget) {}
  // A split unit is not in file's table: offsets inside it are meant for it.
  void set_home(std::shared_ptr<const DwarfUnit> unit, bool is_split) {
    home_ = std::move(unit);
    is_split_ = is_split;
  }
  // Null: none has it.
  std::shared_ptr<const DwarfUnit> find(uint64_t entry) {
    if (home_ != nullptr && entry >= home_->header().entries && entry < home_->header().end) return home_;
    if (is_split_) return nullptr;
    const auto index = file_.find_unit_at(entry);
    if (!index) return nullptr;
    const auto open = units_.find(*index);
    if (open != units_.end()) return open->second;
    if (units_.size() >= kMaxOpenUnits) units_.clear();
    return units_.emplace(*index, DwarfUnit::open(file_.sections(), file_.units()[*index], budget_)).first->second;
  }

 private:
  static constexpr size_t kMaxOpenUnits = 64;  // that entries were found in
  const DwarfFile& file_;
  WorkBudget& budget_;
  std::shared_ptr<const DwarfUnit> home_;
  bool is_split_ = false;
  std::unordered_map<uint32_t, std::shared_ptr<const DwarfUnit>, SeededHash> units_;
};

}  // namespace cicada::symbolize
