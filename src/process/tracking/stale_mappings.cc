// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/stale_mappings.h"

#include <algorithm>

namespace cicada::process {

void Replacements::update_until() {
  until_ns_.store(open_ != 0 ? Replacement::kNotYet : latest_shown_ns_, std::memory_order_release);
}

void Replacements::add(uint32_t address_space, const Entry& entry) {
  std::vector<Entry>& entries = spaces_[address_space];
  if (entries.size() >= kMaxOfASpace && entries.front().replacement.shown_ns != Replacement::kNotYet) {
    entries.erase(entries.begin());  // who replaces this often has shown the oldest long ago
    --count_;
  }
  if (count_ >= kMax || entries.size() >= kMaxOfASpace) {
    ++refused_;
    return;
  }
  entries.push_back(entry);
  ++count_;
  if (entry.replacement.shown_ns != Replacement::kNotYet) {
    latest_shown_ns_ = std::max(latest_shown_ns_, entry.replacement.shown_ns);
    return;
  }
  ++open_;
  if (entry.shown_as != address_space) ++open_elsewhere_;
}

void Replacements::note(uint32_t address_space, Pid pid, uint32_t shown_as, const Replacement& replacement) {
  if (count_ >= kMax && replacement.since_ns >= next_expiry_ns_) expire(replacement.since_ns);
  add(address_space, {pid, shown_as, replacement});
  update_until();
}

void Replacements::note_shown(uint32_t address_space, uint64_t now_ns) {
  if (open_ == 0) return;
  for (auto& [space, entries] : spaces_) {
    if (open_elsewhere_ == 0) break;
    if (space != address_space) open_elsewhere_ -= close(entries, address_space, now_ns);
  }
  if (const auto space = spaces_.find(address_space); space != spaces_.end()) close(space->second, address_space, now_ns);
  update_until();
}

size_t Replacements::close(std::vector<Entry>& entries, uint32_t shown_as, uint64_t now_ns) {
  size_t closed = 0;
  for (Entry& entry : entries) {
    if (entry.shown_as != shown_as || entry.replacement.shown_ns != Replacement::kNotYet) continue;
    entry.replacement.shown_ns = now_ns;
    latest_shown_ns_ = std::max(latest_shown_ns_, now_ns);
    ++closed;
  }
  open_ -= closed;
  return closed;
}

void Replacements::fork(uint32_t address_space, Pid parent, Pid child, uint64_t time_ns, uint64_t until_ns) {
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return;
  std::vector<Entry> inherited;
  for (const Entry& entry : space->second) {
    if (entry.pid != parent || entry.replacement.since_ns > time_ns || entry.replacement.shown_ns <= time_ns) continue;
    inherited.push_back(entry);
    inherited.back().pid = child;
    inherited.back().replacement.shown_ns = std::max(entry.replacement.shown_ns, until_ns);
  }
  for (const Entry& entry : inherited) add(address_space, entry);
  update_until();
}

void Replacements::place_again(uint32_t image, ImageSource& images) {
  for (auto& [space, entries] : spaces_) {
    for (Entry& entry : entries) {
      Replacement& r = entry.replacement;
      if (r.was.state == PlacementState::kPending && r.was.image == image) r.was = images.place_again(image, r.range, r.was_offset);
      if (r.now.state == PlacementState::kPending && r.now.image == image) r.now = images.place_again(image, r.range, r.now_offset);
    }
  }
}

void Replacements::forget(uint32_t address_space, uint64_t now_ns) {
  if (count_ == 0) return;
  note_shown(address_space, now_ns);
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return;
  for (const Entry& entry : space->second) {
    if (entry.replacement.shown_ns != Replacement::kNotYet) continue;
    --open_;
    --open_elsewhere_;  // its own are closed
  }
  count_ -= space->second.size();
  spaces_.erase(space);
  update_until();
}

void Replacements::expire(uint64_t now_ns) {
  next_expiry_ns_ = now_ns + kExpiryPauseNs;
  for (auto space = spaces_.begin(); space != spaces_.end();) {
    count_ -= std::erase_if(space->second, [&](const Entry& entry) {
      return entry.replacement.shown_ns != Replacement::kNotYet && entry.replacement.shown_ns + kKeepNs < now_ns;
    });
    space = space->second.empty() ? spaces_.erase(space) : std::next(space);
  }
}

std::vector<Replacement> Replacements::find(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const {
  std::vector<Replacement> found;
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return found;
  for (const Entry& entry : space->second) {
    const Replacement& r = entry.replacement;
    if (entry.pid == pid && (r.since_ns <= time_ns ? time_ns < r.shown_ns : later)) found.push_back(r);
  }
  return found;
}

}  // namespace cicada::process
