// SPDX-License-Identifier: Apache-2.0
// module: dwarf
// The expression interpreter on any bytes, with some registers known and some memory at hand: ends, in bounds, defined.
#include "dwarf/expression.h"

namespace {

struct SomeMemory final : cicada::dwarf::Memory {
  std::optional<uint64_t> find_word(uint64_t address) const override {
    if (address % 3 == 0) return std::nullopt;
    return address * 0x9e3779b97f4a7c15;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  if (size < 4) return 0;
  dwarf::Registers registers;
  for (unsigned i = 0; i < dwarf::kRegisterCount; ++i) {
    if (((data[0] | data[1] << 8) >> i & 1) != 0) registers.set(i, uint64_t{data[2]} << (i * 3) ^ i);
  }
  const std::optional<uint64_t> cfa = (data[3] & 1) != 0 ? std::optional<uint64_t>(0x7ffc00001000) : std::nullopt;
  uint64_t first = 1, second = 2;
  const auto once = dwarf::evaluate(Bytes(data + 4, size - 4), registers, SomeMemory(), cfa, first);
  const auto again = dwarf::evaluate(Bytes(data + 4, size - 4), registers, SomeMemory(), cfa, second);
  if (once != again || (once == dwarf::Evaluation::kDone && first != second)) __builtin_trap();
  return 0;
}
