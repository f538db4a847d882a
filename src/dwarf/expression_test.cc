// SPDX-License-Identifier: Apache-2.0
#include "dwarf/expression.h"

#include <gtest/gtest.h>

#include <map>

namespace cicada::dwarf {
namespace {

struct MapMemory final : Memory {
  std::map<uint64_t, uint64_t> words;
  std::optional<uint64_t> find_word(uint64_t address) const override {
    const auto found = words.find(address);
    return found == words.end() ? std::nullopt : std::optional(found->second);
  }
};

struct Outcome {
  Evaluation evaluation;
  uint64_t value = 0;
};

Outcome run(std::vector<uint8_t> expression, const Registers& registers = {}, const MapMemory& memory = {},
            std::optional<uint64_t> initial = std::nullopt) {
  Outcome outcome;
  outcome.evaluation = evaluate(expression, registers, memory, initial, outcome.value);
  return outcome;
}

uint64_t value_of(std::vector<uint8_t> expression) {
  const Outcome outcome = run(std::move(expression));
  EXPECT_EQ(outcome.evaluation, Evaluation::kDone);
  return outcome.value;
}

TEST(Expression, Arithmetic) {
  EXPECT_EQ(value_of({0x35, 0x33, 0x1c}), 2u);                             // 5 - 3
  EXPECT_EQ(value_of({0x09, 0xf8, 0x32, 0x1b}), static_cast<uint64_t>(-4));  // -8 / 2
  EXPECT_EQ(value_of({0x09, 0xff, 0x08, 63, 0x26}), ~uint64_t{0});         // -1 >> 63, arithmetic
  EXPECT_EQ(value_of({0x31, 0x08, 200, 0x24}), 0u);                        // 1 << 200
  EXPECT_EQ(value_of({0x37, 0x35, 0x1d}), 2u);                             // 7 mod 5
  EXPECT_EQ(value_of({0x31, 0x32, 0x33, 0x17, 0x13}), 1u);                 // rot: 3 1 2 from the bottom, drop
  EXPECT_EQ(value_of({0x31, 0x32, 0x15, 1}), 1u);                          // pick
  EXPECT_EQ(value_of({0x09, 0xff, 0x19}), 1u);                             // abs
  EXPECT_EQ(value_of({0x09, 0xff, 0x31, 0x2d}), 1u);                       // -1 < 1, signed
}

TEST(Expression, PltStub) {
  const std::vector<uint8_t> plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  Registers registers;
  registers.set(7, 0x7000);
  registers.set(16, 0x401036);
  EXPECT_EQ(run(plt, registers).value, 0x7008u);
  registers.set(16, 0x40103b);
  EXPECT_EQ(run(plt, registers).value, 0x7010u);
}

TEST(Expression, DereferencesAllSizes) {
  MapMemory memory;
  memory.words[0x1000] = 0x8877665544332211;
  Registers registers;
  registers.set(6, 0x1010);
  EXPECT_EQ(run({0x76, 0x70, 0x06}, registers, memory).value, 0x8877665544332211);
  EXPECT_EQ(run({0x76, 0x70, 0x94, 2}, registers, memory).value, 0x2211u);
  EXPECT_EQ(run({0x76, 0x77, 0x94, 1}, registers, memory).value, 0x88u);  // the last byte at hand
  EXPECT_EQ(run({0x76, 0, 0x06}, registers, memory).evaluation, Evaluation::kUnreadable);
  EXPECT_EQ(run({0x76, 0x70, 0x94, 3}, registers, memory).evaluation, Evaluation::kMalformed);
}

TEST(Expression, StartsWithTheCfa) { EXPECT_EQ(run({0x23, 8}, {}, {}, 0x100).value, 0x108u); }

TEST(Expression, BranchesBothWays) {
  // 0; loop: +1, dup, 5 <, bra loop
  EXPECT_EQ(value_of({0x30, 0x31, 0x22, 0x12, 0x35, 0x2d, 0x28, 0xf8, 0xff}), 5u);
  EXPECT_EQ(value_of({0x31, 0x2f, 1, 0, 0x32}), 1u);  // skip over the lit2
}

TEST(Expression, EndlessLoopEnds) { EXPECT_EQ(run({0x2f, 0xfd, 0xff}).evaluation, Evaluation::kTooLong); }

TEST(Expression, BadInputIsMalformed) {
  EXPECT_EQ(run({}).evaluation, Evaluation::kMalformed);
  EXPECT_EQ(run({0x22}).evaluation, Evaluation::kMalformed);            // nothing to add
  EXPECT_EQ(run({0x31, 0x30, 0x1b}).evaluation, Evaluation::kMalformed);  // 1 / 0
  EXPECT_EQ(run({0x2f, 0x00, 0x80}).evaluation, Evaluation::kMalformed);  // before the begin
  EXPECT_EQ(run({0x0e, 1, 2}).evaluation, Evaluation::kMalformed);        // cut off
  EXPECT_EQ(run({0xff}).evaluation, Evaluation::kMalformed);
  EXPECT_EQ(run({0x92, 99, 0}).evaluation, Evaluation::kUnknownRegister);
  EXPECT_EQ(run(std::vector<uint8_t>(65, 0x31)).evaluation, Evaluation::kTooLong);
}

TEST(Expression, DivisionOfTheSmallestNumberIsDefined) {
  EXPECT_EQ(value_of({0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b}), uint64_t{1} << 63);
}

}  // namespace
}  // namespace cicada::dwarf
