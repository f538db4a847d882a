// SPDX-License-Identifier: Apache-2.0
// Two passes over all functions: the first learns which functions there are and which never return, the second keeps what it finds. What
// does not depend on that is not followed twice, only judged anew.
//
// A function that jumps elsewhere with a stack as on its entry makes a tail call. With another stack it jumps to a part of itself that the
// compiler has put elsewhere, which is then followed with that state; if it is another function's begin, it is given up.
#include "code/stack_depth.h"

#include <algorithm>
#include <utility>

namespace cicada::code {
namespace {

constexpr uint64_t kMaxCodeBytes = 32 << 20;
constexpr size_t kMaxFunctions = 1 << 18;
constexpr size_t kMaxParts = 1 << 16;
// Instructions looked at in each pass. Compiled code has one in four bytes and needs 1.2 looks.
constexpr uint64_t kMaxSteps = 6 << 20, kFewestSteps = 1 << 16, kFewestStepsOfBlocks = 1 << 12;
constexpr uint32_t kMaxPadding = 15;
constexpr int kPasses = 2, kRoundsOfParts = 4, kRoundsOfCalls = 64, kRoundsOfBlocks = 2;

bool same_cfa(const StackState& a, const StackState& b) {
  if (a.stack != StackState::kUnknown || b.stack != StackState::kUnknown) return a.stack == b.stack;
  return a.frame == b.frame && a.copy == b.copy && a.copy_register == b.copy_register && a.kept_at == b.kept_at && a.kept == b.kept;
}

// All that matters of the stack. Where it cannot be followed that is where else the CFA is found.
bool same_stack(const StackState& a, const StackState& b) { return a.stack == StackState::kUnknown ? a == b : a.same_stack(b); }

}  // namespace

void StackDepths::add_code(uint32_t begin, Bytes bytes) {
  const uint64_t size = std::min<uint64_t>({bytes.size(), kMaxCodeBytes - code_bytes_, UINT32_MAX - begin});
  if (size == 0 || (!code_.empty() && begin < code_.back().end)) return;
  code_.push_back({begin, static_cast<uint32_t>(begin + size), code_bytes_, bytes.first(size)});
  code_bytes_ += size;
}

void StackDepths::add_function(uint32_t begin, uint32_t size) {
  if (entries_.size() < kMaxFunctions) entries_.push_back({begin, size, Entry::kNamed});
}

const StackDepths::Code* StackDepths::find_code(uint64_t offset) const {
  const auto after = std::upper_bound(code_.begin(), code_.end(), offset, [](uint64_t at, const Code& code) { return at < code.begin; });
  if (after == code_.begin()) return nullptr;
  const Code& code = *std::prev(after);
  return offset < code.end ? &code : nullptr;
}

bool StackDepths::is_unread(int64_t offset) const {
  const auto after = std::upper_bound(unread_.begin(), unread_.end(), offset, [](int64_t at, const Unread& unread) { return at < unread.begin; });
  return after != unread_.begin() && offset < std::prev(after)->end && find_code(static_cast<uint64_t>(offset)) == nullptr;
}

const StackDepths::Entry* StackDepths::entry_at(uint64_t offset) const {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), offset, [](const Entry& entry, uint64_t wanted) { return entry.begin < wanted; });
  return at != entries_.end() && at->begin == offset ? &*at : nullptr;
}

bool StackDepths::lies_in_function(uint32_t offset) const {
  const auto after = std::upper_bound(entries_.begin(), entries_.end(), Entry{offset, 0, Entry::kCalled});
  return after != entries_.begin() && offset - std::prev(after)->begin < std::prev(after)->size;
}

bool StackDepths::is_reached(uint32_t offset) const {
  const Code* const code = find_code(offset);
  return code != nullptr && reached_[code->first + (offset - code->begin)];
}

bool StackDepths::is_entry_like(uint32_t offset) const {
  const Code* const code = find_code(offset);
  return code != nullptr && entry_like_[code->first + (offset - code->begin)];
}

