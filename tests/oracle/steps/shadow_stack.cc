// SPDX-License-Identifier: Apache-2.0
#include "shadow_stack.h"

#include <algorithm>
#include <utility>

namespace cicada::oracle {
namespace {

constexpr size_t kMostStacks = 10'000;

}  // namespace

void ShadowStack::prune(uint64_t sp) {
  while (!current_.calls.empty() && current_.calls.back().slot < sp) current_.calls.pop_back();
  current_.top = std::max(current_.top, sp);
}

// Up this stack it is a longjmp(), or what ends a function with a frame pointer. Else it is another one, which was left before, or is new.
void ShadowStack::change_stack(uint64_t sp_before, uint64_t sp) {
  if (sp >= sp_before && sp <= current_.top) return;
  const auto is_there = [&](const Stack& other) { return sp >= other.sp && sp <= other.top; };
  const auto found = std::find_if(others_.begin(), others_.end(), is_there);
  // Within a frame, as an aligned one's: `and` and `lea` do the same without setting it.
  constexpr uint64_t kOfAFrame = 1 << 16;
  if (found == others_.end() && sp < sp_before && sp_before - sp <= kOfAFrame) return;
  if (found == others_.end() && sp > current_.top && sp - current_.top <= kOfAFrame) return;  // of a caller from before
  Stack next{{}, sp, sp};
  if (found != others_.end()) {
    next = std::move(*found);
    others_.erase(found);
  }
  current_.sp = sp_before;
  if (others_.size() == kMostStacks) others_.erase(others_.begin());
  others_.push_back(std::exchange(current_, std::move(next)));
}

void ShadowStack::watch(const Watched& step) {
  if (step.kind == Kind::kSetsStack) change_stack(step.sp_before, step.sp_after);
  prune(step.sp_after);
  if (step.kind == Kind::kCall && step.sp_after + 8 == step.sp_before) current_.calls.push_back({step.sp_after, step.next, false});
}

void ShadowStack::begin_handler(uint64_t sp, uint64_t trampoline, uint64_t interrupted_ip, uint64_t interrupted_sp) {
  handlers_.push_back({current_, current_.calls.size()});
  // One stack of calls, even where the handler has a stack of its own: what was interrupted is above everything that the handler does.
  const bool is_elsewhere = sp > interrupted_sp || interrupted_sp - sp > (1 << 16);
  if (is_elsewhere) {
    current_.sp = interrupted_sp;
    others_.push_back(std::exchange(current_, Stack{current_.calls, sp + 8, 0}));
    for (Call& call : current_.calls) call.slot = ~uint64_t{0};  // nothing on this stack takes them away
  }
  current_.calls.push_back({is_elsewhere ? ~uint64_t{0} : interrupted_sp - 1, interrupted_ip, true});
  current_.calls.push_back({sp, trampoline, false});
  current_.top = std::max(current_.top, sp + 8);
}

void ShadowStack::end_handler(uint64_t sp) {
  if (handlers_.empty()) {  // of a signal from before
    prune(sp);
    return;
  }
  current_ = std::move(handlers_.back().interrupted);
  handlers_.pop_back();
  prune(sp);
}

std::vector<ShadowStack::Call> ShadowStack::frames() const { return {current_.calls.rbegin(), current_.calls.rend()}; }

}  // namespace cicada::oracle
