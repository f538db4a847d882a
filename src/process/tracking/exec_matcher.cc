// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/exec_matcher.h"

#include <algorithm>
#include <utility>

namespace cicada::process {

ProgramOf ExecMatcher::program_at(uint64_t time_ns) const {
  if (!pending_.empty() && time_ns >= pending_.back().begin_ns) return ProgramOf::kNext;
  const bool earlier = time_ns < since_ns_ && (begin_ns_ == 0 || time_ns < begin_ns_);
  return earlier || time_ns <= scanned_ns_ ? ProgramOf::kEarlier : ProgramOf::kCurrent;
}

bool ExecMatcher::begin(uint64_t time_ns) {
  if (time_ns <= since_ns_) {  // of the exec that is awaited, or of a program that is gone already
    if (is_awaited()) begin_ns_ = time_ns;
    awaited_since_ns_.reset();
    return false;
  }
  if (pending_.size() >= kMaxPending) pending_.erase(pending_.begin());
  pending_.push_back({time_ns, {}});
  return true;
}

std::optional<AddressSpace> ExecMatcher::end(uint64_t time_ns, uint64_t now_ns) {
  if (time_ns < since_ns_) return std::nullopt;
  since_ns_ = time_ns;
  begin_ns_ = 0;
  scanned_ns_ = 0;
  awaited_since_ns_.reset();
  const auto newer = std::find_if(pending_.begin(), pending_.end(), [&](const Pending& pending) { return pending.begin_ns > time_ns; });
  if (newer == pending_.begin()) {
    awaited_since_ns_ = now_ns;
    return AddressSpace();
  }
  Pending ended = std::move(*std::prev(newer));
  pending_.erase(pending_.begin(), newer);
  begin_ns_ = ended.begin_ns;
  return std::move(ended.mappings);
}

void ExecMatcher::note_scan(uint64_t begin_ns) {
  scanned_ns_ = begin_ns;
  awaited_since_ns_.reset();
}

void ExecMatcher::re_resolve(std::span<const uint32_t> images, ImageSource& source) {
  for (Pending& pending : pending_) pending.mappings.re_resolve(images, source);
}

}  // namespace cicada::process