StackDepths::Look StackDepths::look_at(const Code& code, uint32_t at) {
  Look& look = looks_[code.first + at];
  if (look.length != 0) return look;
  const auto insn = decode_instruction(code.bytes.subspan(at));
  return look = insn ? Look{static_cast<uint8_t>(insn->length & 31), insn->is_padding(), insn->ends_block()} : Look{1, false, false};
}

// Calls `found` with where blocks may begin that have not been reached: where code begins, and behind what does not go on and its padding. What goes on is reached
// as far as it does, so what is behind reached code begins anew, unless that is cut.
template <typename Found>
void StackDepths::find_unreached(Found found) {
  looks_.resize(code_bytes_);
  for (const Code& code : code_) {
    bool has_ended = true;
    for (uint32_t at = 0; at < code.bytes.size() && steps_ != 0;) {
      if (reached_[code.first + at]) {
        at = static_cast<uint32_t>(reached_.next_clear(code.first + at, code.first + code.bytes.size()) - code.first);
        has_ended = !cut_ends_[code.first + at - 1];
        continue;
      }
      --steps_;
      const Look look = look_at(code, at);
      if (has_ended && !look.is_padding) found(code, code.begin + at);
      if (!look.is_padding) has_ended = look.ends_block;
      at += look.length;
    }
  }
}

void StackDepths::prepare() {
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.begin != b.begin ? a.begin < b.begin : a.size > b.size; });
  const auto same = [](const Entry& a, const Entry& b) { return a.begin == b.begin; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
  std::erase_if(entries_, [&](const Entry& entry) { return find_code(entry.begin) == nullptr; });
  functions_.known = entries_.size();
}

void StackDepths::run_pass(bool is_last) {
  is_last_ = is_last;
  reached_.assign(code_bytes_);
  entry_like_.assign(is_assembly_ ? code_bytes_ : 0);
  cut_ends_.assign(is_assembly_ ? code_bytes_ : 0);
  ranges_.clear();
  memory_.begin_pass();
  parts_.clear();
  given_up_.clear();
  owned_.clear();
  possible_.clear();
  jumpers_.clear();
  unproved_.clear();
  known_.clear();
  steps_ = std::min(code_bytes_ + kFewestSteps, kMaxSteps);
  part_begins_.clear();
  never_ = named_;
  newly_never_ = std::exchange(found_never_, {});
  never_.functions.insert(newly_never_.begin(), newly_never_.end());
  follow_all();
  follow_parts();
}

std::vector<StackRange> StackDepths::find() {
  prepare();
  for (int pass = 0; pass < kPasses; ++pass) run_pass(pass + 1 == kPasses);
  functions_.found = entries_.size() - functions_.known;
  functions_.given_up = given_up_.size();
  return merge();
}

// In assembly nothing is known to never return, so the second pass would find what the first one has found.
std::vector<StackDepths::FunctionCode> StackDepths::find_functions() {
  only_functions_ = true;
  prepare();
  const int passes = is_assembly_ ? 1 : kPasses;
  for (int pass = 0; pass < passes; ++pass) run_pass(pass + 1 == passes);
  std::stable_sort(owned_.begin(), owned_.end(), [](const FunctionCode& a, const FunctionCode& b) { return a.begin < b.begin; });
  std::vector<FunctionCode> functions;
  uint32_t done = 0;
  auto possible = possible_.begin();
  // What nobody owns, from `done` to `end`.
  const auto add_possible = [&](uint32_t end) {
    for (; possible != possible_.end() && *possible < end; ++possible) {
      const Code* const code = find_code(*possible);
      if (*possible < done || code == nullptr) continue;
      const uint32_t next = std::next(possible) == possible_.end() ? UINT32_MAX : *std::next(possible);
      functions.push_back({*possible, std::min({end, next, code->end}), *possible});
    }
  };
  for (FunctionCode owned : owned_) {
    owned.begin = std::max(owned.begin, done);
    if (owned.begin >= owned.end) continue;
    add_possible(owned.begin);
    functions.push_back(owned);
    done = owned.end;
  }
  add_possible(UINT32_MAX);
  return functions;
}

