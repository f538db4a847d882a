// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/stale_mappings.h"

#include <algorithm>

namespace cicada::process {

void StaleMappings::update_until() {
  until_ns_.store(open_ != 0 ? StaleMapping::kNotYet : latest_shown_ns_, std::memory_order_release);
}

void StaleMappings::add(uint32_t address_space, const Entry& entry) {
  std::vector<Entry>& entries = spaces_[address_space];
  if (entries.size() >= kMaxOfASpace && entries.front().replacement.published_ns != StaleMapping::kNotYet) {
    entries.erase(entries.begin());  // who replaces this often has shown the oldest long ago
    --count_;
  }
  if (count_ >= kMax || entries.size() >= kMaxOfASpace) {
    ++refused_;
    return;
  }
  entries.push_back(entry);
  ++count_;
  if (entry.replacement.published_ns != StaleMapping::kNotYet) {
    latest_shown_ns_ = std::max(latest_shown_ns_, entry.replacement.published_ns);
    return;
  }
  ++open_;
  if (entry.published_as != address_space) ++open_elsewhere_;
}

void StaleMappings::note(uint32_t address_space, Pid pid, uint32_t published_as, const StaleMapping& replacement) {
  if (count_ >= kMax && replacement.since_ns >= next_expiry_ns_) expire(replacement.since_ns);
  add(address_space, {pid, published_as, replacement});
  update_until();
}

void StaleMappings::mark_published(uint32_t address_space, uint64_t now_ns) {
  if (open_ == 0) return;
  for (auto& [space, entries] : spaces_) {
    if (open_elsewhere_ == 0) break;
    if (space != address_space) open_elsewhere_ -= close(entries, address_space, now_ns);
  }
  if (const auto space = spaces_.find(address_space); space != spaces_.end()) close(space->second, address_space, now_ns);
  update_until();
}

size_t StaleMappings::close(std::vector<Entry>& entries, uint32_t published_as, uint64_t now_ns) {
  size_t closed = 0;
  for (Entry& entry : entries) {
    if (entry.published_as != published_as || entry.replacement.published_ns != StaleMapping::kNotYet) continue;
    entry.replacement.published_ns = now_ns;
    latest_shown_ns_ = std::max(latest_shown_ns_, now_ns);
    ++closed;
  }
  open_ -= closed;
  return closed;
}

void StaleMappings::fork(uint32_t address_space, Pid parent, Pid child, uint64_t time_ns, uint64_t until_ns) {
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return;
  std::vector<Entry> inherited;
  for (const Entry& entry : space->second) {
    if (entry.pid != parent || entry.replacement.since_ns > time_ns || entry.replacement.published_ns <= time_ns) continue;
    inherited.push_back(entry);
    inherited.back().pid = child;
    inherited.back().replacement.published_ns = std::max(entry.replacement.published_ns, until_ns);
  }
  for (const Entry& entry : inherited) add(address_space, entry);
  update_until();
}

void StaleMappings::re_resolve(uint32_t image, ImageSource& images) {
  for (auto& [space, entries] : spaces_) {
    for (Entry& entry : entries) {
      StaleMapping& r = entry.replacement;
      if (r.was.state == BindingState::kPending && r.was.image == image) r.was = images.re_resolve(image, r.range, r.was_offset);
      if (r.now.state == BindingState::kPending && r.now.image == image) r.now = images.re_resolve(image, r.range, r.now_offset);
    }
  }
}

void StaleMappings::forget(uint32_t address_space, uint64_t now_ns) {
  if (count_ == 0) return;
  mark_published(address_space, now_ns);
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return;
  for (const Entry& entry : space->second) {
    if (entry.replacement.published_ns != StaleMapping::kNotYet) continue;
    --open_;
    --open_elsewhere_;  // its own are closed
  }
  count_ -= space->second.size();
  spaces_.erase(space);
  update_until();
}

void StaleMappings::expire(uint64_t now_ns) {
  next_expiry_ns_ = now_ns + kExpiryPauseNs;
  for (auto space = spaces_.begin(); space != spaces_.end();) {
    count_ -= std::erase_if(space->second, [&](const Entry& entry) {
      return entry.replacement.published_ns != StaleMapping::kNotYet && entry.replacement.published_ns + kKeepNs < now_ns;
    });
    space = space->second.empty() ? spaces_.erase(space) : std::next(space);
  }
}

std::vector<StaleMapping> StaleMappings::find(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const {
  std::vector<StaleMapping> found;
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return found;
  for (const Entry& entry : space->second) {
    const StaleMapping& r = entry.replacement;
    if (entry.pid == pid && (r.since_ns <= time_ns ? time_ns < r.published_ns : later)) found.push_back(r);
  }
  return found;
}

}  // namespace cicada::process
