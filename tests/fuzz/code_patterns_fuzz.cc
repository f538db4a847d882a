// SPDX-License-Identifier: Apache-2.0
// module: unwind
// Rules found in code bytes and in Go's tables: never beyond what was searched, never empty; Go's ascending and disjoint.
#include <cstdlib>
#include <vector>

#include "unwind/go_code.h"
#include "unwind/start_code.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  if (size == 0) return 0;
  const uint8_t what = data[0];
  const std::vector<uint8_t> rest(data + 1, data + size);  // an allocation of its own: one byte too many is seen
  if ((what & 1) != 0) {
    uint32_t last = 0;
    for (const unwind::CodeRule& rule : unwind::find_go_rules(rest, LinkAddr(0x400000))) {
      if (rule.begin < last || rule.end <= rule.begin) std::abort();
      last = rule.end;
    }
    return 0;
  }
  const auto rules = (what & 2) != 0 ? unwind::find_init_rules(rest) : unwind::find_crtbegin_rules(rest, what >> 4);
  for (const unwind::CodeRule& rule : rules) {
    if (rule.begin >= rule.end || rule.end > rest.size()) std::abort();
  }
  return 0;
}
