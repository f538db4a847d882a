// SPDX-License-Identifier: Apache-2.0
// Address spaces where code is mapped over other code (dlclose and dlopen, again and again). Of these the kernel side is told which version of the
// memory map its mappings are true for; where the map has another one at a sample, the walk is left to user space (bpf/map_version.bpf.h).
//
//   read()      the versions, before the mapping events up to now are drained …
//   confirm()   … and after they have been applied and published: what was mapped up to those versions, the kernel side knows
//
// Data that is mapped changes the version too, and defers walks for nothing until the next turn; so only these spaces, and not for ever.
// Threads: the tracker's.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "abi/map_version.h"
#include "abi/mapping.h"
#include "base/monotonic_clock.h"
#include "base/process_key.h"

namespace cicada::bpf_source {

class WatchedMaps {
 public:
  static constexpr size_t kMax = 64;  // a turn reads sixteen in 2 us
  // After the last replacement. Whoever replaces less often loses the callers of one walk or two each time: those of the first milliseconds.
  static constexpr uint64_t kWatchNs = 60'000'000'000;

  using ReadVersions = std::function<void(map_version_batch&)>;
  using Clock = std::function<uint64_t()>;
  WatchedMaps(ReadVersions read, std::span<address_space_state> states, Clock now_ns = monotonic_ns)
      : read_(std::move(read)), states_(states), now_ns_(std::move(now_ns)) {}

  // Code of this space was replaced.
  void watch(uint32_t address_space, Pid pid);
  void read();
  // Events up to `watermark_ns` were applied. `is_published`: nothing that was mapped over other code in a space waits to be published.
  void confirm(uint64_t watermark_ns, const std::function<bool(uint32_t address_space)>& is_published);
  size_t size() const { return watched_.size(); }

 private:
  struct Watched {
    map_version_query query;
    uint64_t until_ns;
  };
  void set_known(uint32_t address_space, uint64_t version);

  ReadVersions read_;
  std::span<address_space_state> states_;
  Clock now_ns_;
  std::vector<Watched> watched_;
  uint64_t read_ns_ = 0;
};

}  // namespace cicada::bpf_source