// Entries, what they call, and then what nobody calls but whose address is taken.
void StackDepths::follow_all() {
  new_entries_.clear();
  for (const Entry& entry : entries_) new_entries_.push_back(entry.begin);
  taken_.clear();
  jumped_to_.clear();
  std::vector<uint32_t> in_data = candidates_;
  bool others_are_known = !is_assembly_;
  for (int round = 0; round < kRoundsOfCalls; ++round) {
    called_.clear();
    for (const uint32_t begin : std::exchange(new_entries_, {})) follow({begin, {}});
    insert_found(called_, Entry::kCalled);
    if (new_entries_.empty()) {
      insert_found(jumped_to_, Entry::kJumpedTo);
      jumped_to_.clear();
    }
    if (new_entries_.empty()) {
      insert_found(taken_, Entry::kTakenByCode);
      taken_.clear();
    }
    if (new_entries_.empty() || round == kRoundsOfCalls / 2) {  // a long chain of calls must not keep others out
      const std::vector<uint32_t> called = std::exchange(new_entries_, {});
      insert_found(in_data, Entry::kInData);
      in_data.clear();
      new_entries_.insert(new_entries_.end(), called.begin(), called.end());
    }
    if (new_entries_.empty() && !std::exchange(others_are_known, true)) follow_others();
    if (new_entries_.empty() && taken_.empty() && jumped_to_.empty()) return;
  }
}

// Of assembly, what nothing refers to.
void StackDepths::follow_others() {
  called_.clear();
  const int rounds = proved_.empty() ? kRoundsOfBlocks : 1;  // one suffices to the second pass
  for (int round = 0; round < rounds; ++round) {
    follow_behind_others();
    sort_known();
    bool more = follow_blocks();
    // What jumps to functions that are known by now may be one, too.
    std::vector<uint32_t> again = std::exchange(unproved_, {});
    std::sort(again.begin(), again.end());
    std::erase_if(given_up_, [&](uint32_t begin) { return std::binary_search(again.begin(), again.end(), begin); });
    std::erase_if(again, [&](uint32_t begin) { return is_reached(begin); });
    for (const uint32_t begin : again) more = follow({begin, {}}) || more;
    if (!more || steps_ < code_bytes_ / 4) break;
  }
  insert_found(called_, Entry::kCalled);
}

// At multiples of 16, and where code begins; one after the other: it may be a part of the one before, which jumps to it.
void StackDepths::follow_behind_others() {
  std::vector<uint32_t> found, possible;
  find_unreached([&](const Code& code, uint32_t begin) {
    if (begin % 16 != 0 && begin != code.begin) return;
    if (found.size() >= kMaxFunctions - entries_.size() || entry_at(begin) != nullptr || lies_in_function(begin)) return;
    if (follow({begin, {}})) found.push_back(begin);
    else if (possible.size() < kMaxFunctions) possible.push_back(begin);
  });
  add_entries(found, Entry::kBehindAnother);
  if (steps_ != 0 || possible_.empty()) possible_ = std::move(possible);
}

