// SPDX-License-Identifier: Apache-2.0
#include "profile/function_totals.h"

#include <algorithm>
#include <tuple>

#include "profile/completeness.h"
#include "profile/kernel_context.h"
#include "profile/shown_frames.h"
#include "profile/stack_totals.h"

namespace cicada::profile {
namespace {

class Adder {
 public:
  Adder(const ProfileSnapshot& profile, const CallTreeOptions& options) : profile_(profile), options_(options), contexts_(profile) {}

  // The samples of one stack, from its leaf outwards. A function counts once, however often it is in it.
  void add(StackId stack, std::string_view cut, uint64_t value) {
    ++stack_;
    result_.total += value;
    bool leaf = true;
    const auto count = [&](const ShownFrame& shown) {
      FunctionCost& cost = cost_of(shown);
      if (std::exchange(leaf, false)) cost.self += value;
      uint64_t& seen = seen_functions_[shown.name.value];
      if (std::exchange(seen, stack_) != stack_) cost.total += value;
    };
    const auto context = contexts_.find(stack);
    for (; stack.valid(); stack = profile_.stacks()[stack.value].parent) {
      const uint32_t innermost = frames_.find_or_add_innermost(profile_, options_, profile_.stacks()[stack.value].frame, result_.strings);
      // What this stack has been inside of before, it has been inside of with everything around it.
      for (uint32_t row = innermost; row != ShownFrames::kNoRow; row = frames_.outer(row)) {
        if (row >= seen_rows_.size()) seen_rows_.resize(row + 1);
        if (std::exchange(seen_rows_[row], stack_) == stack_) break;
        count(frames_[row]);
      }
      if (context && stack == context->entry) count(marker(context->text));
    }
    if (!cut.empty()) count(marker(cut));
  }

  FunctionTotals finish() {
    std::stable_sort(result_.rows.begin(), result_.rows.end(), [](const FunctionCost& a, const FunctionCost& b) { return std::tie(a.self, a.total) > std::tie(b.self, b.total); });
    return std::move(result_);
  }

 private:
  ShownFrame marker(std::string_view text) {
    ShownFrame shown;
    shown.name = frames_.intern(text, result_.strings);
    return shown;
  }

  FunctionCost& cost_of(const ShownFrame& shown) {
    if (shown.name.value >= row_of_name_.size()) {
      row_of_name_.resize(result_.strings.size(), kNoNode);
      seen_functions_.resize(result_.strings.size());
    }
    uint32_t& row = row_of_name_[shown.name.value];
    if (row == kNoNode) {
      row = static_cast<uint32_t>(result_.rows.size());
      result_.rows.push_back({shown.name, shown.image, 0, 0});
    }
    return result_.rows[row];
  }

  const ProfileSnapshot& profile_;
  const CallTreeOptions& options_;
  KernelContexts contexts_;
  ShownFrames frames_;
  FunctionTotals result_;
  std::vector<uint32_t> row_of_name_;
  uint64_t stack_ = 0;  // its number
  std::vector<uint64_t> seen_functions_, seen_rows_;  // by name, by row: the last stack with it
};

}  // namespace

FunctionTotals total_functions(const ProfileSnapshot& profile, const CallTreeOptions& options) {
  std::vector<StackTotal> stacks = add_up_stacks(profile, options);
  const auto key = [](const StackTotal& row) { return std::tuple(row.stack, row.end_reason); };
  std::stable_sort(stacks.begin(), stacks.end(), [&](const StackTotal& a, const StackTotal& b) { return key(a) < key(b); });
  Adder adder(profile, options);
  for (size_t i = 0; i < stacks.size();) {
    uint64_t value = 0;
    const StackTotal& first = stacks[i];
    for (; i < stacks.size() && key(stacks[i]) == key(first); ++i) value += options.count_samples ? stacks[i].samples : stacks[i].value;
    adder.add(first.stack, cut_text(first.end_reason), value);
  }
  return adder.finish();
}

}  // namespace cicada::profile
