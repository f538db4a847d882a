// SPDX-License-Identifier: Apache-2.0
// Copies the names of JIT code (perf maps, jitdumps) while they can be had. Only of processes that were seen running such code.
//
//   drain thread ── note_sampled ──▶ ┌────────┐  opens the map with the rights of the process, keeps the descriptor
//   tracker      ── note_exit ─────▶ │ worker │  reads it, closes it
//   stop()       ── finish ────────▶ └────────┘  reads all that are open
//
// Descriptors are held because /proc/PID/root and maps go with the process; the contents of an open file stay. A map that is not there
// yet is looked for after a second, two, four, and at last every 16 s; perf maps are read every two seconds, and when the process has ended
// (some run times write it then). Not named: code of a process that ends before its first sample is seen here (20 ms). Where files are
// in a file system that does not answer (FUSE, NFS), those of their user are left alone for a minute, and that is said once for each file.
//
// Bounds: kMaxProcesses open at a time, half of them of one user; kMaxBytes of names in all, kMaxBytesOfUser of one; kFinishTimeout for finish().
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
#include "process/procfs/process_files.h"
#include "symbolize/jit/jitdump.h"
#include "symbolize/jit/perf_map.h"

namespace cicada::ingest {

// Who runs JIT code, and where: the address space is what its frames carry.
struct JitProcess {
  Pid pid = 0;
  uint32_t start_ticks_low = 0;  // proof against pid reuse
  uint32_t address_space = 0;
  auto operator<=>(const JitProcess&) const = default;
};

class JitRecorder {
 public:
  static constexpr size_t kMaxProcesses = 256;
  static constexpr size_t kMaxBytes = 96 << 20, kMaxBytesOfUser = 48 << 20;
  static constexpr auto kRetry = std::chrono::seconds(1);
  static constexpr auto kSlowestRetry = std::chrono::seconds(16);
  static constexpr auto kCopyEvery = std::chrono::seconds(2);
  static constexpr auto kAnswerTimeout = std::chrono::milliseconds(1000);
  static constexpr auto kSilentFor = std::chrono::seconds(60);
  static constexpr auto kFinishTimeout = std::chrono::milliseconds(500);

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
  using Clock = std::chrono::steady_clock;
  // A file of the process. No descriptor: its contents are copied each time they are read (process/procfs/process_files.h).
  struct Source {
    std::string path;  // empty: not found yet
    UniqueFd fd;
  };
  struct Sources {
    std::optional<process::ProcessFiles> files;  // while there is something to open
    uint32_t uid = 0;
    Pid pid_inside = 0;
    Source map, dump;
    std::optional<symbolize::PerfMapReader> map_reader;
    Clock::time_point next_look{};
    Clock::duration retry = kRetry;
  };
  void work(std::stop_token stop);
  void look_for(const JitProcess& process, Sources& sources, bool last_time);
  bool open(const process::ProcessFiles& files, const std::string& path, Source& source);
  Result<process::ProcessFiles::File> open_file(const process::ProcessFiles& files, const std::string& path, uint64_t from);
  bool is_running(const JitProcess& process) const;
  void copy(const JitProcess& process, Sources& sources);
  bool is_full(uint32_t uid);
  bool has_room(uint32_t uid) const;
  void copy_map(Sources& sources);
  Result<void> copy_dump(const JitProcess& process, const Sources& sources);
  void publish();

  std::string proc_;
  DisposableChildren children_{kAnswerTimeout};         // the worker's
  std::map<uint32_t, Clock::time_point> silent_until_;  // by uid; likewise
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<JitProcess> sampled_;  // for the worker
  std::vector<Pid> exited_;
  std::vector<symbolize::JitSymbol> new_;  // for take_new
  std::atomic<bool> active_{false};
  std::map<JitProcess, Sources> open_;         // the worker's
  std::vector<symbolize::JitSymbol> symbols_;  // the worker's until it has ended
  std::map<uint32_t, size_t> bytes_;           // of symbols_, by uid; likewise
  size_t published_ = 0;                       // of symbols_, likewise
  std::jthread thread_;
};

}  // namespace cicada::ingest
