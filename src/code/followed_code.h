// SPDX-License-Identifier: Apache-2.0
// What following code has shown of it, and a memory of that from one pass over all functions to the next.
//
// A function that was followed once is what it was, unless it calls one that has turned out never to return since; even if it must end earlier
// now, behind what was reached of it.
//
//   memory.begin_pass();
//   if (auto known = memory.recall(begin, end, …)) use(*known);
//   else { follow; memory.keep(…); }
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/seeded_hash.h"
#include "code/stack_flow.h"

namespace cicada::code {

struct FlowFacts {
  bool followed = false;  // false: given up; what follows is what had been looked at by then
  bool returns = false, has_return = false, has_tail_jump = false, reads_callers_frame = false;  // as StackFlow says
  std::optional<StackState> jump = {};      // of all its indirect jumps
};

// Offsets are from where the code begins in its image, but those of leaves. The spans are borrowed.
struct FollowedCode : FlowFacts {
  std::span<const StackRange> ranges;       // ascending, disjoint
  std::span<const uint32_t> calls, addresses;
  std::span<const StackFlow::Jump> leaves;  // targets: offsets of its begin
};

class FlowMemory {
 public:
  using Begins = std::unordered_set<uint32_t, SeededHash>;

  // What has been kept can be recalled from now on, until the next pass begins.
  void begin_pass();
  // Of a function that may have [begin, end) (`size_known`: and has all of it), if it took `max_steps` at most, which are counted down.
  std::optional<FollowedCode> recall(uint32_t begin, uint32_t end, bool size_known, const Begins& newly_never, uint64_t& max_steps) const;
  void keep(uint32_t begin, uint32_t end, bool size_known, const FollowedCode& code, uint64_t steps);

 private:
  struct Slice {
    uint32_t first = 0, last = 0;
  };
  struct Function {
    uint32_t begin, end;
    bool size_known;
    uint64_t steps;
    FlowFacts facts;
    Slice ranges, calls, addresses, leaves;
  };
  struct Pass {
    std::vector<Function> functions;  // ascending, once the pass is over
    std::vector<StackRange> ranges;
    std::vector<uint32_t> calls, addresses;
    std::vector<StackFlow::Jump> leaves;
  };
  Pass before_, now_;
};

}  // namespace cicada::code
