// SPDX-License-Identifier: Apache-2.0
// Code that was mapped where other code had been (dlclose, dlopen of another library), and for how long the kernel's walk did not know:
//
//   since_ns      the new mapping's event, or the end of the scan that found nothing there any more: from here on the new code runs there …
//   published_ns  … and until here the walk names it after the old one
//
// Kept per address space and process as samples name them: a process that gets an address space of its own by this very mapping
// (copy-on-write) is sampled under its old id until then, and those it shared with keep the old code under that id.
// Bounded: those that were published are forgotten kKeepNs later (samples are stored within seconds, finished walks too).
// Threads: one at a time, but for until_ns() and the counts (any).
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "process/tracking/address_space.h"

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

  // `mapping` came to `users` at `time_ns`, where `before` was (AddressSpaces::insert). Whatever was there, published or not: of several in
  // a row, the walk may still show the first. It ends when `address_space` has been published.
  void note(uint32_t address_space, std::span<const SpaceUser> users, std::span<const Mapping> before, const Mapping& mapping,
            uint64_t time_ns);
  // A scan that ended at `time_ns` did not find these any more. No event tells when they went, but nothing ran there from then on, and what was
  // mapped there since, if anything, came after the scan.
  void note_gone(uint32_t address_space, std::span<const SpaceUser> users, std::span<const Mapping> gone, uint64_t time_ns);
  void mark_published(uint32_t address_space, uint64_t now_ns);
  // `child` has its parent's memory of `time_ns` and is sampled under `address_space` too: until `moves_to`, if any, has been published.
  void fork(uint32_t address_space, Pid parent, Pid child, uint64_t time_ns, uint32_t moves_to);
  // As AddressSpace::re_resolve().
  void re_resolve(std::span<const uint32_t> images, ImageSource& source);
  void forget(uint32_t address_space, uint64_t now_ns);
  void expire(uint64_t now_ns);

  // Those that a walk at `time_ns` did not know of; `later`: and those that came after it, for who looked up mappings only then.
  std::vector<StaleMapping> find(uint32_t address_space, Pid pid, uint64_t time_ns, bool later) const;
  // No sample of this time or later needs to ask. kNotYet: something is not published yet.
  uint64_t until_ns() const { return until_ns_.load(std::memory_order_acquire); }
  // Something is not published yet.
  bool open() const { return open_ != 0; }
  // Of this space.
  bool is_open(uint32_t address_space) const;
  // Where code was replaced since the last call, and who runs there.
  std::vector<std::pair<uint32_t, Pid>> take_replaced() { return std::exchange(replaced_, {}); }
  uint64_t replaced_images() const { return replaced_images_; }  // mappings that came where another file's code had been
  uint64_t refused() const { return refused_; }                  // not kept for want of room

 private:
  struct Entry {
    Pid pid;
    uint32_t published_as;
    StaleMapping stale;
  };
  void add(uint32_t address_space, const Entry& entry);
  size_t close(std::vector<Entry>& entries, uint32_t published_as, uint64_t now_ns);
  void update_until();

  std::unordered_map<uint32_t, std::vector<Entry>> spaces_;  // by the id that samples say; oldest first
  size_t count_ = 0, open_ = 0, open_elsewhere_ = 0;  // the last: published as another space
  std::vector<std::pair<uint32_t, Pid>> replaced_;
  uint64_t latest_published_ns_ = 0, next_expiry_ns_ = 0;
  std::atomic<uint64_t> until_ns_{0}, replaced_images_{0}, refused_{0};
};

}  // namespace cicada::process
