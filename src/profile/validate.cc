// SPDX-License-Identifier: Apache-2.0
// What every profile promises, checked in one pass over its tables. What is read from files ends with it (sink/profile_reader.h).
#include "profile/snapshot.h"

namespace cicada::profile {
namespace {

template <typename Id>
bool in_table(Id id, size_t size) {
  return id.value < size;
}
template <typename Id>
bool none_or_in_table(Id id, size_t size) {
  return !id.valid() || id.value < size;
}

template <typename... Args>
Error broken(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorKind::kCorrupt, format, std::forward<Args>(args)...);
}

}  // namespace

Result<void> ProfileSnapshot::validate() const {
  const size_t strings = strings_.size();
  for (size_t i = 0; i < images_.size(); ++i) {
    if (!none_or_in_table(images_[i].path, strings) || !none_or_in_table(images_[i].build_id, strings))
      return broken("image {}: string out of range", i);
    if (images_[i].kind > ImageKind::kJit) return broken("image {}: kind {}", i, static_cast<int>(images_[i].kind));
  }
  for (size_t i = 0; i < functions_.size(); ++i) {
    const Function& function = functions_[i];
    if (!none_or_in_table(function.name, strings) || !none_or_in_table(function.linkage_name, strings))
      return broken("function {}: string out of range", i);
    if (!none_or_in_table(function.image, images_.size())) return broken("function {}: no image {}", i, function.image.value);
  }
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (!in_table(place.function, functions_.size())) return broken("place {}: no function {}", i, place.function.value);
    if (!none_or_in_table(place.file, strings)) return broken("place {}: no string {}", i, place.file.value);
    if (place.outer.valid() && place.outer.value >= i) return broken("place {}: {} around it does not stand before it", i, place.outer.value);
    const uint32_t depth = place.outer.valid() ? places_[place.outer.value].depth + 1 : 1;
    if (place.depth != depth) return broken("place {}: depth {} instead of {}", i, place.depth, depth);
  }
  if (place_of_frame_.size() > frames_.size()) return broken("{} frames, {} with places", frames_.size(), place_of_frame_.size());
  for (size_t i = 0; i < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    if (frame.kind > FrameKind::kLabel) return broken("frame {}: kind {}", i, static_cast<int>(frame.kind));
    if (!none_or_in_table(frame.image, images_.size())) return broken("frame {}: no image {}", i, frame.image.value);
    if (!none_or_in_table(frame.label, strings)) return broken("frame {}: no string {}", i, frame.label.value);
    if (!none_or_in_table(place(FrameId(i)), places_.size())) return broken("frame {}: no place {}", i, place(FrameId(i)).value);
  }
  for (size_t i = 0; i < stacks_.size(); ++i) {
    const Stack& stack = stacks_[i];
    if (!in_table(stack.frame, frames_.size())) return broken("stack {}: no frame {}", i, stack.frame.value);
    if (stack.parent.valid() && stack.parent.value >= i) return broken("stack {}: parent {} does not stand before it", i, stack.parent.value);
    const uint32_t depth = stack.parent.valid() ? stacks_[stack.parent.value].depth + 1 : 1;
    if (stack.depth != depth) return broken("stack {}: depth {} instead of {}", i, stack.depth, depth);
  }
  for (size_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    for (const StringId id : {process.name, process.cmdline, process.cgroup})
      if (!none_or_in_table(id, strings)) return broken("process {}: no string {}", i, id.value);
  }
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (!in_table(threads_[i].process, processes_.size())) return broken("thread {}: no process {}", i, threads_[i].process.value);
    if (!none_or_in_table(threads_[i].name, strings)) return broken("thread {}: no string {}", i, threads_[i].name.value);
  }
  for (size_t i = 0; i < label_sets_.size(); ++i) {
    const LabelSpan& span = label_sets_[i];
    if (uint64_t{span.begin} + span.count > labels_.size()) return broken("label set {}: labels out of range", i);
    for (const Label& label : labels(LabelSetId(i)))
      if (!in_table(label.key, strings) || !none_or_in_table(label.value, strings)) return broken("label set {}: string out of range", i);
  }
  if (header.events.empty() || header.events.size() > 256) return broken("{} events", header.events.size());
  const size_t count = samples_.size();
  for (size_t i = 0; i < count; ++i) {
    if (!in_table(samples_.thread[i], threads_.size())) return broken("sample {}: no thread {}", i, samples_.thread[i].value);
    if (!none_or_in_table(samples_.stack[i], stacks_.size())) return broken("sample {}: no stack {}", i, samples_.stack[i].value);
    if (!none_or_in_table(samples_.labels[i], label_sets_.size())) return broken("sample {}: no label set {}", i, samples_.labels[i].value);
    if (samples_.event[i].value >= header.events.size()) return broken("sample {}: no event {}", i, samples_.event[i].value);
    if (end_reason_of(samples_.state[i]) >= END_REASON_COUNT) return broken("sample {}: end reason {}", i, end_reason_of(samples_.state[i]));
  }
  return {};
}

}  // namespace cicada::profile
