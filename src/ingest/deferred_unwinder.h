// SPDX-License-Identifier: Apache-2.0
// Finishes walks that the kernel could not: same step, full CFI, on a copy of the stack.
//
//   drain thread ──submit──▶ stacks that wait ──▶ walkers ──▶ results ──take──▶ drain thread
//                                  ▲               │ a table is missing
//                                  └── compilers ◀─┘
//
// A stack waits until all mapping events up to its sample's arrival have been applied, as long as samples wait for that
// (pending_samples.h), because what was missing is usually a mapping that is on its way: its exec or fork record came out of the ring just
// before. One that needs a table that is not compiled yet makes way for others meanwhile, and begins anew with it. Users take turns, and
// nobody has both walkers or both compilers. What waits of one user is walked together, as much as kMaxTogether, so that a step by an image
// is asked for once for all of it. What waits is bounded in bytes (waiting_stacks.h): what does not fit is refused, and counted by the
// caller, or ends unfinished. Threads: submit, take, finish: the drain thread's.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include "abi/end_reason.h"
#include "abi/records.h"
#include "base/disposable_child.h"
#include "base/work_queue.h"
#include "ingest/image_unwinders.h"
#include "ingest/java_machines.h"
#include "ingest/mapping_history.h"
#include "ingest/pending_samples.h"
#include "ingest/table_requests.h"
#include "ingest/waiting_stacks.h"

namespace cicada::ingest {

struct FinishedWalk {
  sample_record sample;
  uint64_t arrived_ns = 0;
  std::vector<uint64_t> frames;  // abi/frame.h, leaf first; continues what the kernel found
  uint8_t end_reason = END_DEFERRED_FAILED;
};

class DeferredUnwinder {
 public:
  // Of copies: 768 of 64 KiB, or a second of 997 Hz on two CPUs with 24 KiB each. A compiler's stacks are as large, and on a busy machine
  // the first tables take as long; with 16 MiB every seventh stack of that second was lost, of programs with small stacks, too.
  static constexpr size_t kMaxBytes = 48 << 20;
  static constexpr auto kMaxWait = std::chrono::nanoseconds(PendingSamples::kMaxWaitNs);
  static constexpr auto kMaxWaitForOne = std::chrono::milliseconds(250);  // mapping, which may never come
  static constexpr size_t kMaxTogether = 64, kMaxBytesTogether = 1 << 20;
  static constexpr auto kMaxWaitForTables = std::chrono::seconds(10);  // as long as processes that have ended are kept
  static constexpr auto kMaxTurn = std::chrono::seconds(60);
  static constexpr auto kMaxWaitForMemory = std::chrono::milliseconds(500);  // of a process, in a turn
  static constexpr auto kUnnoticed = std::chrono::seconds(1);   // at the end; who waits longer is told
  static constexpr auto kFinishTime = std::chrono::seconds(5);  // the table of a browser takes one or two, on a busy machine more

  // `java` may be null.
  DeferredUnwinder(MappingHistory& mappings, ImageUnwinders& images, TableRequests& tables, const JavaMachines* java = nullptr);
  ~DeferredUnwinder();

  // False: refused.
  bool submit(UnwindJob job);
  std::vector<FinishedWalk> take();
  // Of what is not finished, and of what was not taken yet; UINT64_MAX: there is nothing.
  uint64_t first_arrival_ns();
  // Works off what there is, tables that are being made included, for kFinishTime at most; what is left then ends unfinished. take() then has
  // the rest.
  void finish();

 private:
  class View;
  // What it begins anew with: this image's table (0: nothing is missing), or rules of code in it that has not been read yet.
  struct Missing {
    uint32_t image = 0;
    std::optional<LinkAddr> code;
  };
  // What one stack came to.
  struct Outcome {
    FinishedWalk walk;
    Missing missing;
  };

  void begin_turn(uint32_t owner);
  void take_turn(uint32_t owner);
  void give_up_turn(uint32_t owner);
  void wait_for_mappings(uint64_t arrived_ns);
  std::vector<Outcome> walk(uint32_t owner, std::span<const UnwindJob> jobs);
  void ask_for_table(const UnwindJob& job);
  void compile(uint32_t image);
  void compile_now(uint32_t image);
  void table_is_there(uint32_t image);
  void no_table_comes(uint32_t image);

  // All under the mutex.
  std::set<uint32_t> settle(std::vector<UnwindJob>& jobs, std::vector<Outcome> outcomes);
  void end_unfinished(std::span<const UnwindJob> jobs);
  bool wants_turn(uint32_t owner);
  uint64_t first_unfinished_ns() const;
  void retain_for_walks();

  MappingHistory& mappings_;
  ImageUnwinders& images_;
  TableRequests& tables_;
  const JavaMachines* const java_;
  DisposableChildren memory_readers_{kMaxWaitForMemory};
  std::mutex mutex_;
  std::condition_variable settled_;
  WaitingStacks stacks_{kMaxBytes};
  std::map<uint32_t, std::optional<std::vector<UnwindJob>>> turns_;  // by owner: what is walked; nothing: the turn is to come
  std::set<uint32_t> compiling_;        // images
  struct Unread {
    std::vector<LinkAddr> code;
    uint64_t since_ns = UINT64_MAX;  // when the first that asks was sampled
  };
  std::map<uint32_t, Unread> unread_;   // by image: what is asked for
  std::vector<FinishedWalk> results_;
  std::stop_source ending_;             // nothing is waited for any more; walks end with what there is
  WorkQueue walkers_, compilers_;       // their jobs use all of this
};

}  // namespace cicada::ingest
