// SPDX-License-Identifier: Apache-2.0
// Finds the id of content that is stored in a table of its own: slots hold ids only, so the content is kept once. The caller
// brings the hash (base/seeded_hash.h), the comparison with a stored id, and the append.
//
// Open addressing, at most 3/4 full. Half the memory and a third of the time of unordered_map for the stacks of a recording
// (one node, one key copy and one pointer less each). Ids are handed out by `append` and never leave.
#pragma once
#include <cstdint>
#include <vector>

#include "base/seeded_hash.h"

namespace cicada::profile {

class ContentIndex {
 public:
  // equal(id) compares the content in question with a stored one; append() stores it and returns its new id.
  template <typename Equal, typename Append>
  uint32_t find_or_append(uint64_t hash, Equal equal, Append append) {
    if ((used_ + 1) * 4 > slots_.size() * 3) grow();
    const auto tag = static_cast<uint32_t>(hash ^ (hash >> 32));
    const size_t mask = slots_.size() - 1;
    for (size_t at = tag & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.id == kFree) {
        slot = {append(), tag};
        ++used_;
        return slot.id;
      }
      if (slot.tag == tag && equal(slot.id)) return slot.id;
    }
  }
  size_t size() const { return used_; }
  size_t bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr uint32_t kFree = 0xffffffff;
  struct Slot {
    uint32_t id = kFree;
    uint32_t tag = 0;
  };

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.id == kFree) continue;
      size_t at = slot.tag & mask;
      while (slots_[at].id != kFree) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace cicada::profile
