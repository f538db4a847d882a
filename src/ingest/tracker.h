// SPDX-License-Identifier: Apache-2.0
// The thread that follows processes: reads mapping events, applies lifecycle records that the drain thread short_lived on, scans /proc,
// opens images, publishes mappings. It may wait for /proc; the drain thread never does.
//
// Threads: push, note_drained, note_sampled, retain_exited_since, request_poll, sync, watermark_ns, table: any.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "abi/records.h"
#include "ingest/batching.h"
#include "ingest/lifecycle_callbacks.h"
#include "ingest/mapping_history.h"
#include "process/images/image_source.h"
#include "process/tracking/mapping_events.h"
#include "process/metadata/metadata_cache.h"
#include "process/tracking/short_lived_processes.h"
#include "process/tracking/process_table.h"
#include "process/tracking/thread_names.h"

namespace cicada::ingest {

class Tracker final : public MappingHistory {
 public:
  struct Options {
    bool whole_machine = true;
    uint64_t frequency_hz = 0;  // of samples; 0: unknown
    LifecycleCallbacks callbacks;
    std::shared_ptr<process::ProcessMetadataCache> metadata;  // told of execs and exits
    process::MapsScanner::ReadMaps read_maps = {};            // none: process::read_maps()
  };
  // Nothing is followed yet. Borrows publisher and images.
  // Fails: kLimit (no descriptors).
  static Result<std::unique_ptr<Tracker>> open(std::unique_ptr<process::MappingEventSource> events, process::MappingPublisher& publisher,
                                               process::ImageSource& images, Options options);
  ~Tracker() override;

  // Processes that are there before the recording. Call before start(); after lifecycle programs are attached.
  Result<void> adopt(Pid pid) { return table_->adopt(pid); }
  void start();
  void stop();

  void push(const lifecycle_record& record);
  // Every lifecycle record up to this moment has been pushed; `sampled`: the processes of all samples since the last call.
  void note_drained(uint64_t time_ns, std::span<const Pid> sampled);
  void note_sampled(std::vector<uint32_t> address_spaces);
  // While that is half a cycle ago or more, nothing that exited is forgotten, for ten cycles at most.
  void retain_exited_since(uint64_t submitted_ns) override { retain_exited_since_ns_.store(submitted_ns, std::memory_order_relaxed); }
  void request_poll() override { wake(); }
  // Waits until everything that had happened at the call has been applied, or `timeout_ms` has passed.
  void sync(int timeout_ms);
  uint64_t watermark_ns() const override { return watermark_ns_.load(std::memory_order_acquire); }
  std::optional<mapping_value> find_mapping(uint32_t address_space, RuntimeAddr address) const override { return table_->find_mapping(address_space, address); }
  bool is_expected(uint32_t address_space, RuntimeAddr address) const override {
    return caught_up_ns() == 0 || table_->is_being_opened(address_space, address);
  }
  std::vector<process::StaleMapping> find_stale(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const override {
    return table_->find_stale(address_space, pid, time_ns, later);
  }
  uint64_t stale_until_ns() const override { return table_->stale_until_ns(); }

  const process::ProcessTable& table() const { return *table_; }
  const process::ThreadNames& names() const { return names_; }
  // As they were a second ago at most; after stop(): all.
  process::MappingEventCounts event_counts() const;
  // When everything that was there before was known to the walk (CLOCK_MONOTONIC, ns); 0: not yet.
  uint64_t caught_up_ns() const { return caught_up_ns_.load(std::memory_order_relaxed); }

 private:
  Tracker(std::unique_ptr<process::MappingEventSource> events, Options options) : options_(std::move(options)), events_(std::move(events)) {}
  void run(std::stop_token stop);
  bool poll_once();
  // Applies mapping events up to this moment. How many were lost.
  uint64_t drain_until(uint64_t time_ns);
  // `short_lived`: its process came and went unnoticed.
  void apply(const lifecycle_record& record, bool short_lived);
  void end_cycle(uint64_t now);
  void note_event_counts();
  // A sample in it was outside every mapping that the kernel side knows.
  void follow_miss(Pid pid);
  void tell(const lifecycle_record& record);
  void wake() const;

  static constexpr long kStormTurnNs = 16'000'000;  // a process that comes and goes within is not followed at all

  struct Inbox {
    std::vector<lifecycle_record> records;
    std::vector<uint32_t> sampled;
    std::vector<Pid> sampled_processes;  // until drained_until
    uint64_t drained_until_ns = 0;
  };

  Options options_;
  std::unique_ptr<process::MappingEventSource> events_;
  process::ThreadNames names_;
  process::ImageSource* images_ = nullptr;
  std::unique_ptr<process::ProcessTable> table_;
  UniqueFd wake_;
  mutable std::mutex mutex_;
  Inbox inbox_;
  process::MappingEventCounts event_counts_;
  std::atomic<uint64_t> watermark_ns_{0}, caught_up_ns_{0};
  std::atomic<uint64_t> retain_exited_since_ns_{0};
  uint64_t next_cycle_ns_ = 0, busy_until_ns_ = 0, replaced_mappings_ = 0;
  size_t records_ = 0;  // of the last turn
  std::vector<lifecycle_record> waiting_;            // by time; younger than the last turn's limit
  uint64_t drained_until_ns_ = 0;
  std::unordered_map<Pid, uint64_t> sampled_until_;  // who was sampled, and the drain (drained_until) that brought it
  process::ShortLivedProcesses short_lived_;
  Pace pace_{kStormTurnNs};
  unsigned cycles_kept_ = 0;
  std::jthread thread_;
};

}  // namespace cicada::ingest
