// SPDX-License-Identifier: Apache-2.0
// Finishes walks that the kernel could not: same step, full CFI, on a copy of the stack.
//
//   drain thread ──submit──▶ queue ──▶ its threads ──▶ results ──take──▶ drain thread
//
// A job waits until all mapping events up to its sample's arrival have been applied, as long as samples wait for that (pending_samples.h),
// because what was missing is usually a mapping that is on its way: its exec or fork record came out of the ring just before. Users take
// turns, and nobody has both threads: the table that one's stack waits for may take seconds. The queue is bounded in bytes: what does not
// fit is refused, and counted by the caller. Threads: submit, take, finish: the drain thread's.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include "abi/end_reason.h"
#include "abi/records.h"
#include "base/work_queue.h"
#include "ingest/image_unwinders.h"
#include "ingest/mapping_history.h"
#include "ingest/pending_samples.h"
#include "ingest/table_requests.h"

namespace cicada::ingest {

struct UnwindJob {
  sample_record sample;
  uint64_t arrived_ns = 0;      // as PendingSample
  std::vector<uint8_t> record;  // unwind_request, its copy of the stack included
  const unwind_request& start() const { return *reinterpret_cast<const unwind_request*>(record.data()); }
};

struct FinishedWalk {
  sample_record sample;
  uint64_t arrived_ns = 0;
  std::vector<uint64_t> frames;  // abi/frame.h, leaf first; continues what the kernel found
  uint8_t end_reason = END_DEFERRED_FAILED;
};

class DeferredUnwinder {
 public:
  // Of queued copies: 768 whole ones, or a second of 997 Hz on two CPUs with 24 KiB each. A compiler's stacks are as large, and on a busy machine
  // the first tables take as long; with 16 MiB every seventh stack of that second was lost, of programs with small stacks, too.
  static constexpr size_t kMaxQueuedBytes = 48 << 20;
  static constexpr auto kMaxWait = std::chrono::nanoseconds(PendingSamples::kMaxWaitNs);
  static constexpr auto kMaxWaitForOne = std::chrono::milliseconds(250);  // mapping, which may never come
  static constexpr auto kMaxWalk = std::chrono::seconds(30);  // with the compilation of what it needs; one that hangs is given up
  static constexpr auto kHangs = std::chrono::seconds(1);     // at the end, what no image is read for any more
  static constexpr auto kFinishTime = std::chrono::milliseconds(300);

  // Bytes of a process' memory. False: they cannot be read (any more). May hang, and is then given up.
  using ReadMemory = std::function<bool(Pid pid, RuntimeAddr address, std::span<uint8_t> bytes)>;
  DeferredUnwinder(MappingHistory& mappings, ImageUnwinders& images, TableRequests& tables, ReadMemory read_memory = read_process_memory);
  ~DeferredUnwinder();

  // False: refused.
  bool submit(UnwindJob job);
  std::vector<FinishedWalk> take();
  // Works off what is queued, for kFinishTime at most, then without images that are not compiled yet and without waiting for a walk that
  // hangs, and ends the thread; take() then has the rest, finished or not.
  void finish();

 private:
  class View;
  static bool read_process_memory(Pid pid, RuntimeAddr address, std::span<uint8_t> bytes);
  void run(const UnwindJob& job, WorkQueue::Attempt& attempt);
  void publish(FinishedWalk result);
  void begin_walk(uint64_t arrived_ns);
  void end_walk(uint64_t arrived_ns);
  void forget_walk(uint64_t arrived_ns);
  void wait_for_mappings(uint64_t arrived_ns, const std::stop_token& stop);
  FinishedWalk finish_walk(const UnwindJob& job, const std::stop_token& stop);

  MappingHistory& mappings_;
  ImageUnwinders& images_;
  TableRequests& tables_;
  const std::shared_ptr<const ReadMemory> read_memory_;  // with a walk that was given up
  std::mutex mutex_;
  std::vector<FinishedWalk> results_;
  std::multiset<uint64_t> walking_;  // when what is walked now arrived
  std::atomic<bool> hurry_{false};  // the end: what waits is not finished
  WorkQueue queue_;
};

}  // namespace cicada::ingest
