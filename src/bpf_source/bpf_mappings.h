// SPDX-License-Identifier: Apache-2.0
// The process table's port to the BPF maps: `processes` and the LPM trie `exec_mappings`.
// Threads: the tracker's.
#pragma once
#include <atomic>

#include "bpf_source/bpf_object.h"
#include "bpf_source/watched_maps.h"
#include "process/tracking/mapping_publisher.h"

namespace cicada::bpf_source {

class BpfMappings : public process::MappingPublisher {
 public:
  // Borrows.
  explicit BpfMappings(BpfObject& kernel)
      : kernel_(kernel), watched_([&kernel](map_version_batch& batch) { kernel.read_map_versions(batch); }, kernel.address_spaces()) {}

  std::optional<process_value> find_process(Pid pid) override;
  Result<process_value> adopt_process(Pid pid, uint64_t start_ticks) override;
  uint32_t allocate_address_space() override { return kernel_.allocate_address_space(); }
  bool replace_address_space(Pid pid, uint32_t from, uint32_t to) override;
  process::PublishOutcome publish(uint32_t address_space, std::span<const process::BlockOperation> operations) override;

  void begin_poll() override { watched_.read(); }
  void watch(uint32_t address_space, Pid pid) override { watched_.watch(address_space, pid); }
  void end_poll(uint64_t watermark_ns, const std::function<bool(uint32_t)>& is_published) override { watched_.confirm(watermark_ns, is_published); }

  uint64_t trie_entries() const { return entries_; }

 private:
  BpfObject& kernel_;
  WatchedMaps watched_;
  std::atomic<uint64_t> entries_{0};
};

}  // namespace cicada::bpf_source
