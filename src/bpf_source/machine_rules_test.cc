// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/machine_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "unwind/rows/row_table.h"

namespace cicada::bpf_source {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr uint32_t kMachine = 3, kOther = 4;

unwind::UnwindRows rows_with(unwind_cfa_kind kind) {
  unwind_rule rule{};
  rule.cfa_kind = static_cast<__u8>(kind);
  rule.cfa_reg = ARCH_SP;
  rule.cfa_offset = 24;
  unwind::RowTable table;
  table.rows.push_back({0x100, table.rules.insert(rule)});
  return unwind::UnwindRows(std::move(table));
}

struct Kernel {
  std::map<uint32_t, int32_t> published;  // offsets, by space
  std::vector<uint32_t> spaces, asked;
  MachineRules machines{{[this](uint32_t image) { return asked.push_back(image), spaces; }, [this](uint32_t space, const unwind_rule& rule) { published[space] = rule.cfa_offset; }}};
};

TEST(MachineRules, SpacesThatMapItWhenItsTableIsThere) {
  Kernel kernel;
  kernel.spaces = {7, 9};
  kernel.machines.note_mapping(7, kMachine);
  EXPECT_THAT(kernel.published, IsEmpty());
  kernel.machines.note_rows(kMachine, rows_with(CFA_DEREF_TWICE));
  EXPECT_THAT(kernel.asked, ElementsAre(kMachine));
  EXPECT_THAT(kernel.published, ElementsAre(Pair(7, 24), Pair(9, 24)));
}

TEST(MachineRules, SpacesThatMapItLater) {
  Kernel kernel;
  kernel.machines.note_rows(kMachine, rows_with(CFA_DEREF_TWICE));
  kernel.machines.note_mapping(11, kOther);
  EXPECT_THAT(kernel.published, IsEmpty());
  kernel.machines.note_mapping(11, kMachine);
  EXPECT_THAT(kernel.published, ElementsAre(Pair(11, 24)));
}

TEST(MachineRules, OtherImagesCostNothing) {
  Kernel kernel;
  kernel.spaces = {7};
  for (const unwind_cfa_kind kind : {CFA_OFFSET, CFA_DEREF, CFA_FRAME_POINTER}) kernel.machines.note_rows(kOther, rows_with(kind));
  kernel.machines.note_rows(kOther, unwind::UnwindRows());
  kernel.machines.note_mapping(7, kOther);
  EXPECT_THAT(kernel.asked, IsEmpty());
  EXPECT_THAT(kernel.published, IsEmpty());
}

TEST(MachineRules, NobodyIsAskedOnceStopped) {
  Kernel kernel;
  kernel.spaces = {7};
  kernel.machines.stop();
  kernel.machines.note_rows(kMachine, rows_with(CFA_DEREF_TWICE));
  EXPECT_THAT(kernel.asked, IsEmpty());
}

}  // namespace
}  // namespace cicada::bpf_source
