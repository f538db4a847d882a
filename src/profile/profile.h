// SPDX-License-Identifier: Apache-2.0
// A recording that is being made: the writer of snapshots (snapshot.h says what is in one).
// Threads: one.
#pragma once
#include <span>
#include <string_view>

#include "profile/content_index.h"
#include "profile/snapshot.h"

namespace cicada::profile {

class Profile : public ProfileSnapshot {
 public:
  Profile();
  Profile(Profile&&) noexcept = default;
  Profile& operator=(Profile&&) noexcept = default;
  Profile(const Profile&) = delete;  // two writers of one memory; `ProfileSnapshot(profile)` is a copy to be read
  Profile& operator=(const Profile&) = delete;

  // Every intern_* returns the same id for the same content.
  StringId intern(std::string_view text) { return StringTable::intern_in(strings_, string_index_, text); }
  ImageId intern_image(const Image& image);
  FunctionId intern_function(const Function& function);
  FrameId intern_frame(const Frame& frame);
  StackId intern_stack(StackId parent, FrameId frame);
  // Frames outermost first, appended above `base`.
  StackId intern_stack(StackId base, std::span<const FrameId> frames);
  ProcessId intern_process(Pid pid, uint64_t start_ns);
  ThreadId intern_thread(ProcessId process, Tid tid);
  // In any order; the later of two equal keys wins. At most kMaxLabels.
  LabelSetId intern_labels(std::span<const Label> labels);

  void append_sample(const Sample& sample) { append_samples({&sample, 1}); }
  void append_samples(std::span<const Sample> rows);
  // Forgets the oldest samples, in blocks of a few thousand; tables stay. Returns how many went.
  size_t drop_samples(size_t at_most);
  // The number of the oldest sample: rows that were copied from another profile keep theirs.
  void number_samples_from(uint64_t first) { samples_.number_from(first); }
  // Of memory, without what snapshots have kept.
  size_t sample_bytes() const { return samples_.bytes(); }
  size_t table_bytes() const;
  // What a process or a thread is called; its identity stays.
  void set_process(ProcessId id, const Process& process);
  void set_thread(ThreadId id, const Thread& thread);
  template <typename Edit>
  void edit_process(ProcessId id, Edit edit) {
    Process row = processes_[id.value];
    edit(row);
    set_process(id, row);
  }
  template <typename Edit>
  void edit_thread(ThreadId id, Edit edit) {
    Thread row = threads_[id.value];
    edit(row);
    set_thread(id, row);
  }
  // Names of a frame, innermost first; replaces earlier ones. The first kMaxLocations are kept, once for all frames that have the same.
  void set_locations(FrameId frame, std::span<const Location> locations);

  static constexpr size_t kMaxLocations = 512, kMaxLabels = 64;

 private:
  LocationSpan intern_locations(std::span<const Location> locations);

  ContentIndex string_index_, image_index_, function_index_, frame_index_, location_index_, stack_index_, process_index_, thread_index_, label_index_;
  std::vector<LocationSpan> known_locations_;  // by id in location_index_
};

}  // namespace cicada::profile
