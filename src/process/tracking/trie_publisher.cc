// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/trie_publisher.h"

#include <malloc.h>

#include <algorithm>

#include "base/diagnostics.h"

namespace cicada::process {
namespace {

constexpr size_t kMaxUnseen = 256;  // of one space: a statistic
constexpr size_t kUsualUnseen = 8;  // of a dynamic program

}  // namespace

void TriePublisher::note_mapping(uint32_t address_space, RuntimeAddr address, uint64_t since_ns, bool of_exec) {
  Space& space = spaces_[address_space];
  if (space.evicted || space.unseen.size() >= kMaxUnseen) return;
  if (space.unseen.empty()) space.unseen.reserve(kUsualUnseen);
  space.unseen.push_back({address, since_ns, of_exec});
}

void TriePublisher::note_seen(Space& space, const AddressSpace& mappings) {
  const uint64_t now = now_ns_();
  std::erase_if(space.unseen, [&](const Unseen& unseen) {
    if (!mappings.find(unseen.address)) return false;
    (unseen.of_exec ? exec_latency_ : map_latency_).add(now - std::min(now, unseen.since_ns));
    return true;
  });
}

void TriePublisher::note_sampled(std::span<const uint32_t> address_spaces) {
  ++samplings_;
  for (const uint32_t id : address_spaces) {
    const auto at = spaces_.find(id);
    if (at == spaces_.end()) continue;
    at->second.last_sampled = samplings_;
    if (std::exchange(at->second.evicted, false)) mark_dirty(id);
  }
}

bool TriePublisher::is_first_due(uint32_t address_space) const {
  const auto at = spaces_.find(address_space);
  return dirty_.contains(address_space) && (at == spaces_.end() || at->second.published.empty());
}

std::vector<uint32_t> TriePublisher::take_due(uint64_t watermark_ns, uint64_t young_ns) {
  const uint64_t now = now_ns_();
  std::vector<uint32_t> due;
  for (auto at = dirty_.begin(); at != dirty_.end();) {
    const Space& space = spaces_[*at];
    const bool young = space.published.empty() && watermark_ns < space.exec_ns + young_ns;
    if (young || now < space.not_before_ns) {
      ++at;
      continue;
    }
    due.push_back(*at);
    at = dirty_.erase(at);
  }
  return due;
}

bool TriePublisher::publish(uint32_t address_space, const AddressSpace& mappings) {
  Space& space = spaces_[address_space];
  if (mappings.size() > kLargeSpace) space.not_before_ns = now_ns_() + kLargeSpacePauseNs;
  if (!write(address_space, space, space.evicted ? std::vector<PublishedBlock>() : mappings.blocks())) return false;
  if (!space.evicted) note_seen(space, mappings);
  return true;
}

bool TriePublisher::retire(uint32_t address_space) {
  const auto at = spaces_.find(address_space);
  if (at != spaces_.end()) {
    if (!write(address_space, at->second, {})) return false;
    spaces_.erase(at);
  }
  dirty_.erase(address_space);
  return true;
}

bool TriePublisher::write(uint32_t address_space, Space& space, const std::vector<PublishedBlock>& want) {
  for (;;) {
    const auto operations = block_difference(space.published, want);
    if (operations.empty()) return true;
    const PublishOutcome outcome = port_.publish(address_space, operations);
    const bool done = outcome.applied == operations.size();
    blocks_ -= space.published.size();
    space.published = done ? want : after_operations(space.published, operations, outcome.applied);
    blocks_ += space.published.size();
    if (done) {
      if (operations.size() > kLargeSpace) ::malloc_trim(0);  // 30 MB of lists for 60,000 mappings would stay in the heap
      return true;
    }
    const BlockOperation& failed = operations[outcome.applied];
    const bool full = outcome.error && outcome.error->kind() == ErrorKind::kLimit && failed.change == BlockChange::kAdd;
    if (full && evict_one(address_space)) continue;
    ++failures_;
    diagnostics().warn(fmt::format("address space {}", address_space), "mapping {:x}-{:x} not shown to the kernel: {}", failed.value.begin,
                       failed.value.end,
                       outcome.error ? outcome.error->message() : "no reason given");
    return false;
  }
}

bool TriePublisher::evict_one(uint32_t keep) {
  const auto least = [&] {
    auto oldest = spaces_.end();
    for (auto at = spaces_.begin(); at != spaces_.end(); ++at) {
      if (at->first == keep || at->second.published.empty()) continue;
      if (oldest == spaces_.end() || at->second.last_sampled < oldest->second.last_sampled) oldest = at;
    }
    return oldest;
  }();
  if (least == spaces_.end()) return false;
  auto& [id, space] = *least;
  const size_t before = space.published.size();
  space.evicted = true;
  write(id, space, {});
  if (space.published.size() == before) return false;
  ++evicted_;
  diagnostics().warn("mapping table", "full: the least recently sampled processes leave it until they are sampled again");
  return true;
}

}  // namespace cicada::process