// Blocks that only a jump to where a register says can lead to (a case of a table, what goes on behind a helper): behind code that does not go on, with the state of the
// jump before, if they return with the stack that this leaves, or jump to what is known to have it. If something refers to whose jump it is, and its stack is not the one that
// all functions begin with, that is proved to be a function. True: one that was not one before.
bool StackDepths::follow_blocks() {
  if (jumpers_.empty()) return false;
  std::stable_sort(jumpers_.begin(), jumpers_.end(), [](const Jumper& a, const Jumper& b) { return a.begin < b.begin; });
  const std::vector<Jumper> jumpers = jumpers_;
  std::vector<uint32_t> proved;
  uint64_t in_vain = 0;  // instructions of what is no such block: most of what V8's builtins have between them
  auto jumper = jumpers.begin();
  find_unreached([&](const Code&, uint32_t begin) {
    while (std::next(jumper) != jumpers.end() && std::next(jumper)->begin <= begin) ++jumper;
    if (!may_be_block(begin, *jumper) || in_vain >= code_bytes_ / 16 + kFewestStepsOfBlocks) return;
    const uint64_t before = steps_;
    if (!follow_block(begin, jumper->state)) in_vain += before - steps_;
    else if (jumper->is_known && !jumper->state.is_entry() && proved_.insert(jumper->begin).second) proved.push_back(jumper->begin);
  });
  bool any = false;
  for (const uint32_t begin : proved) any = (!is_reached(begin) && follow({begin, {}})) || any;
  return any;
}

// Not what lies in another function, as its size says.
bool StackDepths::may_be_block(uint32_t begin, const Jumper& jumper) const {
  if (begin <= jumper.begin || begin - jumper.begin >= StackFlow::kMaxFunctionBytes) return false;
  return !lies_in_function(begin) || std::prev(std::upper_bound(entries_.begin(), entries_.end(), Entry{begin, 0, Entry::kCalled}))->begin == jumper.begin;
}

// What rbp and other registers point to may be another function's: it goes without first.
bool StackDepths::follow_block(uint32_t begin, const StackState& state) {
  StackState stack = state;
  if (stack.stack != StackState::kUnknown) {
    stack.frame = stack.copy = StackState::kUnknown;
    stack.copy_register = kNoRegister;
  }
  return follow({begin, stack}, Role::kBlock) || (stack != state && follow({begin, state}, Role::kBlock));
}

void StackDepths::sort_known() {
  known_.clear();
  for (const FunctionCode& owned : owned_) known_.push_back({owned.begin, owned.end, 0});
  for (const StackRange& range : ranges_) known_.push_back({range.begin, range.end, static_cast<uint32_t>(known_.size())});
  std::sort(known_.begin(), known_.end(), [](const Known& a, const Known& b) { return a.begin < b.begin; });
}

// Null: nothing is known of it.
const StackDepths::Known* StackDepths::find_known(int64_t offset) const {
  const auto after = std::upper_bound(known_.begin(), known_.end(), offset, [](int64_t at, const Known& known) { return at < known.begin; });
  return after != known_.begin() && offset < std::prev(after)->end ? &*std::prev(after) : nullptr;
}

// What was followed last, if it jumps to other code that is known, and with the stack that it is known to have, or did so `before`.
bool StackDepths::is_proved(uint32_t begin, Begins& before) {
  if (before.contains(begin)) return true;
  bool leads_on = false;
  for (const StackFlow::Jump& jump : last_.leaves) {
    const Known* const known = jump.state.is_entry() ? nullptr : find_known(jump.target + begin);
    if (known == nullptr) continue;
    if (!only_functions_ && !same_stack(ranges_[known->range].state, jump.state.settled())) {
      // Neither is believed, if something refers to the function; a block has only been guessed.
      if (&before == &proved_ && entry_at(begin) != nullptr && parts_.size() < kMaxParts) parts_.push_back({static_cast<uint32_t>(jump.target + begin), jump.state});
      return false;
    }
    leads_on = true;
  }
  if (leads_on) before.insert(begin);
  return leads_on;
}

void StackDepths::insert_found(std::vector<uint32_t>& found, Entry::Evidence evidence) {
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (const uint32_t begin : found) {
    if (const Entry* const known = entry_at(begin); known != nullptr && evidence < known->evidence) entries_[static_cast<size_t>(known - entries_.data())].evidence = evidence;
  }
  std::erase_if(found, [&](uint32_t begin) {
    return find_code(begin) == nullptr || entry_at(begin) != nullptr || lies_in_function(begin) || is_reached(begin);
  });
  if (found.size() > kMaxFunctions - entries_.size()) found.resize(kMaxFunctions - entries_.size());
  add_entries(found, evidence);
  new_entries_ = found;
}

