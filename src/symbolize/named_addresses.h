// SPDX-License-Identifier: Apache-2.0
// What is known about some addresses, flat: nothing in it refers to a file or to memory outside of it, so that it can be made in one process
// and, once check() has looked at it, be used in another.
//
//   address i ──▶ its innermost position ──▶ those it is inlined into, ──▶ functions ──▶ texts
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"
#include "symbolize/demangle_cache.h"
#include "base/work_budget.h"

namespace cicada::symbolize {

struct NamedAddresses {
  using Text = uint32_t;  // index into text_ends; text 0 is ""
  using PositionId = TaggedId<struct PositionTag>;
  struct Function {
    Text shown = 0;
    Text linkage = 0;  // ""; the same
    Text module = 0;   // kernel functions: "ext4", "bpf"; "": the kernel proper
  };
  struct Position {
    uint32_t function = 0;
    Text file = 0;
    uint32_t line = 0;
    uint8_t inlined = 0;
    profile::NameSource source = profile::NameSource::kNone;
    uint16_t depth = 1;  // of the outermost
    PositionId outer;    // what it is inlined into; stands before it
    bool operator==(const Position&) const = default;
  };
  using Positions = profile::OuterChain<std::vector<Position>, PositionId>;

  std::vector<PositionId> innermost;  // by address; kNone: nothing is known about it
  std::vector<Position> positions;
  std::vector<Function> functions;
  std::vector<uint32_t> text_ends{0};
  std::string texts;
  // Not everything was said that could be: at this depth, or because the budget was used up, or the question was taken back.
  bool could_say_more = false, cut_short = false;
  bool without_symbols = false;  // nothing here has names

  Positions positions_of(size_t address) const { return {positions, innermost[address]}; }
  std::string_view text(Text text) const {
    const uint32_t begin = text == 0 ? 0 : text_ends[text - 1];
    return std::string_view(texts).substr(begin, text_ends[text] - begin);
  }
  // Of answers to a question about `addresses` addresses: every index in range. Fails: kCorrupt.
  Result<void> check(size_t addresses) const;
};

// One source position as a file has it.
struct SourcePosition {
  std::string_view linkage_name = {};
  std::string_view file = {};  // ""; unknown
  uint32_t line = 0;      // 0: unknown
  bool inlined = false;
  profile::NameSource source = profile::NameSource::kNone;
  std::string_view module = {};
};

// Threads: one.
class NamedAddressesBuilder {
 public:
  // Texts are paid for from `budget`: where it ends, positions are left out.
  NamedAddressesBuilder(size_t addresses, DemangleCache& names, WorkBudget& budget);
  // All positions of one address, innermost first; kMaxLocations of the profile are kept. Once an address; addresses in any order.
  void set(size_t address, std::span<const SourcePosition> positions);
  NamedAddresses take() { return std::move(out_); }

 private:
  uint32_t intern_function(const SourcePosition& position);
  NamedAddresses::Text intern_text(std::string_view text);
  NamedAddresses::Text end_text();

  DemangleCache& names_;
  WorkBudget& budget_;
  NamedAddresses out_;
  profile::ContentIndex position_index_, function_index_, text_index_;
  NamedAddresses::Text last_file_ = 0;
};

}  // namespace cicada::symbolize
