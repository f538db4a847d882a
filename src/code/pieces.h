// SPDX-License-Identifier: Apache-2.0
// Much code without CFI is read in pieces, when they are asked for: each with some code around it, which may jump into it or call it.
#pragma once
#include <cstdint>
#include <vector>

#include "base/address.h"

namespace cicada::code {

class Pieces {
 public:
  // Compiled code is known by what is near, so small pieces do; hand-written functions reach far: pieces of 64 KiB lost 1.2 % of libx265's rules.
  static constexpr uint64_t kBytes = 256 << 10, kAroundBytes = 64 << 10, kSmallBytes = 64 << 10, kSmallAroundBytes = 32 << 10;
  static constexpr uint64_t kSmallShare = 8;  // small pieces where CFI covers less than an eighth: no codec's library has so little

  Pieces() = default;
  // `all`: ascending, disjoint, from `base` on; CFI covers `covered_bytes` elsewhere.
  Pieces(std::vector<Range<LinkAddr>> all, LinkAddr base, uint64_t covered_bytes);

  const std::vector<Range<LinkAddr>>& all() const { return all_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t number_of(LinkAddr address) const { return (address - base_) / bytes_; }
  // Also of what is not in all(); within 4 GiB of `base`.
  Range<LinkAddr> range_of(uint64_t number) const;
  // What is looked at to read it: ascending, disjoint.
  std::vector<Range<LinkAddr>> code_of(uint64_t number) const;

 private:
  std::vector<Range<LinkAddr>> all_;
  LinkAddr base_;
  uint64_t bytes_ = kBytes, around_bytes_ = kAroundBytes;
};

}  // namespace cicada::code