// Ascending, not there yet.
void StackDepths::add_entries(const std::vector<uint32_t>& begins, Entry::Evidence evidence) {
  const size_t before = entries_.size();
  for (const uint32_t begin : begins) entries_.push_back({begin, 0, evidence});
  std::inplace_merge(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(before), entries_.end());
}

// False: it is given up. An entry that is not in entries_ has to prove that it is one.
bool StackDepths::follow(const Part& part, Role role) {
  const bool is_entry = role == Role::kFunction;
  const Code* const code = find_code(part.begin);
  if (code == nullptr) return false;
  const auto after = std::upper_bound(entries_.begin(), entries_.end(), Entry{part.begin, 0, Entry::kCalled});
  uint32_t end = after == entries_.end() ? code->end : std::min(code->end, after->begin);
  const auto next_part = std::upper_bound(part_begins_.begin(), part_begins_.end(), part.begin);
  if (next_part != part_begins_.end()) end = std::min(end, *next_part);
  StackFlow::Function function;
  if (is_assembly_) {
    function.helpers_begin = int64_t{code->begin} - part.begin;
    function.helpers_end = int64_t{code->end} - part.begin;
  }
  const Entry* const entry = is_entry ? entry_at(part.begin) : nullptr;
  if (entry != nullptr && entry->size != 0) {
    function.size_known = true;
    if (entry->size < end - entry->begin) end = entry->begin + entry->size;
  }
  function.code = code->bytes.subspan(part.begin - code->begin);
  const auto known = is_entry ? memory_.recall(part.begin, end, function.size_known, newly_never_, steps_) : std::nullopt;
  if (known) {
    last_ = *known;
  } else {
    function.size = end - part.begin;
    function.state = part.state;
    const uint64_t steps_before = steps_;
    use_flow(part.begin, flow_.follow(function, part.begin, never_, steps_));
    if (is_entry && !is_last_ && steps_ != 0 && flow_.says_all()) memory_.keep(part.begin, end, function.size_known, last_, steps_before - steps_);
  }
  const Entry unproved{part.begin, 0, Entry::kBehindAnother};
  bool followed = last_.followed;
  if (followed && is_assembly_ && is_entry && last_.jump) {
    jumpers_.push_back({part.begin, *last_.jump, entry != nullptr && entry->evidence != Entry::kBehindAnother});
  }
  if (is_entry && followed && !is_function(entry != nullptr ? *entry : unproved, function.code)) {
    followed = false;
    if (entry != nullptr) unproved_.push_back(part.begin);
  }
  if (role == Role::kBlock) followed = followed && (last_.has_return || is_proved(part.begin, proved_blocks_));
  if (!followed || !take_leaves(part.begin, is_entry)) {
    if (entry != nullptr) given_up_.push_back(part.begin);
    return false;
  }
  if (is_entry && !last_.returns) found_never_.insert(part.begin);
  for (const StackRange& range : last_.ranges) add_range(range, part.begin);
  called_.insert(called_.end(), last_.calls.begin(), last_.calls.end());
  taken_.insert(taken_.end(), last_.addresses.begin(), last_.addresses.end());
  return true;
}

