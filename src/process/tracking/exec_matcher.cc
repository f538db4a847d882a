// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/exec_matcher.h"

#include <algorithm>
#include <utility>

namespace cicada::process {

ProgramOf ExecMatcher::program_at(uint64_t time_ns) const {
  if (!pending_.empty() && time_ns >= pending_.back().begin_ns) return ProgramOf::kNext;
  return time_ns < (begin_ns_ == 0 ? since_ns_ : begin_ns_) ? ProgramOf::kEarlier : ProgramOf::kCurrent;
}

bool ExecMatcher::begin(uint64_t time_ns) {
  if (time_ns <= since_ns_) {  // of the exec that has ended already, or of one before
    if (std::exchange(awaited_, false)) begin_ns_ = time_ns;
    return false;
  }
  if (pending_.size() >= kMaxPending) pending_.erase(pending_.begin());
  pending_.push_back({time_ns, {}});
  return true;
}

std::optional<AddressSpace> ExecMatcher::end(uint64_t time_ns) {
  if (time_ns < since_ns_) return std::nullopt;
  since_ns_ = time_ns;
  begin_ns_ = 0;
  const auto newer = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) { return pending.begin_ns > time_ns; });
  awaited_ = newer == pending_.begin();
  if (awaited_) return AddressSpace();
  Pending ended = std::move(*std::prev(newer));
  pending_.erase(pending_.begin(), newer);
  begin_ns_ = ended.begin_ns;
  return std::move(ended.mappings);
}

void ExecMatcher::re_resolve(std::span<const uint32_t> images, ImageSource& source) {
  for (Pending& pending : pending_) pending.mappings.re_resolve(images, source);
}

}  // namespace cicada::process
