// SPDX-License-Identifier: Apache-2.0
// What follows a call is looked at only when nothing else is left: a call may not return, and what lies behind it has its state then from the
// jumps to it, which say the truth.
#include "code/stack_flow.h"

#include <algorithm>
#include <utility>

namespace cicada::code {
namespace {

constexpr int kMaxAttempts = 8;           // one more for each call found not to return
constexpr uint64_t kVisitsPerInstruction = 16;
constexpr size_t kManyBuckets = 256;
constexpr size_t kMaxOutside = 1 << 16;  // calls, addresses, jumps to elsewhere

template <typename T>
void append_bounded(std::vector<T>& to, T value) {
  if (to.size() < kMaxOutside) to.push_back(value);
}

}  // namespace

bool StackFlow::follow(const Function& function, uint32_t origin, const NeverReturning& never, uint64_t& steps) {
  function_ = function;
  size_ = static_cast<uint32_t>(std::min<size_t>({function.code.size(), function.size, kMaxFunctionBytes}));
  origin_ = origin;
  never_ = &never;
  steps_ = &steps;
  if (dead_calls_.bucket_count() > kManyBuckets) dead_calls_ = {};  // clear() goes through all
  else dead_calls_.clear();
  says_all_ = true;
  if (index_.size() < size_ + 1) index_.resize(size_ + 1);  // also of nothing
  Outcome outcome = Outcome::kAgain;
  for (int i = 0; i < kMaxAttempts && outcome == Outcome::kAgain; ++i) {
    forget();
    says_all_ = i == 0;
    outcome = attempt();
  }
  if (calls_.size() == kMaxOutside || leaves_.size() == kMaxOutside) says_all_ = false;
  ranges_.clear();
  if (outcome == Outcome::kDone) write_ranges();
  forget_index();
  return outcome == Outcome::kDone;
}

void StackFlow::forget_index() {
  for (const uint32_t at : reached_) index_[at] = 0;
  reached_.clear();
  records_.clear();
}

void StackFlow::forget() {
  forget_index();
  records_.emplace_back();
  reached_.push_back(0);
  work_.clear();
  deferred_.clear();
  indirect_.clear();
  calls_.clear();
  addresses_.clear();
  immediates_.clear();
  leaves_.clear();
  fixed_ = 0;
  visits_ = 0;
  returns_ = has_return_ = has_tail_jump_ = reads_callers_frame_ = false;
}

// Nothing, if it does not end in the function.
std::optional<Instruction> StackFlow::decode(uint32_t at) const {
  auto insn = decode_instruction(function_.code.subspan(at));
  if (insn && insn->length > size_ - at) insn.reset();
  return insn;
}

StackFlow::Outcome StackFlow::attempt() {
  bool changed = false;
  if (size_ == 0) return Outcome::kFailed;
  join(0, function_.state, 0, changed);
  work_.push_back(0);
  const Outcome outcome = drain();
  return outcome == Outcome::kDone ? guess_rest() : outcome;
}

StackFlow::Outcome StackFlow::drain() {
  for (;;) {
    while (!work_.empty()) {
      const uint32_t at = work_.back();
      work_.pop_back();
      if (const Outcome outcome = run(at); outcome != Outcome::kDone) return outcome;
    }
    if (deferred_.empty()) return Outcome::kDone;
    const Deferred next = deferred_.front();
    deferred_.pop_front();
    if (dead_calls_.contains(next.call) || begins_function(next.at)) continue;
    bool changed = false;
    if (const Outcome outcome = join(next.at, next.state, next.call, changed); outcome != Outcome::kDone) return outcome;
    if (changed) work_.push_back(next.at);
  }
}

StackFlow::Outcome StackFlow::join(int64_t target, const StackState& state, uint32_t behind_call, bool& changed) {
  changed = false;
  if (target < 0 || target >= size_) {
    if (behind_call != 0) return Outcome::kDone;  // it does not return
    if (fixed_ != 0 && !function_.size_known && !state.is_entry()) return Outcome::kFailed;  // no longer this function
    joined_ = joined_ || (function_.size_known && state.is_entry());  // a tail call
    append_bounded(leaves_, Jump{target, state});
    returns_ = true;
    return Outcome::kDone;
  }
  uint32_t& number = index_[static_cast<size_t>(target)];
  if (number == 0) {
    number = static_cast<uint32_t>(records_.size());
    records_.push_back({state, behind_call});
    reached_.push_back(static_cast<uint32_t>(target));
    changed = true;
    return Outcome::kDone;
  }
  Record& record = records_[number];
  if (record.state == state) {
    if (behind_call == 0) record.behind_call = 0;
    joined_ = joined_ || (number < fixed_ && !record.doubtful);
    return Outcome::kDone;
  }
  const auto both = StackState::meet(record.state, state);
  if (!both || (number < fixed_ && !both->same_stack(record.state))) {
    if (behind_call != 0) {
      dead_calls_.insert(behind_call);
      return Outcome::kDone;
    }
    if (record.behind_call == 0 || number < fixed_) return Outcome::kFailed;
    dead_calls_.insert(record.behind_call);
    return Outcome::kAgain;
  }
  if (behind_call == 0) record.behind_call = 0;
  joined_ = joined_ || (number < fixed_ && !record.doubtful);
  changed = *both != record.state;
  record.state = *both;
  return Outcome::kDone;
}

// Where the frame pointer points may differ, and is then of no use.
void StackFlow::note_indirect(const StackState& state) {
  const auto same = std::find_if(indirect_.begin(), indirect_.end(), [&](const StackState& other) { return other.same_stack(state); });
  const auto both = same == indirect_.end() ? std::nullopt : StackState::meet(*same, state);
  if (both) *same = *both;
  else if (indirect_.size() < 2) indirect_.push_back(state);
}

// Behind a call that may not return, a function whose size is not known has ended where code begins as functions do.
bool StackFlow::begins_function(int64_t at) const {
  if (function_.size_known || at < 0 || at >= size_ || (at + origin_) % 16 != 0) return false;
  const auto insn = decode(static_cast<uint32_t>(at));
  return insn && insn->is_prologue();
}

bool StackFlow::never_returns(const Instruction& insn, int64_t next) const {
  const bool direct = insn.flow() == Flow::kCall;
  if (!direct && !insn.is_ip_relative()) return false;
  const int64_t where = next + origin_ + (direct ? insn.immediate : insn.displacement);
  const auto& set = direct ? never_->functions : never_->slots;
  return where >= 0 && where <= UINT32_MAX && set.contains(static_cast<uint32_t>(where));
}

// From `at` on until there is no next instruction, or nothing new is learnt.
StackFlow::Outcome StackFlow::run(uint32_t at) {
  bool compared = false;  // the stack pointer with the end of a loop of stack probes, by the instruction before
  for (;;) {
    Record& record = records_[index_[at]];
    StackState state = record.state;
    const uint32_t behind_call = record.behind_call;
    if (*steps_ == 0 || ++visits_ > kVisitsPerInstruction * (records_.size() + 4)) return Outcome::kFailed;
    --*steps_;
    const auto insn = decode(at);
    if (!insn) return Outcome::kFailed;
    record.length = insn->length;
    record.is_cut = false;
    const Flow flow = insn->flow();
    const bool direct = flow == Flow::kJump || flow == Flow::kBranch || flow == Flow::kCall;
    const int64_t next = int64_t{at} + insn->length, target = direct ? next + insn->immediate : next;
    bool changed = false;

    switch (flow) {
      case Flow::kReturn:
        returns_ = true;
        has_return_ = has_return_ || state.is_entry();
        return state.stack == StackState::kUnknown || state.is_entry() ? Outcome::kDone : Outcome::kFailed;
      case Flow::kTrap: return Outcome::kDone;
      case Flow::kFar: return Outcome::kFailed;
      case Flow::kIndirectJump:
        if (never_returns(*insn, next)) return Outcome::kDone;
        returns_ = true;
        has_tail_jump_ = has_tail_jump_ || state.is_entry();
        note_indirect(state);
        return Outcome::kDone;
      case Flow::kJump:
      case Flow::kBranch: {
        const Outcome outcome = join(target, state, 0, changed);
        if (outcome != Outcome::kDone) return outcome;
        if (changed) work_.push_back(static_cast<uint32_t>(target));
        if (flow == Flow::kJump) return Outcome::kDone;
        if (compared && insn->jumps_if_not_equal()) state.stack = state.copy;
        if (insn->is_loop()) state.forget_scratch();
        break;
      }
      case Flow::kCall:
        if (insn->immediate == 0) return Outcome::kFailed;  // pushes its own address
        append_bounded(calls_, target);
        [[fallthrough]];
      case Flow::kIndirectCall:
        record.state.forget_red_zone();
        state.forget_red_zone();
        if (flow == Flow::kIndirectCall || target < function_.helpers_begin || target >= function_.helpers_end) state.forget_scratch();
        if (!state.has_rule()) {
          record.is_cut = returns_ = true;
          return Outcome::kDone;
        }
        if (never_returns(*insn, next)) return Outcome::kDone;
        if (next <= size_) deferred_.push_back({static_cast<uint32_t>(next), at + 1, state});
        return Outcome::kDone;
      case Flow::kNext:
        reads_callers_frame_ = reads_callers_frame_ || (insn->has_modrm && insn->mod != 3 && insn->rm == kRbp && !insn->is_nop() && state.has_callers_frame());
        if (insn->loads_address()) append_bounded(addresses_, next + insn->displacement);
        if (insn->loads_immediate() && insn->immediate > 0) append_bounded(immediates_, insn->immediate);
        if (!state.apply(*insn)) return Outcome::kFailed;
        if (!state.has_rule()) {
          if (next < size_ && index_[static_cast<size_t>(next)] != 0) return Outcome::kFailed;  // what is behind has a rule from another way
          record.is_cut = returns_ = true;
          return Outcome::kDone;
        }
    }
    compared = state.compares_probe(*insn);
    const bool still_behind_call = behind_call != 0 && insn->is_nop();
    if (still_behind_call && begins_function(next)) return Outcome::kDone;
    const Outcome outcome = join(next, state, still_behind_call ? behind_call : 0, changed);
    if (outcome != Outcome::kDone || !changed) return outcome;
    at = static_cast<uint32_t>(next);
  }
}

// Blocks that no direct jump leads to. Where the size is not known the next function may follow, and contradicts by its first return; in assembly also where the code
// is aligned, if the stack is as on entry: then it is followed by itself.
StackFlow::Outcome StackFlow::guess_rest() {
  if (indirect_.size() != 1) return Outcome::kDone;
  for (uint32_t at = 0; at < size_;) {
    if (*steps_ == 0) return Outcome::kFailed;
    --*steps_;
    if (index_[at] != 0) {
      at += std::max<uint32_t>(records_[index_[at]].length, 1);
      continue;
    }
    const auto insn = decode(at);
    if (!insn) break;
    if (insn->is_nop() || insn->flow() == Flow::kTrap) {
      at += insn->length;
      if (function_.is_assembly() && !function_.size_known && indirect_.front().is_entry() && (at + origin_) % 16 == 0) break;
    } else if (!guess(at)) {
      break;
    }
  }
  return Outcome::kDone;
}

// False: something contradicts the jump's state at `at`, and nothing is changed. Code for which nothing speaks (it does not return, nor jump to what is
// known) gets no rule: it may be another function's part.
bool StackFlow::guess(uint32_t at) {
  const Evidence before{calls_.size(), leaves_.size(), addresses_.size(), immediates_.size(), std::exchange(has_return_, false), has_tail_jump_, indirect_.front()};
  fixed_ = static_cast<uint32_t>(records_.size());
  joined_ = false;
  bool changed = false;
  join(at, before.jump, 0, changed);
  work_.push_back(at);
  const bool fits = drain() == Outcome::kDone && indirect_.size() == 1;
  if (fits && (joined_ || has_return_)) {
    has_return_ = has_return_ || before.has_return;
    return true;
  }
  forget_since(before);
  if (fits) {
    for (size_t i = fixed_; i < records_.size(); ++i) records_[i].doubtful = true;
    return true;
  }
  for (size_t i = fixed_; i < reached_.size(); ++i) index_[reached_[i]] = 0;
  reached_.resize(fixed_);
  records_.resize(fixed_);
  return false;
}

void StackFlow::forget_since(const Evidence& before) {
  says_all_ = false;
  work_.clear();
  deferred_.clear();
  calls_.resize(before.calls);
  leaves_.resize(before.leaves);
  addresses_.resize(before.addresses);
  immediates_.resize(before.immediates);
  has_return_ = before.has_return;
  has_tail_jump_ = before.has_tail_jump;
  indirect_.assign(1, before.jump);
}

// Numbers of records by offset. Those of instructions that follow each other mostly do so, too: runs of them are put in order, all only if instructions overlap.
void StackFlow::sort_records() {
  runs_.clear();
  order_.clear();
  const auto goes_on = [&](uint32_t i) { return i < records_.size() && reached_[i] == reached_[i - 1] + records_[i - 1].length; };
  for (uint32_t i = 1; i < records_.size(); ++i) {
    if (i == 1 || !goes_on(i)) runs_.push_back(i);
  }
  const auto before = [&](uint32_t a, uint32_t b) { return reached_[a] < reached_[b]; };
  std::sort(runs_.begin(), runs_.end(), before);
  bool overlap = false;
  for (uint32_t i : runs_) {
    overlap = overlap || (!order_.empty() && before(i, order_.back()));
    do order_.push_back(i);
    while (goes_on(++i));
  }
  if (overlap) std::sort(order_.begin(), order_.end(), before);
}

void StackFlow::write_ranges() {
  sort_records();
  const StackState* last = nullptr;  // of the last range, not settled
  for (size_t i = 0; i < order_.size(); ++i) {
    const Record& record = records_[order_[i]];
    if (record.length == 0 || record.doubtful) continue;  // not looked at, or not believed
    const uint32_t begin = reached_[order_[i]];
    const uint32_t end = i + 1 == order_.size() ? begin + record.length : std::min(begin + record.length, reached_[order_[i + 1]]);
    const bool follows = !ranges_.empty() && ranges_.back().end == begin;
    if (!follows || record.state != *last) {
      last = &record.state;
      const StackState state = record.state.settled();
      if (!follows || ranges_.back().state != state) ranges_.push_back({begin, end, state});
    }
    ranges_.back().end = end;
    ranges_.back().is_cut = record.is_cut;
  }
}

}  // namespace cicada::code