// What it has followed last.
void StackDepths::use_flow(uint32_t begin, bool followed) {
  flow_ranges_.clear();
  flow_calls_.clear();
  flow_addresses_.clear();
  for (const StackRange& range : flow_.ranges()) {
    const bool is_more = only_functions_ && !is_assembly_ && !flow_ranges_.empty() && flow_ranges_.back().end == begin + range.begin;  // nobody asks for its states
    if (is_more) flow_ranges_.back().end = begin + range.end;
    else flow_ranges_.push_back({begin + range.begin, begin + range.end, range.state, range.is_cut});
  }
  for (const int64_t target : flow_.calls()) append_code(target + begin, flow_calls_);
  for (const int64_t target : flow_.addresses()) append_code(target + begin, flow_addresses_);
  if (absolute_) {
    for (const int64_t value : flow_.immediates()) {
      if (static_cast<uint64_t>(value) >= *absolute_) append_code(value - static_cast<int64_t>(*absolute_), flow_addresses_);
    }
  }
  last_ = {{followed, flow_.returns(), flow_.has_return(), flow_.has_tail_jump(), flow_.reads_callers_frame(), std::nullopt}, flow_ranges_, flow_calls_, flow_addresses_, flow_.leaves()};
  if (flow_.jump_state() != nullptr) last_.jump = *flow_.jump_state();
}

void StackDepths::append_code(int64_t address, std::vector<uint32_t>& to) const {
  if (address >= 0 && find_code(static_cast<uint64_t>(address)) != nullptr) to.push_back(static_cast<uint32_t>(address));
}

void StackDepths::add_range(const StackRange& range, uint32_t function) {
  if (!only_functions_) {
    ranges_.push_back(range);
  } else if (!owned_.empty() && owned_.back().end == range.begin && owned_.back().function == function) {
    owned_.back().end = range.end;
  } else {
    owned_.push_back({range.begin, range.end, function});
  }
  const Code* const code = find_code(range.begin);
  const uint64_t first = code->first + (range.begin - code->begin), last = first + (range.end - range.begin);
  reached_.set(first, last);
  if (is_assembly_ && range.state.is_entry()) entry_like_.set(first, last);
  if (is_assembly_ && range.is_cut) cut_ends_.set(last - 1, last);
}

// An address in data may be that of a place in a function, for a jump. A function begins like one, returns, or ends with a call of another.
bool StackDepths::is_function(const Entry& entry, Bytes code) {
  if (is_assembly_) return is_function_of_assembly(entry);
  const bool aligned = entry.begin % 16 == 0;
  if (entry.evidence <= Entry::kNamed || last_.has_return || (aligned && entry.evidence == Entry::kTakenByCode)) return true;
  const auto first = decode_instruction(code);
  if (aligned && first && first->is_prologue()) return true;
  return std::any_of(last_.leaves.begin(), last_.leaves.end(), [&](const StackFlow::Jump& jump) {
    const int64_t target = jump.target + entry.begin;
    const Entry* const other = target < 0 ? nullptr : entry_at(static_cast<uint64_t>(target));
    return jump.state.is_entry() && other != nullptr && other->evidence <= Entry::kNamed;
  });
}

// It has to leave as a function does, whatever says that it is one: what V8's interpreter goes on in is none. Functions may share an end.
bool StackDepths::is_function_of_assembly(const Entry& entry) {
  if (last_.reads_callers_frame && entry.evidence != Entry::kCalled) return false;
  if (last_.has_return || last_.has_tail_jump || is_proved(entry.begin, proved_)) return true;
  return std::any_of(last_.leaves.begin(), last_.leaves.end(), [&](const StackFlow::Jump& jump) { return leads_to_function(entry, jump); });
}

// A tail call. Where it goes to a place that is not known it counts if a call of `entry` has said what that is; a jump knows no more than who jumps.
bool StackDepths::leads_to_function(const Entry& entry, const StackFlow::Jump& jump) const {
  const int64_t target = jump.target + entry.begin;
  if (!jump.state.is_entry() || target < 0 || target > UINT32_MAX) return false;
  if (entry.evidence == Entry::kCalled || is_entry_like(static_cast<uint32_t>(target))) return true;
  const Entry* const other = entry_at(static_cast<uint64_t>(target));
  return (other != nullptr && other->evidence == Entry::kCalled) || (entry.evidence <= Entry::kJumpedTo && find_code(static_cast<uint64_t>(target)) == nullptr && !is_unread(target));
}

