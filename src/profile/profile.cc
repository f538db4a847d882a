// SPDX-License-Identifier: Apache-2.0
#include "profile/profile.h"

#include <algorithm>
#include <atomic>

#include "base/diagnostics.h"

namespace cicada::profile {
namespace {

// The id of `content` in `table`, appended if it is new.
template <typename Id, typename T, typename Equal>
Id intern_in(Log<T>& table, ContentIndex& index, uint64_t hash, Equal equal, const T& content) {
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

uint64_t next_lineage() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Profile::Profile() { lineage_ = next_lineage(); }

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
  return intern_in<FrameId>(frames_, frame_index_, hash_frame(frame), [&](const Frame& stored) { return stored == frame; }, frame);
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

LabelSetId Profile::intern_labels(std::span<const Label> labels) {
  std::vector<Label> sorted(labels.begin(), labels.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const Label& a, const Label& b) { return a.key < b.key; });
  std::vector<Label> set;
  for (const Label& label : sorted) {
    if (!set.empty() && set.back().key == label.key) set.back() = label;
    else set.push_back(label);
  }
  if (set.empty()) return {};
  set.resize(std::min(set.size(), kMaxLabels));
  uint64_t hash = set.size();
  for (const Label& label : set) hash = mix_hash(hash, uint64_t{label.key.value} << 32 | label.value.value);
  return LabelSetId(label_index_.find_or_append(
      hash,
      [&](uint32_t id) {
        const auto stored = this->labels(LabelSetId(id));
        return std::equal(stored.begin(), stored.end(), set.begin(), set.end());
      },
      [&] {
        const auto begin = static_cast<uint32_t>(labels_.append_together(set));
        label_sets_.push_back({begin, static_cast<uint32_t>(set.size())});
        return static_cast<uint32_t>(label_sets_.size() - 1);
      }));
}

void Profile::append_samples(std::span<const Sample> rows) {
  CHECK(rows.size() < 0xffffffff - sample_count());
  samples_.append(rows, header.events);
  for (const Sample& sample : rows) {
    const size_t event = sample.event.value;
    if (event >= totals_.size()) {
      totals_.resize(event + 1);
      sums_.resize(event + 1);
    }
    ++totals_[event].samples;
    if (sample.end_reason < END_REASON_COUNT) ++totals_[event].end_reasons[sample.end_reason];
    if (sample.idle) continue;
    totals_[event].value += sample.value;
    const size_t row = sample.stack.valid() ? size_t{sample.stack.value} + 1 : 0;
    StackSums& sums = sums_[event];
    while (sums.size() <= row) sums.push_back({});
    StackSum& sum = sums.edit(row);
    ++sum.samples;
    sum.value += sample.value;
  }
}

size_t Profile::drop_samples(size_t at_most) {
  const size_t count = std::min(at_most, sample_count()) >> Samples::kShift << Samples::kShift;
  for (size_t i = 0; i < count; ++i) {
    const Sample gone = sample(i);
    EventSums& totals = totals_[gone.event.value];
    --totals.samples;
    if (gone.end_reason < END_REASON_COUNT) --totals.end_reasons[gone.end_reason];
    if (gone.idle) continue;
    totals.value -= gone.value;
    StackSum& sum = sums_[gone.event.value].edit(gone.stack.valid() ? size_t{gone.stack.value} + 1 : 0);
    --sum.samples;
    sum.value -= gone.value;
  }
  return samples_.drop_front(count);
}

size_t Profile::table_bytes() const {
  size_t bytes = strings_.bytes() + images_.bytes() + functions_.bytes() + frames_.bytes() + place_of_frame_.bytes() + places_.bytes() + stacks_.bytes() +
                 processes_.bytes() + threads_.bytes() + label_sets_.bytes() + labels_.bytes() + renamed_frames_.bytes() + described_processes_.bytes() +
                 described_threads_.bytes();
  for (const StackSums& sums : sums_) bytes += sums.bytes();
  for (const ContentIndex* index : {&string_index_, &image_index_, &function_index_, &frame_index_, &place_index_, &stack_index_, &process_index_, &thread_index_, &label_index_})
    bytes += index->bytes();
  return bytes;
}

size_t Profile::row_bytes() const {
  constexpr size_t kIndexed = 12;  // slots of an index are half full
  constexpr size_t kFrame = 160;   // to name a frame, to show it and to write it, for a while
  const auto rows = [](const auto& log, size_t more) { return log.size() * (sizeof(log[0]) + more); };
  return strings_.text_bytes() + strings_.size() * (sizeof(std::string_view) + kIndexed) + rows(functions_, kIndexed) + rows(places_, kIndexed) +
         rows(frames_, kIndexed + kFrame) + rows(place_of_frame_, 0) + rows(stacks_, kIndexed + sizeof(StackSum)) + rows(renamed_frames_, 0);
}

bool Profile::is_full(uint32_t user) const {
  const auto found = bytes_of_users_.find(user);
  if (user == 0 || found == bytes_of_users_.end() || found->second < kMaxBytesOfUser) return false;
  diagnostics().warn(fmt::format("user {}", user), "stacks and their names take more than {} MiB; the further ones are left out", kMaxBytesOfUser >> 20);
  return true;
}

void Profile::set_process(ProcessId id, const Process& process) {
  if (processes_[id.value] == process) return;
  processes_.edit(id.value) = process;
  described_processes_.push_back(id);
}

void Profile::set_thread(ThreadId id, const Thread& thread) {
  if (threads_[id.value] == thread) return;
  threads_.edit(id.value) = thread;
  described_threads_.push_back(id);
}

PlaceId Profile::intern_place(PlaceId outer, const Location& location) {
  Place place{location, outer, 1};
  if (outer.valid()) place.depth = places_[outer.value].depth + 1;
  CHECK(place.depth <= kMaxLocations);
  uint64_t hash = mix_hash(outer.value, uint64_t{location.function.value} << 32 | location.file.value);
  hash = mix_hash(hash, uint64_t{location.line} << 16 | uint64_t{static_cast<uint8_t>(location.source)} << 1 | uint64_t{location.inlined});
  return intern_in<PlaceId>(places_, place_index_, hash, [&](const Place& stored) { return stored.outer == outer && stored == location; }, place);
}

void Profile::set_place(FrameId frame, PlaceId place) {
  if (this->place(frame) == place) return;
  while (place_of_frame_.size() <= frame.value) place_of_frame_.push_back({});
  place_of_frame_.edit(frame.value) = place;
  renamed_frames_.push_back(frame);
}

void Profile::set_locations(FrameId frame, std::span<const Location> locations) {
  PlaceId place;
  for (size_t i = std::min(locations.size(), kMaxLocations); i-- > 0;) place = intern_place(place, locations[i]);
  set_place(frame, place);
}

}  // namespace cicada::profile
