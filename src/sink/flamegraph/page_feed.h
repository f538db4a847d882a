// SPDX-License-Identifier: Apache-2.0
// What pages are sent that show a profile as it grows: everything at first, then what is new (docs/viewer.md has the layout).
//
//   PageFeed feed({}, "whole machine");
//   every second:  feed.update(*snapshot);
//   a page:        message = feed.since("");   later: feed.since(message.id)
//
// All that a page can have is kept as columns to which only is appended, and after each update a mark says how long they were: what a page lacks is what
// lies behind its mark, however long it was away. Samples name leaves (profile::LiveTree), because the node of one changes when its frames get names.
// Threads: one at a time.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "profile/live_tree.h"
#include "profile/thread_state.h"
#include "sink/flamegraph/packed_nodes.h"
#include "sink/flamegraph/svg_caption.h"
#include "sink/recording/recording_chunks.h"

namespace cicada::sink {

// What a page says of the recording besides.
struct PageState {
  std::string ended = {};  // why nothing comes any more; empty: it goes on
  Moment moment = {};
  bool controls = false;  // the page may ask for another one
};

class PageFeed {
 public:
  struct Message {
    std::string id;    // what the page has then
    std::string data;  // JSON, one line
  };

  // Of the event that `options` ask for. `title`: of a recording that says none itself.
  PageFeed(profile::CallTreeOptions options, std::string title);
  // A later snapshot, or one of another profile. What it dropped pages are to drop.
  void update(const profile::ProfileSnapshot& now, const PageState& state = {});
  // For a page that has what `last` says; it gets everything if that is nothing, or is not known (any more). Null: it has all there is.
  // One message is made for all pages that have the same.
  std::shared_ptr<const Message> since(const std::string& last);

 private:
  // How much there was after an update.
  struct Mark {
    uint64_t number = 0;  // of the update
    size_t name_bytes = 0, frame_bytes = 0, names = 0, frames = 0, nodes = 0, node_bytes = 0, placed = 0;
    size_t processes = 0, threads = 0, described_processes = 0, described_threads = 0;
    uint64_t samples = 0, sample_bytes = 0;  // ever
    uint64_t last_us = 0;                    // of the last sample
    uint64_t profile_samples = 0;            // of the profile, ever
  };

  void begin_anew();
  static constexpr size_t kMarks = 60;  // that are kept though what lies before them was dropped

  void append_samples(const profile::ProfileSnapshot& now, uint64_t first, Mark& mark);
  void forget_dropped();
  std::string id_of(const Mark& mark) const;
  const Mark* find_mark(const std::string& id) const;
  std::string tables_since(const Mark& from, bool anew) const;
  std::string columns_since(const Mark& from) const;

  const profile::CallTreeOptions options_;
  const std::string title_;
  PageState state_;
  const uint64_t number_;  // of this feed: pages outlive it
  profile::LiveTree live_;
  profile::ProfileSnapshot now_;
  PackedNodes nodes_;
  uint64_t tree_ = 0, begun_ = 0;  // LiveTree::anew(), and how often that was
  uint64_t start_ns_ = 0, next_number_ = 1;
  std::string samples_;            // columns
  uint64_t samples_begin_ = 0;     // bytes that were forgotten
  std::deque<Mark> marks_;
  Mark gone_;                      // what lies before it pages are to forget
  std::vector<uint32_t> leaves_;
  // In which threads waited, if the event's samples are of waits. Pages find out themselves which one a frame was most in, of what they show.
  bool with_states_ = false;
  profile::ThreadStates states_;
  std::shared_ptr<const Message> latest_;
  std::string latest_for_;
};

}  // namespace cicada::sink