// False: the function at `begin` leaves as functions do not.
bool StackDepths::take_leaves(uint32_t begin, bool is_entry) {
  const size_t before = parts_.size();
  for (const StackFlow::Jump& jump : last_.leaves) {
    const int64_t target = jump.target + begin;
    const bool entry = target >= 0 && entry_at(static_cast<uint64_t>(target)) != nullptr;
    if (jump.state.is_entry()) {
      if (is_assembly_ && target >= 0 && target <= UINT32_MAX && is_reached(static_cast<uint32_t>(target)) && !is_entry_like(static_cast<uint32_t>(target))) {
        parts_.resize(before);
        return false;
      }
      if (!entry && target >= 0 && find_code(static_cast<uint64_t>(target)) != nullptr) (is_assembly_ ? jumped_to_ : called_).push_back(static_cast<uint32_t>(target));
      continue;
    }
    if (is_unread(target)) continue;
    if (entry || target < 0 || find_code(static_cast<uint64_t>(target)) == nullptr) {
      parts_.resize(before);
      return false;
    }
    // A part jumps back to where it came from.
    if ((is_entry || !is_reached(static_cast<uint32_t>(target))) && parts_.size() < kMaxParts) parts_.push_back({static_cast<uint32_t>(target), jump.state});
  }
  return true;
}

void StackDepths::follow_parts() {
  for (int round = 0; round < kRoundsOfParts && !parts_.empty(); ++round) {
    std::vector<Part> parts = std::exchange(parts_, {});
    sort_known();
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
    for (const Part& part : parts) part_begins_.push_back(part.begin);
    std::sort(part_begins_.begin(), part_begins_.end());
    for (size_t i = 0; i < parts.size();) {
      size_t end = i + 1;
      auto state = std::optional(parts[i].state);
      for (; end < parts.size() && parts[end].begin == parts[i].begin; ++end) state = state ? StackState::meet(*state, parts[end].state) : state;
      const Known* const known = only_functions_ ? nullptr : find_known(parts[i].begin);
      const bool differs = known != nullptr && state && !same_cfa(ranges_[known->range].state, state->settled());  // merge() believes neither
      if (state && (differs || !is_reached(parts[i].begin))) follow({parts[i].begin, *state}, Role::kPart);
      i = end;
    }
  }
}

// Nothing runs there: it gets the rule before it, which saves two rows.
bool StackDepths::is_padding(uint32_t begin, uint32_t end) const {
  const Code* const code = find_code(begin);
  if (begin >= end || end - begin > kMaxPadding || code == nullptr) return false;
  for (uint32_t at = begin; at < end;) {
    const auto insn = decode_instruction(code->bytes.subspan(at - code->begin));
    if (!insn || !insn->is_padding()) return false;
    at += insn->length;
  }
  return true;
}

// Where two functions disagree about the same bytes, neither is believed.
std::vector<StackRange> StackDepths::merge() {
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const StackRange& a, const StackRange& b) { return a.begin < b.begin; });
  std::vector<StackRange> merged;
  uint32_t done = 0;
  for (StackRange range : ranges_) {
    if (!merged.empty() && range.begin < done && merged.back().state != range.state) {
      const uint32_t overlap = std::min(done, range.end);
      merged.back().end = std::min(merged.back().end, range.begin);
      if (merged.back().begin >= merged.back().end) merged.pop_back();
      done = std::max(done, overlap);
    }
    range.begin = std::max(range.begin, done);
    if (range.begin >= range.end) continue;
    if (!merged.empty() && is_padding(merged.back().end, range.begin)) merged.back().end = range.begin;
    done = range.end;
    if (!merged.empty() && merged.back().end == range.begin && merged.back().state == range.state) merged.back().end = range.end;
    else merged.push_back(range);
  }
  return merged;
}

}  // namespace cicada::code
