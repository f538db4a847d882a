// SPDX-License-Identifier: Apache-2.0
// Where unwind tables live on the kernel side: slabs (mmapped BPF arrays inside the outer map `unwind_slabs`) and the places
// (`unwind_places`, mmapped) that say which image's table is where. A table is written through the mapping: no system call.
//
//   slab 0   [ table A ][ table B ]·····[ table C ]      first fit, 64-byte granules
//
// A slab is inserted in the outer map once, because each such insert waits for an RCU grace period (8.7 ms measured); by who made it and
// without the lock, so that others write tables meanwhile. Until it is there a walk finds its tables not loaded.
// Beyond the memory cap the least recently sampled tables leave. A freed extent is not reused for kQuarantine: a walk that
// had just read the old place must not read half a new table (it also checks the block's image id).
// Threads: any; one mutex, not held while a table is written or a slab inserted, never taken by the drain thread. One table of an image at a
// time.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "abi/unwind_table.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "unwind/rows/table_layout.h"

namespace cicada::bpf_source {

struct TableStoreStats {
  uint64_t tables = 0, table_bytes = 0, slab_bytes = 0, slabs = 0, evictions = 0, refused = 0;
};

class TableStore {
 public:
  struct Maps {
    int slabs_fd = -1;                     // array-of-maps
    std::span<unwind_place> places;        // mmapped
    std::span<const uint64_t> last_used;   // mmapped, by image id modulo size: kernel's coarse clock, ns; may be empty
    volatile uint32_t* eviction_epoch = nullptr;  // bumped after an eviction: invalidates cached frames
  };
  static constexpr auto kQuarantine = std::chrono::milliseconds(100);

  TableStore(Maps maps, uint64_t max_bytes);
  ~TableStore();
  TableStore(const TableStore&) = delete;
  TableStore& operator=(const TableStore&) = delete;

  // Makes the first slab, so that the first tables need not wait for its insertion. Until it was there, samples of a new
  // command were finished from copies of their stacks (5–7 ms, and not at all where the copy was too short).
  void prepare();
  // Writes the table of `image` and makes it visible; replaces an earlier one, unless it fails.
  // Fails: kLimit (does not fit the cap even when everything else has left, and never will), kIo (others that are being written are in the
  // way), or the kernel's refusal.
  Result<void> load(uint32_t image, const unwind::UnwindRows& rows);
  // The image has no CFI: the walk continues by frame pointer.
  void load_without_cfi(uint32_t image);
  bool is_loaded(uint32_t image) const;
  TableStoreStats stats() const;

 private:
  struct Extent {
    uint32_t slab;
    uint64_t begin, end;
  };
  struct Slab {
    UniqueFd fd;
    std::span<uint8_t> bytes;
    bool inserted = false;
    std::optional<Error> refused;       // by the kernel: nothing in it can be seen
    std::map<uint64_t, uint64_t> free;  // begin -> end
  };
  struct Quarantined {
    Extent extent;
    std::chrono::steady_clock::time_point until;
  };

  Result<Extent> allocate(uint64_t bytes);
  std::optional<Extent> find_free(uint64_t bytes);
  Result<void> add_slab(uint64_t bytes);
  void insert_slabs(std::unique_lock<std::mutex>& lock);
  void release(const Extent& extent);
  void reap_quarantine();
  bool evict_one(uint32_t keep);
  void unload_locked(uint32_t image);
  void show(const unwind_place& place);
  unwind_place& place_of(uint32_t image) { return maps_.places[image % maps_.places.size()]; }

  mutable std::mutex mutex_;
  Maps maps_;
  uint64_t max_bytes_;
  std::vector<Slab> slabs_;
  std::unordered_map<uint32_t, Extent> tables_;  // by image
  std::vector<Quarantined> quarantine_;
  TableStoreStats stats_;
};

}  // namespace cicada::bpf_source
