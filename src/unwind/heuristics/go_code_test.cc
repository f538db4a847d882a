// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/go_code.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cicada::unwind {
namespace {

constexpr uint64_t kText = 0x401000;
constexpr uint8_t kTopFrame = 1, kWritesStackPointer = 2;

// A table as Go 1.18 or 1.20 writes it, of functions that follow each other.
class TableBuilder {
 public:
  explicit TableBuilder(uint32_t magic) : magic_(magic) {}
  // `steps`: the pc table's bytes.
  void add(uint32_t size, std::vector<uint8_t> steps, uint8_t flags = 0, const char* name = "main.f") {
    functions_.push_back({size, static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(pc_tables_.size()), flags});
    names_.insert(names_.end(), name, name + std::strlen(name) + 1);
    pc_tables_.insert(pc_tables_.end(), steps.begin(), steps.end());
  }
  std::vector<uint8_t> build() const {
    std::vector<uint8_t> out;
    const auto u32 = [&](uint64_t v) { for (int i = 0; i < 4; ++i) out.push_back(static_cast<uint8_t>(v >> 8 * i)); };
    const auto u64 = [&](uint64_t v) { u32(v & 0xffffffff), u32(v >> 32); };
    const uint64_t names = 72, tables = names + names_.size(), functions = tables + pc_tables_.size();
    const uint32_t head = static_cast<uint32_t>(8 * functions_.size() + 4);
    u32(magic_);
    out.insert(out.end(), {0, 0, 1, 8});
    for (const uint64_t v : {uint64_t{functions_.size()}, uint64_t{1}, kText, names, uint64_t{0}, uint64_t{0}, tables, functions}) u64(v);
    out.insert(out.end(), names_.begin(), names_.end());
    out.insert(out.end(), pc_tables_.begin(), pc_tables_.end());
    uint32_t entry = 0, at = head;
    for (const Function& f : functions_) {
      u32(entry), u32(at);
      entry += f.size;
      at += 48;
    }
    u32(entry);
    entry = 0;
    for (const Function& f : functions_) {
      const size_t begin = out.size();
      u32(entry), u32(f.name), u32(0), u32(0), u32(f.steps), u32(0), u32(0), u32(0), u32(0);
      if (magic_ == 0xfffffff1) u32(0);  // first line
      out.push_back(0);
      out.push_back(f.flags);
      out.resize(begin + 48);
      entry += f.size;
    }
    return out;
  }

 private:
  struct Function {
    uint32_t size, name, steps;
    uint8_t flags;
  };
  uint32_t magic_;
  std::vector<Function> functions_;
  std::vector<uint8_t> names_, pc_tables_{0};
};

// sub $24,%rsp at 4, add at 60: values 0, 24, 0.
const std::vector<uint8_t> kFrame = {2, 4, 48, 56, 47, 4, 0};

TEST(FindGoRules, FollowsTheStackPointer) {
  for (const uint32_t magic : {0xfffffff0u, 0xfffffff1u}) {
    TableBuilder builder(magic);
    builder.add(64, kFrame);
    builder.add(32, {2, 32, 0});  // no frame
    const auto rules = find_go_rules(builder.build(), LinkAddr(0x400000));
    ASSERT_EQ(rules.size(), 4u);
    EXPECT_EQ(rules[0].begin, 0x1000u);
    EXPECT_EQ(rules[0].rule.cfa_offset, 8);
    EXPECT_EQ(rules[1].begin, 0x1004u);
    EXPECT_EQ(rules[1].end, 0x103cu);
    EXPECT_EQ(rules[1].rule.cfa_offset, 32);
    EXPECT_EQ(rules[1].rule.saved[SAVED_RBP], -2);
    EXPECT_EQ(rules[2].rule.cfa_offset, 8);
    EXPECT_EQ(rules[3].begin, 0x1040u);
    EXPECT_EQ(rules[3].rule.saved[SAVED_RBP], 0);
  }
}

TEST(FindGoRules, TopFramesAndThoseThatChangeStacks) {
  TableBuilder builder(0xfffffff1);
  builder.add(64, kFrame, kTopFrame, "runtime.goexit.abi0");
  builder.add(0, kFrame, kTopFrame, "runtime.nothing");
  builder.add(64, kFrame, kWritesStackPointer, "runtime.systemstack.abi0");
  builder.add(64, kFrame, kTopFrame, "runtime.sigtramp.abi0");
  const auto rules = find_go_rules(builder.build(), LinkAddr(kText));
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules[0].rule.cfa_kind, CFA_OUTERMOST);
  EXPECT_EQ(rules[1].begin, 128u);
  EXPECT_EQ(rules[1].rule.cfa_kind, CFA_OFFSET);
}

TEST(FindGoRules, DamageCostsRulesOnly) {
  TableBuilder builder(0xfffffff0);
  for (int i = 0; i < 20; ++i) builder.add(64, kFrame);
  const std::vector<uint8_t> good = builder.build();
  EXPECT_EQ(find_go_rules(good, LinkAddr(kText)).size(), 60u);
  for (size_t size = 0; size < good.size(); ++size) find_go_rules(std::vector<uint8_t>(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)), LinkAddr(kText));
  uint32_t random = 1;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bad = good;
    for (int i = 0; i < 3; ++i) {
      random = random * 1664525 + 1013904223;
      bad[(random >> 8) % bad.size()] = static_cast<uint8_t>(random >> 24);
    }
    uint32_t last = 0;
    for (const CodeRule& rule : find_go_rules(bad, LinkAddr(kText))) {
      ASSERT_LT(rule.begin, rule.end);
      ASSERT_GE(rule.begin, last);
      last = rule.end;
    }
  }
}

}  // namespace
}  // namespace cicada::unwind
