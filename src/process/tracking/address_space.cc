// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/address_space.h"

#include <algorithm>
#include <utility>

#include "process/tracking/address_blocks.h"

namespace cicada::process {
namespace {

// The mapping, of this part of its range only.
Mapping part_of(Mapping mapping, Range<RuntimeAddr> part) {
  mapping.offset = mapping.offset + (part.begin - mapping.range.begin);
  mapping.range = part;
  return mapping;
}

// Whether `right`, which begins where `left` ends, goes on with the same thing. A bias says it all.
bool continues(const Mapping& left, const Mapping& right) {
  return left.range.end == right.range.begin && left.binding == right.binding &&
         (left.published() || left.offset + left.range.size() == right.offset);
}

bool same_mapping(const Mapping& a, const Mapping& b) {
  return a.range == b.range && a.binding == b.binding && (a.published() || a.offset == b.offset);
}

mapping_value to_value(const Mapping& mapping) {
  mapping_value value{};
  value.begin = mapping.range.begin.value;
  value.end = mapping.range.end.value;
  const bool image = mapping.binding.state == BindingState::kImage;
  value.bias = image ? mapping.binding.bias : 0;
  value.image = image ? mapping.binding.image : 0;
  value.flags = image ? 0u : static_cast<uint32_t>(MAPPING_JIT);
  return value;
}

}  // namespace

std::optional<Mapping> resolve_mapping(MappedFile mapped, ImageSource& images) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (mapped.path == "[vsyscall]" || mapped.range.begin.value >> 63 != 0) return std::nullopt;
  if (mapped.path.ends_with(kDeleted)) {
    mapped.deleted = true;
    mapped.path.remove_suffix(kDeleted.size());
  }
  return Mapping{mapped.range, mapped.offset, images.resolve(mapped)};
}

void AddressSpace::erase(Range<RuntimeAddr> range) {
  auto at = mappings_.lower_bound(range.begin);
  if (at != mappings_.begin() && range.begin < std::prev(at)->second.range.end) --at;
  while (at != mappings_.end() && at->first < range.end) {
    const Mapping old = at->second;
    at = mappings_.erase(at);
    for (const Range<RuntimeAddr> kept : {Range<RuntimeAddr>{old.range.begin, range.begin}, {range.end, old.range.end}}) {
      if (!kept.empty()) mappings_.emplace(kept.begin, part_of(old, kept));
    }
  }
}

bool AddressSpace::insert(const Mapping& mapping) {
  if (mapping.range.empty()) return false;
  // Unchanged if one mapping already says the same of the whole range: an mprotect back and forth, a second scan.
  const auto after = mappings_.upper_bound(mapping.range.begin);
  if (after != mappings_.begin()) {
    const Mapping& known = std::prev(after)->second;
    if (mapping.range.end <= known.range.end && same_mapping(part_of(known, mapping.range), mapping)) return false;
  }
  erase(mapping.range);
  waits_ |= mapping.binding.state == BindingState::kPending;
  Mapping merged = mapping;
  auto next = mappings_.lower_bound(mapping.range.begin);
  if (next != mappings_.end() && continues(merged, next->second)) {
    merged.range.end = next->second.range.end;
    next = mappings_.erase(next);
  }
  if (next != mappings_.begin()) {
    Mapping& left = std::prev(next)->second;
    if (continues(left, merged)) {
      left.range.end = merged.range.end;
      return true;
    }
  }
  mappings_.emplace(merged.range.begin, merged);
  return true;
}

bool AddressSpace::re_resolve(std::span<const uint32_t> images, ImageSource& source) {
  if (!std::exchange(waits_, false)) return false;
  std::vector<Mapping> again;
  for (const auto& [begin, mapping] : mappings_) {
    if (mapping.binding.state != BindingState::kPending) continue;
    if (std::binary_search(images.begin(), images.end(), mapping.binding.image)) again.push_back(mapping);
    else waits_ = true;
  }
  bool changed = false;
  for (Mapping& mapping : again) {
    mapping.binding = source.re_resolve(mapping.binding.image, mapping.range, mapping.offset);
    changed |= insert(mapping);
  }
  return changed;
}

std::vector<Mapping> AddressSpace::mappings() const {
  std::vector<Mapping> all;
  all.reserve(mappings_.size());
  for (const auto& [begin, mapping] : mappings_) all.push_back(mapping);
  return all;
}

bool AddressSpace::maps(uint32_t image) const {
  return std::any_of(mappings_.begin(), mappings_.end(), [&](const auto& entry) { return entry.second.binding.state == BindingState::kImage && entry.second.binding.image == image; });
}

std::optional<mapping_value> AddressSpace::find(RuntimeAddr address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return std::nullopt;
  const Mapping& mapping = std::prev(after)->second;
  if (!mapping.range.contains(address) || !mapping.published()) return std::nullopt;
  return to_value(mapping);
}

std::vector<Mapping> AddressSpace::find_in(Range<RuntimeAddr> range) const {
  std::vector<Mapping> found;
  auto at = mappings_.upper_bound(range.begin);
  if (at != mappings_.begin()) --at;
  for (; at != mappings_.end() && at->first < range.end; ++at) {
    const Mapping& mapping = at->second;
    const Range<RuntimeAddr> part{std::max(mapping.range.begin, range.begin), std::min(mapping.range.end, range.end)};
    if (!part.empty()) found.push_back(part_of(mapping, part));
  }
  return found;
}

std::vector<Mapping> AddressSpace::gone_since(const AddressSpace& former, size_t most) const {
  std::vector<Mapping> gone;
  auto there = mappings_.begin();
  for (const auto& [begin, was] : former.mappings_) {
    if (was.binding.state != BindingState::kImage && was.binding.state != BindingState::kPending) continue;
    RuntimeAddr at = begin;
    while (there != mappings_.end() && there->second.range.end <= at) ++there;
    for (auto next = there; at < was.range.end; ++next) {
      const bool ends_here = next == mappings_.end() || was.range.end <= next->first;
      const RuntimeAddr gap_end = ends_here ? was.range.end : next->first;
      if (at < gap_end) {
        if (gone.size() == most) return gone;
        gone.push_back(part_of(was, {at, gap_end}));
      }
      if (ends_here) break;
      at = std::max(at, next->second.range.end);
    }
  }
  return gone;
}

bool AddressSpace::operator==(const AddressSpace& other) const {
  return std::equal(mappings_.begin(), mappings_.end(), other.mappings_.begin(), other.mappings_.end(),
                    [](const auto& a, const auto& b) { return same_mapping(a.second, b.second); });
}

std::vector<PublishedBlock> AddressSpace::blocks() const {
  std::vector<Range<RuntimeAddr>> ranges;
  std::vector<mapping_value> values;
  ranges.reserve(mappings_.size());
  values.reserve(mappings_.size());
  for (const auto& [begin, mapping] : mappings_) {
    if (!mapping.published()) continue;
    ranges.push_back(mapping.range);
    values.push_back(to_value(mapping));
  }
  std::vector<PublishedBlock> blocks;
  const std::vector<AddressBlock> cover = minimal_blocks(ranges);
  blocks.reserve(cover.size());
  for (const AddressBlock& block : cover) {
    blocks.push_back({block.base, block.prefix_bits, values[block.range]});
  }
  return blocks;
}

}  // namespace cicada::process
