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

// An address that this frame may have been found at, with a mapping that was not there at `time_ns`.
std::optional<RuntimeAddr> suspect_address(const StackTable& stacks, const Frame& frame, std::span<const StaleMapping> stale,
                                           uint32_t address_space, uint64_t time_ns) {
  for (const StaleMapping& r : stale) {
    const auto address = address_in(stacks, frame, r.since_ns <= time_ns ? r.was : r.now, address_space);
    if (address && r.range.contains(*address)) return address;
  }
  return std::nullopt;
}

// What was there at `time_ns`: the newest that came before, else what the oldest that came later has replaced. Null: no replacement there.
const ImageBinding* binding_at(std::span<const StaleMapping> stale, RuntimeAddr address, uint64_t time_ns) {
  const StaleMapping* before = nullptr;
  const StaleMapping* after = nullptr;
  for (const StaleMapping& r : stale) {
    if (!r.range.contains(address)) continue;
    if (r.since_ns <= time_ns) {
      if (before == nullptr || before->since_ns <= r.since_ns) before = &r;
    } else if (after == nullptr || r.since_ns < after->since_ns) {
      after = &r;
    }
  }
  if (before != nullptr) return &before->now;
  return after != nullptr ? &after->was : nullptr;
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
                                               std::span<const StaleMapping> stale, uint32_t address_space, uint64_t time_ns) {
  std::vector<profile::FrameId> kept;  // leaf first
  for (profile::StackId at = user; at.valid(); at = profile.stacks()[at.value].parent) {
    const profile::FrameId id = profile.stacks()[at.value].frame;
    const Frame frame = profile.frames()[id.value];
    const auto address = suspect_address(stacks, frame, stale, address_space, time_ns);
    const ImageBinding* there = address ? binding_at(stale, *address, time_ns) : nullptr;
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
