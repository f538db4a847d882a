// SPDX-License-Identifier: Apache-2.0
// Reads a recording as it comes, on a thread of its own, and hands on what there is.
//
//   a recorder's socket ──▶ RecordingDecoder ── retention ──▶ snapshots
//
// Threads: the port is called on the follower's thread.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/retention.h"
#include "profile/snapshot.h"
#include "sink/flamegraph/page_feed.h"

namespace cicada::live {

class RecordingFollower {
 public:
  using Show = std::function<void(std::shared_ptr<const profile::ProfileSnapshot>, sink::PageState)>;

  // `socket` was asked for a recording. Waits until one has begun.
  // Fails: kInvalid (what the other end says instead), kGone, kLimit (it says nothing for 10 s, if it `may_be_silent`), kUnsupported (of another version).
  static Result<std::unique_ptr<RecordingFollower>> start(UniqueFd socket, std::string name, engine::Retention retention, bool may_be_silent, Show show);
  ~RecordingFollower();
  // A line that recorders understand (attach/viewer_socket.h). Threads: any. Fails: kInvalid (it is none), kGone (there is no recorder any more).
  Result<void> control(std::string_view line);
  RecordingFollower(const RecordingFollower&) = delete;
  RecordingFollower& operator=(const RecordingFollower&) = delete;

 private:
  struct State;
  explicit RecordingFollower(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
  std::jthread thread_;
};

}  // namespace cicada::live
