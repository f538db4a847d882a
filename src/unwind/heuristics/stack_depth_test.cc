// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/stack_depth.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace cicada::unwind {
namespace {

using Code = std::vector<uint8_t>;
constexpr uint32_t kBegin = 0x1000;

std::vector<StackRange> find(const Code& code, std::initializer_list<std::pair<uint32_t, uint32_t>> functions) {
  StackDepths depths;
  depths.add_code(kBegin, code);
  for (const auto& [begin, size] : functions) depths.add_function(kBegin + begin, size);
  return depths.find();
}
// 0: no rule; otherwise the CFA's distance from rsp, or minus that from rbp.
int depth_at(const std::vector<StackRange>& ranges, uint32_t at) {
  for (const StackRange& range : ranges) {
    if (range.begin > kBegin + at || kBegin + at >= range.end) continue;
    const unwind_rule rule = range.state.to_rule();
    return rule.cfa_reg == 7 ? rule.cfa_offset : -rule.cfa_offset;
  }
  return 0;
}
int saved_at(const std::vector<StackRange>& ranges, uint32_t at, unwind_saved slot) {
  for (const StackRange& range : ranges) {
    if (range.begin <= kBegin + at && kBegin + at < range.end) return range.state.to_rule().saved[slot];
  }
  return 99;
}

TEST(StackDepths, FollowsPushesAndTheirRegisters) {
  const Code code = {0x41, 0x54, 0x55, 0x48, 0x83, 0xec, 0x18, 0x31, 0xed, 0x48, 0x83, 0xc4, 0x18, 0x5d, 0x41, 0x5c, 0xc3};
  const auto ranges = find(code, {{0, 17}});
  EXPECT_EQ(depth_at(ranges, 0), 8);
  EXPECT_EQ(depth_at(ranges, 2), 16);
  EXPECT_EQ(depth_at(ranges, 7), 48);
  EXPECT_EQ(saved_at(ranges, 7, SAVED_R12), -2);
  EXPECT_EQ(saved_at(ranges, 7, SAVED_RBP), -3);
  EXPECT_EQ(depth_at(ranges, 16), 8);
  EXPECT_EQ(saved_at(ranges, 16, SAVED_RBP), 0);
}

TEST(StackDepths, UsesTheFramePointerWhereTheStackIsRealigned) {
  // push %rbp; mov %rsp,%rbp; and $-32,%rsp; nop; leave; ret
  const auto ranges = find({0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x90, 0xc9, 0xc3}, {{0, 11}});
  EXPECT_EQ(depth_at(ranges, 4), 16);
  EXPECT_EQ(depth_at(ranges, 8), -16);
  EXPECT_EQ(saved_at(ranges, 8, SAVED_RBP), -2);
  EXPECT_EQ(depth_at(ranges, 10), 8);
}

TEST(StackDepths, FollowsSavesByStores) {
  // mov %rbx,-8(%rsp); sub $24,%rsp; xor %ebx,%ebx; mov 16(%rsp),%rbx; add $24,%rsp; ret
  const auto ranges = find({0x48, 0x89, 0x5c, 0x24, 0xf8, 0x48, 0x83, 0xec, 0x18, 0x31, 0xdb, 0x48, 0x8b, 0x5c, 0x24, 0x10, 0x48, 0x83, 0xc4, 0x18, 0xc3}, {{0, 21}});
  EXPECT_EQ(saved_at(ranges, 9, SAVED_RBX), -2);
  EXPECT_EQ(saved_at(ranges, 16, SAVED_RBX), 0);
  EXPECT_EQ(depth_at(ranges, 20), 8);
}

TEST(StackDepths, GivesUpWhereTwoWaysDisagree) {
  // test; je +1; push %rax; ret
  EXPECT_TRUE(find({0x85, 0xff, 0x74, 0x01, 0x50, 0xc3}, {{0, 6}}).empty());
  EXPECT_TRUE(find({0x50, 0xc3}, {{0, 2}}).empty());              // returns too deep
  EXPECT_TRUE(find({0x58, 0xff, 0xe0}, {{0, 3}}).empty());        // pops its return address
  EXPECT_TRUE(find({0xe8, 0, 0, 0, 0, 0x58, 0xc3}, {{0, 7}}).empty());  // calls the next instruction
  EXPECT_TRUE(find({0x06, 0xc3}, {{0, 2}}).empty());              // no instruction
}

TEST(StackDepths, KnowsByContradictionThatACallDoesNotReturn) {
  // 0: test; je 9; push %rax; call 20; 9: ret …  20: hlt
  Code code(24, 0xcc);
  const Code begin = {0x85, 0xff, 0x74, 0x06, 0x50, 0xe8, 0x0a, 0, 0, 0, 0xc3};
  std::copy(begin.begin(), begin.end(), code.begin());
  code[20] = 0x90, code[21] = 0x90;
  const auto ranges = find(code, {{0, 11}});
  EXPECT_EQ(depth_at(ranges, 5), 16);
  EXPECT_EQ(depth_at(ranges, 10), 8);
  EXPECT_EQ(depth_at(ranges, 20), 8) << "found by the call to it";
}

TEST(StackDepths, GivesCodeBehindAJumpTableTheStateOfTheJump) {
  // push %rbx; jmp *%rax; pop %rbx; ret; nop; pop %rbx; ret
  const auto ranges = find({0x53, 0xff, 0xe0, 0x5b, 0xc3, 0x90, 0x5b, 0xc3}, {{0, 8}});
  EXPECT_EQ(depth_at(ranges, 3), 16);
  EXPECT_EQ(depth_at(ranges, 4), 8);
  EXPECT_EQ(depth_at(ranges, 6), 16);
  // Two jumps that differ: nothing is said.
  EXPECT_EQ(depth_at(find({0x74, 0x03, 0x53, 0xff, 0xe0, 0xff, 0xe0, 0x5b, 0xc3}, {{0, 9}}), 7), 0);
}

TEST(StackDepths, FollowsPartsThatLieElsewhere) {
  // 0: push %rbx; jmp 8; 3: pop %rbx; ret      8: nop; jmp 3
  Code code(16, 0xcc);
  const Code begin = {0x53, 0xeb, 0x05, 0x5b, 0xc3, 0xcc, 0xcc, 0xcc, 0x90, 0xeb, 0xf8};
  std::copy(begin.begin(), begin.end(), code.begin());
  EXPECT_EQ(depth_at(find(code, {{0, 5}}), 8), 16);
}

TEST(StackDepths, LoopsOfStackProbesEndWhereTheyBegan) {
  // lea -0x2000(%rsp),%r11; sub $0x1000,%rsp; orq $0,(%rsp); cmp %r11,%rsp; jne; sub $8,%rsp; add $0x2008,%rsp; ret
  const auto ranges = find({0x4c, 0x8d, 0x9c, 0x24, 0, 0xe0, 0xff, 0xff, 0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0x83, 0x0c, 0x24, 0, 0x4c,
                            0x39, 0xdc, 0x75, 0xef, 0x48, 0x83, 0xec, 0x08, 0x48, 0x81, 0xc4, 0x08, 0x20, 0, 0, 0xc3},
                           {{0, 37}});
  EXPECT_EQ(depth_at(ranges, 15), -0x2008) << "from r11";
  EXPECT_EQ(depth_at(ranges, 25), 0x2008);
  EXPECT_EQ(depth_at(ranges, 36), 8);
}

// Whatever the bytes: disjoint, ascending, inside, in bounded time.
TEST(StackDepths, AnyBytes) {
  uint64_t random = 88172645463325252u;
  const auto next = [&] { return random ^= random << 13, random ^= random >> 7, random ^= random << 17; };
  static constexpr uint8_t kLikely[] = {0x50, 0x58, 0x55, 0x5d, 0xc3, 0xe8, 0xe9, 0xeb, 0x74, 0x75, 0x48, 0x83, 0xec, 0xc4, 0xff, 0xe0, 0xc9, 0, 1, 8};
  for (int round = 0; round < 3000; ++round) {
    Code code(1 + next() % 400);
    for (uint8_t& byte : code) byte = next() % 3 == 0 ? static_cast<uint8_t>(next()) : kLikely[next() % sizeof kLikely];
    StackDepths depths;
    depths.add_code(kBegin, code);
    for (uint64_t i = next() % 20; i > 0; --i) depths.add_function(static_cast<uint32_t>(kBegin + next() % (code.size() + 8)), static_cast<uint32_t>(next() % 64));
    for (uint64_t i = next() % 4; i > 0; --i) depths.add_candidate(static_cast<uint32_t>(next()));
    uint32_t last = kBegin;
    for (const StackRange& range : depths.find()) {
      ASSERT_GE(range.begin, last);
      ASSERT_LT(range.begin, range.end);
      ASSERT_LE(range.end, kBegin + code.size());
      last = range.end;
    }
  }
}

}  // namespace
}  // namespace cicada::unwind
