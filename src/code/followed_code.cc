// SPDX-License-Identifier: Apache-2.0
#include "code/followed_code.h"

#include <algorithm>
#include <utility>

namespace cicada::code {
namespace {

constexpr size_t kMaxFunctions = 1 << 18, kMaxItems = 4 << 20;  // of each kind, of all functions

}  // namespace

void FlowMemory::begin_pass() {
  before_ = std::exchange(now_, {});
  std::stable_sort(before_.functions.begin(), before_.functions.end(), [](const Function& a, const Function& b) { return a.begin < b.begin; });
}

std::optional<FollowedCode> FlowMemory::recall(uint32_t begin, uint32_t end, bool size_known, const Begins& newly_never, uint64_t& max_steps) const {
  const auto after = std::upper_bound(before_.functions.begin(), before_.functions.end(), begin, [](uint32_t at, const Function& function) { return at < function.begin; });
  if (after == before_.functions.begin()) return std::nullopt;
  const Function& function = *std::prev(after);
  if (function.begin != begin || function.size_known != size_known || function.steps > max_steps || end > function.end) return std::nullopt;
  const auto of = [](const auto& pool, Slice slice) { return std::span(pool).subspan(slice.first, slice.last - slice.first); };
  const FollowedCode code{function.facts, of(before_.ranges, function.ranges), of(before_.calls, function.calls), of(before_.addresses, function.addresses), of(before_.leaves, function.leaves)};
  const bool ends_before = !code.ranges.empty() && code.ranges.back().end <= end;
  if (end != function.end && !(code.followed && ends_before)) return std::nullopt;
  if (std::any_of(code.calls.begin(), code.calls.end(), [&](uint32_t callee) { return newly_never.contains(callee); })) return std::nullopt;
  max_steps -= function.steps;
  return code;
}

void FlowMemory::keep(uint32_t begin, uint32_t end, bool size_known, const FollowedCode& code, uint64_t steps) {
  if (now_.functions.size() >= kMaxFunctions) return;
  if (std::max({now_.ranges.size(), now_.calls.size(), now_.addresses.size(), now_.leaves.size()}) >= kMaxItems) return;
  const auto append = [](auto& pool, const auto& items) {
    const auto first = static_cast<uint32_t>(pool.size());
    pool.insert(pool.end(), items.begin(), items.end());
    return Slice{first, static_cast<uint32_t>(pool.size())};
  };
  now_.functions.push_back({begin, end, size_known, steps, code, append(now_.ranges, code.ranges), append(now_.calls, code.calls),
                            append(now_.addresses, code.addresses), append(now_.leaves, code.leaves)});
}

}  // namespace cicada::code
