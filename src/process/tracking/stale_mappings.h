// SPDX-License-Identifier: Apache-2.0
// Code that was mapped where other code had been (dlclose, dlopen of another library), and for how long the kernel's walk did not know:
//
//   since_ns   the new mapping's event: from here on the new code runs there …
//   published_ns   … and until here the walk names it after the old one: publish() has shown the mappings to the kernel
//
// Kept per address space and process as samples name them: a process that gets an address space of its own by this very mapping
// (copy-on-write) is sampled under its old id until then, and those it shared with keep the old code under that id.
// Bounded: closed ones are forgotten kKeepNs later (samples are stored within HeldSamples::kMaxWaitNs, finished walks within seconds).
// Threads: the tracker's under the table's lock; readers under it too, but for until_ns (any).
#pragma once
#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/process_key.h"
#include "process/images/image_source.h"

namespace cicada::process {

struct StaleMapping {
  static constexpr uint64_t kNotYet = ~uint64_t{0};
  Range<RuntimeAddr> range;
  ImageBinding was, now;
  FileOffset was_offset, now_offset;  // of range.begin, for images that are still being opened
  uint64_t since_ns = 0;
  uint64_t published_ns = kNotYet;
};

class StaleMappings {
 public:
  static constexpr size_t kMax = 16384;
  static constexpr size_t kMaxOfASpace = 1024;
  static constexpr uint64_t kKeepNs = 5'000'000'000;
  static constexpr uint64_t kExpiryPauseNs = 100'000'000;  // a look at all is 0.1 ms

  // Samples of `pid` say `address_space`; it ends when `published_as` (mostly the same) has been published.
  void note(uint32_t address_space, Pid pid, uint32_t published_as, const StaleMapping& replacement);
  void mark_published(uint32_t address_space, uint64_t now_ns);
  // `child` has its parent's memory of `time_ns`, and is or was sampled under `address_space` until `until_ns` at least.
  void fork(uint32_t address_space, Pid parent, Pid child, uint64_t time_ns, uint64_t until_ns);
  void re_resolve(uint32_t image, ImageSource& images);
  void forget(uint32_t address_space, uint64_t now_ns);
  void expire(uint64_t now_ns);

  // Those that a walk at `time_ns` did not know of; `later`: and those that came after it, for who looked up mappings only then.
  std::vector<StaleMapping> find(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const;
  // No sample of this time or later needs to ask. kNotYet: something is not shown yet.
  uint64_t until_ns() const { return until_ns_.load(std::memory_order_acquire); }
  // Something is not shown yet. Threads: the tracker's.
  bool open() const { return open_ != 0; }
  // Not kept for want of room.
  uint64_t refused() const { return refused_; }

 private:
  struct Entry {
    Pid pid;
    uint32_t published_as;
    StaleMapping replacement;
  };
  void add(uint32_t address_space, const Entry& entry);
  size_t close(std::vector<Entry>& entries, uint32_t published_as, uint64_t now_ns);
  void update_until();

  std::unordered_map<uint32_t, std::vector<Entry>> spaces_;  // by the id that samples say; oldest first
  size_t count_ = 0, open_ = 0, open_elsewhere_ = 0;  // the last: shown as another space
  uint64_t refused_ = 0, latest_shown_ns_ = 0, next_expiry_ns_ = 0;
  std::atomic<uint64_t> until_ns_{0};
};

}  // namespace cicada::process
