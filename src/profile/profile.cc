// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <algorithm>

namespace cicada::profile {
namespace {

// The id of `content` in `table`, appended if it is new.
template <typename Id, typename T, typename Equal>
Id intern_in(std::vector<T>& table, ContentIndex& index, uint64_t hash, Equal equal, const T& content) {
  return Id(index.find_or_append(
      hash, [&](uint32_t id) { return equal(table[id]); },
      [&] {
        CHECK(table.size() < Id::kNone);
        table.push_back(content);
        return static_cast<uint32_t>(table.size() - 1);
      }));
}

uint64_t hash_frame(const Frame& frame) {
  const uint64_t where = uint64_t{frame.image.value} << 32 | frame.address_space;
  const uint64_t what = uint64_t{frame.label.value} << 8 | static_cast<uint64_t>(frame.kind);
  return mix_hash(mix_hash(frame.address, where), what);
}

}  // namespace

StringId Profile::intern(std::string_view text) { return strings_.intern(text); }

ImageId Profile::intern_image(const Image& image) {
  const uint64_t hash = mix_hash(uint64_t{image.path.value} << 32 | image.build_id.value, static_cast<uint64_t>(image.kind));
  return intern_in<ImageId>(images_, image_index_, hash, [&](const Image& stored) { return stored == image; }, image);
}

FunctionId Profile::intern_function(const Function& function) {
  const uint64_t hash = mix_hash(uint64_t{function.name.value} << 32 | function.linkage_name.value, function.image.value);
  return intern_in<FunctionId>(functions_, function_index_, hash,
                               [&](const Function& stored) { return stored == function; }, function);
}

FrameId Profile::intern_frame(const Frame& frame) {
  const auto id = intern_in<FrameId>(frames_, frame_index_, hash_frame(frame),
                                     [&](const Frame& stored) { return stored == frame; }, frame);
  if (location_spans_.size() < frames_.size()) location_spans_.resize(frames_.size());
  return id;
}

StackId Profile::intern_stack(StackId parent, FrameId frame) {
  const uint64_t hash = mix_hash(uint64_t{parent.value} << 32 | frame.value, 1);
  const uint32_t depth = parent.valid() ? stacks_[parent.value].depth + 1 : 1;
  const auto same = [&](const Stack& stored) { return stored.parent == parent && stored.frame == frame; };
  return intern_in<StackId>(stacks_, stack_index_, hash, same, Stack{parent, frame, depth});
}

StackId Profile::intern_stack(StackId base, std::span<const FrameId> frames) {
  for (const FrameId frame : frames) base = intern_stack(base, frame);
  return base;
}

ProcessId Profile::intern_process(Pid pid, uint64_t start_ns) {
  Process process;
  process.pid = pid;
  process.start_ns = start_ns;
  const auto same = [&](const Process& stored) { return stored.pid == pid && stored.start_ns == start_ns; };
  return intern_in<ProcessId>(processes_, process_index_, mix_hash(static_cast<uint32_t>(pid), start_ns), same, process);
}

ThreadId Profile::intern_thread(ProcessId process, Tid tid) {
  Thread thread;
  thread.process = process;
  thread.tid = tid;
  thread.main = process.valid() && processes_[process.value].pid == tid;
  const auto same = [&](const Thread& stored) { return stored.process == process && stored.tid == tid; };
  return intern_in<ThreadId>(threads_, thread_index_, mix_hash(process.value, static_cast<uint32_t>(tid)), same, thread);
}

void Profile::append_sample(const Sample& sample) {
  CHECK(sample_count() < 0xffffffff);
  samples_.time_ns.push_back(sample.time_ns);
  samples_.thread.push_back(sample.thread);
  samples_.stack.push_back(sample.stack);
  samples_.value.push_back(sample.value);
  samples_.cpu.push_back(sample.cpu);
  samples_.kind.push_back(sample.kind);
  samples_.flags.push_back(sample.flags);
}

void Profile::reserve_samples(size_t count) {
  samples_.time_ns.reserve(count);
  samples_.thread.reserve(count);
  samples_.stack.reserve(count);
  samples_.value.reserve(count);
  samples_.cpu.reserve(count);
  samples_.kind.reserve(count);
  samples_.flags.reserve(count);
}

void Profile::append_samples(const SampleColumns& block) {
  const size_t count = block.time_ns.size();
  CHECK(count < 0xffffffff - sample_count());
  const auto append = [count](auto& column, const auto& more) {
    CHECK(more.size() == count);
    column.insert(column.end(), more.begin(), more.end());
  };
  append(samples_.time_ns, block.time_ns);
  append(samples_.thread, block.thread);
  append(samples_.stack, block.stack);
  append(samples_.value, block.value);
  append(samples_.cpu, block.cpu);
  append(samples_.kind, block.kind);
  append(samples_.flags, block.flags);
}

Sample Profile::sample(size_t index) const {
  return {samples_.time_ns[index], samples_.thread[index], samples_.stack[index], samples_.value[index],
          samples_.cpu[index],     samples_.kind[index],   samples_.flags[index]};
}

void Profile::set_locations(FrameId frame, std::span<const Location> locations) {
  LocationSpan& span = location_spans_[frame.value];
  if (locations.size() > span.count) {  // the earlier ones stay behind unused: frames are renamed once, if at all
    span.begin = static_cast<uint32_t>(locations_.size());
    locations_.insert(locations_.end(), locations.begin(), locations.end());
  } else {
    std::copy(locations.begin(), locations.end(), locations_.begin() + span.begin);
  }
  span.count = static_cast<uint32_t>(locations.size());
}

std::span<const Location> Profile::locations(FrameId frame) const {
  const LocationSpan& span = location_spans_[frame.value];
  return std::span(locations_).subspan(span.begin, span.count);
}

}  // namespace cicada::profile
