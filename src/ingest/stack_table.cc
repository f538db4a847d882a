// SPDX-License-Identifier: Apache-2.0
#include "ingest/stack_table.h"

#include <algorithm>

#include "abi/frame.h"

namespace cicada::ingest {

using profile::Frame;
using profile::FrameId;
using profile::FrameKind;
using profile::StackId;

void StackTable::note_sampled(uint32_t address_space, uint32_t uid) { owners_.now.try_emplace(address_space, uid); }

void StackTable::add(const stack_record& record, std::span<const uint64_t> frames) {
  if (record.side == STACK_KERNEL) {
    std::vector<FrameId>& kernel = kernel_.now[record.hash];
    kernel.clear();
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) kernel.push_back(intern(*frame, record.address_space));
    return;
  }
  UserStack& user = user_.now[record.hash];
  user.stack = intern_user_stack(frames, {}, record.address_space);
  if (!frames.empty() && frame_kind_of(frames.back()) == FRAME_IMAGE) user.outermost_image = frame_image_of(frames.back());
}

StackId StackTable::intern_user_stack(std::span<const uint64_t> frames, std::span<const FrameId> inner, uint32_t address_space) {
  const uint32_t* owner = owners_.find(address_space);
  const uint32_t uid = owner == nullptr ? 0 : *owner;
  scratch_.clear();
  if (profile_.is_full(uid)) {
    Frame cut;
    cut.kind = FrameKind::kLabel;
    cut.label = profile_.intern("[too many different stacks]");
    scratch_.push_back(profile_.intern_frame(cut));
    return profile_.intern_stack(StackId(), scratch_);
  }
  const profile::Profile::Charge charge(profile_, uid);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) scratch_.push_back(intern(*frame, address_space));
  scratch_.insert(scratch_.end(), inner.begin(), inner.end());
  return profile_.intern_stack(StackId(), scratch_);
}

std::optional<StackId> StackTable::find_user(uint64_t user_hash) const {
  if (user_hash == 0) return StackId();
  const UserStack* found = user_.find(user_hash);
  return found == nullptr ? std::nullopt : std::optional(found->stack);
}

std::optional<StackId> StackTable::find_above(StackId user, uint64_t kernel_hash) {
  if (kernel_hash == 0) return user;
  const auto [at, added] = combined_.try_emplace(Pair{user, kernel_hash});
  if (added) {
    const auto* kernel = kernel_.find(kernel_hash);
    if (kernel == nullptr) {
      combined_.erase(at);
      return std::nullopt;
    }
    at->second = profile_.intern_stack(user, *kernel);
  }
  return at->second;
}

StackId StackTable::continue_user_stack(uint64_t user_hash, std::span<const uint64_t> rest, uint32_t address_space) {
  std::vector<FrameId> inner;
  const StackId found = find_user(user_hash).value_or(StackId());
  for (StackId at = found; at.valid(); at = profile_.stacks()[at.value].parent) inner.push_back(profile_.stacks()[at.value].frame);
  if (!rest.empty() && !inner.empty()) inner.pop_back();
  std::reverse(inner.begin(), inner.end());
  return intern_user_stack(rest, inner, address_space);
}

uint32_t StackTable::outermost_image(uint64_t user_hash) const {
  const UserStack* found = user_.find(user_hash);
  return found == nullptr ? 0 : found->outermost_image;
}

std::optional<profile::ImageId> StackTable::find_image(uint32_t image) const {
  const auto found = image_ids_.find(image);
  if (found == image_ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<uint32_t> StackTable::registry_id(profile::ImageId image) const {
  const auto found = registry_ids_.find(image.value);
  if (found == registry_ids_.end()) return std::nullopt;
  return found->second;
}

void StackTable::begin_generation() {
  user_.begin();
  kernel_.begin();
  owners_.begin();
}

void StackTable::rebase(profile::RowCopier& ids) {
  user_.before.clear();
  kernel_.before.clear();
  owners_.before.clear();
  for (auto& [hash, user] : user_.now) user.stack = ids.stack(user.stack);
  for (auto& [hash, frames] : kernel_.now) {
    for (FrameId& frame : frames) frame = ids.frame(frame);
  }
  combined_.clear();
  registry_ids_.clear();
  for (auto at = image_ids_.begin(); at != image_ids_.end();) {
    const auto copy = ids.find(at->second);
    if (!copy) {
      at = image_ids_.erase(at);
      continue;
    }
    at->second = *copy;
    registry_ids_.try_emplace(copy->value, at->first);
    ++at;
  }
  jit_spaces_.clear();
  for (const Frame& frame : ids.into().frames()) {
    if (frame.kind == FrameKind::kJit) jit_spaces_.insert(frame.address_space);
  }
}

FrameId StackTable::intern(uint64_t frame, uint32_t address_space) {
  Frame out;
  switch (frame_kind_of(frame)) {
    case FRAME_IMAGE:
      out.kind = FrameKind::kNative;
      out.image = intern_image(frame_image_of(frame));
      out.address = frame_link_address_of(frame);
      break;
    case FRAME_KERNEL:
      out.kind = FrameKind::kKernel;
      out.address = frame_address_of(frame);
      break;
    case FRAME_JIT:
      out.kind = FrameKind::kJit;
      jit_spaces_.insert(address_space);
      out.address_space = address_space;
      out.address = frame_address_of(frame);
      break;
    default:
      out.kind = FrameKind::kUnknown;
      out.address_space = address_space;
      out.address = frame_address_of(frame);
      break;
  }
  return profile_.intern_frame(out);
}

profile::ImageId StackTable::intern_image(uint32_t image) {
  const auto [at, added] = image_ids_.try_emplace(image);
  if (added) {
    profile::Image out;
    if (const auto info = images_.find(image)) {
      out.path = profile_.intern(info->path);
      out.build_id = profile_.intern(info->build_id);
      out.kind = info->kind;
    }
    // Equal path and build-id is one image of the profile, also when the registry has two ids (same file, two mounts).
    at->second = profile_.intern_image(out);
    registry_ids_.try_emplace(at->second.value, image);
  }
  return at->second;
}

}  // namespace cicada::ingest
