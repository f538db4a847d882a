// SPDX-License-Identifier: Apache-2.0
#include "code/pieces.h"

#include <algorithm>

#include "code/executable_ranges.h"

namespace cicada::code {

Pieces::Pieces(std::vector<Range<LinkAddr>> all, LinkAddr base, uint64_t covered_bytes) : all_(std::move(all)), base_(base) {
  if (covered_bytes >= total_bytes(all_) / (kSmallShare - 1)) return;
  bytes_ = kSmallBytes;
  around_bytes_ = kSmallAroundBytes;
}

Range<LinkAddr> Pieces::range_of(uint64_t number) const {
  return {base_ + number * bytes_, base_ + std::min<uint64_t>((number + 1) * bytes_, UINT32_MAX)};
}

std::vector<Range<LinkAddr>> Pieces::code_of(uint64_t number) const {
  const Range<LinkAddr> piece = range_of(number);
  const LinkAddr begin = piece.begin - std::min(piece.begin - base_, around_bytes_), end = piece.end + std::min(UINT64_MAX - piece.end.value, around_bytes_);
  std::vector<Range<LinkAddr>> code;
  auto range = std::lower_bound(all_.begin(), all_.end(), begin, [](const Range<LinkAddr>& at, LinkAddr wanted) { return at.end <= wanted; });
  for (; range != all_.end() && range->begin < end; ++range) code.push_back({std::max(range->begin, begin), std::min(range->end, end)});
  return code;
}

}  // namespace cicada::code
