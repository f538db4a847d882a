// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/stale_mappings.h"

#include <algorithm>

namespace cicada::process {

void StaleMappings::update_until() {
  until_ns_.store(open_ != 0 ? StaleMapping::kNotYet : latest_published_ns_, std::memory_order_release);
}

void StaleMappings::add(uint32_t address_space, const Entry& entry) {
  std::vector<Entry>& entries = spaces_[address_space];
  if (entries.size() >= kMaxOfASpace && entries.front().stale.published_ns != StaleMapping::kNotYet) {
    entries.erase(entries.begin());  // who replaces this often has published the oldest long ago
    --count_;
  }
  if (count_ >= kMax || entries.size() >= kMaxOfASpace) {
    ++refused_;
    return;
  }
  entries.push_back(entry);
  ++count_;
  if (entry.stale.published_ns != StaleMapping::kNotYet) {
    latest_published_ns_ = std::max(latest_published_ns_, entry.stale.published_ns);
    return;
  }
  ++open_;
  if (entry.published_as != address_space) ++open_elsewhere_;
}

void StaleMappings::note(uint32_t address_space, std::span<const SpaceUser> users, std::span<const Mapping> before, const Mapping& mapping,
                         uint64_t time_ns) {
  bool replaced_image = false;
  for (const Mapping& old : before) {
    if (old.binding == mapping.binding) continue;
    replaced_image |= old.binding.state == BindingState::kImage;
    if (count_ >= kMax && time_ns >= next_expiry_ns_) expire(time_ns);
    const StaleMapping stale{old.range,  old.binding, mapping.binding,      old.offset, mapping.offset + (old.range.begin - mapping.range.begin),
                             time_ns, StaleMapping::kNotYet};
    for (const SpaceUser& user : users) add(user.sampled_as, {user.pid, address_space, stale});
  }
  replaced_images_ += replaced_image;
  if (replaced_image && !users.empty() && replaced_.size() < kMax) replaced_.emplace_back(address_space, users.front().pid);
  update_until();
}

void StaleMappings::note_gone(uint32_t address_space, std::span<const SpaceUser> users, std::span<const Mapping> gone, uint64_t time_ns) {
  if (count_ >= kMax && time_ns >= next_expiry_ns_) expire(time_ns);
  for (const Mapping& old : gone) {
    const StaleMapping stale{old.range, old.binding, ImageBinding{}, old.offset, FileOffset(0), time_ns, StaleMapping::kNotYet};
    for (const SpaceUser& user : users) add(user.sampled_as, {user.pid, address_space, stale});
  }
  update_until();
}

bool StaleMappings::is_open(uint32_t address_space) const {
  if (open_ == 0) return false;
  const auto space = spaces_.find(address_space);
  return space != spaces_.end() && std::any_of(space->second.begin(), space->second.end(), [&](const Entry& entry) {
           return entry.published_as == address_space && entry.stale.published_ns == StaleMapping::kNotYet;
         });
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
    if (entry.published_as != published_as || entry.stale.published_ns != StaleMapping::kNotYet) continue;
    entry.stale.published_ns = now_ns;
    latest_published_ns_ = std::max(latest_published_ns_, now_ns);
    ++closed;
  }
  open_ -= closed;
  return closed;
}

void StaleMappings::fork(uint32_t address_space, Pid parent, Pid child, uint64_t time_ns, uint32_t moves_to) {
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return;
  std::vector<Entry> inherited;
  for (Entry entry : space->second) {
    if (entry.pid != parent || entry.stale.since_ns > time_ns || entry.stale.published_ns <= time_ns) continue;
    entry.pid = child;
    if (moves_to != 0) {
      entry.published_as = moves_to;
      entry.stale.published_ns = StaleMapping::kNotYet;
    }
    inherited.push_back(entry);
  }
  for (const Entry& entry : inherited) add(address_space, entry);
  update_until();
}

void StaleMappings::re_resolve(std::span<const uint32_t> images, ImageSource& source) {
  const auto bind = [&](ImageBinding& binding, Range<RuntimeAddr> range, FileOffset offset) {
    if (binding.state != BindingState::kPending || !std::binary_search(images.begin(), images.end(), binding.image)) return;
    binding = source.re_resolve(binding.image, range, offset);
  };
  for (auto& [space, entries] : spaces_) {
    for (Entry& entry : entries) {
      bind(entry.stale.was, entry.stale.range, entry.stale.was_offset);
      bind(entry.stale.now, entry.stale.range, entry.stale.now_offset);
    }
  }
}

void StaleMappings::forget(uint32_t address_space, uint64_t now_ns) {
  if (count_ == 0) return;
  mark_published(address_space, now_ns);
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return;
  for (const Entry& entry : space->second) {
    if (entry.stale.published_ns != StaleMapping::kNotYet) continue;
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
      return entry.stale.published_ns != StaleMapping::kNotYet && entry.stale.published_ns + kKeepNs < now_ns;
    });
    space = space->second.empty() ? spaces_.erase(space) : std::next(space);
  }
}

std::vector<StaleMapping> StaleMappings::find(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const {
  std::vector<StaleMapping> found;
  const auto space = spaces_.find(address_space);
  if (space == spaces_.end()) return found;
  for (const Entry& entry : space->second) {
    const StaleMapping& stale = entry.stale;
    if (entry.pid == pid && (stale.since_ns <= time_ns ? time_ns < stale.published_ns : later)) found.push_back(stale);
  }
  return found;
}

}  // namespace cicada::process
