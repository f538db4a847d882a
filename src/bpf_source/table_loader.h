// SPDX-License-Identifier: Apache-2.0
// Compiles unwind tables on worker threads, never on the thread that drains the ring, and puts them into the TableStore.
//
//   request(image) ──▶ queue ──▶ worker: ImageUnwinders::get ──▶ TableStore::load
//
// Small images go before large ones, and large ones never have all workers: on a busy machine a compiler's table takes seconds.
// Threads: any.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/work_queue.h"
#include "bpf_source/table_store.h"
#include "ingest/image_unwinders.h"
#include "ingest/table_requests.h"

namespace cicada::bpf_source {

class TableLoader final : public ingest::TableRequests {
 public:
  // `loaded`: is told of each table that the kernel has now, by any worker.
  using Loaded = std::function<void(uint32_t image, const unwind::UnwindRows& rows)>;
  TableLoader(TableStore& store, ingest::ImageUnwinders& images, unsigned workers, Loaded loaded = {});

  // Once per image: further calls are free. An evicted table comes back with request_again, one that can never fit the cap is not tried twice:
  // its stacks are finished in user space.
  void request(uint32_t image);
  void request_again(uint32_t image) override;
  // Comes at once, then after kNewerAfter, twice that … kMaxNewerAfter: each costs the whole table.
  void request_newer(uint32_t image, uint64_t version) override;
  static constexpr std::chrono::milliseconds kNewerAfter{20}, kMaxNewerAfter{1000};
  bool idle() const;
  uint64_t requested() const;  // images, ever
  uint64_t compiled() const;   // tables put into the kernel or found to be none; those that came back count again
  std::chrono::microseconds working() const;  // time during which there was something to do, preparing the store included

 private:
  void enqueue(uint32_t image);  // under mutex_
  void load(uint32_t image);
  bool has_newer(uint32_t image, uint64_t version) const;
  void note_over(uint32_t image, bool never_fits);
  struct Newer {
    uint64_t version = 0;  // that is loaded
    std::chrono::steady_clock::time_point not_before;
    std::chrono::milliseconds pause = kNewerAfter;
  };

  TableStore& store_;
  ingest::ImageUnwinders& images_;
  const Loaded loaded_;
  mutable std::mutex mutex_;
  std::unordered_set<uint32_t> requested_, queued_, refused_;
  std::unordered_map<uint32_t, Newer> newer_;  // by image
  uint64_t compiled_ = 0;
  WorkQueue queue_;
};

}  // namespace cicada::bpf_source
