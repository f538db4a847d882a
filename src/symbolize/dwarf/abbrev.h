// SPDX-License-Identifier: Apache-2.0
// One abbreviation table: what the entries of a unit look like. Beside the attribute list, each abbreviation carries a skip
// program (runs of fixed-size forms merged into one step), because most entries are only passed over, and two reading plans (where
// its code is; what it is called) that skip what lies between the attributes they want in the same way.
// Source: DWARF 5, sections 7.5.3 and 7.5.6.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "base/byte_cursor.h"

namespace cicada::symbolize {

// Sizes that a unit's header decides.
struct UnitFormat {
  uint16_t version = 0;
  uint8_t address_size = 8;
  uint8_t offset_size = 4;  // 8 in 64-bit DWARF
  uint8_t ref_addr_size() const { return version <= 2 ? address_size : offset_size; }
  bool operator==(const UnitFormat&) const = default;
};

struct AttributeSpec {
  uint16_t name = 0, form = 0;
  int64_t implicit = 0;
};

class AbbrevTable {
 public:
  enum class SkipKind : uint8_t { kFixed, kLeb, kBlock1, kBlock2, kBlock4, kBlockLeb, kString, kIndirect };
  struct SkipStep {
    SkipKind kind = SkipKind::kFixed;
    uint32_t size = 0;  // kFixed
  };
  // Skip, then read an attribute (or, at the end of a plan, nothing).
  struct PlanStep {
    SkipStep skip;
    const AttributeSpec* attribute = nullptr;
  };
  enum Plan : uint8_t { kCodePlan, kNamePlan, kPlans };
  struct Abbrev {
    uint64_t code = 0;
    uint16_t tag = 0;
    bool has_children = false;
    bool has_sibling = false;
    uint32_t specs_begin = 0, specs_end = 0;
    uint32_t steps_begin = 0, steps_end = 0;
    std::array<uint32_t, kPlans> plan_begin{}, plan_end{};
  };

  AbbrevTable() = default;
  AbbrevTable(AbbrevTable&&) = default;  // plans point into specs_, so there is no copy
  AbbrevTable& operator=(AbbrevTable&&) = default;
  // Parses from `offset` until the terminating zero or the first malformed entry. `used_bytes`: what was read.
  static AbbrevTable parse(Bytes section, uint64_t offset, const UnitFormat& format, uint64_t& used_bytes);
  const Abbrev* find(uint64_t code) const;
  const AttributeSpec* specs_begin(const Abbrev& a) const { return specs_.data() + a.specs_begin; }
  const AttributeSpec* specs_end(const Abbrev& a) const { return specs_.data() + a.specs_end; }
  // Calls read(attribute) for each attribute of the plan, with the cursor in front of its value; `read` must move behind it.
  template <typename Fn>
  void run(Plan plan, ByteCursor& cursor, const Abbrev& abbrev, const UnitFormat& format, Fn&& read) const {
    for (uint32_t i = abbrev.plan_begin[plan]; i < abbrev.plan_end[plan]; ++i) {
      const PlanStep& step = plans_[plan][i];
      run_step(cursor, step.skip, format);
      if (step.attribute != nullptr) read(*step.attribute);
    }
  }
  // Moves the cursor behind the attributes of an entry; fails the cursor on unknown forms.
  void skip(ByteCursor& cursor, const Abbrev& abbrev, const UnitFormat& format) const;

 private:
  void append_step(uint16_t form, const UnitFormat& format, size_t first_step);
  void append_plans(const UnitFormat& format);
  static void run_step(ByteCursor& cursor, const SkipStep& step, const UnitFormat& format) {
    if (step.kind == SkipKind::kFixed) [[likely]] {
      cursor.skip(step.size);
    } else {
      run_other_step(cursor, step, format);
    }
  }
  static void run_other_step(ByteCursor& cursor, const SkipStep& step, const UnitFormat& format);
  friend void skip_form(ByteCursor& cursor, uint16_t form, const UnitFormat& format);
  std::vector<Abbrev> abbrevs_;  // sorted by code; dense (code == index + 1) in what compilers write
  std::vector<AttributeSpec> specs_;
  std::vector<SkipStep> steps_;
  std::array<std::vector<PlanStep>, kPlans> plans_;
  bool dense_ = true;
};

// Moves the cursor over one value.
void skip_form(ByteCursor& cursor, uint16_t form, const UnitFormat& format);

}  // namespace cicada::symbolize
