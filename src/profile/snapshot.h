// SPDX-License-Identifier: Apache-2.0
// A profile as it was at one moment: tables that refer to each other by typed index, and columns of samples.
//
//   samples ──▶ stack (prefix tree) ──▶ frame ──▶ image
//      │                                 └──▶ place (tree of locations: function, file, line; innermost first), once names are known
//      └──▶ thread ──▶ process
//
// Frames are addresses in images, never in processes; names are added later by symbolize/ and change nothing else. A stored sample never
// changes. Every table is a Log: a copy shares its rows, so that one of ten million samples costs what one of ten costs, and what it
// keeps alive is what it shows.
//
// The difference between two snapshots of one profile is a range of rows in each log (SnapshotSizes): what is new. Rows that have changed
// since (names of frames, processes, threads) are listed in logs of their own.
//
// Threads: Profile (profile.h) is the writer; `ProfileSnapshot(profile)`, made on its thread, may be read and copied by any.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/log.h"
#include "profile/outer_chain.h"
#include "profile/samples.h"
#include "profile/string_table.h"
#include "profile/tables.h"

namespace cicada::profile {

// How much there is of everything. Of two snapshots with the same `lineage` the later one has what the earlier one has, and rows [earlier, later) more.
struct SnapshotSizes {
  uint64_t lineage = 0;  // another number: the profile was made anew (its ids mean other things)
  size_t strings = 0, images = 0, functions = 0, frames = 0, stacks = 0, processes = 0, threads = 0, label_sets = 0;
  size_t renamed_frames = 0, described_processes = 0, described_threads = 0;
  uint64_t samples = 0;  // appended ever; those before Samples::dropped() are gone
  auto operator<=>(const SnapshotSizes&) const = default;
};

// What is stored of one stack.
struct StackSum {
  uint64_t samples = 0;
  uint64_t value = 0;
};
using StackSums = Log<StackSum, 7>;  // samples touch them at random, and what they touch is copied once for each snapshot: 2 KiB

using Locations = OuterChain<Log<Place>, PlaceId>;

class ProfileSnapshot {
 public:
  Header header;

  std::string_view text(StringId id) const { return strings_.text(id); }  // kNone: ""
  const Log<Image>& images() const { return images_; }
  const Log<Function>& functions() const { return functions_; }
  const Log<Frame>& frames() const { return frames_; }
  const Log<Place>& places() const { return places_; }
  const Log<Stack>& stacks() const { return stacks_; }
  const Log<Process>& processes() const { return processes_; }
  const Log<Thread>& threads() const { return threads_; }
  const Samples& samples() const { return samples_; }
  const StringLog& strings() const { return strings_; }
  size_t sample_count() const { return samples_.size(); }
  size_t label_set_count() const { return label_sets_.size(); }

  Sample sample(size_t index) const;
  uint64_t value(size_t index) const {
    const uint64_t* own = samples_.find_value(index);
    return own != nullptr ? *own : usual_value(samples_.event[index]);
  }
  const Event& event(EventId id) const { return header.events[id.value < header.events.size() ? id.value : 0]; }
  PlaceId place(FrameId frame) const { return frame.value < place_of_frame_.size() ? place_of_frame_[frame.value] : PlaceId(); }
  PlaceId outer(PlaceId place) const { return place.valid() ? places_[place.value].outer : place; }
  Locations locations(FrameId frame) const { return {places_, place(frame)}; }  // innermost first; empty: no name (yet)
  std::span<const Label> labels(LabelSetId set) const;           // sorted by key

  // --- running sums; idle samples left out
  // By stack, the empty one first: sums_of(event)[stack.value + 1]; may end before the last stack.
  const StackSums& sums_of(EventId event) const;
  const EventSums& totals_of(EventId event) const;

  // --- what is new since an earlier snapshot
  SnapshotSizes sizes() const;
  const Log<FrameId>& renamed_frames() const { return renamed_frames_; }  // got locations, again if they changed
  const Log<ProcessId>& described_processes() const { return described_processes_; }
  const Log<ThreadId>& described_threads() const { return described_threads_; }

  // Every index in range, parents before children.
  // Fails (kCorrupt) with the first violation.
  Result<void> validate() const;

 protected:
  struct LabelSpan {
    uint32_t begin = 0;
    uint32_t count = 0;
  };
  uint64_t usual_value(EventId id) const { return id.value < header.events.size() ? header.events[id.value].value : 1; }

  StringLog strings_;
  Log<Image> images_;
  Log<Function> functions_;
  Log<Frame> frames_;
  Log<PlaceId> place_of_frame_;
  Log<Place> places_;
  Log<Stack> stacks_;
  Log<Process> processes_;
  Log<Thread> threads_;
  Log<LabelSpan> label_sets_;
  Log<Label> labels_;
  Samples samples_;
  Log<FrameId> renamed_frames_;
  Log<ProcessId> described_processes_;
  Log<ThreadId> described_threads_;
  std::vector<StackSums> sums_;   // by event
  std::vector<EventSums> totals_;    // likewise
  uint64_t lineage_ = 0;
};

// The event that a picture of one unit shows if nobody asks for another: the first with samples.
EventId main_event(const ProfileSnapshot& profile);
// Those with samples, in their order; of none, the first.
std::vector<EventId> sampled_events(const ProfileSnapshot& profile);

}  // namespace cicada::profile
