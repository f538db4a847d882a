// SPDX-License-Identifier: Apache-2.0
// A recording that is being made: the writer of snapshots (snapshot.h says what is in one).
// Threads: one.
#pragma once
#include <map>
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
  // Samples of only a part of the time are left.
  void forget_cpu_times() {
    for (size_t i = 0; i < threads_.size(); ++i) edit_thread(ThreadId(i), [](Thread& row) { row.cpu_ns.reset(); });
  }
  // `outer`: of a depth below kMaxLocations.
  PlaceId intern_place(PlaceId outer, const Location& location);
  // Names of a frame; replaces earlier ones.
  void set_place(FrameId frame, PlaceId place);
  // The same, innermost first. The first kMaxLocations are kept.
  void set_locations(FrameId frame, std::span<const Location> locations);

  // --- whose rows
  // What is interned while it lives is added to what a user's programs have put into the tables, in bytes.
  class Charge {
   public:
    Charge(Profile& profile, uint32_t user) : profile_(profile), user_(user), before_(profile.row_bytes()) {}
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    ~Charge() { profile_.bytes_of_users_[user_] += profile_.row_bytes() - before_; }

   private:
    Profile& profile_;
    const uint32_t user_;
    const size_t before_;
  };
  // Whoever runs at random addresses, or says that each is another function, makes new rows without end. Of this user there may be no more; says so.
  // Never of root.
  bool is_full(uint32_t user) const;

  static constexpr size_t kMaxLocations = 512, kMaxLabels = 64, kMaxBytesOfUser = 64 << 20;

 private:
  // Of rows, of what finds them, and of what will be done with them; without the room for further ones.
  size_t row_bytes() const;

  std::map<uint32_t, size_t> bytes_of_users_;
  ContentIndex string_index_, image_index_, function_index_, frame_index_, place_index_, stack_index_, process_index_, thread_index_, label_index_;
};

}  // namespace cicada::profile
