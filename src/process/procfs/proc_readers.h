// SPDX-License-Identifier: Apache-2.0
// Files under /proc of which reading may not end: a process's maps, command line, environment and files in memory wait for the lock of its
// memory, which it may hold for as long as it likes, or for a page that nobody brings. So children read them (base/disposable_child.h) that
// stay: one that does not answer in time is left behind, and another takes its place.
//
//   a worker: read_maps(pids) ──▶ takes a reader that is idle ──▶ the child: open, read, … ──▶ 256 KiB at a time, in memory that both have
//
// Some are there from the beginning: made early they cost little memory and hold nothing of what is opened later. Two at most are busy for
// one owner; who asks for a third waits for his own. Cost: two switches to another process for each question and each 256 KiB, 50 to 150
// us; so mappings are read of many processes at once. Threads: any.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/disposable_child.h"
#include "process/procfs/maps_file.h"

namespace cicada::process {

class ProcReaders {
 public:
  static constexpr unsigned kMaxOfOwner = 2;
  static constexpr size_t kMaxPids = 32;
  struct Options {
    std::chrono::milliseconds timeout{2000};  // for a part
    unsigned kept = 3;                        // made at once, and kept when they are idle
  };

  explicit ProcReaders(const Options& options);
  ~ProcReaders();
  ProcReaders(const ProcReaders&) = delete;
  ProcReaders& operator=(const ProcReaders&) = delete;

  // All wait: for an answer, and for a reader that this owner has. All fail: kGone (no such process), what the system says, kIo (it does not
  // answer, or `stop` came first), kLimit (too much of this owner was left behind).
  //
  // Until the end or `limit` bytes, whichever is first.
  Result<std::string> read_file(uint32_t owner, const std::string& path, size_t limit, const std::stop_token& stop = {});
  // Of kMaxPids processes of one owner at most: the executable ones, as process::read_maps(), in the order that was asked for. One that
  // does not answer costs the others its time.
  std::vector<Result<MapsFile>> read_maps(uint32_t owner, std::span<const Pid> pids, const std::stop_token& stop = {});
  // A handle (O_PATH) to what the path leads to.
  Result<UniqueFd> open_handle(uint32_t owner, const std::string& path, const std::stop_token& stop = {});

  uint64_t abandoned() const { return abandoned_; }
  size_t idle() const;

 private:
  struct Shared;
  struct Reader;
  struct Segment;
  enum class Operation : uint32_t { kRead, kMaps, kHandle };
  struct Question {
    Operation operation;
    uint64_t limit;  // in bytes, of a file
    const char* path;
    std::span<const Pid> pids;  // whose maps
  };
  using TakePart = std::function<Result<void>(const Segment&, std::string_view)>;

  static void serve(ChildEnd end, Shared& shared);
  Result<std::unique_ptr<Reader>> start(uint32_t owner);
  Result<std::unique_ptr<Reader>> take(uint32_t owner, const std::stop_token& stop);
  void give_back(uint32_t owner, std::unique_ptr<Reader> reader);
  // The descriptor of a handle, else none.
  Result<UniqueFd> ask(uint32_t owner, const Question& question, const std::stop_token& stop, const TakePart& take_part);
  Result<UniqueFd> hear(Reader& reader, Result<std::optional<DisposableChildren::Answer>> answer, const std::stop_token& stop,
                        const TakePart& take_part);

  const unsigned kept_;
  DisposableChildren children_;
  std::atomic<uint64_t> abandoned_{0};
  mutable std::mutex mutex_;
  std::condition_variable_any returned_;
  std::vector<std::unique_ptr<Reader>> idle_;
  std::map<uint32_t, unsigned> busy_;  // by owner
};

}  // namespace cicada::process
