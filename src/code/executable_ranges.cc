// SPDX-License-Identifier: Apache-2.0
#include "code/executable_ranges.h"

#include <algorithm>

namespace cicada::code {

std::optional<ExecutableRanges> ExecutableRanges::find(const elf::ElfFile& elf) {
  std::vector<Range<LinkAddr>> ranges;
  for (const elf::Segment& segment : elf.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0 || segment.memory_size == 0) continue;
    if (segment.memory_size > ~segment.address.value) return std::nullopt;
    ranges.push_back({segment.address, segment.address + segment.memory_size});
  }
  return merge(std::move(ranges));
}

std::optional<ExecutableRanges> ExecutableRanges::find_code(const elf::ElfFile& elf) {
  std::vector<Range<LinkAddr>> ranges;
  for (const elf::Section& section : elf.sections()) {
    constexpr uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
    if ((section.flags & kCode) != kCode || section.size == 0 || section.size > ~section.address.value) continue;
    ranges.push_back({section.address, section.address + section.size});
  }
  return ranges.empty() ? find(elf) : merge(std::move(ranges));
}

uint64_t ExecutableRanges::total_bytes() const { return code::total_bytes(ranges_); }

uint64_t total_bytes(const std::vector<Range<LinkAddr>>& ranges) {
  uint64_t total = 0;
  for (const Range<LinkAddr>& range : ranges) total += range.size();
  return total;
}

std::vector<Range<LinkAddr>> subtract(const std::vector<Range<LinkAddr>>& ranges, const std::vector<Range<LinkAddr>>& others) {
  std::vector<Range<LinkAddr>> rest;
  auto next = others.begin();
  LinkAddr done;
  for (const Range<LinkAddr>& range : ranges) {
    done = std::max(done, range.begin);
    for (; next != others.end() && next->begin < range.end; ++next) {
      if (done < next->begin) rest.push_back({done, next->begin});
      done = std::max(done, next->end);
    }
    if (done < range.end) rest.push_back({done, range.end});
  }
  return rest;
}

std::optional<ExecutableRanges> ExecutableRanges::merge(std::vector<Range<LinkAddr>> ranges) {
  std::sort(ranges.begin(), ranges.end());
  size_t kept = 0;
  for (const auto& range : ranges) {
    if (kept != 0 && range.begin <= ranges[kept - 1].end) {
      ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
  constexpr uint64_t kMaxSpan = 0xffff0000;  // the base is rounded down to 64 KiB
  if (!ranges.empty() && ranges.back().end - ranges.front().begin > kMaxSpan) return std::nullopt;
  ExecutableRanges merged;
  merged.ranges_ = std::move(ranges);
  return merged;
}

bool ExecutableRanges::contains(Range<LinkAddr> code, size_t& hint) const {
  if (code.empty()) return false;
  if (hint < ranges_.size() && ranges_[hint].begin <= code.begin && code.end <= ranges_[hint].end) [[likely]] return true;
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code.begin,
                                      [](LinkAddr a, const Range<LinkAddr>& range) { return a < range.begin; });
  if (after == ranges_.begin()) return false;
  hint = static_cast<size_t>(after - ranges_.begin()) - 1;
  return code.end <= ranges_[hint].end;
}

}  // namespace cicada::code
