// SPDX-License-Identifier: Apache-2.0
// Compiled images, shared by the table loader (which writes them into the kernel) and the deferred unwinder (which walks with them): a cold image
// is usually wanted by both at the same moment and compiled once.
//
// Bounded: beyond kMaxRows (8 bytes each) those leave that were not used for kKeep, beyond kMaxRowsInUse the least recently used. One limit for
// both compiled libLLVM and libclang-cpp (1.7 million rows together) anew for each stack that clang's cold start left to it. One that left is
// compiled again after kCostFactor times what that took: a file may have more rows than there is room for.
// Who holds an image keeps it. Threads: any.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stop_token>
#include <unordered_map>

#include "base/latency_histogram.h"
#include "base/work_queue.h"
#include "process/images/image_registry.h"
#include "unwind/walk/image_unwinder.h"

namespace cicada::ingest {

class ImageUnwinders {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kMaxRows = 1'500'000, kMaxRowsInUse = 2'500'000;
  static constexpr auto kKeep = std::chrono::seconds(2);
  static constexpr int kCostFactor = 10;

  // Reads images for others, from an open descriptor of each. Ends soon after `stop` is requested.
  class Reader {
   public:
    virtual ~Reader() = default;
    virtual Result<unwind::UnwindRows> compile_rows(const process::ImageInfo& image, int fd, const std::stop_token& stop) = 0;
    // Of code that its rows leave unread.
    virtual Result<std::vector<unwind::CodeRule>> read_code(const process::ImageInfo& image, int fd, const unwind::CodeQuestion& question, const std::stop_token& stop) = 0;
    // Up stacks of processes of `owner`.
    virtual Result<std::vector<unwind::ImageStep>> take_steps(const process::ImageInfo& image, int fd, uint32_t owner,
                                                              std::span<const unwind::StepQuestion> asked, const std::stop_token& stop) = 0;
  };

  // Without `reader` in this process.
  explicit ImageUnwinders(process::ImageRegistry& images, std::shared_ptr<Reader> reader = {})
      : images_(images), reader_(std::move(reader)) {}

  // What get() has compiled, or why it could not. Nothing: it has not yet. Waits for nobody.
  std::optional<Result<std::shared_ptr<const unwind::ImageUnwinder>>> find(uint32_t image);
  // Compiles at first use; whoever else asks meanwhile waits for it. Fails: the file cannot be read any more, kLimit (it left too recently;
  // stop()).
  Result<std::shared_ptr<const unwind::ImageUnwinder>> get(uint32_t image);
  // Reads what its rows leave unread around these addresses. Afterwards find() and get() have more of it; what could not be read is walked by frame
  // pointer. Nothing happens to an image that find() does not know. One thread at a time for an image. `since_ns`: when the first of the stacks that
  // want it was sampled.
  void read_code(uint32_t image, std::span<const LinkAddr> addresses, uint64_t since_ns);
  // False: that leads nowhere, and there is no use in asking again.
  bool can_read_code(uint32_t image);
  // How long stacks waited for that, since they were sampled.
  struct CodeReads {
    std::atomic<uint64_t> bytes = 0, first_ns = 0;
    LatencyHistogram waits;
  };
  const CodeReads& code_reads() const { return code_reads_; }
  // Is told of each image that get() has compiled, or failed to, without a lock of this. One at a time; empty: nobody. Returns when no call
  // of the one before runs any more.
  void observe(std::function<void(uint32_t image)> compiled);
  // From now on only what is compiled already: the end of a recording waits for no file.
  void stop() { stop_.request_stop(); }
  // A job of compiling it, for a queue: whose it is, and how much.
  static constexpr uint64_t kLargeImage = 4 << 20;
  WorkQueue::Job job_of(uint32_t image) const {
    const process::ImageInfo info = images_.find(image).value_or(process::ImageInfo{});
    return {.owner = info.owner, .weight = info.bytes};
  }

 private:
  // One compilation.
  struct Compiled {
    std::once_flag once;
    std::optional<Result<std::shared_ptr<const unwind::ImageUnwinder>>> result;
    size_t rows = 0;  // 0: not compiled yet, or nothing worth evicting
  };
  struct Entry {
    std::shared_ptr<Compiled> compiled;  // null: evicted
    Clock::time_point last_used, not_again_before;
    std::map<uint64_t, LinkAddr> read;  // pieces of code that have been read, also if they left: an address in each
    bool unreadable = false;
  };
  std::vector<LinkAddr> read_before_and(uint32_t image, std::span<const LinkAddr> addresses);
  // Null: it left too recently.
  std::shared_ptr<Compiled> find_or_add(uint32_t image);
  void make_room();
  Result<std::shared_ptr<const unwind::ImageUnwinder>> compile(uint32_t image);
  Result<std::vector<unwind::CodeRule>> ask_for_code(uint32_t image, const unwind::CodeQuestion& question);
  Result<std::vector<unwind::ImageStep>> take_steps(uint32_t image, uint32_t owner, std::span<const unwind::StepQuestion> asked);

  process::ImageRegistry& images_;
  const std::shared_ptr<Reader> reader_;
  std::stop_source stop_;
  std::shared_mutex observed_;
  std::function<void(uint32_t)> compiled_;
  std::mutex mutex_;
  size_t rows_ = 0;
  uint64_t last_version_ = 0;
  CodeReads code_reads_;
  std::unordered_map<uint32_t, Entry> entries_;
};

}  // namespace cicada::ingest
