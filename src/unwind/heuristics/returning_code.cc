// SPDX-License-Identifier: Apache-2.0
// Code is looked at in straight lines: from where only jumps and calls lead to, or behind a call, which may not return, up to where control does not go on. A line that
// ends with a return is right if the stack is as on a function's entry there; it begins either as CFI says, or, if that has nothing but one row, as a function does. A
// function's begin is right where it becomes what CFI says; what reserves more stack, where it goes on elsewhere.
#include "unwind/heuristics/returning_code.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "code/arch.h"
#include "unwind/arch.h"
#include "unwind/rows/row_editor.h"

namespace cicada::unwind {
namespace {

using code::Flow;
using code::StackState;

constexpr uint64_t kMaxReadBytes = 256 << 10;
constexpr int32_t kCallAlignment = 16;
constexpr int kRounds = 4;  // what jumps to what the round before has found
constexpr uint64_t kLooksPerInstruction = 16;  // a line is read once from its begin, and once from behind each call

// What follows the stack pointer only; other rules are left alone.
std::optional<StackState> to_state(const unwind_rule& rule) {
  if (rule.cfa_kind != CFA_OFFSET || rule.cfa_reg != ARCH_SP || rule.cfa_offset < 8 || rule.via_base != 0) return std::nullopt;
  StackState state;
  state.stack = rule.cfa_offset;
  for (size_t i = 0; i < state.saved.size(); ++i) {
    if (rule.saved[i] > 0) return std::nullopt;
    state.saved[i] = static_cast<uint8_t>(-rule.saved[i]);
  }
  return state;
}

class FunctionReader {
 public:
  // `begin` is the offset of `code` in the table.
  FunctionReader(Bytes code, uint32_t begin, const RowTable& table) : begin_(begin) {
    auto row = std::upper_bound(table.rows.begin(), table.rows.end(), begin, [](uint32_t at, const Row& other) { return at < other.begin; });
    if (row == table.rows.begin()) return;
    --row;
    has_one_row_ = std::next(row) == table.rows.end() || std::next(row)->begin >= begin + code.size();
    if (has_one_row_) machine_stack_ = find_machine_stack(code, table.rules.rule(row->rule));
    numbers_.resize(code.size());
    for (uint32_t at = 0; at < code.size();) {
      const auto insn = code::decode_instruction(code.subspan(at));
      if (!insn) break;
      while (std::next(row) != table.rows.end() && std::next(row)->begin <= begin + at) ++row;
      places_.push_back({at, *insn, to_state(table.rules.rule(row->rule)), std::nullopt});
      numbers_[at] = static_cast<uint32_t>(places_.size());
      at += insn->length;
    }
  }

  void append_rules(std::vector<CodeRule>& rules) {
    looks_ = kLooksPerInstruction * places_.size();
    for (int round = 0; round < kRounds && read_lines(); ++round) {}
    for (const Place& place : places_) {
      if (machine_stack_ && place.at == machine_stack_->begin) {
        rules.push_back({begin_ + machine_stack_->begin, begin_ + machine_stack_->end, machine_stack_->rule});
      }
      if (machine_stack_ && place.at >= machine_stack_->begin && place.at < machine_stack_->end) continue;
      if (!place.found || !place.cfi || place.found->stack == place.cfi->stack) continue;
      const uint32_t at = begin_ + place.at;
      const CodeRule rule{at, at + place.insn.length, place.found->settled().to_rule()};
      if (!rules.empty() && rules.back().end == at && std::memcmp(&rules.back().rule, &rule.rule, sizeof rule.rule) == 0) rules.back().end = rule.end;
      else rules.push_back(rule);
    }
  }

 private:
  struct Place {
    uint32_t at;
    code::Instruction insn;
    std::optional<StackState> cfi;    // as CFI says
    std::optional<StackState> found;  // as returns show
  };

  bool differs_from_cfi(size_t number, const StackState& state) const { return places_[number].cfi && places_[number].cfi->stack != state.stack; }

  static int64_t target_of(const Place& place) { return int64_t{place.at} + place.insn.length + place.insn.immediate; }
  bool is_inside(int64_t at) const { return at >= 0 && at < static_cast<int64_t>(numbers_.size()); }
  // Null: not in the function, or not where an instruction begins.
  const Place* place_at(int64_t at) const {
    if (!is_inside(at) || numbers_[static_cast<size_t>(at)] == 0) return nullptr;
    return &places_[numbers_[static_cast<size_t>(at)] - 1];
  }
  bool is_known(int64_t at) const { return place_at(at) != nullptr && place_at(at)->found; }
  bool contradicts(int64_t at, const StackState& state) const { return is_known(at) && !place_at(at)->found->same_stack(state); }

