// SPDX-License-Identifier: Apache-2.0
// Copies the names of generated code (perf maps, jitdumps) while they can be had. Only of processes that were seen running such code.
//
//   drain thread ── note_sampled ──▶ ┌────────┐  opens the map as the process sees it, keeps the descriptor
//   tracker      ── note_exit ─────▶ │ worker │  reads it, closes it
//   stop()       ── finish ────────▶ └────────┘  reads all that are open
//
// Descriptors are held because /proc/PID/root and maps go with the process; the contents of an open file stay. A map that is not there
// yet is looked for once a second, perf maps are read every two seconds, and when the process has ended (some run times write it then). Not
// named: code of a process that ends before its first sample is seen here (20 ms). What lies in a file system that does not answer (FUSE,
// NFS: process/file_systems) is left alone, and said once for each file.
//
// Bounds: kMaxProcesses open at a time, kMaxJitSymbols names in all, kFinishPatience for finish().
//
// Threads: note_sampled and finish: the drain thread's; note_exit: any, never waits. The worker starts with the first process.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/process_key.h"
#include "process/images/file_systems.h"
#include "process/procfs/mount_table.h"
#include "symbolize/jit/jitdump.h"
#include "symbolize/jit/perf_map.h"

namespace cicada::ingest {

// Who runs generated code, and where: the address space is what its frames carry.
struct JitProcess {
  Pid pid = 0;
  uint32_t start_ticks_low = 0;  // proof against pid reuse
  uint32_t address_space = 0;
  auto operator<=>(const JitProcess&) const = default;
};

class JitRecorder {
 public:
  static constexpr size_t kMaxProcesses = 256;
  static constexpr auto kRetry = std::chrono::seconds(1);
  static constexpr auto kCopyEvery = std::chrono::seconds(2);
  static constexpr auto kAnswerPatience = std::chrono::milliseconds(1500);
  static constexpr auto kFinishPatience = std::chrono::seconds(3);

  // `proc` is for tests.
  explicit JitRecorder(std::string proc = "/proc") : proc_(std::move(proc)) {}
  ~JitRecorder();

  void note_sampled(std::vector<JitProcess> processes);
  void note_exit(Pid pid);
  // Names that perf maps have got since the last call, while everything runs: what a recording that is killed will have. Jitdumps
  // are read at the end only.
  std::vector<symbolize::JitSymbol> take_new();
  // Reads what is open and ends the worker.
  std::vector<symbolize::JitSymbol> finish();

 private:
  struct Sources {
    std::optional<symbolize::Target> target;  // until the map is open
    std::optional<symbolize::PerfMapFile> map;
    std::optional<symbolize::JitdumpFile> dump;
    std::shared_ptr<const process::MountTable> mounts = std::make_shared<const process::MountTable>();
  };
  void work(std::stop_token stop);
  void open(const JitProcess& process, Sources& sources) const;
  bool is_running(const JitProcess& process) const;
  void copy(Sources& sources);
  void copy_map(Sources& sources);
  Result<symbolize::Target> open_target(const JitProcess& process, Sources& sources) const;
  // Of a file that was opened: may it be read?
  Result<void> ask_again(const Sources& sources, const std::string& name, int fd) const;
  void publish();

  std::string proc_;
  mutable process::FileSystems file_systems_{kAnswerPatience};  // the worker's
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<JitProcess> sampled_;  // for the worker
  std::vector<Pid> exited_;
  std::vector<symbolize::JitSymbol> new_;  // for take_new
  std::atomic<bool> active_{false};
  std::map<JitProcess, Sources> open_;         // the worker's
  std::vector<symbolize::JitSymbol> symbols_;  // the worker's until it has ended
  size_t published_ = 0;                       // of symbols_, likewise
  std::jthread thread_;
};

}  // namespace cicada::ingest
