// SPDX-License-Identifier: Apache-2.0
// The files in which the run time of one process names its code: /tmp/perf-PID.map and a jitdump that it has mapped, or without either one in its
// working directory or in /tmp. Opened with the rights of the process; the descriptors are held because /proc/PID/root and maps go with the process, and the contents of an open file stay.
//
// A map that is not there yet is looked for after a second, two, four, and at last every 16 s; it is read every two seconds. Jitdumps are read
// at the end only. Where a file system does not answer (FUSE, NFS), the files of that user are left alone for a minute. Whoever may wait for
// ever is a child (base/disposable_child.h), which is left behind when `stop` comes first.
// Threads: one at a time for a JitFiles, any for a JitFileAccess.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/disposable_child.h"
#include "base/process_key.h"
#include "ingest/jit_names.h"
#include "process/procfs/proc_readers.h"
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

// Opens such files, of users who are not known to be served by a silent file system.
class JitFileAccess {
 public:
  static constexpr auto kAnswerTimeout = std::chrono::milliseconds(1000);
  static constexpr auto kSilentFor = std::chrono::seconds(60);

  // Null: readers of its own.
  explicit JitFileAccess(std::shared_ptr<process::ProcReaders> readers)
      : readers_(readers != nullptr ? std::move(readers) : std::make_shared<process::ProcReaders>(process::ProcReaders::Options{})) {}
  Result<process::ProcessFiles::File> open(const process::ProcessFiles& files, const std::string& path, uint64_t from, const std::stop_token& stop);
  process::ProcReaders& readers() { return *readers_; }

 private:
  using Clock = std::chrono::steady_clock;
  const std::shared_ptr<process::ProcReaders> readers_;
  DisposableChildren children_{kAnswerTimeout};
  std::mutex mutex_;
  std::map<uint32_t, Clock::time_point> silent_until_;  // by uid
};

class JitFiles {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kRetry = std::chrono::seconds(1);
  static constexpr auto kSlowestRetry = std::chrono::seconds(16);
  static constexpr auto kReadEvery = std::chrono::seconds(2);

  // `access` and `names` outlive it.
  JitFiles(const JitProcess& process, std::string proc, JitFileAccess& access, JitNames& names)
      : process_(process), proc_(std::move(proc)), access_(access), names_(names) {}
  // When read() has something to do.
  Clock::time_point next() const { return map_ ? next_read_ : std::min(next_read_, next_look_); }
  // Looks for what is not there yet and copies what is new. `last`: everything, now.
  void read(bool last, const std::stop_token& stop);

 private:
  // No descriptor: its contents are copied each time they are read (process/procfs/process_files.h).
  struct File {
    std::string path;
    UniqueFd fd;
  };
  void look_for(bool last, const std::stop_token& stop);
  std::optional<File> open(const std::string& path, const std::stop_token& stop);
  bool is_running() const;
  void copy_map(const std::stop_token& stop);
  void copy_dump(const std::stop_token& stop);

  JitProcess process_;
  std::string proc_;
  JitFileAccess& access_;
  JitNames& names_;
  std::optional<process::ProcessFiles> files_;  // while there is something to open
  uint32_t uid_ = 0;
  Pid pid_inside_ = 0;
  std::optional<File> map_, dump_;
  std::optional<symbolize::PerfMapReader> map_reader_;
  Clock::time_point next_look_{}, next_read_{};
  Clock::duration retry_ = kRetry;
};

}  // namespace cicada::ingest