  // True: something new was found.
  bool read_lines() {
    bool any = false, begins = true;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (begins && !places_[i].found) any = read_line(i) || any;
      const Flow flow = places_[i].insn.flow();
      begins = places_[i].insn.ends_block() || flow == Flow::kCall || flow == Flow::kIndirectCall;
    }
    return any;
  }

  bool read_line(size_t first) {
    if (const auto jump = jumps_.find(first); jump != jumps_.end()) return follow(first, jump->second, false);
    if (has_one_row_ && differs_from_cfi(first, StackState()) && follow(first, StackState(), true)) return true;
    return places_[first].cfi && follow(first, *places_[first].cfi, false);
  }

  // From place `first` on. True: something was found.
  bool follow(size_t first, StackState state, bool begins_function) {
    states_.clear();
    const bool as_cfi = !differs_from_cfi(first, state);
    bool begins_other = false;  // another function, perhaps: registers are pushed, or it calls
    for (size_t i = first; i < places_.size(); ++i) {
      if (looks_ == 0) return false;
      --looks_;
      const Place& place = places_[i];
      if (contradicts(place.at, state)) return false;
      if (begins_function && place.cfi && place.cfi->same_stack(state)) return take(first);
      states_.push_back(state);
      switch (place.insn.flow()) {
        case Flow::kReturn: return state.is_entry() && take(first);
        case Flow::kJump:
          if (contradicts(target_of(place), state)) return false;
          if (as_cfi && state.is_entry() && !is_inside(target_of(place))) return take(first);  // a tail call
          return is_known(target_of(place)) && take(first);
        case Flow::kTrap:
        case Flow::kFar: return false;
        case Flow::kIndirectJump: return has_one_row_ && as_cfi && !begins_other && state.stack > states_.front().stack && take(first);
        case Flow::kCall:
        case Flow::kIndirectCall:
          if (begins_function && state.stack % kCallAlignment != 0) return false;  // as no function calls another
          begins_other = true;
          state.forget_red_zone();
          break;
        case Flow::kBranch:
          if (contradicts(target_of(place), state)) return false;
          break;
        case Flow::kNext:
          begins_other = begins_other || place.insn.is_push();
          if (!state.apply(place.insn)) return false;
          if (state.stack != StackState::kUnknown) break;
          if (!as_cfi || i + 1 == places_.size() || !places_[i + 1].cfi) return false;
          state = *places_[i + 1].cfi;
      }
    }
    return false;
  }

  bool take(size_t first) {
    bool differs = false;
    for (size_t i = 0; i < states_.size(); ++i) {
      Place& place = places_[first + i];
      if (!differs_from_cfi(first + i, states_[i])) continue;
      differs = true;
      place.found = states_[i];
      const Flow flow = place.insn.flow();
      const Place* const target = flow == Flow::kJump || flow == Flow::kBranch ? place_at(target_of(place)) : nullptr;
      if (target != nullptr) jumps_.try_emplace(static_cast<size_t>(target - places_.data()), states_[i]);
    }
    return differs;
  }

  uint32_t begin_;
  bool has_one_row_ = false;
  std::optional<CodeRule> machine_stack_;
  std::vector<Place> places_;
  std::vector<uint32_t> numbers_;  // by offset, of places_, from 1 on; 0: no instruction begins there
  std::unordered_map<size_t, StackState> jumps_;  // to a place, from what was found
  uint64_t looks_ = 0;  // left
  std::vector<StackState> states_;  // of the line that is followed, by place
};

}  // namespace

void mark_returning_code(const elf::ElfFile& elf, const std::vector<Range<LinkAddr>>& functions, RowTable& table) {
  std::vector<CodeRule> rules;
  uint64_t read = 0;
  LinkAddr done;
  for (const Range<LinkAddr>& function : functions) {
    if (function.begin < done || function.size() > kMaxReadBytes - read) continue;
    read += function.size();
    done = function.end;
    const Bytes code = elf.contents_at(function.begin);
    FunctionReader(code.first(std::min<uint64_t>(code.size(), function.size())), static_cast<uint32_t>(function.begin - table.base), table).append_rules(rules);
  }
  if (rules.empty()) return;
  RowEditor editor(table);
  for (const CodeRule& rule : rules) editor.overwrite(rule);
  editor.finish();
}

}  // namespace cicada::unwind
