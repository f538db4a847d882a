// SPDX-License-Identifier: Apache-2.0
#include "process/tracking/address_space.h"

#include <algorithm>
#include <utility>

#include "process/tracking/address_blocks.h"

namespace cicada::process {
namespace {

// Whether `right`, which begins where `left` ends, goes on with the same thing.
bool continues(const Mapping& left, const Mapping& right) {
  if (left.range.end != right.range.begin || left.binding != right.binding) return false;
  switch (left.binding.state) {
    case BindingState::kImage:
    case BindingState::kJit: return true;  // bias says it all
    case BindingState::kPending:
    case BindingState::kUnknown: return left.offset + left.range.size() == right.offset;
  }
  return false;
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
  if (at != mappings_.begin()) {
    const auto before = std::prev(at);
    Mapping& left = before->second;
    if (range.begin < left.range.end) {
      if (range.end < left.range.end) {  // a piece remains on the right
        Mapping right = left;
        right.offset = left.offset + (range.end - left.range.begin);
        right.range.begin = range.end;
        mappings_.emplace(range.end, right);
      }
      left.range.end = range.begin;
      at = mappings_.lower_bound(range.begin);
    }
  }
  while (at != mappings_.end() && at->first < range.end) {
    if (range.end < at->second.range.end) {
      Mapping right = at->second;
      right.offset = right.offset + (range.end - right.range.begin);
      right.range.begin = range.end;
      mappings_.erase(at);
      mappings_.emplace(range.end, right);
      return;
    }
    at = mappings_.erase(at);
  }
}

bool AddressSpace::insert(const Mapping& mapping) {
  if (mapping.range.empty()) return false;
  // Unchanged if one mapping already says the same of the whole range: an mprotect back and forth, a second scan.
  const auto after = mappings_.upper_bound(mapping.range.begin);
  if (after != mappings_.begin()) {
    const Mapping& known = std::prev(after)->second;
    Mapping part = known;
    part.offset = known.offset + (mapping.range.begin - known.range.begin);
    part.range = mapping.range;
    if (mapping.range.end <= known.range.end && same_mapping(part, mapping)) return false;
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
    Mapping part = at->second;
    part.range = {std::max(part.range.begin, range.begin), std::min(part.range.end, range.end)};
    if (part.range.empty()) continue;
    part.offset = at->second.offset + (part.range.begin - at->second.range.begin);
    found.push_back(part);
  }
  return found;
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
