// SPDX-License-Identifier: Apache-2.0
// Shows a running recording to other processes, on a thread of its own.
//
//   Session ── snapshot() ──▶ ViewerServer ── a recording as it grows ──▶ a viewer
//
// A viewer says one line, "cicada-attach 1 once" (all there is now) or "cicada-attach 1 follow" (and what comes, once a second), and is sent a recording
// (docs/formats/recording.md), or a line that says why not. Who follows may pause and stop the recording. What one has not read yet keeps nobody else, neither samples nor other viewers: as
// long as something waits to be sent to it nothing new is made for it, so it gets less often what is new, and all of it.
// Bounds: kMaxViewers; of each, one difference.
//
// Threads: one; the port is called on the server's thread.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "attach/viewer_socket.h"
#include "profile/snapshot.h"
#include "sink/recording/recording_chunks.h"

namespace cicada::attach {

class ViewerServer {
 public:
  static constexpr size_t kMaxViewers = 16;
  static constexpr auto kPeriod = std::chrono::seconds(1);        // between differences
  static constexpr auto kAgain = std::chrono::milliseconds(10);   // between looks for a snapshot that is newer than the question
  static constexpr auto kFreshest = std::chrono::seconds(2);      // for which there is none: what there is
  static constexpr auto kLineTimeout = std::chrono::seconds(2);   // for its line
  static constexpr auto kStuck = std::chrono::seconds(60);        // that a viewer may read nothing
  static constexpr auto kEndTimeout = std::chrono::seconds(1);    // for what is sent at the end, usually

  // What viewers may ask of the recorder. Called on the server's thread.
  struct Controls {
    std::function<bool(std::string_view line)> take = {};  // false: there is no such line
    std::function<sink::Moment()> moment = {};
  };
  using TakeSnapshot = std::function<std::shared_ptr<const profile::ProfileSnapshot>()>;
  // `socket` belongs to `user`; null: nobody else comes. `first`: a viewer that follows and need not ask.
  static Result<std::unique_ptr<ViewerServer>> start(std::unique_ptr<ViewerSocket> socket, uid_t user, TakeSnapshot snapshot, Controls controls, UniqueFd first = {});
  // Ends at once.
  ~ViewerServer();
  ViewerServer(const ViewerServer&) = delete;
  ViewerServer& operator=(const ViewerServer&) = delete;
  // The recording is finished: whoever looks gets the rest and the end mark. Waits `at_most`.
  void finish(std::chrono::milliseconds at_most = kEndTimeout);

 private:
  struct State;
  explicit ViewerServer(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
  std::jthread thread_;
};

}  // namespace cicada::attach
