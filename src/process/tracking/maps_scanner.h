// SPDX-License-Identifier: Apache-2.0
// Reads /proc/PID/maps of processes whose mappings are not known, or no longer: those that were there before, and after lost events.
//
// A scan is an event like others: it is applied once everything up to its end has been, and what was mapped meanwhile wins.
//
//   want ─▶ (rate limit) ─▶ read the clock, the id, /proc ─▶ events up to the end applied ─▶ the id again ─▶ take_finished
//
// Discarded if the process has another address space by then, or if nothing was found: exec has taken the old mappings away and not
// said so yet.
// Threads: one at a time, but for the counts (any). Reading waits for the target's memory lock.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "process/procfs/maps_file.h"
#include "process/tracking/address_space.h"

namespace cicada::process {

class MapsScanner {
 public:
  struct Options {
    uint64_t interval_ns = 1'000'000'000;  // between two scans of a process
    uint64_t budget_ns = 20'000'000;       // of one start_due(); the rest waits for the next
    // Ports to /proc and the clock; replaced in tests.
    std::function<Result<MapsFile>(Pid)> read_maps;
    std::function<uint64_t()> now_ns;
  };
  // The process' address space, if kernel and table agree about it; 0: an exec or exit is under way.
  using FindSpace = std::function<uint32_t(Pid)>;
  struct Found {
    Pid pid = 0;
    uint64_t begin_ns = 0;           // the clock before reading
    std::vector<MapsEntry> entries;  // executable ones
    std::vector<Mapping> later;      // mapped after begin_ns
  };

  MapsScanner(Options options, FindSpace find_space) : options_(std::move(options)), find_space_(std::move(find_space)) {}

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
  // Reads what is due. True: some of it goes on soon.
  bool start_due();
  // Some process that was never scanned waits for it.
  bool is_behind() const;

  uint64_t scans() const { return scans_; }
  uint64_t discarded() const { return discarded_; }

 private:
  struct Scan {
    Found found;
    uint64_t end_ns = 0;         // the clock after reading
    uint32_t address_space = 0;  // before reading
  };
  struct Job {
    bool wanted = false;
    uint64_t not_before_ns = 0;  // 0: never scanned
    std::optional<Scan> scan;    // waits until everything up to its end has been applied
  };
  void start(Pid pid, Job& job);

  Options options_;
  FindSpace find_space_;
  std::unordered_map<Pid, Job> jobs_;
  std::atomic<uint64_t> scans_{0}, discarded_{0};
};

}  // namespace cicada::process
