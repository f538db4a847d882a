// SPDX-License-Identifier: Apache-2.0
// Reads /proc/PID/maps of processes whose mappings are not known, or no longer: those that were there before, and after lost events.
//
// A scan is an event like others: it is applied once everything up to its end has been, and what was mapped meanwhile wins.
//
//   want ─▶ (rate limit) ─▶ read the clock, the id, /proc ─▶ events up to the end applied ─▶ the id again ─▶ take_finished
//
// Discarded if the process has another address space by then, or if nothing was found: exec has taken the old mappings away and not
// said so yet.
// Reading happens on workers, where users take turns: it waits for the target's memory lock (how long, who reads says), and a process may
// have mappings whose names are megabytes of text. Threads: one at a time, but for the counts (any).
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "base/work_queue.h"
#include "process/procfs/maps_file.h"
#include "process/tracking/address_space.h"

namespace cicada::process {

class MapsScanner {
 public:
  static constexpr size_t kMaxAtOnce = 32;
  // Of kMaxAtOnce processes of one owner at most, in their order.
  using ReadMaps = std::function<std::vector<Result<MapsFile>>(uint32_t owner, std::span<const Pid> pids, const std::stop_token& stop)>;
  static ReadMaps one_by_one(std::function<Result<MapsFile>(Pid)> read);
  struct Options {
    uint64_t interval_ns = 1'000'000'000;  // between two scans of a process
    unsigned workers = 0;                  // 0: start_due() reads by itself
    // Ports to /proc and the clock; replaced in tests.
    ReadMaps read_maps;
    std::function<uint64_t()> now_ns;
  };
  // The process' address space, if kernel and table agree about it; 0: an exec or exit is under way.
  using FindSpace = std::function<uint32_t(Pid)>;
  struct Found {
    Pid pid = 0;
    uint64_t end_ns = 0;             // the clock after reading
    std::vector<MapsEntry> entries;  // executable ones
    std::vector<Mapping> later;      // mapped since it began
  };

  MapsScanner(Options options, FindSpace find_space);

  // Not before that time, nor before the rate limit allows.
  void want(Pid pid, uint64_t not_before_ns = 0);
  bool is_scanning(Pid pid) const;
  // Something was mapped: wins over a scan that began before.
  void note_mapping(Pid pid, const Mapping& mapping, uint64_t time_ns);
  // Another program runs there, or none: a scan under way is worthless, and the next may be at once.
  void cancel(Pid pid);
  void forget(Pid pid) { jobs_.erase(pid); }

  // Scans that ended before `watermark_ns`, up to which every event has been applied.
  std::vector<Found> take_finished(uint64_t watermark_ns);
  // Has what is due read. True: some of it goes on soon.
  bool start_due();
  // Some process that was never scanned waits for it.
  bool is_behind() const;

  uint64_t scans() const { return scans_; }
  uint64_t discarded() const { return discarded_; }

 private:
  struct Scan {
    uint64_t id = 0;
    uint32_t address_space = 0;  // before reading
    std::optional<MapsFile> maps;  // nothing: is being read
    uint64_t begin_ns = 0, end_ns = 0;  // the clock before and after reading
    std::vector<std::pair<uint64_t, Mapping>> later;  // mapped since it was asked for, and when
  };
  struct Answer {
    Pid pid;
    uint64_t scan, begin_ns, end_ns;
    Result<MapsFile> maps;
  };
  struct Job {
    bool wanted = false;
    uint64_t not_before_ns = 0;  // 0: never scanned
    std::optional<Scan> scan;    // waits until everything up to its end has been applied
  };
  // Of those that are asked for together.
  struct Question {
    Pid pid;
    uint64_t scan;
  };
  // Nothing: it cannot be scanned now.
  std::optional<Question> start(Pid pid, Job& job);
  void read(uint32_t owner, std::span<const Question> questions, const std::stop_token& stop);
  void submit(uint32_t owner, std::vector<Question> questions);
  void take_answers();

  Options options_;
  FindSpace find_space_;
  std::unordered_map<Pid, Job> jobs_;
  std::atomic<uint64_t> scans_{0}, discarded_{0};
  std::mutex answers_mutex_;
  std::vector<Answer> answers_;
  std::optional<WorkQueue> queue_;  // its workers answer
};

}  // namespace cicada::process
