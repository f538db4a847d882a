// SPDX-License-Identifier: Apache-2.0
// Copies the names of JIT code (perf maps, jitdumps) while they can be had. Only of processes that were seen running such code.
//
//   note_sampled, note_exit ──▶ JitFiles of each process ──▶ a job when it is due, and when the process ends ──▶ JitNames ──▶ take_new
//
// Some run times write their map when the process ends. Not named: code of a process that ends before its first sample is seen here (20 ms).
// Bounds: kMaxProcesses open at a time, half of them of one user; users take turns, and nobody has both threads (base/work_queue.h);
// kFinishTimeout for finish(), then the jobs are stopped.
//
// Threads: note_exit: any, never waits; the others: the drain thread's.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/work_queue.h"
#include "ingest/jit_files.h"

namespace cicada::ingest {

class JitRecorder {
 public:
  static constexpr size_t kMaxProcesses = 256;
  static constexpr auto kFinishTimeout = std::chrono::milliseconds(500);

  // Null: readers of its own. `proc` is for tests.
  explicit JitRecorder(std::shared_ptr<process::ProcReaders> readers = {}, std::string proc = "/proc");

  // Also the recorder's turn: reads what is due. Call it often.
  void note_sampled(const std::vector<JitProcess>& processes);
  void note_exit(Pid pid);
  // Names since the last call.
  std::vector<symbolize::JitSymbol> take_new();
  // Reads everything of all that are open; the rest is in take_new().
  void finish();

 private:
  struct Open {
    uint32_t uid = 0;
    std::shared_ptr<JitFiles> files;
    WorkQueue::JobId job = 0;  // that reads them
  };
  void add(const JitProcess& process);
  bool has_room(uint32_t uid) const;
  void read(Open& open, bool last);
  void read_of_ended();

  std::string proc_;
  JitFileAccess access_;
  JitNames names_;
  std::map<JitProcess, Open> open_;
  std::mutex mutex_;
  std::vector<Pid> exited_;  // under it
  std::atomic<bool> active_{false};
  std::optional<WorkQueue> queue_;  // from the first process on; its jobs use all of this
};

}  // namespace cicada::ingest
