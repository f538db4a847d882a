// SPDX-License-Identifier: Apache-2.0
// Mappings of a space -> blocks -> operations on the kernel's trie; a full trie evicts the least recently sampled space.
#include "process/tracking/process_table_state.h"

#include <malloc.h>

#include <algorithm>

#include "base/diagnostics.h"

namespace cicada::process {
namespace {

constexpr size_t kMaxUnseen = 256;  // of one space: a statistic
constexpr size_t kUsualUnseen = 8;  // of a dynamic program

}  // namespace

void ProcessTable::State::note_unseen(Space& space, const Mapping& mapping, uint64_t since_ns, bool of_exec) {
  if (!space.dirty || space.unseen.size() >= kMaxUnseen) return;
  if (space.unseen.empty()) space.unseen.reserve(kUsualUnseen);
  space.unseen.push_back({mapping.range.begin, since_ns, of_exec});
}

void ProcessTable::State::note_seen(Space& space) {
  const uint64_t now = options.now_ns();
  std::erase_if(space.unseen, [&](const Unseen& unseen) {
    if (!space.mappings.find(unseen.address)) return false;
    (unseen.of_exec ? exec_latency : map_latency).add(now - std::min(now, unseen.since_ns));
    return true;
  });
}

void ProcessTable::State::set_published(Space& space, std::vector<PublishedBlock> blocks) {
  counts.blocks += blocks.size();
  counts.blocks -= space.published.size();
  space.published = std::move(blocks);
}

void ProcessTable::State::report() {
  const std::unique_lock lock(mutex);
  counts.pending = dirty.size() + pending_spaces.size();
  for (const Pid pid : attention) {
    const Process* process = find(pid);
    if (process != nullptr && process->scanned_ns == 0 && (process->scan || process->rescan_wanted)) ++counts.pending;
  }
  reported = counts;
}

bool ProcessTable::State::publish(uint32_t id) {
  Space& space = spaces.at(id);
  space.dirty = false;
  const std::vector<PublishedBlock> want = space.evicted ? std::vector<PublishedBlock>() : space.mappings.blocks();
  for (;;) {
    const auto operations = block_difference(space.published, want);
    if (operations.empty()) return true;
    const std::vector<Pid>& users = space.users;
    const PublishOutcome outcome = publisher.publish(id, operations);
    set_published(space, outcome.applied == operations.size() ? want : after_operations(space.published, operations, outcome.applied));
    if (outcome.applied == operations.size()) {
      if (operations.size() > kLargeSpace) ::malloc_trim(0);  // 30 MB of lists for 60,000 mappings would stay in the heap
      note_seen(space);
      return true;
    }
    if (outcome.error && outcome.error->kind() == ErrorKind::kLimit && evict_one(id)) continue;
    ++counts.publish_failures;
    const BlockOperation& failed = operations[outcome.applied];
    diagnostics().warn(fmt::format("address space {} (process {})", id, users.empty() ? 0 : users.front()),
                       "mapping {:x}-{:x} not shown to the kernel: {}", failed.value.begin, failed.value.end,
                       outcome.error ? outcome.error->message() : "no reason given");
    return false;
  }
}

bool ProcessTable::State::evict_one(uint32_t keep) {
  uint32_t oldest = 0;
  for (const auto& [id, space] : spaces) {
    if (id == keep || space.published.empty()) continue;
    if (oldest == 0 || space.last_sampled < spaces.at(oldest).last_sampled) oldest = id;
  }
  if (oldest == 0) return false;
  Space& space = spaces.at(oldest);
  space.evicted = true;
  const auto operations = block_difference(space.published, {});
  const PublishOutcome outcome = publisher.publish(oldest, operations);
  set_published(space, after_operations(space.published, operations, outcome.applied));
  if (outcome.applied == 0) return false;
  ++counts.evicted_spaces;
  diagnostics().warn("mapping table", "full: the least recently sampled processes leave it until they are sampled again");
  return true;
}

}  // namespace cicada::process
