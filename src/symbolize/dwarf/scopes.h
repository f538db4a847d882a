// SPDX-License-Identifier: Apache-2.0
// Which functions, inlined into each other, an address belongs to: one pass over a unit's entries, descending only where a
// wanted address lies and jumping over the rest.
#pragma once
#include <span>
#include <vector>

#include "symbolize/dwarf/unit.h"

namespace cicada::symbolize {

struct Scope {
  uint64_t entry = 0;        // offset of the subprogram or inlined call in .debug_info: it, or what it refers to, has the name
  bool inlined = false;
  uint32_t call_file = 0, call_line = 0;  // where it was inlined
};

constexpr size_t kMaxScopes = 256;           // inlined into each other, at one address; deeper ones are left out
constexpr size_t kMaxScopeNodes = 1 << 19;  // of all addresses; further ones are left out

// The scopes of many addresses. What is around them they have in common.
struct ScopeTree {
  struct Node {
    Scope scope;
    uint32_t around = 0;  // 0: nothing
    uint32_t depth = 0;
  };
  explicit ScopeTree(size_t addresses) : innermost(addresses) {}
  std::vector<Node> nodes{1};       // the first is none
  std::vector<uint32_t> innermost;  // by address; 0: none
};

// `addresses` sorted ascending.
void find_scopes(const DwarfUnit& unit, std::span<const uint64_t> addresses, ScopeTree& tree, WorkBudget& budget);

}  // namespace cicada::symbolize
