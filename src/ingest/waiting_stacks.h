// SPDX-License-Identifier: Apache-2.0
// Copied stacks on their way through the deferred unwinder, by owner, within a budget of bytes.
//
//   add ──▶ waiting ──take──▶ walked ──▶ forget
//              ▲                 │ a table is missing
//              └──ready── parked ◀┘
//
// When the budget is used up, the owner with the most makes room: the newest of those parked for the image that most of his bytes wait for,
// since they wait longest; without any, the newest that waits; if that is who asks, he is refused. So neither a slow table nor an owner
// keeps others out. Threads: one at a time.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "abi/records.h"
#include "base/byte_pool.h"

namespace cicada::ingest {

struct UnwindJob {
  sample_record sample;
  uint64_t arrived_ns = 0;  // as PendingSample
  BytePool::Copy record;    // unwind_request, its copy of the stack included
  const unwind_request& start() const { return *reinterpret_cast<const unwind_request*>(record.data()); }
  uint32_t owner() const { return sample.uid; }
};

class WaitingStacks {
 public:
  using Image = uint32_t;
  static constexpr size_t kJobBytes = 256;  // that each takes beside its record

  explicit WaitingStacks(size_t max_bytes) : max_bytes_(max_bytes) {}

  // False: refused. `dropped`: who made room.
  bool add(UnwindJob job, std::vector<UnwindJob>& dropped);
  // Of what waits, the oldest, which still count: at least one and then as many as have so many bytes.
  std::vector<UnwindJob> take(uint32_t owner, size_t most, size_t most_bytes);
  void park(Image image, UnwindJob job);
  // Those parked for the image wait again. Whose they are.
  std::vector<uint32_t> ready(Image image);
  // One that was taken is finished.
  void forget(const UnwindJob& job);
  // All that waits or is parked, of one owner or of all; no longer counted.
  std::vector<UnwindJob> take_all(std::optional<uint32_t> owner = {});
  // The same of what is parked for an image.
  std::vector<UnwindJob> take_parked(Image image);
  // … of what is parked and arrived before.
  std::vector<UnwindJob> take_parked_before(uint64_t arrived_ns);

  bool waits(uint32_t owner) const;
  bool empty() const { return owners_.empty(); }  // nothing is taken, either
  // Of what waits or is parked; UINT64_MAX: nothing does.
  uint64_t first_arrival_ns() const;

 private:
  using Jobs = std::multimap<uint64_t, UnwindJob>;  // by arrival
  struct Parked {
    Jobs jobs;
    size_t bytes = 0;
  };
  struct Owner {
    Jobs waiting;
    std::map<Image, Parked> parked;
    size_t bytes = 0, count = 0;  // of these, and of what is taken
  };
  static size_t cost(const UnwindJob& job) { return job.record.size() + kJobBytes; }
  std::optional<UnwindJob> drop(Owner& owner, bool waiting_too);
  void subtract(uint32_t owner, size_t cost);

  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::map<uint32_t, Owner> owners_;
};

}  // namespace cicada::ingest
