// SPDX-License-Identifier: Apache-2.0
// Records in, rows of a profile out: what sources of records have in common, without anything of the kernel in it. The one place where
// records are routed:
//
//                  ┌─ stack ──────────▶ StackTable
//   take(record) ──┼─ sample ─────────▶ SampleAssembler ──▶ Profile      (JIT code in it ▶ JitRecorder, a missing table ▶ TableRequests)
//                  ├─ unwind request ─▶ SampleAssembler ──▶ DeferredUnwinder
//                  ├─ text of a group ▶ SampleAssembler
//                  ├─ lifecycle ──────▶ Tracker
//                  └─ thread time ────▶ ThreadTimes
//
// end_batch(), when the ring was looked at: passes on what was sampled, stores what is ready. end_cycle(), once a second: names of
// processes and threads.
// Threads: the drain thread's.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/monotonic_clock.h"
#include "ingest/deferred_unwinder.h"
#include "ingest/image_unwinders.h"
#include "ingest/java_machines.h"
#include "ingest/jit_recorder.h"
#include "ingest/metadata_reader.h"
#include "ingest/pinned_images.h"
#include "ingest/sample_assembler.h"
#include "ingest/stack_table.h"
#include "ingest/table_requests.h"
#include "ingest/thread_table.h"
#include "ingest/thread_times.h"
#include "ingest/tracker.h"

namespace cicada::ingest {

class RecordPipeline {
 public:
  // Borrowed.
  struct Parts {
    Tracker& tracker;
    process::ImageRegistry& images;
    ImageUnwinders& unwinders;
    TableRequests& tables;
    JitRecorder& jit;
    JavaMachines& java;
    MetadataReader& metadata_reader;
    process::ProcessMetadataCache& metadata;
  };
  RecordPipeline(profile::Profile& profile, const Parts& parts);

  void take(std::span<const uint8_t> record, uint64_t now_ns);
  // Threads' time counts from now on, until now: records of all threads that live follow.
  void begin_thread_times() { times_.begin(clock_ns(CLOCK_BOOTTIME), monotonic_ns()); }
  void end_thread_times() { times_.end(); }
  // False: of some that have samples nothing is known yet.
  bool settle_thread_times() {
    times_.settle_all();
    return threads_.has_cpu_times();
  }
  // `looked_ns`: when the look at the ring began. `emptied`: nothing was left in it.
  void end_batch(uint64_t looked_ns, bool emptied);
  void end_cycle();
  // For a compaction: stacks that are sent from now on are of a new generation (StackTable).
  void begin_generation() { stacks_.begin_generation(); }
  // Everything that was sampled before `since_ns` has been stored, if all up to `now_ns` has been drained.
  bool has_stored_until(uint64_t since_ns, uint64_t now_ns) {
    return now_ns > since_ns + 2 * PendingSamples::kMaxWaitNs && deferred_.first_arrival_ns() > since_ns && !assembler_.has_from_before(since_ns);
  }
  void rebase(profile::RowCopier& ids);
  // After the last record, with the tracker still running: finishes walks, stores everything, reads what JIT code there is.
  void finish();

  uint64_t lifecycle_records() const { return lifecycle_; }
  uint64_t malformed() const { return malformed_; }
  const SampleAssembler& assembler() const { return assembler_; }
  symbolize::ImageFiles& files() { return files_; }
  // Symbols of JIT code that are new; after finish() the rest.
  std::vector<symbolize::JitSymbol> take_jit_symbols() { return parts_.jit.take_new(); }

 private:
  void route(const sample_record& sample, uint64_t now_ns);
  void note_jit_code(const sample_record& sample);
  void refresh_threads();

  Parts parts_;
  StackTable stacks_;
  ThreadTable threads_;
  ThreadTimes times_;
  DeferredUnwinder deferred_;
  SampleAssembler assembler_;
  PinnedImages files_;
  uint64_t lifecycle_ = 0, malformed_ = 0;
  std::unordered_set<Pid> sampled_processes_;    // since the last batch
  std::unordered_set<uint32_t> sampled_spaces_;  // of this cycle
  std::set<JitProcess> jit_processes_;           // ever; at most kMaxJitProcesses
  std::vector<JitProcess> new_jit_processes_;
};

}  // namespace cicada::ingest
