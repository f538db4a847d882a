// SPDX-License-Identifier: Apache-2.0
#include "ingest/stale_stacks.h"

#include <algorithm>
#include <vector>

#include "abi/frame.h"
#include "ingest/stack_table.h"

namespace cicada::ingest {
namespace {

using process::ImageBinding;
using process::BindingState;
using process::StaleMapping;
using profile::Frame;
using profile::FrameKind;

// Where a frame that was placed so is in the process; nothing: it was not placed so.
std::optional<RuntimeAddr> address_in(const StackTable& stacks, const Frame& frame, const ImageBinding& binding, uint32_t address_space) {
  if (binding.state == BindingState::kImage && frame.kind == FrameKind::kNative && stacks.find_image(binding.image) == frame.image) {
    return RuntimeAddr(frame.address + binding.bias);
  }
  if (binding.state == BindingState::kJit && frame.kind == FrameKind::kJit && frame.address_space == address_space) {
    return RuntimeAddr(frame.address);
  }
  return std::nullopt;
}

// An address that this frame may have been found at, with a mapping that was not there any more.
std::optional<RuntimeAddr> suspect_address(const StackTable& stacks, const Frame& frame, std::span<const StaleMapping> stale,
                                           uint32_t address_space) {
  for (const StaleMapping& r : stale) {
    const auto address = address_in(stacks, frame, r.was, address_space);
    if (address && r.range.contains(*address)) return address;
  }
  return std::nullopt;
}

// What was there instead: the newest. Null: nothing was replaced there.
const ImageBinding* newest_at(std::span<const StaleMapping> stale, RuntimeAddr address) {
  const StaleMapping* newest = nullptr;
  for (const StaleMapping& r : stale) {
    if (r.range.contains(address) && (newest == nullptr || newest->since_ns <= r.since_ns)) newest = &r;
  }
  return newest != nullptr ? &newest->now : nullptr;
}

uint64_t to_frame(const ImageBinding& binding, RuntimeAddr address) {
  switch (binding.state) {
    case BindingState::kImage: return frame_in_image(binding.image, address.value - binding.bias);
    case BindingState::kJit: return frame_at(FRAME_JIT, address.value);
    case BindingState::kPending:
    case BindingState::kUnknown: break;
  }
  return frame_at(FRAME_UNKNOWN, address.value);
}

}  // namespace

std::optional<CorrectedStack> correct_stale(StackTable& stacks, profile::Profile& profile, profile::StackId user,
                                               std::span<const StaleMapping> stale, uint32_t address_space) {
  std::vector<profile::FrameId> kept;  // leaf first
  for (profile::StackId at = user; at.valid(); at = profile.stacks()[at.value].parent) {
    const profile::FrameId id = profile.stacks()[at.value].frame;
    const Frame frame = profile.frames()[id.value];
    const auto address = suspect_address(stacks, frame, stale, address_space);
    const ImageBinding* there = address ? newest_at(stale, *address) : nullptr;
    if (there == nullptr || address_in(stacks, frame, *there, address_space) == address) {
      kept.push_back(id);
      continue;
    }
    kept.push_back(stacks.intern(to_frame(*there, *address), address_space));
    std::reverse(kept.begin(), kept.end());
    return CorrectedStack{profile.intern_stack(profile::StackId(), kept), there->state == BindingState::kPending};
  }
  return std::nullopt;
}

}  // namespace cicada::ingest
