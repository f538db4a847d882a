// SPDX-License-Identifier: Apache-2.0
// module: unwind
// Rules found in code bytes and in Go's tables: never beyond what was searched, never empty; Go's and those of compiled code ascending and disjoint.
#include <cstdlib>
#include <vector>

#include "unwind/heuristics/go_code.h"
#include "code/stack_depth.h"
#include "unwind/x86_64/start_code.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  if (size == 0) return 0;
  const uint8_t what = data[0];
  const std::vector<uint8_t> rest(data + 1, data + size);  // an allocation of its own: one byte too many is seen
  if ((what & 1) != 0) {
    uint32_t last = 0;
    const auto functions = elf::GoFunctions::read(rest);
    if (!functions || rest.empty()) return 0;
    for (const unwind::CodeRule& rule : unwind::find_go_rules(*functions, LinkAddr(0x400000), [&](LinkAddr at) { return Bytes(rest).subspan(at.value % rest.size()); })) {
      if (rule.begin < last || rule.end <= rule.begin) std::abort();
      last = rule.end;
    }
    return 0;
  }
  if ((what & 6) == 6) {
    // Seven functions, found or given, cut into the bytes.
    constexpr uint32_t kBegin = 0x1000;
    code::StackDepths depths;
    depths.add_code(kBegin, rest);
    depths.set_absolute(0x400000);
    if ((what & 0x80) != 0) depths.set_assembly();
    for (uint32_t i = 0; i < 7; ++i) {
      const auto begin = static_cast<uint32_t>(kBegin + rest.size() * i / 7);
      if ((what >> 4 & i) != 0) depths.add_candidate(begin);
      else depths.add_function(begin, (what & 8) != 0 ? static_cast<uint32_t>(rest.size() / 7) : 0);
    }
    uint32_t last = kBegin;
    for (const code::StackRange& range : depths.find()) {
      if (range.begin < last || range.end <= range.begin || range.end > kBegin + rest.size()) std::abort();
      last = range.end;
    }
    return 0;
  }
  const auto rules = (what & 2) != 0 ? unwind::find_init_rules(rest) : unwind::find_crtbegin_rules(rest, what >> 4);
  for (const unwind::CodeRule& rule : rules) {
    if (rule.begin >= rule.end || rule.end > rest.size()) std::abort();
  }
  return 0;
}
