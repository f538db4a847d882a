// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/exec_matcher.h"

#include <gtest/gtest.h>

namespace cicada::process {
namespace {

Mapping mapping(uint32_t image) {
  return {{RuntimeAddr(0x1000 * image), RuntimeAddr(0x1000 * image + 0x1000)}, FileOffset(), {BindingState::kImage, image, 0}};
}

// The images of a program that ended its exec.
std::vector<uint32_t> images(const std::optional<AddressSpace>& program) {
  std::vector<uint32_t> found;
  if (program) {
    for (const Mapping& each : program->mappings()) found.push_back(each.binding.image);
  }
  return found;
}

TEST(ExecMatcher, PerfFirst) {
  ExecMatcher exec;
  EXPECT_EQ(exec.program_at(90), ProgramOf::kCurrent);
  EXPECT_TRUE(exec.begin(100));
  EXPECT_TRUE(exec.is_under_way());
  EXPECT_EQ(exec.program_at(99), ProgramOf::kCurrent);
  EXPECT_EQ(exec.program_at(110), ProgramOf::kNext);
  exec.insert(mapping(7));
  EXPECT_EQ(images(exec.end(200)), std::vector{7u});
  EXPECT_FALSE(exec.is_under_way());
  EXPECT_EQ(exec.program_at(99), ProgramOf::kEarlier);
  EXPECT_EQ(exec.program_at(110), ProgramOf::kCurrent);  // late, but of this program
  EXPECT_EQ(exec.program_at(300), ProgramOf::kCurrent);
}

TEST(ExecMatcher, BpfFirst) {
  ExecMatcher exec;
  EXPECT_EQ(images(exec.end(200)), std::vector<uint32_t>());
  EXPECT_EQ(exec.program_at(110), ProgramOf::kEarlier);
  EXPECT_FALSE(exec.begin(100));
  EXPECT_FALSE(exec.is_under_way());
  EXPECT_EQ(exec.program_at(99), ProgramOf::kEarlier);
  EXPECT_EQ(exec.program_at(110), ProgramOf::kCurrent);
}

TEST(ExecMatcher, TwoInARowKeepTheirMappingsApart) {
  ExecMatcher exec;
  exec.begin(100);
  exec.insert(mapping(7));
  exec.begin(300);
  exec.insert(mapping(8));
  EXPECT_EQ(images(exec.end(200)), std::vector{7u});
  EXPECT_TRUE(exec.is_under_way());
  EXPECT_EQ(images(exec.end(400)), std::vector{8u});
  EXPECT_FALSE(exec.end(200)) << "overtaken";
  EXPECT_FALSE(exec.begin(300)) << "told twice";
}

TEST(ExecMatcher, RecordOfTheSecondEndsBoth) {
  ExecMatcher exec;
  exec.begin(100);
  exec.insert(mapping(7));
  exec.begin(300);
  exec.insert(mapping(8));
  EXPECT_EQ(images(exec.end(400)), std::vector{8u});
  EXPECT_FALSE(exec.is_under_way());
}

TEST(ExecMatcher, RecordsThatNeverComeCostLittle) {
  ExecMatcher exec;
  for (uint64_t i = 1; i <= 100; ++i) {
    exec.begin(i * 10);
    exec.insert(mapping(static_cast<uint32_t>(i)));
  }
  EXPECT_EQ(images(exec.end((100 - ExecMatcher::kMaxPending) * 10)), std::vector<uint32_t>());
  EXPECT_EQ(images(exec.end(1000)), std::vector{100u});
}

TEST(ExecMatcher, ForkedProcessHasNothingFromBefore) {
  const ExecMatcher exec(500);
  EXPECT_EQ(exec.program_at(499), ProgramOf::kEarlier);
  EXPECT_EQ(exec.program_at(500), ProgramOf::kCurrent);
}

TEST(ExecMatcher, ExecOfThePredecessorIsNotOurs) {
  ExecMatcher exec(500);
  EXPECT_FALSE(exec.begin(400));
  EXPECT_EQ(exec.program_at(450), ProgramOf::kEarlier);
}

}  // namespace
}  // namespace cicada::process
